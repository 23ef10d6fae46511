"""Retrieves all passages of the documents whose summaries match a question best."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.llm_choice import choose_texts
from ragcore.schema import NodeWithScore, QueryBundle

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex


class _ByDocument(BaseRetriever):
    """Each passage has the score of its document. The span notes `documents`, a list of {"id", "score"}."""

    def __init__(self, index: DocumentSummaryIndex) -> None:
        self._index = index

    @abstractmethod
    def _best(self, query: QueryBundle, summaries: list[str]) -> list[tuple[int, float]]:
        """(place, score) of the best documents, best first."""

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        summaries = self._index.summaries()
        ids = list(summaries)
        best = self._best(query, list(summaries.values()))
        step.note(documents=[{"id": ids[place], "score": score} for place, score in best])
        hits: list[NodeWithScore] = []
        for place, score in best:
            info = self._index.nodes.get_ref_doc_info(ids[place])
            hits += [
                NodeWithScore(node, score)
                for node in self._index.nodes.get_nodes(info.node_ids if info else ())
            ]
        return hits


class DocumentSummaryIndexLLMRetriever(_ByDocument):
    """The `choice_top_k` documents that the index's model rates highest; scores are 0 to 10.

    One call rates `choice_batch_size` summaries.

    >>> from ragcore.llamaindex.indices import DocumentSummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> llm = ScriptedLLM(["About a tower.", "Doc: 1, Relevance: 9"])
    >>> index = DocumentSummaryIndex([TextNode("The tower is 40 m high.")], llm=llm)
    >>> [(hit.text, hit.score) for hit in DocumentSummaryIndexLLMRetriever(index).retrieve("How high?")]
    [('The tower is 40 m high.', 9.0)]
    """

    name = "document_summary_llm"

    def __init__(
        self, index: DocumentSummaryIndex, choice_batch_size: int = 10, choice_top_k: int = 1
    ) -> None:
        super().__init__(index)
        self._batch = choice_batch_size
        self._top_k = choice_top_k

    def _best(self, query: QueryBundle, summaries: list[str]) -> list[tuple[int, float]]:
        return choose_texts(self._index.llm, query.query_str, summaries, self._batch)[: max(self._top_k, 0)]


class DocumentSummaryIndexEmbeddingRetriever(_ByDocument):
    """The `similarity_top_k` documents whose summaries are nearest to the question; scores are cosines, -1 to
    1.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.llamaindex.indices import DocumentSummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> llm, embedder = ScriptedLLM(["About a tower."]), HashEmbedding()
    >>> index = DocumentSummaryIndex([TextNode("It is 40 m high.")], llm=llm, embed_model=embedder)
    >>> DocumentSummaryIndexEmbeddingRetriever(index).retrieve("How high is the tower?")[0].text
    'It is 40 m high.'
    """

    name = "document_summary_embedding"

    def __init__(self, index: DocumentSummaryIndex, similarity_top_k: int = 1) -> None:
        super().__init__(index)
        self._top_k = similarity_top_k

    def _best(self, query: QueryBundle, summaries: list[str]) -> list[tuple[int, float]]:
        return self._index.nearest.best(query, summaries, self._top_k)
