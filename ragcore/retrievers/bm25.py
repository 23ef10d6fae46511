"""Passages that share words with the question, by BM25 (Robertson & Zaragoza 2009)."""

from __future__ import annotations

from collections.abc import Collection

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Scope, Store
from ragcore.vector_stores.filters import MetadataFilters


class BM25Retriever(BaseRetriever):
    """`document_ids`, `node_ids` and `filters` say which passages may be found; None means all.

    The score is above 0 and has no upper limit.
    """

    name = "bm25"

    def __init__(
        self,
        store: Store,
        similarity_top_k: int = 2,
        document_ids: Collection[str] | None = None,
        *,
        node_ids: Collection[str] | None = None,
        filters: MetadataFilters | None = None,
    ) -> None:
        self._store = store
        self.similarity_top_k = similarity_top_k
        self._scope = Scope(document_ids, node_ids, filters)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return self._store.keyword_search(query.query_str, self.similarity_top_k, self._scope)
