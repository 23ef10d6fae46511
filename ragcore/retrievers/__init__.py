"""From a question to its passages. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.retrievers.bm25 import BM25Retriever
    from ragcore.retrievers.fusion import QueryFusionRetriever
    from ragcore.retrievers.hybrid import HybridRetriever
    from ragcore.retrievers.overview import OverviewRetriever
    from ragcore.retrievers.router import RouterRetriever
    from ragcore.retrievers.transform import TransformRetriever
    from ragcore.retrievers.vector import VectorIndexRetriever

_HOMES = {
    "BM25Retriever": "ragcore.retrievers.bm25",
    "BaseRetriever": "ragcore.retrievers.base",
    "HybridRetriever": "ragcore.retrievers.hybrid",
    "OverviewRetriever": "ragcore.retrievers.overview",
    "QueryFusionRetriever": "ragcore.retrievers.fusion",
    "RouterRetriever": "ragcore.retrievers.router",
    "TransformRetriever": "ragcore.retrievers.transform",
    "VectorIndexRetriever": "ragcore.retrievers.vector",
}

__all__ = [
    "BM25Retriever",
    "BaseRetriever",
    "HybridRetriever",
    "OverviewRetriever",
    "QueryFusionRetriever",
    "RouterRetriever",
    "TransformRetriever",
    "VectorIndexRetriever",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.retrievers' has no attribute {name!r}")
