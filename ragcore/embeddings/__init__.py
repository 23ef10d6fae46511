"""Embedding models, loaded when first used."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.embeddings.base import BaseEmbedding, Embedder, embed_nodes, groups_by_length
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding
    from ragcore.embeddings.mock import MockEmbedding
    from ragcore.embeddings.ollama import OllamaEmbedding
    from ragcore.embeddings.openai import OpenAIEmbedding
    from ragcore.embeddings.similarity import SimilarityMode
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
