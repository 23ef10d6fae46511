"""Embedding models, loaded when first used."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.embeddings.base import BaseEmbedding as BaseEmbedding
    from ragcore.embeddings.base import Embedder as Embedder
    from ragcore.embeddings.base import embed_nodes as embed_nodes
    from ragcore.embeddings.base import groups_by_length as groups_by_length
    from ragcore.embeddings.hashing import HashEmbedding as HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding as HuggingFaceEmbedding
    from ragcore.embeddings.mock import MockEmbedding as MockEmbedding
    from ragcore.embeddings.ollama import OllamaEmbedding as OllamaEmbedding
    from ragcore.embeddings.openai import OpenAIEmbedding as OpenAIEmbedding
    from ragcore.embeddings.similarity import SimilarityMode as SimilarityMode
    from ragcore.embeddings.sparse import BaseSparseEmbedding as BaseSparseEmbedding
    from ragcore.embeddings.sparse import MockSparseEmbedding as MockSparseEmbedding
    from ragcore.settings import resolve_embed_model as resolve_embed_model
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
