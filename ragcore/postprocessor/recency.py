"""Newer passages before older ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.postprocessor.dates import newest_first
from ragcore.schema import MetadataMode, NodeWithScore, QueryBundle
from ragcore.settings import embedder


class FixedRecencyPostprocessor(BaseNodePostprocessor):
    """The `top_k` newest, by the date in the metadata under `date_key`; see `dates.written` for what can be read."""

    def __init__(self, top_k: int = 1, date_key: str = "date") -> None:
        self._top_k = top_k
        self._date_key = date_key

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        return newest_first(nodes, self._date_key)[: max(self._top_k, 0)]


class EmbeddingRecencyPostprocessor(BaseNodePostprocessor):
    """The newest first, without those that say nearly the same as a newer one that stays: cosine above `similarity_cutoff`."""

    def __init__(self, embed_model: Embedder | None = None, date_key: str = "date", similarity_cutoff: float = 0.7) -> None:
        self._embedder = embedder(embed_model)
        self._date_key = date_key
        self._cutoff = similarity_cutoff

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        ordered = newest_first(nodes, self._date_key)
        if not ordered:
            return []
        vectors = self._embedder.embed_passages([hit.get_content(MetadataMode.EMBED) for hit in ordered])
        repeats = vectors @ vectors.T > self._cutoff  # (n, n)
        stay = np.ones(len(ordered), bool)
        for row in range(len(ordered)):
            if stay[row]:
                stay[row + 1 :] &= ~repeats[row, row + 1 :]
        return [hit for hit, stays in zip(ordered, stay, strict=True) if stays]
