"""Comments, hidden cells and drawings of workbooks, alike for Excel and LibreOffice."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.ragcore.readers.packages import make_odf, pack

ROWS = (("Item", "Price"), ("Kettle", "31"), ("Pan", "7"), ("Ladle", "2"))


def xlsx(path: Path) -> Path:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Prices"
    for row in ROWS:
        sheet.append([*row, "cost 3"])
    sheet["B2"].comment = Comment("Halvard pays the freight.", "A")
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["C"].hidden = True
    book.create_sheet("Margins")["A1"] = "secret"
    book["Margins"].sheet_state = "hidden"
    book.save(path)
    return path


def ods(path: Path) -> Path:
    note = "<office:annotation><text:p>Halvard pays the freight.</text:p></office:annotation>"
    cell = "<table:table-cell>{}<text:p>{}</text:p></table:table-cell>".format
    column = (
        '<table:table-column table:number-columns-repeated="2"/><table:table-column '
        'table:visibility="collapse"/>'
    )
    rows = ""
    for at, (item, price) in enumerate(ROWS):
        hides = ' table:visibility="collapse"' if at == 2 else ""
        cells = cell("", item) + cell(note if at == 1 else "", price) + cell("", "cost 3")
        rows += f"<table:table-row{hides}>{cells}</table:table-row>"
    secret = f"<table:table-row>{cell('', 'secret')}</table:table-row>"
    hidden = f'<table:table table:name="Margins" table:style-name="h">{secret}</table:table>'
    styles = (
        '<style:style style:name="h" style:family="table"><style:table-properties '
        'table:display="false"/></style:style>'
    )
    return make_odf(
        path,
        f'<table:table table:name="Prices">{column}{rows}</table:table>{hidden}',
        styles=styles,
        kind="spreadsheet",
    )


@pytest.mark.parametrize("make", [xlsx, ods], ids=["xlsx", "ods"])
def test_comments_are_read_and_hidden_content_is_only_named(make: object, tmp_path: Path) -> None:
    path = (xlsx if make is xlsx else ods)(tmp_path / f"a.{'xlsx' if make is xlsx else 'ods'}")
    found: list[str] = []
    text = read_file(path, ReadOptions(path.name, on_loss=lambda error: found.append(str(error)))).text
    assert text.split("\n") == [
        *("Prices", "Item | Price", "Item: Kettle; Price: 31", "Item: Ladle; Price: 2"),
        "Comment on B2 (Kettle | 31): Halvard pays the freight.",
    ]
    assert any(each.endswith("left out: Margins.") for each in found)
    assert any("Hidden text in" in each for each in found)


def test_rows_that_are_only_folded_are_read(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in ROWS:
        sheet.append(row)
    sheet.row_dimensions.group(3, 3, hidden=True)
    book.save(tmp_path / "a.xlsx")
    assert "Item: Pan; Price: 7" in read_file(tmp_path / "a.xlsx", ReadOptions("a.xlsx")).text


def test_text_boxes_and_charts_of_a_sheet_are_read(tmp_path: Path) -> None:
    import openpyxl
    from openpyxl.chart import BarChart, Reference

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("Season", "Sold"), ("Spring", 7), ("Autumn", 9)):
        sheet.append(row)
    chart = BarChart()
    chart.title = "Sold by season"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E2")
    book.save(tmp_path / "a.xlsx")
    assert "Sold by season" in read_file(tmp_path / "a.xlsx", ReadOptions("a.xlsx")).text


def test_ods_tables_split_at_empty_rows_and_merged_cells_fill(tmp_path: Path) -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
    row = "<table:table-row>{}</table:table-row>".format
    empty = '<table:table-cell table:number-columns-repeated="1000"/>'
    gap = f'<table:table-row table:number-rows-repeated="2">{empty}</table:table-row>'
    covered = "<table:covered-table-cell/>"
    heads = row(
        cell(' table:number-rows-spanned="2"', "Region")
        + cell(' table:number-columns-spanned="2"', "2019")
        + covered
    )
    heads += row(covered + cell("", "Q1") + cell("", "Q2"))
    body = heads + row(cell("", "North") + cell("", "1") + cell("", "2")) + gap
    body += row(cell("", "City") + cell("", "Mayor")) + row(cell("", "Oslo") + cell("", "Ada"))
    path = make_odf(
        tmp_path / "a.ods", f'<table:table table:name="S">{body}</table:table>', kind="spreadsheet"
    )
    lines = read_file(path, ReadOptions("a.ods")).text.split("\n")
    assert "Region: North (2019); Q1: 1; Q2: 2" in lines
    assert lines[-1] == "City: Oslo; Mayor: Ada"


def workbook(path: Path, rows: str) -> Path:
    """A workbook of one sheet with these rows as XML."""
    import openpyxl

    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    sheet = (
        "<worksheet "
        f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'
    )
    return pack(path, {**parts, "xl/worksheets/sheet1.xml": sheet})


def far_ods(path: Path, rows: int) -> Path:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
    twice = ' table:number-columns-repeated="2"'
    gap = '<table:table-cell table:number-columns-repeated="16381"/>'
    row = f"<table:table-row>{cell('', 'near')}{gap}{cell(twice, 'far')}</table:table-row>"
    return make_odf(path, f'<table:table table:name="Sheet">{row * rows}</table:table>', kind="spreadsheet")


def far_xlsx(path: Path, rows: int) -> Path:
    cell = '<c r="{}{}" t="str"><v>{}</v></c>'.format
    return workbook(
        path,
        "".join(
            f"<row>{cell('A', row, 'near')}{cell('XFC', row, 'far')}{cell('XFD', row, 'far')}</row>"
            for row in range(1, rows + 1)
        ),
    )


@pytest.mark.parametrize("make", [far_xlsx, far_ods], ids=["xlsx", "ods"])
def test_cells_beyond_the_last_column_are_reported_and_cheap(make: object, tmp_path: Path) -> None:
    path = (far_xlsx if make is far_xlsx else far_ods)(
        tmp_path / f"a.{'xlsx' if make is far_xlsx else 'ods'}", 20_000
    )
    found: list[str] = []
    began = time.process_time()
    text = read_file(path, ReadOptions(path.name, on_loss=lambda error: found.append(str(error)))).text
    assert time.process_time() - began < 5
    assert text.split("\n") == ["Sheet", *["near"] * 20_000]
    assert [each.partition(". ")[0] for each in found] == [
        f"Cells of {path.name} beyond column 2,000 were not read (cells: 40000)."
    ]


@pytest.mark.parametrize("number", [1_048_576, 99_999_999_999])
def test_rows_absent_from_the_file_cost_nothing(number: int, tmp_path: Path) -> None:
    cell = '<c t="str"><v>{}</v></c>'.format
    names, row = cell("Item") + cell("Price"), cell("Kettle") + cell("31")
    path = workbook(
        tmp_path / "a.xlsx",
        f"<row>{names}</row><row>{row}</row>" + f'<row r="{number}">{names}</row><row>{row}</row>',
    )
    told: list[int] = []
    began = time.process_time()
    text = read_file(path, ReadOptions("a.xlsx", progress=lambda done, _: told.append(done))).text
    assert time.process_time() - began < 2
    assert text.split("\n")[1:] == ["Item | Price", "Item: Kettle; Price: 31"] * 2
    assert max(told, default=0) < 10
