"""Passages by meaning and by words together: what vectors miss, a name or a number, words find, and the reverse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.observe import Span, span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.fusion import FusionMode, checked_weights, fuse
from ragcore.retrievers.vector import query_vector
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.schema import Vector

POOL = 50  # candidates from each side
MODE: FusionMode = "relative_score"
WEIGHTS = (0.5, 0.5)  # vectors, words


class HybridRetriever(BaseRetriever):
    """The `top_k` best of the `pool` best by cosine and the `pool` best by BM25, fused as `fuse` says.

    The span "retrieve" holds `found` and `next_best` (as many again, that just missed), each a list of {"id", "score",
    "cosine", "bm25"}; `bm25` is 0.0 for a passage without a word of the question, None for one below the pool.
    """

    name = "hybrid"

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        top_k: int,
        *,
        document_ids: Collection[str] | None = None,
        pool: int = POOL,
        mode: FusionMode = MODE,
        weights: Sequence[float] = WEIGHTS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._top_k = max(top_k, 0)
        self._document_ids = document_ids
        self._pool = max(pool, 2 * self._top_k)
        self._mode: FusionMode = mode
        self._weights = checked_weights(weights, 2)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        with span("embed_query"):
            vector = query_vector(self._embedder, query)
        near = self._store.search(vector, self._pool, document_ids=self._document_ids)
        sharing = self._store.keyword_search(query.query_str, self._pool, document_ids=self._document_ids)
        fused = fuse([near, sharing], self._mode, self._weights)
        facts = self._facts(fused[: 2 * self._top_k], vector, near, sharing)
        step.note(found=facts[: self._top_k], next_best=facts[self._top_k :], mode=self._mode, weights=list(self._weights))
        return fused[: self._top_k]

    def _facts(
        self,
        hits: Sequence[NodeWithScore],
        vector: Vector,
        near: Sequence[NodeWithScore],
        sharing: Sequence[NodeWithScore],
    ) -> list[dict[str, Any]]:
        cosines = {hit.node.id_: hit.score for hit in near}
        cosines |= self._cosines([hit.node.id_ for hit in hits if hit.node.id_ not in cosines], vector)
        bm25 = {hit.node.id_: hit.score for hit in sharing}
        unknown = None if len(sharing) == self._pool else 0.0
        return [
            {
                "id": hit.node.id_,
                "score": hit.score,
                "cosine": cosines.get(hit.node.id_),
                "bm25": bm25.get(hit.node.id_, unknown),
            }
            for hit in hits
        ]

    def _cosines(self, ids: Sequence[str], vector: Vector) -> dict[str, float | None]:
        """Those of passages that only the words found."""
        length = float(np.linalg.norm(vector)) or 1.0
        return {
            node.id_: float(node.embedding @ vector) / length
            for node in (self._store.nodes(ids) if ids else [])
            if node.embedding is not None
        }


def hybrid_retriever(
    store: Store, embedder: Embedder, top_k: int, document_ids: Collection[str] | None = None, pool: int = POOL
) -> HybridRetriever:
    """The retriever that the application uses: vectors and words, fused in the way that was measured to be best."""
    return HybridRetriever(store, embedder, top_k, document_ids=document_ids, pool=pool)
