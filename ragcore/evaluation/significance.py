"""The confidence interval of a mean, and a test whether two settings differ. A fixed seed makes results
reproducible.

Intervals are 95% percentile bootstrap intervals (Efron 1979, https://doi.org/10.1214/aos/1176344552) over
questions. The test of a difference flips the signs of the questions' differences at random (Fisher's
randomization test, which Smucker, Allan & Carterette 2007, https://doi.org/10.1145/1321440.1321528, recommend
for retrieval), two-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

RESAMPLES = 2000  # of the bootstrap
FLIPS = 10_000  # random sign patterns of the test
EXACT_UP_TO = 12  # questions with different scores; up to so many, all sign patterns are tried


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `number` scores with its 95% interval from `low` to `high`."""

    value: float
    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of the second setting from the first over `number` questions, with its 95%
    interval. It is positive if the second is higher. `p`, 0 to 1, is the probability of a difference at least
    as large by chance. `higher` and `lower` count the questions on which the second is higher and lower.
    """

    value: float
    low: float
    high: float
    p: float
    number: int
    higher: int
    lower: int


@lru_cache(maxsize=512)  # a page computes its figures again after every click
def _bootstrap_interval(scores: tuple[float, ...]) -> tuple[float, float]:
    values = np.asarray(scores)
    random = np.random.default_rng(0)
    batch = 100, len(values)  # all resamples at once would need much memory
    means = np.concatenate(
        [values[random.integers(len(values), size=batch)].mean(axis=1) for _ in range(RESAMPLES // 100)]
    )
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def mean(scores: Sequence[float]) -> Mean | None:
    """The mean with its interval; None for no scores."""
    if not scores:
        return None
    return Mean(float(np.mean(scores)), *_bootstrap_interval(tuple(scores)), len(scores))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """The scores belong to the same questions in the same order. None without scores; ValueError if they
    differ in number."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores cannot be compared one by one with {len(second)}")
    if not first:
        return None
    differences = tuple(b - a for a, b in zip(first, second, strict=True))
    higher, lower = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    low, high = _bootstrap_interval(differences)
    return Difference(
        float(np.mean(differences)), low, high, _p_value(differences), len(differences), higher, lower
    )


@lru_cache(maxsize=512)
def _p_value(differences: tuple[float, ...]) -> float:
    """The share of sign patterns with at least the observed sum, to which equal scores add nothing."""
    nonzero = np.asarray([each for each in differences if each])
    if not len(nonzero):
        return 1.0
    observed = abs(nonzero.sum()) - 1e-9  # rounding must not make an equal sum smaller
    if len(nonzero) <= EXACT_UP_TO:
        signs = np.asarray(list(product((-1, 1), repeat=len(nonzero))))  # (2**n, n)
        return float(np.mean(np.abs(signs @ nonzero) >= observed))
    random = np.random.default_rng(0)
    as_large = 0
    for _ in range(FLIPS // 500):
        signs = random.choice((-1.0, 1.0), size=(500, len(nonzero)))
        as_large += int((np.abs(signs @ nonzero) >= observed).sum())
    return (as_large + 1) / (FLIPS + 1)  # the observed pattern counts too, so that p is never 0
