"""The verdict on two measurements: what is called better, chance, or no difference."""

from __future__ import annotations

import pytest

from lectern.ui.widgets.run_comparison import _verdict, _with_sign
from ragcore.evaluation.significance import difference

SAME = [0.0, 0.5, 1.0] * 4


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (SAME, SAME, "no difference"),
        ([1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], "no difference"),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.8], "may be chance, p = 1.000"),
        ([0.0] * 20, [1.0] * 20, "**the second is better**, p < 0.001"),
        ([1.0] * 20, [0.0] * 20, "**the first is better**, p < 0.001"),
        ([0.5] * 20, [0.502] * 20, "**the second is better**, p < 0.001"),
    ],
)
def test_equal_figures_are_not_called_chance(first: list[float], second: list[float], told: str) -> None:
    found = difference(first, second)
    assert found is not None
    assert _verdict(found) == told


def test_no_difference_has_no_sign() -> None:
    assert [_with_sign(value) for value in (-0.001, 0.0, 0.001, 0.25, -0.25)] == [
        "0.00",
        "0.00",
        "0.00",
        "+0.25",
        "-0.25",
    ]
