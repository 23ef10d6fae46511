"""The storage of indexes: documents, records, vectors and conversations."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.storage.chat_store import ChatStore as ChatStore
    from ragcore.storage.chat_store import SimpleChatStore as SimpleChatStore
    from ragcore.storage.docstore import DocumentStore as DocumentStore
    from ragcore.storage.docstore import RefDocInfo as RefDocInfo
    from ragcore.storage.docstore import SimpleDocumentStore as SimpleDocumentStore
    from ragcore.storage.index_store import IndexRecord as IndexRecord
    from ragcore.storage.index_store import IndexStore as IndexStore
    from ragcore.storage.index_store import SimpleIndexStore as SimpleIndexStore
    from ragcore.storage.storage_context import StorageContext as StorageContext
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
