"""Embedding models, loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.embeddings.base import BaseEmbedding, Embedder, embed_nodes, groups_by_length
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding
    from ragcore.embeddings.mock import MockEmbedding
    from ragcore.embeddings.ollama import OllamaEmbedding
    from ragcore.embeddings.openai import OpenAIEmbedding
    from ragcore.embeddings.similarity import SimilarityMode

_HOMES = {
    "BaseEmbedding": "ragcore.embeddings.base",
    "Embedder": "ragcore.embeddings.base",
    "HashEmbedding": "ragcore.embeddings.hashing",
    "HuggingFaceEmbedding": "ragcore.embeddings.huggingface",
    "MockEmbedding": "ragcore.embeddings.mock",
    "OllamaEmbedding": "ragcore.embeddings.ollama",
    "OpenAIEmbedding": "ragcore.embeddings.openai",
    "SimilarityMode": "ragcore.embeddings.similarity",
    "embed_nodes": "ragcore.embeddings.base",
    "groups_by_length": "ragcore.embeddings.base",
}

__all__ = [
    "BaseEmbedding",
    "Embedder",
    "HashEmbedding",
    "HuggingFaceEmbedding",
    "MockEmbedding",
    "OllamaEmbedding",
    "OpenAIEmbedding",
    "SimilarityMode",
    "embed_nodes",
    "groups_by_length",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.embeddings' has no attribute {name!r}")
