"""From a question to its passages. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.retrievers.auto_merging import AutoMergingRetriever
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.retrievers.bm25 import BM25Retriever
    from ragcore.retrievers.document_summary import DocumentSummaryIndexEmbeddingRetriever, DocumentSummaryIndexLLMRetriever
    from ragcore.retrievers.fusion import QueryFusionRetriever
    from ragcore.retrievers.hybrid import HybridRetriever
    from ragcore.retrievers.keyword_table import KeywordTableRetriever
    from ragcore.retrievers.overview import OverviewRetriever
    from ragcore.retrievers.recursive import RecursiveRetriever
    from ragcore.retrievers.router import RouterRetriever
    from ragcore.retrievers.summary_index import SummaryIndexEmbeddingRetriever, SummaryIndexLLMRetriever, SummaryIndexRetriever
    from ragcore.retrievers.transform import TransformRetriever
    from ragcore.retrievers.tree import (
        TreeAllLeafRetriever,
        TreeRootRetriever,
        TreeSelectLeafEmbeddingRetriever,
        TreeSelectLeafRetriever,
    )
    from ragcore.retrievers.vector import VectorIndexRetriever

_HOMES = {
    "AutoMergingRetriever": "ragcore.retrievers.auto_merging",
    "BM25Retriever": "ragcore.retrievers.bm25",
    "BaseRetriever": "ragcore.retrievers.base",
    "DocumentSummaryIndexEmbeddingRetriever": "ragcore.retrievers.document_summary",
    "DocumentSummaryIndexLLMRetriever": "ragcore.retrievers.document_summary",
    "HybridRetriever": "ragcore.retrievers.hybrid",
    "KeywordTableRetriever": "ragcore.retrievers.keyword_table",
    "OverviewRetriever": "ragcore.retrievers.overview",
    "QueryFusionRetriever": "ragcore.retrievers.fusion",
    "RecursiveRetriever": "ragcore.retrievers.recursive",
    "RouterRetriever": "ragcore.retrievers.router",
    "SummaryIndexEmbeddingRetriever": "ragcore.retrievers.summary_index",
    "SummaryIndexLLMRetriever": "ragcore.retrievers.summary_index",
    "SummaryIndexRetriever": "ragcore.retrievers.summary_index",
    "TransformRetriever": "ragcore.retrievers.transform",
    "TreeAllLeafRetriever": "ragcore.retrievers.tree",
    "TreeRootRetriever": "ragcore.retrievers.tree",
    "TreeSelectLeafEmbeddingRetriever": "ragcore.retrievers.tree",
    "TreeSelectLeafRetriever": "ragcore.retrievers.tree",
    "VectorIndexRetriever": "ragcore.retrievers.vector",
}

__all__ = [
    "AutoMergingRetriever",
    "BM25Retriever",
    "BaseRetriever",
    "DocumentSummaryIndexEmbeddingRetriever",
    "DocumentSummaryIndexLLMRetriever",
    "HybridRetriever",
    "KeywordTableRetriever",
    "OverviewRetriever",
    "QueryFusionRetriever",
    "RecursiveRetriever",
    "RouterRetriever",
    "SummaryIndexEmbeddingRetriever",
    "SummaryIndexLLMRetriever",
    "SummaryIndexRetriever",
    "TransformRetriever",
    "TreeAllLeafRetriever",
    "TreeRootRetriever",
    "TreeSelectLeafEmbeddingRetriever",
    "TreeSelectLeafRetriever",
    "VectorIndexRetriever",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.retrievers' has no attribute {name!r}")
