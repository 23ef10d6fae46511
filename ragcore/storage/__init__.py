"""Where indexes keep what they have. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.storage.chat_store import ChatStore, SimpleChatStore
    from ragcore.storage.docstore import DocumentStore, RefDocInfo, SimpleDocumentStore
    from ragcore.storage.index_store import IndexRecord, IndexStore, SimpleIndexStore
    from ragcore.storage.storage_context import StorageContext

_HOMES = {
    "ChatStore": "ragcore.storage.chat_store",
    "DocumentStore": "ragcore.storage.docstore",
    "IndexRecord": "ragcore.storage.index_store",
    "IndexStore": "ragcore.storage.index_store",
    "RefDocInfo": "ragcore.storage.docstore",
    "SimpleChatStore": "ragcore.storage.chat_store",
    "SimpleDocumentStore": "ragcore.storage.docstore",
    "SimpleIndexStore": "ragcore.storage.index_store",
    "StorageContext": "ragcore.storage.storage_context",
}

__all__ = [
    "ChatStore",
    "DocumentStore",
    "IndexRecord",
    "IndexStore",
    "RefDocInfo",
    "SimpleChatStore",
    "SimpleDocumentStore",
    "SimpleIndexStore",
    "StorageContext",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.storage' has no attribute {name!r}")
