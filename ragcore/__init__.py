"""ragcore: retrieval-augmented generation, from a file to a cited answer.

Names are loaded when first used, so `import ragcore` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.indices.vector import VectorStoreIndex
    from ragcore.library import Library
    from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
    from ragcore.schema import ChatMessage, Document, MessageRole, NodeWithScore, QueryBundle, Response, TextNode

_HOMES = {
    "ChatMessage": "ragcore.schema",
    "Document": "ragcore.schema",
    "Library": "ragcore.library",
    "MessageRole": "ragcore.schema",
    "NodeWithScore": "ragcore.schema",
    "QueryBundle": "ragcore.schema",
    "Response": "ragcore.schema",
    "TextNode": "ragcore.schema",
    "VectorStoreIndex": "ragcore.indices.vector",
    "get_response_synthesizer": "ragcore.response_synthesizers.synthesizer",
}

__all__ = [
    "ChatMessage",
    "Document",
    "Library",
    "MessageRole",
    "NodeWithScore",
    "QueryBundle",
    "Response",
    "TextNode",
    "VectorStoreIndex",
    "get_response_synthesizer",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore' has no attribute {name!r}")
