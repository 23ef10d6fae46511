"""The same passages for every question."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.vector_stores.base import Store


class ChosenPassages(BaseRetriever):
    """These passages of a store, in this order, without a score. The span notes missing ids as `gone`."""

    name = "chosen"

    def __init__(self, store: Store, node_ids: Sequence[str]) -> None:
        self._store = store
        self._node_ids = list(dict.fromkeys(node_ids))

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        nodes = self._store.nodes(self._node_ids)
        existing = {node.id_ for node in nodes}
        step.note(gone=[id_ for id_ in self._node_ids if id_ not in existing])
        return [NodeWithScore(node) for node in nodes]
