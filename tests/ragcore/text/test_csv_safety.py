"""Tables that spreadsheets open without harm, and that give back what was written."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.csv_safety import FORMULA, as_csv, escape_formula, unescape_formula


@given(st.text() | st.text("'= +a"))
def test_an_escaped_formula_is_read_as_the_original(cell: str) -> None:
    assert unescape_formula(escape_formula(cell)) == cell


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=1),
        min_size=1,
    )
)
def test_a_table_comes_back_from_csv_as_it_was_written(rows: list[list[str]]) -> None:
    written = as_csv(rows)
    assert written.startswith(b"\xef\xbb\xbf")
    read = list(csv.reader(io.StringIO(written.decode("utf-8-sig"), newline="")))
    assert read == [[escape_formula(cell) for cell in row] for row in rows]
    assert all(cell.removeprefix("'") == cell or cell[1:] == given
               for row, kept in zip(read, rows, strict=True)
               for cell, given in zip(row, kept, strict=True) if cell != given)  # fmt: skip


@pytest.mark.parametrize(
    "cell", ["=1+1", "+49 30", "-3+2", "-cmd", "@SUM(A1)", "\t=1", "  =cmd|'/c calc'!A1", "\r=1", "＝1"]
)
def test_no_cell_begins_like_a_formula(cell: str) -> None:
    read = next(csv.reader(io.StringIO(as_csv([[cell]]).decode("utf-8-sig"), newline="")))[0]
    assert read == f"'{cell}"
    assert not read.lstrip().startswith(FORMULA)


@pytest.mark.parametrize("cell", ["-3", "-12.5", "-1.240,50 €", "-$ 5", "-7 %", "- 4"])
def test_a_negative_number_stays_a_number(cell: str) -> None:
    assert escape_formula(cell) == cell
