"""Passages of a vector index: the nearest to the question, or the best by another ranking of their
vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol, get_args, runtime_checkable

from ragcore.embeddings.base import Embedder, query_vector
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.hybrid import POOL, HybridRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import embedder
from ragcore.vector_stores.base import Scope, Store
from ragcore.vector_stores.filters import MetadataFilters
from ragcore.vector_stores.query_modes import VectorStoreQueryMode
from ragcore.vector_stores.ranking import (
    LEARNERS,
    MMR_THRESHOLD,
    Similarity,
    mmr,
    nearest_by,
    rank_by_classifier,
)


@runtime_checkable
class VectorIndex(Protocol):
    """A store of passages, and the embedder of their vectors."""

    @property
    def store(self) -> Store: ...

    @property
    def embed_model(self) -> Embedder: ...


class VectorIndexRetriever(BaseRetriever):
    """The `similarity_top_k` best passages of an index, or of a store with the embedder of its vectors.

    `document_ids` (or `doc_ids`), `node_ids` and `filters` restrict the search; None means all, an empty
    collection none. The score depends on `vector_store_query_mode`:

    default: `similarity`, "cosine" (-1 to 1), "dot_product", or "euclidean" (minus the distance). mmr: near
    but unlike each other, see `ranking.mmr`; `mmr_threshold` may also be in `vector_store_kwargs`, default
    0.5. svm, logistic_regression, linear_regression: the value of a classifier, see
    `ranking.rank_by_classifier`. sparse, text_search: BM25 alone; `sparse_top_k` goes before
    `similarity_top_k`. hybrid: cosine and BM25 together, see HybridRetriever; `alpha` is the share of the
    cosine, 0 to 1, and `sparse_top_k` the number of candidates of each side; `hybrid_top_k` goes before
    `similarity_top_k`.

    ValueError for an invalid mode or argument.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> from ragcore.schema import TextNode
    >>> nodes = [TextNode("The valve is bronze."), TextNode("The rope is steel.")]
    >>> index = VectorStoreIndex(nodes, embed_model=HashEmbedding())
    >>> retriever = VectorIndexRetriever(index, similarity_top_k=1, vector_store_query_mode="mmr")
    >>> retriever.retrieve("steel rope")[0].text
    'The rope is steel.'
    """

    name = "vector"

    def __init__(
        self,
        index: VectorIndex | Store,
        embed_model: Embedder | None = None,
        similarity_top_k: int = 2,
        document_ids: Collection[str] | None = None,
        *,
        vector_store_query_mode: VectorStoreQueryMode | str = VectorStoreQueryMode.DEFAULT,
        similarity: Similarity = "cosine",
        filters: MetadataFilters | None = None,
        node_ids: Collection[str] | None = None,
        doc_ids: Collection[str] | None = None,
        alpha: float | None = None,
        mmr_threshold: float | None = None,
        vector_store_kwargs: Mapping[str, float] | None = None,
        sparse_top_k: int | None = None,
        hybrid_top_k: int | None = None,
    ) -> None:
        self._mode = VectorStoreQueryMode(vector_store_query_mode)
        if self._mode is VectorStoreQueryMode.SEMANTIC_HYBRID:
            raise ValueError(
                'no store here has the mode "semantic_hybrid"; "hybrid" with a reranker is like it'
            )
        if similarity not in get_args(Similarity):
            raise ValueError(f"similarity must be one of {get_args(Similarity)}, not {similarity!r}")
        if document_ids is not None and doc_ids is not None:
            raise ValueError("document_ids and doc_ids are two names of one argument; give one of them")
        if alpha is not None and not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be from 0 to 1, not {alpha}")
        if isinstance(index, VectorIndex):
            self._store, self._embedder = index.store, embed_model or index.embed_model
        elif hasattr(index, "search"):
            self._store, self._embedder = index, embedder(embed_model)
        else:
            raise ValueError(
                f"a {type(index).__name__} has no vectors to search; give a VectorStoreIndex, or a store"
            )
        hybrid = self._mode is VectorStoreQueryMode.HYBRID
        self.similarity_top_k = hybrid_top_k if hybrid and hybrid_top_k is not None else similarity_top_k
        self._similarity: Similarity = similarity
        self._scope = Scope(doc_ids if document_ids is None else document_ids, node_ids, filters)
        self._threshold = _threshold(mmr_threshold, vector_store_kwargs or {})
        self._alpha = alpha
        self._sparse_top_k = sparse_top_k

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        if self._mode is VectorStoreQueryMode.DEFAULT and self._similarity == "cosine":
            vector = query_vector(self._embedder, query)
            return self._store.search(vector, self.similarity_top_k, self._scope)
        step.note(mode=self._mode.value)
        if self._mode in (VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH):
            count = self.similarity_top_k if self._sparse_top_k is None else self._sparse_top_k
            return self._store.keyword_search(query.query_str, count, self._scope)
        if self._mode is VectorStoreQueryMode.HYBRID:
            return self._hybrid()._retrieve(query, step)
        return self._rank(query)

    def _hybrid(self) -> HybridRetriever:
        return HybridRetriever(
            self._store,
            self._embedder,
            self.similarity_top_k,
            self._scope,
            pool=POOL if self._sparse_top_k is None else self._sparse_top_k,
            cosine_share=self._alpha,
        )

    def _rank(self, query: QueryBundle) -> list[NodeWithScore]:
        candidates = self._store.candidates(self._scope)
        if not candidates.ids:
            return []
        vector = query_vector(self._embedder, query)
        if self._mode is VectorStoreQueryMode.MMR:
            places, scores = mmr(candidates, vector, self.similarity_top_k, self._threshold, self._similarity)
        elif self._mode in LEARNERS:
            places, scores = rank_by_classifier(candidates, vector, self.similarity_top_k, self._mode)
        else:
            places, scores = nearest_by(candidates, vector, self.similarity_top_k, self._similarity)
        score = {candidates.ids[place]: float(value) for place, value in zip(places, scores, strict=True)}
        return [
            NodeWithScore(replace(node, embedding=None), score[node.id_])
            for node in self._store.nodes(list(score))
        ]


def _threshold(threshold: float | None, options: Mapping[str, float]) -> float:
    if unknown := options.keys() - {"mmr_threshold"}:
        raise ValueError(f"vector_store_kwargs may hold mmr_threshold, and nothing like {sorted(unknown)}")
    threshold = options.get("mmr_threshold", MMR_THRESHOLD) if threshold is None else threshold
    if not 0 <= threshold <= 1:
        raise ValueError(f"mmr_threshold must be from 0 to 1, not {threshold}")
    return threshold
