"""Titles over many cells of a table, which are read once, above the rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.web.html_text import html_text
from tests.ragcore.readers.packages import make_odf


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


FARES = [["Fares 2024"], ["Ticket", "Price", "Sold"], ["Adult", "5", "7"]]
FARE_LINES = ["Fares 2024", "Ticket | Price | Sold", "Ticket: Adult; Price: 5; Sold: 7"]


def test_a_title_over_many_cells_of_a_workbook_is_read_once(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (FARES[0], [None], *FARES[1:], ["Prices may change."], [None], [None]):
        sheet.append(row)
    sheet.merge_cells("A1:C2")
    sheet.merge_cells("A5:C7")
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx").split("\n")[1:] == [*FARE_LINES, "Prices may change."]


@pytest.mark.parametrize("marked", [0, 1, 2])
def test_a_title_over_many_cells_of_word_is_read_once(marked: int, tmp_path: Path) -> None:
    import docx
    from docx.oxml import OxmlElement

    document = docx.Document()
    table = document.add_table(3, 3)
    for number, row in enumerate(FARES):
        for place, text in enumerate(row):
            table.cell(number, place).text = text
    table.cell(0, 0).merge(table.cell(0, 2))
    for each in table.rows[:marked]:
        each._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").split("\n") == FARE_LINES


@pytest.mark.parametrize("cell", ["td", "th"])
@pytest.mark.parametrize("down", [1, 2])
def test_titles_over_many_cells_of_a_page_are_read_once(cell: str, down: int) -> None:
    title = f"<tr><{cell} colspan=3 rowspan={down}>Fares 2024</tr>" + "<tr></tr>" * (down - 1)
    names = "".join(f"<{cell}>{name}" for name in FARES[1])
    table = f"<table>{title}<tr>{names}</tr><tr><td>Adult<td>5<td>7</tr></table>"
    assert html_text(table).split("\n") == FARE_LINES
    rows = "<tr><th>Mayor<td>Ada Lund</tr><tr><th colspan=2>Area</tr><tr><th>Land<td>300 km</tr>"
    assert html_text(f"<table><tr><{cell} colspan=2>Linby</tr>{rows}</table>").split("\n") == [
        *("Linby", "Mayor | Ada Lund", "Area", "Land | 300 km")
    ]


@pytest.mark.parametrize("kind", ["spreadsheet", "text"])
def test_a_title_over_many_cells_of_opendocument_is_read_once(kind: str, tmp_path: Path) -> None:
    cell, covered = (
        "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format,
        "<table:covered-table-cell/>",
    )
    title = cell(' table:number-columns-spanned="3" table:number-rows-spanned="2"', FARES[0][0]) + 2 * covered
    rows = [title, 3 * covered, *("".join(cell("", text) for text in row) for row in FARES[1:])]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    path = tmp_path / ("a.ods" if kind == "spreadsheet" else "a.odt")
    make_odf(path, f'<table:table table:name="S">{body}</table:table>', kind=kind)
    assert read(path).removeprefix("S\n").split("\n") == FARE_LINES
