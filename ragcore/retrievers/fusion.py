"""One list of passages from those of several retrievers.

reciprocal_rerank is reciprocal rank fusion (Cormack et al. 2009, https://doi.org/10.1145/1571941.1572114) with ranks from 0;
the others add up the lists' scores after bringing them to one scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle

FusionMode: TypeAlias = Literal["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]

RANK_OFFSET = 60.0


class QueryFusionRetriever(BaseRetriever):
    """Asks every retriever and fuses what they find; see `fuse` for the modes and weights."""

    name = "fusion"

    def __init__(
        self,
        retrievers: Sequence[BaseRetriever],
        similarity_top_k: int = 2,
        mode: FusionMode = "reciprocal_rerank",
        retriever_weights: Sequence[float] | None = None,
    ) -> None:
        self._retrievers = tuple(retrievers)
        self._top_k = similarity_top_k
        self._mode = mode
        self._weights = checked_weights(retriever_weights, len(self._retrievers))

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        lists = [retriever.retrieve(query) for retriever in self._retrievers]
        return fuse(lists, self._mode, self._weights)[: max(self._top_k, 0)]


def fuse(lists: Sequence[Sequence[NodeWithScore]], mode: FusionMode, weights: Sequence[float]) -> list[NodeWithScore]:
    """The passages of all lists, each once, best first; ties in the order in which they were found.

    `weights` are shares that add up to 1. Scores: reciprocal_rerank sums weight * len(lists) / (rank + 60), rank from 0;
    relative_score sums weight * the score brought to 0..1 between the list's lowest and highest; dist_based_score the same
    between three standard deviations below and above the list's mean; simple takes the highest score and knows no weights.
    """
    nodes = {hit.node.id_: hit.node for hits in lists for hit in reversed(hits)}
    scores: dict[str, float] = {}
    for hits, weight in zip(lists, weights, strict=True):
        if mode == "reciprocal_rerank":
            for rank, hit in enumerate(hits):
                id_ = hit.node.id_
                scores[id_] = scores.get(id_, 0.0) + weight * len(lists) / (rank + RANK_OFFSET)
        elif mode == "simple":
            for hit in hits:
                scores[hit.node.id_] = max(scores.get(hit.node.id_, -math.inf), hit.get_score())
        else:
            scale = _scale(hits, mode)
            for hit in hits:
                scores[hit.node.id_] = scores.get(hit.node.id_, 0.0) + weight * scale(hit.get_score())
    return [NodeWithScore(nodes[id_], score) for id_, score in sorted(scores.items(), key=lambda item: -item[1])]


def checked_weights(weights: Sequence[float] | None, count: int) -> tuple[float, ...]:
    """As shares that add up to 1; equal ones for None. ValueError for another number of them, or none above 0."""
    if weights is None:
        return (1.0 / count,) * count if count else ()
    if len(weights) != count or min(weights, default=0.0) < 0 or not sum(weights) > 0:
        raise ValueError(f"{count} weights that are not negative and not all 0 are needed, not {list(weights)}")
    return tuple(weight / sum(weights) for weight in weights)


def _scale(hits: Sequence[NodeWithScore], mode: FusionMode) -> Callable[[float], float]:
    scores = [hit.get_score() for hit in hits]
    if not scores:
        return lambda score: score
    low, high = min(scores), max(scores)
    if mode == "dist_based_score":
        mean = sum(scores) / len(scores)
        deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
        low, high = mean - 3 * deviation, mean + 3 * deviation
    if high <= low:  # one passage, or all alike
        return lambda score: 1.0 if score > 0 else 0.0
    return lambda score: (score - low) / (high - low)
