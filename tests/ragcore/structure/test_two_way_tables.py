"""Two-way tables are read from the lines of every reader, and from lines with bars in plain text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.structure.two_way_tables import two_way_tables_of

ROWS = [
    ["", "2021", "2022"],
    ["Rent", "1,200.50", "1,300"],
    ["Travel", "(20)", "-35.5"],
    ["Share", "4%", "5.5%"],
]


def numbers(text: str) -> list[list[str]]:
    (table,) = two_way_tables_of(text)
    return [[row.label, *(str(cell.number) for cell in row.cells.values())] for row in table.rows]


def test_bars_and_named_cells_read_alike() -> None:
    expected = [["Rent", "1200.50", "1300"], ["Travel", "-20", "-35.5"], ["Share", "4", "5.5"]]
    bars = "\n".join(f"| {' | '.join(row)} |" for row in ROWS)
    named = "2021 | 2022\n" + "\n".join(f"{row[0]} | 2021: {row[1]}; 2022: {row[2]}" for row in ROWS[1:])
    assert numbers(bars) == expected
    assert numbers(f"Costs of the club\n\n{named}\n\nThat is all.") == expected
    assert [cell.is_percent for cell in two_way_tables_of(bars)[0].rows[2].cells.values()] == [True, True]


@pytest.mark.parametrize("suffix", ["csv", "html", "txt"])
def test_readers_keep_what_a_two_way_table_needs(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"costs.{suffix}"
    if suffix == "csv":
        written = io.StringIO()
        csv.writer(written).writerows([["Item", *ROWS[0][1:]], *ROWS[1:]])
        path.write_text(written.getvalue(), "utf-8")
    elif suffix == "html":
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
        path.write_text(f"<html><body><p>Costs</p><table>{cells}</table></body></html>", "utf-8")
    else:
        path.write_text("\n".join(f"| {' | '.join(row)} |" for row in ROWS), "utf-8")
    found = numbers(read_file(path, ReadOptions(path.name)).text)
    assert [row[0] for row in found] == ["Rent", "Travel", "Share"]
    assert found[1][1:] == ["-20", "-35.5"]


def test_names_of_two_lines_units_and_groups() -> None:
    text = (
        "| (In thousands) |  |  |\n|  | Year ended |  |\n|  | June 2021 | June 2022 |\n"
        "| Assets: |  |  |\n| Cash | $1,200 | $1,300 |\n| Debts: |  |  |\n| Loans | — | 40 |"
    )
    (table,) = two_way_tables_of(text)
    assert table.heads == ("", "Year ended June 2021", "June 2022")
    assert table.title == "(In thousands)"
    assert [(row.section, row.label, len(row.cells)) for row in table.rows] == [
        ("Assets:", "Cash", 2),
        ("Debts:", "Loans", 1),
    ]
    assert text[table.rows[0].start :].startswith(table.rows[0].text)


def test_a_decimal_comma_is_that_of_all_cells() -> None:
    german = "| | 2021 | 2022 |\n| Miete | 1.200,50 | 1.300,00 |\n| Reise | 1.000 | 0,5 |"
    assert numbers(german) == [["Miete", "1200.50", "1300.00"], ["Reise", "1000", "0.5"]]


def test_a_table_ends_at_an_empty_line() -> None:
    named = "2021 | 2022\nRent | 2021: 1; 2022: 2"
    bars = "| | 2019 | 2020 |\n| Rent | 3 | 4 |"
    assert [table.heads for table in two_way_tables_of(f"{named}\n\n{bars}\n\n{named}")] == [
        ("", "2021", "2022"),
        ("", "2019", "2020"),
        ("", "2021", "2022"),
    ]


@pytest.mark.parametrize(
    "text", ["", "Rent: 12", "| a | b |\n| c | d |", "A | B\nnothing here", "|  |\n|  |"]
)
def test_other_text_has_none(text: str) -> None:
    assert two_way_tables_of(text) == []


@given(st.text(alphabet="|: ;\n()0123456789.,-%$abc", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for table in two_way_tables_of(text):
        for row in table.rows:
            assert text[row.start :].startswith(row.text)
