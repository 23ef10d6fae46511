"""Passages that were used lately before others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle


class TimeWeightedPostprocessor(BaseNodePostprocessor):
    """The `top_k` best by score + (1 - time_decay) ** hours since the passage was last among the best.

    When that was, this object remembers, as long as it lives, in `last_accessed` (seconds since the epoch by passage id); of a
    passage that it has not seen, the metadata may say it under `last_accessed_key`, and else it counts as just used. Nothing
    is remembered where `time_access_refresh` is false. `clock` gives the time. Threads may share it.
    """

    def __init__(
        self,
        time_decay: float = 0.99,
        last_accessed_key: str = "__last_accessed__",
        time_access_refresh: bool = True,
        top_k: int = 1,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not 0 <= time_decay <= 1:
            raise ValueError(f"time_decay must be from 0 to 1, not {time_decay}")
        self._decay = time_decay
        self._key = last_accessed_key
        self._refresh = time_access_refresh
        self._top_k = top_k
        self._clock = clock
        self._lock = threading.Lock()
        self.last_accessed: dict[str, float] = {}

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        now = self._clock()
        with self._lock:
            weighed = [NodeWithScore(hit.node, hit.get_score() + self._freshness(hit, now)) for hit in nodes]
            best = sorted(weighed, key=lambda hit: -hit.get_score())[: max(self._top_k, 0)]
            if self._refresh:
                self.last_accessed |= {hit.node_id: now for hit in best}
        return best

    def _freshness(self, hit: NodeWithScore, now: float) -> float:
        told = hit.metadata.get(self._key)
        used = self.last_accessed.get(hit.node_id, told if isinstance(told, int | float) else now)
        return float((1 - self._decay) ** (max(now - used, 0.0) / 3600))
