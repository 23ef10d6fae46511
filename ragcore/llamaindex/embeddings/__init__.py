"""Embedding models, and sparse ones."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.embeddings import (
        BaseEmbedding,
        Embedder,
        HashEmbedding,
        HuggingFaceEmbedding,
        MockEmbedding,
        OllamaEmbedding,
        OpenAIEmbedding,
        SimilarityMode,
        embed_nodes,
        groups_by_length,
    )
    from ragcore.llamaindex.embeddings.sparse import BaseSparseEmbedding, MockSparseEmbedding
    from ragcore.llamaindex.helpers import resolve_embed_model
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
