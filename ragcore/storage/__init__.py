"""The storage of indexes: documents, records, vectors and conversations."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.storage.chat_store import ChatStore, SimpleChatStore
    from ragcore.storage.docstore import DocumentStore, RefDocInfo, SimpleDocumentStore
    from ragcore.storage.index_store import IndexRecord, IndexStore, SimpleIndexStore
    from ragcore.storage.storage_context import StorageContext
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
