"""Every passage of the chosen documents, whatever the question: for answers that must not leave anything out."""

from __future__ import annotations

from collections.abc import Collection

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Store


class AllPassages(BaseRetriever):
    """Each passage once, without a score: documents oldest first, reading order inside. `document_ids`: None is all of them."""

    name = "everything"

    def __init__(self, store: Store, document_ids: Collection[str] | None = None) -> None:
        self._store = store
        self._document_ids = None if document_ids is None else frozenset(document_ids)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        wanted = self._document_ids
        if wanted is None:
            found = [NodeWithScore(node) for node in self._store.passages()]
        else:
            there = [document.id_ for document in self._store.documents() if document.id_ in wanted]
            found = [NodeWithScore(node) for id_ in there for node in self._store.passages(id_)]
        step.note(found=[{"id": hit.node.id_} for hit in found])
        return found
