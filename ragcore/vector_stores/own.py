"""A script author's vector store, as an index uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragcore.schema import Document, NodeWithScore, TextNode, Vector
from ragcore.vector_stores.base import EVERYTHING, Scope
from ragcore.vector_stores.memory import MemoryStore
from ragcore.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult


class OwnStore(MemoryStore):
    """Searches `own`. Documents, passages and words that were added by this process are in memory, too.

    Of passages that `own` had before, only those in its answers are known.
    """

    def __init__(self, own: Any) -> None:
        super().__init__()
        self.own = own

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        known = document.id_ in self._entries
        count = super().upsert(document, nodes)
        if known:
            self.own.delete(document.id_)
        self.own.add(self.nodes(self.passage_ids(document.id_)))
        return count

    def delete(self, document_id: str) -> int:
        count = super().delete(document_id)
        self.own.delete(document_id)
        return count

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        """The store's answer without passages outside the scope: a simple store may ignore a part of the
        query."""
        if top_k <= 0:
            return []
        request = VectorStoreQuery(
            query_embedding=query,
            similarity_top_k=top_k,
            doc_ids=None if scope.document_ids is None else list(scope.document_ids),
            node_ids=None if scope.node_ids is None else list(scope.node_ids),
            filters=scope.filters,
        )
        return [hit for hit in self._hits(self.own.query(request)) if _is_within(hit.node, scope)][:top_k]

    def _hits(self, result: VectorStoreQueryResult) -> list[NodeWithScore]:
        if result.nodes is None:
            ids = list(result.ids or ())
            known = {node.id_: node for node in self.nodes(ids)}
            nodes = [known.get(id_) for id_ in ids]
        else:
            nodes = [node.copy() for node in result.nodes]
        scores = list(result.similarities) if result.similarities is not None else [None] * len(nodes)
        hits = []
        for node, score in zip(nodes, scores, strict=True):
            if node is not None:
                node.embedding = None
                hits.append(NodeWithScore(node, None if score is None else float(score)))
        return hits


def _is_within(node: TextNode, scope: Scope) -> bool:
    return (
        (scope.document_ids is None or node.ref_doc_id in scope.document_ids)
        and (scope.node_ids is None or node.id_ in scope.node_ids)
        and (scope.filters is None or scope.filters.match(node.metadata))
    )
