"""Retrieves all passages of whole documents by the documents' summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Unpack

from ragcore.concurrency import in_order
from ragcore.errors import UnknownDocumentError
from ragcore.indices.llm_summary import DEFAULT_REQUEST, summary_of
from ragcore.indices.node_index import NodeIndex
from ragcore.indices.options import IndexOptions
from ragcore.ingestion.document_splits import Split
from ragcore.schema import Document, NodeWithScore, TextNode

if TYPE_CHECKING:
    from ragcore.response_synthesizers.base import AnySynthesizer
    from ragcore.retrievers.base import BaseRetriever


class DocumentSummaryRetrieverMode(str, Enum):
    EMBEDDING = "embedding"  # documents whose summaries are nearest to the question
    LLM = "llm"  # documents that a language model chooses by their summaries


class DocumentSummaryIndex(NodeIndex):
    """Writes one summary of each document when it is added. If the document fits the model's window, that is
    one call.

    `summary_query` is the question that a summary answers, such as "Which questions does this answer?"; ""
    asks what the document is about. A `response_synthesizer` replaces the default way of writing summaries.

    >>> from ragcore.llms import ScriptedLLM
    >>> index = DocumentSummaryIndex(
    ...     [TextNode("The tower is 40 m high.", "n1")], llm=ScriptedLLM(["About a tower."])
    ... )
    >>> list(index.summaries().values())
    ['About a tower.']
    """

    kind = "document_summary"

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        summary_query: str = "",
        response_synthesizer: AnySynthesizer | None = None,
        **options: Unpack[IndexOptions],
    ) -> None:
        record = options.get("record")
        data = {} if record is None else self._of_this_kind(record).data
        self.summary_query = str(data.get("summary_query", summary_query))
        self._synthesizer = response_synthesizer
        super().__init__(nodes, **options)

    def as_retriever(
        self,
        retriever_mode: DocumentSummaryRetrieverMode | str = DocumentSummaryRetrieverMode.LLM,
        *,
        choice_batch_size: int = 10,
        choice_top_k: int = 1,
        similarity_top_k: int = 1,
    ) -> BaseRetriever:
        """Retrieves `choice_top_k` documents in the mode "llm", `similarity_top_k` in the mode "embedding".
        One call of the model reads `choice_batch_size` summaries."""
        from ragcore.llamaindex.indices.document_summary import retrievers

        if DocumentSummaryRetrieverMode(retriever_mode) is DocumentSummaryRetrieverMode.EMBEDDING:
            return retrievers.DocumentSummaryIndexEmbeddingRetriever(self, similarity_top_k)
        return retrievers.DocumentSummaryIndexLLMRetriever(self, choice_batch_size, choice_top_k)

    def get_document_summary(self, doc_id: str) -> str:
        """The summary of the document, "" if it has no text. UnknownDocumentError if the index lacks it."""
        summaries = self.storage_context.index_store.entries(self._record.place, [doc_id])
        if doc_id not in summaries:
            raise UnknownDocumentError(doc_id)
        return str(summaries[doc_id])

    def summaries(self) -> dict[str, str]:
        """The summaries by document id, in order of insertion. A document without text has none."""
        return {id_: str(text) for id_, text in self.entries().items() if text}

    def _new_data(self) -> dict[str, str]:
        return {"summary_query": self.summary_query}

    def _prepare_entries(self, splits: Sequence[Split]) -> Callable[[], None]:
        def summarize(split: Split) -> str:
            if self._synthesizer is not None:
                hits = [NodeWithScore(node) for node in split.nodes]
                return str(self._synthesizer.synthesize(self.summary_query or DEFAULT_REQUEST, hits))
            return summary_of(self.llm, [node.text for node in split.nodes], self.summary_query)

        summaries = in_order(summarize, splits)
        by_id = {split.document.id_: summary for split, summary in zip(splits, summaries, strict=True)}
        return lambda: self.put_entries(by_id)

    def _remove_entries(self, ref_doc_id: str, node_ids: Sequence[str]) -> None:
        self.delete_entries([ref_doc_id])
