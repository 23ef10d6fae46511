"""Each passage with those before or after it in its document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.postprocessor.neighbour_links import reader_of, with_neighbours
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store


class PrevNextNodePostprocessor(BaseNodePostprocessor):
    """Adds up to `num_nodes` passages before, after, or on both sides of each; every passage comes once, in reading order.

    `docstore` is what the passages are read from: a document store or a vector store. What is added has no score.
    """

    def __init__(
        self, docstore: Store | DocumentStore, num_nodes: int = 1, mode: Literal["next", "previous", "both"] = "next"
    ) -> None:
        if mode not in ("next", "previous", "both"):
            raise ValueError(f"mode must be next, previous or both, not {mode!r}")
        self._read = reader_of(docstore)
        self._count = num_nodes
        self._mode = mode

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        return with_neighbours([(hit, self._mode) for hit in nodes], self._count, self._read)
