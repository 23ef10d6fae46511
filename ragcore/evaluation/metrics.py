"""Metrics of a ranked list of passages against the expected passages.

All scores are 0 to 1, higher is better, and 0 if nothing was retrieved. A passage counts once, at its first
rank in the list. Relevance is binary, and the expected ids have no order. The formulas are those of Manning,
Raghavan & Schütze 2008, Introduction to Information Retrieval, chapter 8 (https://nlp.stanford.edu/IR-book/),
unless a class names another source.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class RetrievalMetricResult:
    """The value of a metric, 0 to 1.

    >>> float(RetrievalMetricResult(0.5))
    0.5
    """

    score: float

    def __float__(self) -> float:
        return self.score


class BaseRetrievalMetric(ABC):
    """Subclasses define `metric_name` and `_score`.

    >>> MRR().compute(expected_ids=["b"], retrieved_ids=["a", "b"]).score
    0.5
    """

    metric_name: ClassVar[str]

    def compute(self, *, expected_ids: Sequence[str], retrieved_ids: Sequence[str]) -> RetrievalMetricResult:
        """`retrieved_ids` are best first. ValueError without `expected_ids`."""
        if not expected_ids:
            raise ValueError("a question without expected ids cannot be scored")
        expected = set(expected_ids)
        first = {id_: place for place, id_ in reversed(list(enumerate(retrieved_ids, 1)))}
        hits = sorted(place for id_, place in first.items() if id_ in expected)
        return RetrievalMetricResult(self._score(hits, len(expected), len(first)))

    @abstractmethod
    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        """`hits` are the ranks of the expected passages, ascending from 1; the others count different
        passages."""


@dataclass
class HitRate(BaseRetrievalMetric):
    """1 if any expected passage was retrieved, else 0 (success at k). Granular: the share of them that was.

    >>> HitRate().compute(expected_ids=["a", "b"], retrieved_ids=["b", "c"]).score
    1.0
    """

    metric_name: ClassVar[str] = "hit_rate"
    use_granular_hit_rate: bool = False

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        return len(hits) / expected if self.use_granular_hit_rate else float(bool(hits))


@dataclass
class MRR(BaseRetrievalMetric):
    """1 / the rank of the first hit (reciprocal rank, Voorhees 1999, The TREC-8 Question Answering Track
    Report).

    Granular: the mean of 1 / rank over all hits.

    >>> MRR().compute(expected_ids=["b"], retrieved_ids=["a", "b"]).score
    0.5
    """

    metric_name: ClassVar[str] = "mrr"
    use_granular_mrr: bool = False

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        counted = hits if self.use_granular_mrr else hits[:1]
        return sum(1 / place for place in counted) / max(len(counted), 1)


@dataclass
class Precision(BaseRetrievalMetric):
    """The share of the retrieved passages that were expected (precision at k, section 8.4).

    >>> Precision().compute(expected_ids=["a", "b"], retrieved_ids=["b", "c"]).score
    0.5
    """

    metric_name: ClassVar[str] = "precision"

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        return len(hits) / max(retrieved, 1)


@dataclass
class Recall(BaseRetrievalMetric):
    """The share of the expected passages that were retrieved (recall at k, section 8.3).

    >>> Recall().compute(expected_ids=["a", "b"], retrieved_ids=["b", "c"]).score
    0.5
    """

    metric_name: ClassVar[str] = "recall"

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        return len(hits) / expected


@dataclass
class AveragePrecision(BaseRetrievalMetric):
    """The sum of the precision at each hit, divided by the number of expected passages (section 8.4).

    >>> AveragePrecision().compute(expected_ids=["a", "b"], retrieved_ids=["b", "c", "a"]).score
    0.8333333333333333
    """

    metric_name: ClassVar[str] = "ap"

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        return sum(number / place for number, place in enumerate(hits, 1)) / expected


@dataclass
class NDCG(BaseRetrievalMetric):
    """Discounted cumulative gain, divided by that of a list that begins with all expected passages (Järvelin
    & Kekäläinen 2002, https://doi.org/10.1145/582415.582418): each hit counts gain / log2(rank + 1).

    The gain of a relevance r is r, or 2 ** r - 1 in mode "exponential" (Burges et al. 2005,
    https://doi.org/10.1145/1102351.1102363). With binary relevance both give the same.

    >>> NDCG().compute(expected_ids=["a", "b"], retrieved_ids=["b", "a"]).score
    1.0
    """

    metric_name: ClassVar[str] = "ndcg"
    mode: Literal["linear", "exponential"] = "linear"

    def __post_init__(self) -> None:
        if self.mode not in ("linear", "exponential"):
            raise ValueError(f"mode must be linear or exponential, not {self.mode!r}")

    def _score(self, hits: Sequence[int], expected: int, retrieved: int) -> float:
        return _gain(hits) / _gain(range(1, expected + 1))


def _gain(places: Sequence[int]) -> float:
    return sum(1 / math.log2(place + 1) for place in places)


METRICS: dict[str, type[BaseRetrievalMetric]] = {
    kind.metric_name: kind for kind in (HitRate, MRR, Precision, Recall, AveragePrecision, NDCG)
}


def resolve_metrics(names: Sequence[str]) -> list[type[BaseRetrievalMetric]]:
    """The classes of the metrics with these names. ValueError for an unknown name.

    >>> [metric.__name__ for metric in resolve_metrics(["mrr", "hit_rate"])]
    ['MRR', 'HitRate']
    """
    if unknown := [name for name in names if name not in METRICS]:
        raise ValueError(f"there is no metric {unknown[0]!r}; there are {', '.join(METRICS)}")
    return [METRICS[name] for name in names]
