"""Retrievers of passages that do not depend on the question."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.base import Store


class ChosenPassages(BaseRetriever):
    """These passages of a store, in this order, with these scores. The span notes missing ids as `gone`.

    Without `scores`, or with fewer of them, a passage has none.
    """

    name = "chosen"

    def __init__(self, store: Store, node_ids: Sequence[str], scores: Sequence[float | None] = ()) -> None:
        self._store = store
        self._node_ids = list(dict.fromkeys(node_ids))
        self._scores = dict(zip(node_ids, scores, strict=False))

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        nodes = self._store.nodes(self._node_ids)
        existing = {node.id_ for node in nodes}
        step.note(gone=[id_ for id_ in self._node_ids if id_ not in existing])
        return [NodeWithScore(node, self._scores.get(node.id_)) for node in nodes]


class AllPassages(BaseRetriever):
    """Each passage once, without a score: documents oldest first, in reading order. `document_ids`: None is
    all of them."""

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


class GivenPassages(BaseRetriever):
    """These passages, each without a score.

    >>> from ragcore.schema import TextNode
    >>> [hit.text for hit in GivenPassages([TextNode("A boat is red.")]).retrieve("Which colour?")]
    ['A boat is red.']
    """

    name = "given"

    def __init__(self, nodes: Sequence[TextNode]) -> None:
        self._nodes = list(nodes)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(node) for node in self._nodes]
