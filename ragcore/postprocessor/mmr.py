"""Passages that repeat each other less: maximal marginal relevance (Carbonell & Goldstein 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.text.salience import diverse
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.validation import unit


class DiversePostprocessor(BaseNodePostprocessor):
    """`top_n` passages, each with the best score minus its likeness to those before it, see
    `salience.diverse`.

    Scores stay. The vectors are those of `store`; a passage without one is like no other.
    """

    def __init__(self, store: Store, top_n: int) -> None:
        self._store = store
        self._top_n = top_n

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        known = {node.id_: node.embedding for node in self._store.nodes([hit.node.id_ for hit in nodes])}
        vectors = [known.get(hit.node.id_) for hit in nodes]
        width = next((len(vector) for vector in vectors if vector is not None), 1)
        if not nodes:
            return []
        zero = np.zeros(width, np.float32)
        rows = np.stack([zero if vector is None else unit(vector) for vector in vectors])  # (n, d)
        scores = np.array([hit.score or 0.0 for hit in nodes])
        return [nodes[row] for row in diverse(scores, rows, [0] * len(nodes), {0: self._top_n})]
