"""Tables of documents: the same from every format, with typed columns, without rows of totals."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.readers import SimpleDirectoryReader, table_rows
from ragcore.structure.tables import Table, tables_of

CELLS = [
    ["Station", "Opened", "Height (m)", "Open"],
    ["Cliff Top", "1871-05-01", "84", "yes"],
    ["Valley Foot", "1874-06-12", "12.5", "no"],
    ["Old Mill", "1902-08-30", "33", "yes"],
]


def write_csv(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(CELLS)


def write_xlsx(path: Path) -> None:
    from openpyxl import Workbook

    workbook = Workbook()
    for row in CELLS:
        workbook.active.append(row)
    workbook.save(path)


def write_docx(path: Path) -> None:
    from docx import Document

    document = Document()
    table = document.add_table(len(CELLS), len(CELLS[0]))
    for row, cells in zip(table.rows, CELLS, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.save(str(path))


def write_html(path: Path) -> None:
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in CELLS)
    path.write_text(f"<p>The stations of the line are listed here.</p><table>{rows}</table>", "utf-8")


def write_pdf(path: Path) -> None:
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import SimpleDocTemplate
    from reportlab.platypus import Table as Drawn

    drawn = Drawn(CELLS, style=[("GRID", (0, 0), (-1, -1), 1, "black")])
    SimpleDocTemplate(str(path), pagesize=A4).build([drawn])


def write_md(path: Path) -> None:
    lines = [f"| {' | '.join(row)} |" for row in CELLS]
    path.write_text("\n".join([lines[0], "|---|---|---|---|", *lines[1:]]), "utf-8")


@pytest.mark.parametrize("write", [write_csv, write_xlsx, write_docx, write_html, write_pdf, write_md])
def test_every_format_gives_the_same_table(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / f"stations.{write.__name__.removeprefix('write_')}"
    write(path)
    (document,) = SimpleDirectoryReader(input_files=[path]).load_data()
    (table,) = tables_of(document.text)
    assert [dict(row.cells) for row in table.rows] == [
        dict(zip(CELLS[0], cells, strict=True)) for cells in CELLS[1:]
    ]
    assert [column.kind for column in table.columns.values()] == ["text", "date", "number", "flag"]
    assert list(table.columns["Height (m)"].values.values()) == [84, 12.5, 33]
    for row in table.rows:
        assert document.text[row.start : row.start + len(row.text)] == row.text


NAME = st.text("abcdefgh", min_size=1, max_size=8).map(str.capitalize)
VALUE = (
    st.text("abc ;:|12", min_size=1, max_size=20).map(str.strip).filter(lambda text: text not in ("", "|"))
)


@given(
    names=st.lists(NAME, min_size=2, max_size=5, unique=True),
    rows=st.lists(st.lists(VALUE, min_size=5, max_size=5), min_size=2, max_size=6),
)
def test_cells_with_the_divider_of_cells_stay_whole(names: list[str], rows: list[list[str]]) -> None:
    cells = [row[: len(names)] for row in rows]
    text = "\n".join(table_rows.lines([names, *cells], name_rows=1))
    for table in tables_of(text):
        for row in table.rows:
            assert row.text in text
            assert set(row.cells) <= set(table.names)


def test_long_row_of_several_lines_is_one_row() -> None:
    long = [["Name", "Story", "End", "Place"]]
    long += [[f"N{number}", "word " * 100, "end " * 60, "Bergen"] for number in range(3)]
    (table,) = tables_of("\n".join(table_rows.lines(long, name_rows=1)))
    assert [row.cells["Place"] for row in table.rows] == ["Bergen"] * 3
    assert all("\n" in row.text for row in table.rows)


def test_totals_are_kept_apart() -> None:
    (table,) = tables_of("Item | Euro\nItem: Tea; Euro: 3\nItem: Cake; Euro: 5\nItem: Total; Euro: 8")
    assert [row.cells["Item"] for row in table.rows] == ["Tea", "Cake"]
    assert [row.cells["Euro"] for row in table.totals] == ["8"]


@pytest.mark.parametrize("last", ["Class average", "Total incl. VAT", "Net"])
def test_a_row_that_is_named_so_is_kept_apart(last: str) -> None:
    lines = ["Month | Rain", "Month: May; Rain: 30", "Month: June; Rain: 50", "Month: July; Rain: 41"]
    (table,) = tables_of("\n".join([*lines, f"Month: {last}; Rain: 121"]))
    assert [row.cells["Month"] for row in table.rows] == ["May", "June", "July"]


@pytest.mark.parametrize(("last", "is_part"), [("121", True), ("41", False)])
def test_a_last_row_that_may_be_a_sum_makes_it_unclear(last: str, is_part: bool) -> None:
    lines = ["Month | Rain", "Month: May; Rain: 30", "Month: June; Rain: 50", "Month: July; Rain: 41"]
    (table,) = tables_of("\n".join([*lines, f"Month: Season; Rain: {last}"]))
    assert table.is_part == is_part


def test_a_cell_that_ends_like_a_sentence_ends_no_table() -> None:
    rows = [
        f"Tool: {name}; Note: {note}" for name, note in (("Saw", "Sharp."), ("Axe", "ok"), ("Vice", "U.K."))
    ]
    (table,) = tables_of("\n".join(["Tool | Note", *rows, "", "A word about tools."]))
    assert (len(table.rows), table.is_part) == (3, False)


@pytest.mark.parametrize(
    "lines",
    [
        ["A | B", "A: 1a; B: 2", "A: 3b; B: 4", "Dan", "A: 5c; B: 6"],
        ["A | B", "A: 1a; B: 2", "A: 3b; B: 4", "Dan"],
        ["A | B", "A: 1a; B: 2", "A: 3b; B: 4", "", "A | B", "A: 5c; B: 6", "A: 7d; B: 8"],
    ],
)
def test_rows_that_may_belong_to_more_are_a_part(lines: list[str]) -> None:
    assert all(table.is_part for table in tables_of("\n".join(lines)))


def test_ticks_and_empty_cells_are_yes_and_no() -> None:
    (table,) = tables_of("A | B | C\nA: 1a; B: x; C: 1\nA: 2b; C: 2\nA: 3c; B: x; C: 3")
    assert table.columns["B"].values == {0: True, 1: False, 2: True}


def column_of(*cells: str) -> Table:
    return tables_of("\n".join(["A | B", *[f"A: a{at}; B: {cell}" for at, cell in enumerate(cells)]]))[0]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1,234.50", "-2"), [1234.5, -2]),
        (("1.234,50", "3,00"), [1234.5, 3]),
        (("€ 12", "€ 7.50"), [12, 7.5]),
        (("12 kg", "7.5 kg"), [12, 7.5]),
        (("03.02.2025", "04.02.2025"), [(2025, 2, 3), (2025, 2, 4)]),
        (("ja", "nein"), [True, False]),
    ],
)
def test_typed_values(cells: tuple[str, ...], values: list[object]) -> None:
    assert list(column_of(*cells).columns["B"].values.values()) == values


def test_cells_that_are_not_of_the_kind_have_no_value() -> None:
    column = column_of("1", "2", "3", "4", "5", "unknown").columns["B"]
    assert (column.kind, len(column.values)) == ("number", 5)


def test_numbers_that_are_thousands_or_decimals_are_text() -> None:
    assert column_of("1.500", "2.300").columns["B"].kind == "text"
    assert column_of("1.500", "2.25").columns["B"].kind == "number"
    assert column_of("1,500", "2,300").columns["B"].kind == "number"


@pytest.mark.parametrize(
    "cells",
    [("500 g", "2 kg"), ("6 am", "4 pm"), ("84,32-", "12,00"), ("5 S", "6 H"), (">40", "<5"), ("7a", "8b")],
)
def test_what_is_no_plain_number_of_one_unit_is_text(cells: tuple[str, ...]) -> None:
    assert column_of(*cells).columns["B"].kind == "text"


def test_days_and_months_in_either_order_are_text() -> None:
    assert column_of("03/04/2025", "05/06/2025").columns["B"].kind == "text"


def test_long_names_are_whole_though_the_rows_shorten_them() -> None:
    name = "Share of the drivers in fatal accidents who had drunk more than allowed before"
    rows = [["State", name], ["Ohio", "30"], ["Utah", "16"], ["Iowa", "25"]]
    [table] = tables_of("\n".join(table_rows.lines(rows)))
    assert table.names == ("State", name)
    assert [row.cells[name] for row in table.rows] == ["30", "16", "25"]


def test_rows_may_be_numbered_in_a_column_without_a_name() -> None:
    rows = [["", "Country", "Turnout"], *([str(at), f"Land {at}x", f"{at + 40}"] for at in range(1, 5))]
    [table] = tables_of("\n".join(table_rows.lines(rows)))
    assert table.names == ("Country", "Turnout")
    assert [row.cells["Turnout"] for row in table.rows] == ["41", "42", "43", "44"]


def test_days_may_be_written_without_zeros() -> None:
    [table] = tables_of("Day | Km\nDay: 2014-7-1; Km: 12\nDay: 2014-11-12; Km: 8")
    assert list(table.columns["Day"].values.values()) == [(2014, 7, 1), (2014, 11, 12)]
