"""Where passages are kept and found. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.vector_stores.base import Candidates, Scope, Store, StoredDocument
    from ragcore.vector_stores.chroma import ChromaVectorStore
    from ragcore.vector_stores.disk import DiskStore
    from ragcore.vector_stores.filters import ExactMatchFilter, FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
    from ragcore.vector_stores.memory import MemoryStore, SimpleVectorStore
    from ragcore.vector_stores.postgres import PGVectorStore, PostgresStore
    from ragcore.vector_stores.query_mode import VectorStoreQueryMode

_HOMES = {
    "Candidates": "ragcore.vector_stores.base",
    "ChromaVectorStore": "ragcore.vector_stores.chroma",
    "DiskStore": "ragcore.vector_stores.disk",
    "ExactMatchFilter": "ragcore.vector_stores.filters",
    "FilterCondition": "ragcore.vector_stores.filters",
    "FilterOperator": "ragcore.vector_stores.filters",
    "MemoryStore": "ragcore.vector_stores.memory",
    "MetadataFilter": "ragcore.vector_stores.filters",
    "MetadataFilters": "ragcore.vector_stores.filters",
    "PGVectorStore": "ragcore.vector_stores.postgres",
    "PostgresStore": "ragcore.vector_stores.postgres",
    "Scope": "ragcore.vector_stores.base",
    "SimpleVectorStore": "ragcore.vector_stores.memory",
    "Store": "ragcore.vector_stores.base",
    "StoredDocument": "ragcore.vector_stores.base",
    "VectorStoreQueryMode": "ragcore.vector_stores.query_mode",
}

__all__ = [
    "Candidates",
    "ChromaVectorStore",
    "DiskStore",
    "ExactMatchFilter",
    "FilterCondition",
    "FilterOperator",
    "MemoryStore",
    "MetadataFilter",
    "MetadataFilters",
    "PGVectorStore",
    "PostgresStore",
    "Scope",
    "SimpleVectorStore",
    "Store",
    "StoredDocument",
    "VectorStoreQueryMode",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.vector_stores' has no attribute {name!r}")
