"""All passages, one after the other: for questions about the whole of a few documents."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ragcore.indices.node_index import NodeIndex

if TYPE_CHECKING:
    from ragcore.retrievers.base import BaseRetriever


class ListRetrieverMode(str, Enum):
    DEFAULT = "default"  # all passages
    EMBEDDING = "embedding"  # the nearest to the question
    LLM = "llm"  # the passages that a language model chooses


class SummaryIndex(NodeIndex):
    """Stores its passages in order. Building it calls no model.

    >>> from ragcore.schema import TextNode
    >>> index = SummaryIndex([TextNode("First."), TextNode("Second.")])
    >>> [hit.text for hit in index.as_retriever().retrieve("What is it about?")]
    ['First.', 'Second.']
    """

    kind = "summary"

    def as_retriever(
        self,
        retriever_mode: ListRetrieverMode | str = ListRetrieverMode.DEFAULT,
        *,
        similarity_top_k: int = 1,
        choice_batch_size: int = 10,
    ) -> BaseRetriever:
        """`similarity_top_k` is for the mode "embedding", `choice_batch_size` (passages in one call) for
        "llm"."""
        from ragcore.indices.summary import retrievers

        match ListRetrieverMode(retriever_mode):
            case ListRetrieverMode.DEFAULT:
                return retrievers.SummaryIndexRetriever(self)
            case ListRetrieverMode.EMBEDDING:
                return retrievers.SummaryIndexEmbeddingRetriever(self, similarity_top_k)
            case ListRetrieverMode.LLM:
                return retrievers.SummaryIndexLLMRetriever(self, choice_batch_size)


ListIndex = SummaryIndex  # its former name in LlamaIndex
