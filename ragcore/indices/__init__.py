"""What is made of documents so that questions can be answered. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.indices.base import BaseIndex
    from ragcore.indices.document_summary import DocumentSummaryIndex
    from ragcore.indices.keyword_table import KeywordTableIndex, RAKEKeywordTableIndex, SimpleKeywordTableIndex
    from ragcore.indices.loading import load_index_from_storage, load_indices_from_storage
    from ragcore.indices.summary import SummaryIndex
    from ragcore.indices.tree import TreeIndex
    from ragcore.indices.vector import VectorStoreIndex

_HOMES = {
    "BaseIndex": "base",
    "DocumentSummaryIndex": "document_summary",
    "KeywordTableIndex": "keyword_table",
    "RAKEKeywordTableIndex": "keyword_table",
    "SimpleKeywordTableIndex": "keyword_table",
    "SummaryIndex": "summary",
    "TreeIndex": "tree",
    "VectorStoreIndex": "vector",
    "load_index_from_storage": "loading",
    "load_indices_from_storage": "loading",
}

__all__ = [
    "BaseIndex",
    "DocumentSummaryIndex",
    "KeywordTableIndex",
    "RAKEKeywordTableIndex",
    "SimpleKeywordTableIndex",
    "SummaryIndex",
    "TreeIndex",
    "VectorStoreIndex",
    "load_index_from_storage",
    "load_indices_from_storage",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"ragcore.indices.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ragcore.indices' has no attribute {name!r}")
