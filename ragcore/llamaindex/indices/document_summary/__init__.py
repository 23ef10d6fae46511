"""Retrieves whole documents by their summaries."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
    from ragcore.llamaindex.indices.document_summary.retrievers import (
        DocumentSummaryIndexEmbeddingRetriever,
        DocumentSummaryIndexLLMRetriever,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
