"""Newer passages before older ones, by a date in their metadata or by their last use."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import Metadata, MetadataMode, NodeWithScore, QueryBundle
from ragcore.settings import embedder


class FixedRecencyPostprocessor(BaseNodePostprocessor):
    """The `top_k` newest, by the date in the metadata under `date_key`, as `written_at` reads it.

    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode(day, metadata={"date": day})) for day in ("2024-05-01", "2025-05-01")]
    >>> [hit.text for hit in FixedRecencyPostprocessor().postprocess_nodes(hits, query_str="What is new?")]
    ['2025-05-01']
    """

    def __init__(self, top_k: int = 1, date_key: str = "date") -> None:
        self._top_k = top_k
        self._date_key = date_key

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        return _newest_first(nodes, self._date_key)[: max(self._top_k, 0)]


class EmbeddingRecencyPostprocessor(BaseNodePostprocessor):
    """The newest first, without those that nearly repeat a newer one that stays: cosine above
    `similarity_cutoff`.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.schema import TextNode
    >>> hits = [
    ...     NodeWithScore(TextNode("A boat", metadata={"date": day})) for day in ("2024-05-01", "2025-05-01")
    ... ]
    >>> newest = EmbeddingRecencyPostprocessor(HashEmbedding()).postprocess_nodes(
    ...     hits, query_str="What is new?"
    ... )
    >>> [hit.metadata["date"] for hit in newest]
    ['2025-05-01']
    """

    def __init__(
        self, embed_model: Embedder | None = None, date_key: str = "date", similarity_cutoff: float = 0.7
    ) -> None:
        self._embedder = embedder(embed_model)
        self._date_key = date_key
        self._cutoff = similarity_cutoff

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        ordered = _newest_first(nodes, self._date_key)
        if not ordered:
            return []
        vectors = self._embedder.embed_passages([hit.get_content(MetadataMode.EMBED) for hit in ordered])
        repeats = vectors @ vectors.T > self._cutoff  # (n, n)
        stay = np.ones(len(ordered), bool)
        for row in range(len(ordered)):
            if stay[row]:
                stay[row + 1 :] &= ~repeats[row, row + 1 :]
        return [hit for hit, stays in zip(ordered, stay, strict=True) if stays]


class TimeWeightedPostprocessor(BaseNodePostprocessor):
    """The `top_k` best by score + (1 - time_decay) ** hours since the passage was last among the best.

    `last_accessed` has that time (seconds since the epoch) by passage id. For a new passage it is in the
    metadata, under `last_accessed_key`, or it is now. Without `time_access_refresh` it does not change.
    Threads may share the object.

    >>> from ragcore.schema import TextNode
    >>> old, new = (
    ...     TextNode("Old.", metadata={"__last_accessed__": 0}),
    ...     TextNode("New.", metadata={"__last_accessed__": 86400}),
    ... )
    >>> hits = [NodeWithScore(old, 0.5), NodeWithScore(new, 0.4)]
    >>> TimeWeightedPostprocessor(time_decay=0.9, clock=lambda: 86400).postprocess_nodes(hits)[0].text
    'New.'
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

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        now = self._clock()
        with self._lock:
            weighed = [NodeWithScore(hit.node, hit.get_score() + self._freshness(hit, now)) for hit in nodes]
            best = sorted(weighed, key=lambda hit: -hit.get_score())[: max(self._top_k, 0)]
            if self._refresh:
                self.last_accessed |= {hit.node_id: now for hit in best}
        return best

    def _freshness(self, hit: NodeWithScore, now: float) -> float:
        stored = hit.metadata.get(self._key)
        used = self.last_accessed.get(hit.node_id, stored if isinstance(stored, int | float) else now)
        return float((1 - self._decay) ** (max(now - used, 0.0) / 3600))


def _newest_first(nodes: Sequence[NodeWithScore], key: str) -> list[NodeWithScore]:
    """Passages without a date that can be read come last; passages of one date stay in their order."""
    return sorted(nodes, key=lambda hit: -written_at(hit.metadata, key))


def written_at(metadata: Metadata, key: str) -> float:
    """Seconds since the epoch; minus infinity without a date that can be read.

    Reads such seconds as a number, ISO 8601 ("2024-05-01", "2024-05-01T12:00:00Z"), the dates of mails, and
    the formats of `_FORMATS`; not "05/01/2024", which is a day in May or in January. A time without a zone is
    UTC.
    """
    value = metadata.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= sys.float_info.max else -math.inf
    for read in (datetime.fromisoformat, parsedate_to_datetime, *_FORMATS):
        try:
            date = read(str(value).strip())
        except (ValueError, OverflowError):  # another format, or a zone that does not exist
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return -math.inf


def _format(text: str) -> Callable[[str], datetime]:
    return lambda value: datetime.strptime(value, text)


_FORMATS = tuple(
    map(_format, ("%Y", "%Y-%m", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y"))
)
