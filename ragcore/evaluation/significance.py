"""The confidence interval of a mean, and a test whether two settings differ. A fixed seed makes results reproducible.

Intervals are 95% percentile bootstrap intervals (Efron 1979, https://doi.org/10.1214/aos/1176344552) over questions. The test
of a difference flips the signs of the questions' differences at random (Fisher's randomization test, which Smucker, Allan
& Carterette 2007, https://doi.org/10.1145/1321440.1321528, recommend for retrieval), two-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

RESAMPLES = 2000
FLIPS = 10_000
EXACT_UP_TO = 12  # questions that differ; up to here all sign patterns are tried, at most 4,096


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `number` scores with its interval from `low` to `high`."""

    value: float
    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of the second setting from the first, over the questions that both answered, with its interval. It is
    positive if the second is higher. `p`, 0 to 1, is the probability of at least this difference by chance. `higher` and
    `lower` count the questions on which the second is higher and lower.
    """

    value: float
    low: float
    high: float
    p: float
    number: int
    higher: int
    lower: int


@lru_cache(maxsize=512)
def _interval(scores: tuple[float, ...]) -> tuple[float, float]:
    values = np.asarray(scores)
    random = np.random.default_rng(0)
    means = np.concatenate(
        [values[random.integers(len(values), size=(100, len(values)))].mean(1) for _ in range(RESAMPLES // 100)]
    )
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def mean(scores: Sequence[float]) -> Mean | None:
    """None for no scores."""
    if not scores:
        return None
    return Mean(float(np.mean(scores)), *_interval(tuple(scores)), len(scores))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """The scores belong to the same questions in the same order. None without scores; ValueError if they differ in number."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores cannot be compared one by one with {len(second)}")
    if not first:
        return None
    change = tuple(b - a for a, b in zip(first, second, strict=True))
    higher, lower = sum(one > 0 for one in change), sum(one < 0 for one in change)
    return Difference(float(np.mean(change)), *_interval(change), _chance(change), len(change), higher, lower)


@lru_cache(maxsize=512)
def _chance(change: tuple[float, ...]) -> float:
    differing = np.asarray([one for one in change if one])
    if not len(differing):
        return 1.0
    observed = abs(differing.sum()) - 1e-9
    if len(differing) <= EXACT_UP_TO:
        signs = np.asarray(list(product((-1, 1), repeat=len(differing))))
        return float(np.mean(np.abs(signs @ differing) >= observed))
    random = np.random.default_rng(0)
    as_large = 0
    for _ in range(FLIPS // 500):
        as_large += int((np.abs(random.choice((-1.0, 1.0), size=(500, len(differing))) @ differing) >= observed).sum())
    return (as_large + 1) / (FLIPS + 1)
