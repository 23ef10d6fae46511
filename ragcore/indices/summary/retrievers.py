"""Passages of a summary index: all of them, the nearest, or those a language model chooses."""

from __future__ import annotations

from ragcore.indices.summary.index import SummaryIndex
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.llm_choice import choose_texts
from ragcore.schema import MetadataMode, NodeWithScore, QueryBundle


class SummaryIndexRetriever(BaseRetriever):
    """All passages in the order of the index, without a score.

    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndexRetriever(SummaryIndex([TextNode("First."), TextNode("Second.")]))
    >>> [hit.text for hit in retriever.retrieve("What is it about?")]
    ['First.', 'Second.']
    """

    name = "summary_index"

    def __init__(self, index: SummaryIndex) -> None:
        self._index = index

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(node) for node in self._index.nodes.nodes()]


class SummaryIndexEmbeddingRetriever(BaseRetriever):
    """The passages nearest to the question; the score is the cosine, -1 to 1. The first query embeds the
    passages.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.schema import TextNode
    >>> index = SummaryIndex([TextNode("A red boat."), TextNode("A gull.")], embed_model=HashEmbedding())
    >>> [hit.text for hit in SummaryIndexEmbeddingRetriever(index).retrieve("Which boat?")]
    ['A red boat.']
    """

    name = "summary_index_embedding"

    def __init__(self, index: SummaryIndex, similarity_top_k: int = 1) -> None:
        self._index = index
        self._top_k = similarity_top_k

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        nodes = self._index.nodes.nodes()
        best = self._index.nearest.best(
            query, [node.get_content(MetadataMode.EMBED) for node in nodes], self._top_k
        )
        return [NodeWithScore(nodes[place], cosine) for place, cosine in best]


class SummaryIndexLLMRetriever(BaseRetriever):
    """The passages that the index's model rates as relevant; the score is the relevance, 0 to 10.

    One call rates `choice_batch_size` passages.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> nodes = [TextNode("A red boat."), TextNode("A gull.")]
    >>> index = SummaryIndex(nodes, llm=ScriptedLLM(["Doc: 2, Relevance: 7"]))
    >>> [(hit.text, hit.score) for hit in SummaryIndexLLMRetriever(index).retrieve("Which bird?")]
    [('A gull.', 7.0)]
    """

    name = "summary_index_llm"

    def __init__(self, index: SummaryIndex, choice_batch_size: int = 10) -> None:
        self._index = index
        self._batch = choice_batch_size

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        nodes = self._index.nodes.nodes()
        chosen = choose_texts(self._index.llm, query.query_str, [node.text for node in nodes], self._batch)
        return [NodeWithScore(nodes[place], relevance) for place, relevance in chosen]
