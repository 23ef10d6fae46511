"""Every passage of some documents, whatever the question: for answers that must be complete."""

from __future__ import annotations

from collections.abc import Collection

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Store


class AllPassages(BaseRetriever):
    """Each passage once, without a score: documents oldest first, in reading order. `document_ids`: None is all of them."""

    name = "everything"

    def __init__(self, store: Store, document_ids: Collection[str] | None = None) -> None:
        self._store = store
        self._document_ids = None if document_ids is None else frozenset(document_ids)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        ids = self._document_ids
        if ids is None:
            nodes = list(self._store.passages())
        else:
            existing = [document.id_ for document in self._store.documents() if document.id_ in ids]
            nodes = [node for id_ in existing for node in self._store.passages(id_)]
        step.note(found=[{"id": node.id_} for node in nodes])
        return [NodeWithScore(node) for node in nodes]
