"""Passages whose meaning is near the question's, by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.schema import Vector


class VectorIndexRetriever(BaseRetriever):
    """`document_ids` limits it to these documents; None means all. The score is the cosine, -1 to 1."""

    name = "vector"

    def __init__(
        self, store: Store, embedder: Embedder, similarity_top_k: int = 2, document_ids: Collection[str] | None = None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._top_k = similarity_top_k
        self._document_ids = document_ids

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        vector = query_vector(self._embedder, query)
        return self._store.search(vector, self._top_k, document_ids=self._document_ids)


def query_vector(embedder: Embedder, query: QueryBundle) -> Vector:
    """The bundle's own vector, else the vector of the question, or the mean of those of its texts, embedded together."""
    if query.embedding is not None:
        return query.embedding
    texts = query.embedding_strs
    if len(texts) == 1:
        return embedder.embed_query(texts[0])
    mean: Vector = np.mean(embedder.embed_passages(texts), axis=0, dtype=np.float32)
    return mean
