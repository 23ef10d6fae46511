"""Passages that share words with the question, by BM25 (Robertson & Zaragoza 2009)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragcore.ingestion.document_splits import group_by_document
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Scope, Store
from ragcore.vector_stores.filters import MetadataFilters
from ragcore.vector_stores.memory import MemoryStore

if TYPE_CHECKING:
    from ragcore.indices.base import BaseIndex


class BM25Retriever(BaseRetriever):
    """`document_ids`, `node_ids` and `filters` restrict the search; None means all.

    The score is above 0 and has no upper limit.

    >>> nodes = [TextNode("The valve is bronze."), TextNode("The rope is steel.")]
    >>> BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=1).retrieve("Which rope?")[0].text
    'The rope is steel.'
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

    @classmethod
    def from_defaults(
        cls,
        index: BaseIndex | None = None,
        nodes: Sequence[TextNode] | None = None,
        docstore: DocumentStore | None = None,
        similarity_top_k: int = 2,
        *,
        filters: MetadataFilters | None = None,
    ) -> BM25Retriever:
        """Over the present passages of an index, a list or a document store. ValueError unless there is
        exactly one of them."""
        if [index, nodes, docstore].count(None) != 2:
            raise ValueError("give one of index, nodes and docstore, whose passages are to be found")
        if index is not None:
            ids = [id_ for info in index.ref_doc_info.values() for id_ in info.node_ids]
            nodes = index.docstore.get_nodes(ids, raise_error=False)
        elif docstore is not None:
            nodes = [item for item in docstore.docs.values() if isinstance(item, TextNode)]
        store = MemoryStore()
        for split in group_by_document(nodes or (), ()):
            # a store requires a vector for each passage; nothing compares these
            store.upsert(
                split.document, [node.with_embedding(np.ones(1, np.float32)) for node in split.nodes]
            )
        return cls(store, similarity_top_k, filters=filters)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return self._store.keyword_search(query.query_str, self.similarity_top_k, self._scope)
