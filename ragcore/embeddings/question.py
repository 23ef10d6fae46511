"""The vector of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.schema import QueryBundle

if TYPE_CHECKING:
    from ragcore.schema import Vector


def query_vector(embedder: Embedder, query: QueryBundle) -> Vector:
    """The bundle's own vector, else the vector of the question, or the mean of those of its texts, embedded together."""
    if query.embedding is not None:
        return query.embedding
    texts = query.embedding_strs or (query.query_str,)
    if len(texts) == 1:
        return embedder.embed_query(texts[0])
    mean: Vector = np.mean(embedder.embed_passages(texts), axis=0, dtype=np.float32)
    return mean
