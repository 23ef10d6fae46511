"""The arithmetic behind the figures of the screens' speed, on values whose results are known without it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.ui.figures import Row, each, over_model, percentile, table

SECONDS = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


def test_the_95th_of_a_hundred_times_is_exceeded_by_five() -> None:
    times = [float(number) for number in range(100, 0, -1)]
    assert percentile(times, 0.95) == 95
    assert percentile(times, 1) == 100
    assert percentile([7.0], 0.95) == 7


@given(SECONDS, st.floats(0.01, 1))
def test_a_percentile_is_that_of_numpy_by_nearest_rank(times: list[float], share: float) -> None:
    # where rounding decides between two neighbours
    assume(not math.isclose(share * len(times), round(share * len(times))))
    assert percentile(times, share) == np.percentile(times, 100 * share, method="inverted_cdf")


@given(SECONDS)
def test_larger_percentile_is_not_smaller_and_all_are_times(times: list[float]) -> None:
    found = [percentile(times, share / 10) for share in range(1, 11)]
    assert all(low <= high for low, high in pairwise(found))
    assert set(found) <= set(times)


def test_what_the_model_was_silent_for_is_not_counted() -> None:
    assert over_model(1.3, calls=2, delay=0.5) == pytest.approx(300)
    assert over_model(0.2, calls=0, delay=0.5) == pytest.approx(200)


def test_memory_is_shared_out_among_the_sessions() -> None:
    assert each(100_000_000, 105_000_000, 50) == 100_000


def test_the_table_compares_a_figure_with_that_of_the_peer() -> None:
    text = table([Row("page switch", "300", [100.0, 300.0, 200.0], [50.0, 50.0]), Row("memory", "", [1.0])])
    assert text.splitlines()[2:] == [
        "| page switch | 300 | 200 | 300 | 3 | 50 | 50 | 4.0 |",
        "| memory |  | 1 | 1 | 1 | | |  |",
    ]
