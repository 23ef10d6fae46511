"""What counts as right where an answer must be computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.structure import ROOMS, states_number, write_formats
from ragcore.readers import SimpleDirectoryReader
from ragcore.structure.tables import tables_of


@pytest.mark.parametrize(
    ("answer", "expected", "scale", "is_right"),
    [
        ("**-12.6** is the difference of Other.", "-12.6", "million", True),
        ("**12.6** is the difference of Other.", "-12.6", "million", False),
        ("**(12.6)** is the difference of Other.", "-12.6", "million", True),
        ("**$1,258,000** more than in 2017.", "1258", "thousand", True),
        ("**0.1122** of 2018.", "11.22", "percent", True),
        ("**11.2239%** of 2018.", "11.22", "percent", True),
        ("**12** rows.\n\n| Year: 2018; Sales: 44", "44", "", False),
        ("It rose by 44.04 in 2018. [3]", "44", "", True),
        ("I found nothing about it. [3]", "3", "", False),
    ],
)
def test_a_number_counts_with_its_scale_and_sign_and_is_rounded_as_expected(
    answer: str, expected: str, scale: str, is_right: bool
) -> None:
    assert states_number(answer, expected, scale) is is_right


def test_each_format_has_the_same_rows(tmp_path: Path) -> None:
    for path in write_formats(tmp_path):
        (table,) = tables_of(
            "\n".join(page.text for page in SimpleDirectoryReader(input_files=[path]).load_data())
        )
        assert [list(row.cells.values())[:3] for row in table.rows] == [row[:3] for row in ROOMS[1:]]
