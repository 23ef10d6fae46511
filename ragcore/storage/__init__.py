"""Where indexes keep what they have. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.storage.docstore import DocumentStore, RefDocInfo, SimpleDocumentStore
    from ragcore.storage.index_store import IndexRecord, IndexStore, SimpleIndexStore
    from ragcore.storage.storage_context import StorageContext

_HOMES = {
    "DocumentStore": "ragcore.storage.docstore",
    "IndexRecord": "ragcore.storage.index_store",
    "IndexStore": "ragcore.storage.index_store",
    "RefDocInfo": "ragcore.storage.docstore",
    "SimpleDocumentStore": "ragcore.storage.docstore",
    "SimpleIndexStore": "ragcore.storage.index_store",
    "StorageContext": "ragcore.storage.storage_context",
}

__all__ = [
    "DocumentStore",
    "IndexRecord",
    "IndexStore",
    "RefDocInfo",
    "SimpleDocumentStore",
    "SimpleIndexStore",
    "StorageContext",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.storage' has no attribute {name!r}")
