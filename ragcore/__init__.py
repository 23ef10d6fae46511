"""ragcore: retrieval-augmented generation, from a file to a cited answer.

Names are loaded when first used, so `import ragcore` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.defaults import Settings
    from ragcore.indices.document_summary import DocumentSummaryIndex
    from ragcore.indices.keyword_table import KeywordTableIndex, RAKEKeywordTableIndex, SimpleKeywordTableIndex
    from ragcore.indices.loading import load_index_from_storage, load_indices_from_storage
    from ragcore.indices.summary import SummaryIndex
    from ragcore.indices.tree import TreeIndex
    from ragcore.indices.vector import VectorStoreIndex
    from ragcore.library import Library
    from ragcore.prompt_helper import PromptHelper
    from ragcore.prompt_templates import ChatPromptTemplate, PromptTemplate, SelectorPromptTemplate
    from ragcore.readers.directory import SimpleDirectoryReader
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
    from ragcore.schema import ChatMessage, Document, IndexNode, MessageRole, NodeWithScore, QueryBundle, Response, TextNode
    from ragcore.storage.storage_context import StorageContext

_HOMES = {
    "ChatMessage": "ragcore.schema",
    "ChatPromptTemplate": "ragcore.prompt_templates",
    "Document": "ragcore.schema",
    "DocumentSummaryIndex": "ragcore.indices.document_summary",
    "IndexNode": "ragcore.schema",
    "KeywordTableIndex": "ragcore.indices.keyword_table",
    "Library": "ragcore.library",
    "MessageRole": "ragcore.schema",
    "NodeWithScore": "ragcore.schema",
    "PromptHelper": "ragcore.prompt_helper",
    "PromptTemplate": "ragcore.prompt_templates",
    "QueryBundle": "ragcore.schema",
    "RAKEKeywordTableIndex": "ragcore.indices.keyword_table",
    "Response": "ragcore.schema",
    "SelectorPromptTemplate": "ragcore.prompt_templates",
    "Settings": "ragcore.defaults",
    "SimpleDirectoryReader": "ragcore.readers.directory",
    "SimpleKeywordTableIndex": "ragcore.indices.keyword_table",
    "StorageContext": "ragcore.storage.storage_context",
    "SummaryIndex": "ragcore.indices.summary",
    "TextNode": "ragcore.schema",
    "TreeIndex": "ragcore.indices.tree",
    "VectorStoreIndex": "ragcore.indices.vector",
    "get_response_synthesizer": "ragcore.response_synthesizers.synthesizer",
    "load_index_from_storage": "ragcore.indices.loading",
    "load_indices_from_storage": "ragcore.indices.loading",
}

__all__ = [
    "ChatMessage",
    "ChatPromptTemplate",
    "Document",
    "DocumentSummaryIndex",
    "IndexNode",
    "KeywordTableIndex",
    "Library",
    "MessageRole",
    "NodeWithScore",
    "PromptHelper",
    "PromptTemplate",
    "QueryBundle",
    "RAKEKeywordTableIndex",
    "Response",
    "SelectorPromptTemplate",
    "Settings",
    "SimpleDirectoryReader",
    "SimpleKeywordTableIndex",
    "StorageContext",
    "SummaryIndex",
    "TextNode",
    "TreeIndex",
    "VectorStoreIndex",
    "get_response_synthesizer",
    "load_index_from_storage",
    "load_indices_from_storage",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore' has no attribute {name!r}")
