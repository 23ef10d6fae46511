"""Rows of tables that say what they hold when they stand alone, whatever file they come from."""

from __future__ import annotations

import datetime
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.readers.office.cell_format import format_cell
from ragcore.readers.registry import read_file
from ragcore.readers.web.html import page_text
from ragcore.readers.web.html_text import html_text
from ragcore.schema import Document
from ragcore.text.quotable_units import MAX_ROW_CHARS
from tests.needs import SHARED, needs_documents

ARTICLES = SHARED / "data" / "html_articles"
TABLES = SHARED / "data" / "tatqa_dev" / "corpus.jsonl"


def lines(*rows: str) -> list[str]:
    return list(table_rows.lines([cell.strip() for cell in row.split("|")] for row in rows))


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        (("| 2019 | 2018", "Total sales | $1,496.5 | $1,202.9"),
         "Total sales | 2019: $1,496.5; 2018: $1,202.9"),
        (("| | Years Ended June 30, |", "| 2019 | 2018 | 2017", "Other | 44.1 | 56.7 | 70.8"),
         "Other (Years Ended June 30) | 2019: 44.1; 2018: 56.7; 2017: 70.8"),
        (("£m | 2019 | 2018", "Amounts owed | (0.3) | —"), "Amounts owed (£m) | 2019: (0.3); 2018: —"),
        (("| 2019 | | 2018 |", "| Men | Women | Men | Women", "Aged 65 | 86.8 | 88.9 | 87.3 | 89.3"),
         "Aged 65 | 2019 Men: 86.8; 2019 Women: 88.9; 2018 Men: 87.3; 2018 Women: 89.3"),
        (("| Fiscal Year 2018 | | Fiscal Year 2017 |", "| Sales | % | Sales | %", "| | (in thousands) | |",
          "APAC | $479 | 40.0% | $288 | 38.1%"),
         "APAC (in thousands) | Fiscal Year 2018 Sales: $479; Fiscal Year 2018 %: 40.0%; Fiscal Year "
         "2017 Sales: $288; "
         "Fiscal Year 2017 %: 38.1%"),
        (("In millions of CHF | | | | January–June 2023", "| Sales | Profit | | Assets", "NA | 9 | 2 | | 4"),
         "NA (January–June 2023, In millions of CHF) | Sales: 9; Profit: 2; Assets: 4"),
        (("In millions of CHF | | May 2023 | | | May 2022", "| Sales | Profit | | Sales | Profit",
          "NA | 9 | 2 | | 8 | 3"),
         "NA (In millions of CHF) | May 2023 Sales: 9; May 2023 Profit: 2; May 2022 Sales: 8; "
         "May 2022 Profit: 3"),
        (("£m | | | Change on 2022", "| 2023 | 2022 | %", "NA | 9 | 8 | 12"),
         "NA (£m) | 2023: 9; 2022: 8; Change on 2022 %: 12"),
        (("Stations of the line | |", "Station | Opened | Height", "Harbour | 1872 | 3.5"),
         "Station: Harbour; Opened: 1872; Height: 3.5"),
        (("| Sales | Profit", "", "Zone NA | 12 | 3"), "Zone NA | Sales: 12; Profit: 3"),
        (("Zone | Sales | Profit", "", "", "NA | 12 | 3"), "Zone: NA; Sales: 12; Profit: 3"),
        (("Name | Amount", "Ada | 5", "Name | Amount", "Bob | 6"), "Name: Bob; Amount: 6"),
        (("Height | 2019 | 2018", "Upper section: | |", "Cliff | 84 | 83"),
         "Height: Cliff; 2019: 84; 2018: 83"),
    ],
)  # fmt: skip
def test_a_row_carries_the_names_of_its_columns(rows: tuple[str, ...], last: str) -> None:
    assert lines(*rows)[-1] == last


@pytest.mark.parametrize(
    "rows",
    [
        ("Cliff Top | 1871 | 84", "Harbour | 1872 | 3"),
        ("Opened | 1871", "Closed | 1930"),
        ("Name: | Ada", "Born: | London"),
        ("1,204 | 2019 | 2018", "1,310 | 5 | 4"),
        ("Applicant | Ada Byron", "Address | London"),
        ("Ticket | Price", "Adult | £2", "Child | free", "Dog | on request"),
        (
            "Term | Meaning",
            "Tank | for water",
            "Rope | 30 mm",
            "Hut | for two",
            "Rail | steel",
            "Fare | £5",
            "Bell | brass",
        ),
        ("Cliff | 84", "Cliff | 85", "Harbour | 3"),
        ("It is steep. | 84", "Mind the step! | 2", "Rope | 30 mm"),
        ("Cliff | 84 | North", "Harbour | £3 | South", "Hut | 7 kg"),
        ("Cliff | 84 | North | 1871", "Harbour | 3 | South | 1872", "Hut | 7 | East | 1873"),
    ],
)
def test_without_a_clear_header_no_names_are_invented(rows: tuple[str, ...]) -> None:
    assert lines(*rows) == list(rows)


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        (("Model | DH-20", "Mains: | 220 V, 50 Hz", "Weight | 13.2 kg"),
         "Model: DH-20\nMains: 220 V, 50 Hz\nWeight: 13.2 kg"),
        (("Opening balance | £5", "Closing balance | £6", "Limit | £7"),
         "Opening balance: £5\nClosing balance: £6\nLimit: £7"),
        (("Account name | Ada", "Sort code | 20-45-77", "Account number | 314", "Period | 1 to 30 June 2025",
          "Page | 118"),
         "Account name: Ada\nSort code: 20-45-77\nAccount number: 314\nPeriod: 1 to 30 June 2025\nPage: 118"),
        (("| Order | ", "| No. | 5", "| Due | 2 June 2025", "| Paid | ", "| Total | £5"),
         "Order\nNo.: 5\nDue: 2 June 2025\nPaid\nTotal: £5"),
        (("Patient | Ada Byron | Born | 10/12/1815", "Number | 485 777 | Lab no. | TP-11", "Sample | Blood"),
         "Patient: Ada Byron\nBorn: 10/12/1815\nNumber: 485 777\nLab no.: TP-11\nSample: Blood"),
    ],
)  # fmt: skip
def test_facts_side_by_side_are_lines_of_their_own(rows: tuple[str, ...], facts: str) -> None:
    assert lines(*rows) == facts.split("\n")


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        (("Day | Hours", "Monday | 9-5", "Tuesday | 9.00 - 17.00", "Sunday | closed"),
         "Day: Sunday; Hours: closed"),
        (("Item | Price", "Rail | £7", "Rope | £6", "Lamp | £5", "Hut | 10%"), "Item: Hut; Price: 10%"),
        (("Item | Left | Note | Price", "Hut | 3 | new | £5", "Rope | 2 m | used | £6",
          "Rail | none | old | £7"),
         "Item: Rail; Left: none; Note: old; Price: £7"),
    ],
)  # fmt: skip
def test_names_above_values_of_one_kind_are_no_fact(rows: tuple[str, ...], last: str) -> None:
    assert lines(*rows)[-1] == last


FORM = [
    ["Project", "Harbour wall"],
    ["Client", "City of Linby"],
    ["Start", "2024-03-01"],
    ["Budget", "120,000"],
]


@pytest.mark.parametrize("names_first", [False, True])
@pytest.mark.parametrize(
    "rows",
    [
        FORM,
        [["Owner:", "Ada"], ["Vessel:", "Gull"], ["Flag:", "Norway"]],
        [["Invoice", "2024-117"], ["Date", "2024-03-09"], ["Customer", "Ada"], ["Total", "£5"]],
    ],
)
def test_the_first_row_of_a_form_is_a_fact_like_the_others(rows: list[list[str]], names_first: bool) -> None:
    facts = [f"{label.rstrip(':')}: {value}" for label, value in rows]
    assert list(table_rows.lines(rows, names_first=names_first)) == facts
    assert list(table_rows.lines([["The form", table_rows.MERGED], *rows], names_first=names_first)) == [
        "The form",
        *facts,
    ]


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        (("City | Mayor", "Oslo | Ada", "Voss | Bo", "Bergen | Cy"), "City: Bergen; Mayor: Cy"),
        (("Item | Left", "Hut | none", "Rope | 2 m", "Rail | 3"), "Item: Rail; Left: 3"),
        (("Name | Born", "Ada | 10/12/1815", "Bo | 1820-01-02", "Cy | unknown"), "Name: Cy; Born: unknown"),
        (("Field | Value", "Name | Ada", "Phone | 020 79", "Age | 36"), "Field: Age; Value: 36"),
    ],
)
def test_two_columns_of_a_sheet_with_names_keep_them(rows: tuple[str, ...], last: str) -> None:
    cells = ([cell.strip() for cell in row.split("|")] for row in rows)
    assert list(table_rows.lines(cells, names_first=True))[-1] == last


def test_no_cell_of_a_row_among_facts_is_lost() -> None:
    rows = [
        *(f"Limit {'i' * number} | £{number}" for number in range(1, table_rows.HEAD + 1)),
        "Hut | £5 | paid",
        "Rail | £7",
    ]
    assert lines(*rows)[-3:] == [
        f"Limit {'i' * table_rows.HEAD}: £{table_rows.HEAD}",
        "Hut | £5 | paid",
        "Rail: £7",
    ]


def test_rows_of_which_a_file_names_the_columns_are_no_facts() -> None:
    rows = [["Fact", "Value"], ["Weight", "13 kg"], ["Due", "2 June 2025"], ["Total", "£5"]]
    assert list(table_rows.lines(rows, name_rows=1))[-1] == "Fact: Total; Value: £5"
    assert list(table_rows.lines(rows, names_first=True))[-1] == "Total: £5"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ((
            "Fares:\n\n| Ticket | Price |\n|:---|---:|\n| Adult | £2 \\| £3 |\n| Child | **£1**<br>on "
            "foot |\n\nDogs are free."
),
         (
         "Fares:\n\nTicket | Price\nTicket: Adult; Price: £2 | £3\nTicket: Child; Price: **£1** on foot\n"
         "\nDogs are free."
)),
        ("Ticket | Price\n--- | ---\nAdult | £2\nDogs are free.",
         "Ticket | Price\nTicket: Adult; Price: £2\nDogs are free."),
        ("|  | 2019 | 2018 |\n| Sales | 5 | 4 |", "2019 | 2018\nSales | 2019: 5; 2018: 4"),
        ("|   |   |\n|---|---|\n| Adult | two pounds |", "Adult | two pounds"),
        ("| Year | Sold |\n|------+------|\n| 2014 | 7 |", "Year | Sold\nYear: 2014; Sold: 7"),
        ("| Emissions from: | FY19 | Q3 2018* |\n| Fuel | 5 | 4 |",
         "Emissions from: | FY19 | Q3 2018*\nEmissions from: Fuel; FY19: 5; Q3 2018*: 4"),
        ("| At 31 December: | 2019 | 2018 |\n| Sales | 5 | 4 |",
         "At 31 December: | 2019 | 2018\nAt 31 December: Sales; 2019: 5; 2018: 4"),
    ],
)  # fmt: skip
def test_a_table_that_is_drawn_with_bars_is_read_like_any_other(text: str, read: str) -> None:
    assert with_tables_as_lines(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "Run `ls | wc`, or\n`ls | sort | uniq`.",
        "```\n| a | b |\n|---|---|\n| c | d |\n```",
        "~~~~ text\n| a | b |\n~~~\n| c | d |\n| e | f |\n~~~~",
        "```\n```python\n| a | b |\n| c | d |\n```",
        "| a single row |",
        "| Warning |\n| Keep out |",
        "A rule\n---\nand | a bar",
        "A | B",
    ],
)
def test_bars_that_draw_no_table_stay(text: str) -> None:
    assert with_tables_as_lines(text) == text


@given(st.text("ab |-`~\\\n", max_size=60))
def test_bars_are_all_that_a_drawn_table_loses(text: str) -> None:
    left = {sign for sign in with_tables_as_lines(text) if sign in "ab`~"}
    assert left == {sign for sign in text if sign in "ab`~"}


def test_tables_in_texts_markdown_and_notebooks_are_lines(tmp_path: Path) -> None:
    table = "| Year | Sold |\n|---|---|\n| 2014 | 7 |\n"
    for name in ("a.md", "a.txt", "a.py"):
        (tmp_path / name).write_text(table)
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": table}]}))
    for name in ("a.md", "a.txt", "a.ipynb"):
        assert "Year: 2014; Sold: 7" in read(tmp_path / name)
    assert "| 2014 | 7 |" in read(tmp_path / "a.py")


def test_another_table_below_an_empty_row_has_names_of_its_own() -> None:
    found = lines("Item | Price", "Lamp | 5", "", "Town | People", "Linby | 300")
    assert found[-1] == "Town: Linby; People: 300"
    assert lines("Item | Price", "Lamp | 5", "", "Rope | 6")[-1] == "Item: Rope; Price: 6"


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        (("Team | Q1 | Q2", "Red | 1 | 2", "", "", "City | Mayor", "Oslo | Ada"), "City: Oslo; Mayor: Ada"),
        (("Team | Q1", "Red | 1", "", "City | Mayor", "Oslo | Ada"), "City: Oslo; Mayor: Ada"),
        (("Item | Colour", "Lamp | red", "", "", "City | Mayor", "Oslo | Ada"), "City: Oslo; Mayor: Ada"),
        (("Item | Colour", "Lamp | red", "", "Rope | blue"), "Item: Rope; Colour: blue"),
        (("Item | Price", "Lamp | 5", "", "", "Total | 11"), "Item: Total; Price: 11"),
        (("No | Item | Sum", "1 | Bolt | 5", "2 | Nut | 3", "", "Total | | 8"), "No: Total; Sum: 8"),
        (("Team | Q1", "Red | 1", "", "", "Ada | Oslo | Red", "Bo | Voss | Red", "Cy | Oslo | Blue"),
         "Cy | Oslo | Blue"),
        (("Red | Yes", "Blue | Yes", "Green | No"), "Green | No"),
        (("Ada | ada@x.org", "Bo | bo@y.org"), "Bo | bo@y.org"),
    ],
)  # fmt: skip
def test_consecutive_tables_of_a_sheet_have_their_own_columns(rows: tuple[str, ...], last: str) -> None:
    assert (
        list(table_rows.lines(([cell.strip() for cell in row.split("|")] for row in rows), names_first=True))[
            -1
        ]
        == last
    )


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (("Team | Q1 | | | ", "Red | 1 | | Tool | Stock", "Blue | 2 | | Saw | 7"),
         "Team | Q1\nTeam: Red; Q1: 1\nTeam: Blue; Q1: 2\nTool | Stock\nTool: Saw; Stock: 7"),
        (("City | Mayor | | | | Tool | Stock", "Oslo | Ada | | | | Saw | 7"),
         "City | Mayor\nCity: Oslo; Mayor: Ada\nTool | Stock\nTool: Saw; Stock: 7"),
        (("Team | Q1 | | Team | Q1", "Red | 1 | | Blue | 7"),
         "Team | Q1\nTeam: Red; Q1: 1\nTeam | Q1\nTeam: Blue; Q1: 7"),
        (("Name | Street | | | City | Phone", "Ann | Main 5 | | | Bonn | 123"),
         "Name | Street |  |  | City | Phone\nName: Ann; Street: Main 5; City: Bonn; Phone: 123"),
        (("Region | 2019 | | Change | Owner", "North | 5 | | up | Ada"),
         "Region | 2019 |  | Change | Owner\nRegion: North; 2019: 5; Change: up; Owner: Ada"),
    ],
)  # fmt: skip
def test_tables_of_a_sheet_side_by_side_have_names_of_their_own(rows: tuple[str, ...], found: str) -> None:
    cells = ([cell.strip() for cell in row.split("|")] for row in rows)
    assert list(table_rows.lines(cells, names_first=True)) == found.split("\n")


@given(
    st.lists(st.lists(st.text("abc 12,.:;|", max_size=12), min_size=1, max_size=6), min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from([None, 0, 1, 2]),
)
def test_no_word_of_a_table_is_lost(rows: list[list[str]], names_first: bool, name_rows: int | None) -> None:
    written = "\n".join(table_rows.lines(rows, name_rows=name_rows, names_first=names_first))
    for row in rows:
        for cell in row:
            for word in cell.replace(":", " ").replace(";", " ").replace(",", " ").split():
                assert word.strip("()") in written, (rows, written)


def test_every_passage_of_a_long_table_says_what_its_numbers_are() -> None:
    table = [
        ["Station", "Passengers", "Height"],
        *([f"Halt {n}", str(90_000 + n), f"{n}.5"] for n in range(400)),
    ]
    text = "\n".join(table_rows.lines(table))
    passages = SentenceSplitter(chunk_size=200, chunk_overlap=0, keep_headings=True).get_nodes_from_documents(
        [Document(text)]
    )
    assert len(passages) > 20
    for row in (row for passage in passages[1:] for row in passage.text.strip().split("\n")):
        assert row.startswith("Station: Halt ")
        assert "; Passengers: 90" in row
        assert "; Height: " in row


def test_every_line_of_a_wide_row_begins_with_its_first_cell() -> None:
    names = ["Country", *(f"Indicator number {n}" for n in range(80))]
    (*_,) = found = list(table_rows.lines([names, ["Chad", *(str(n) for n in range(80))]]))[1:]
    assert len(found) > 2
    assert all(
        line.startswith("Country: Chad; Indicator number ") and len(line) <= MAX_ROW_CHARS for line in found
    )
    assert "Indicator number 79: 79" in found[-1]


def test_merged_cells_and_marked_rows_of_word(tmp_path: Path) -> None:
    import docx
    from docx.oxml import OxmlElement

    document = docx.Document()
    table = document.add_table(4, 3)
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Passengers"
    for place, text in enumerate(("Line", "spring", "autumn")):
        table.cell(1, place).text = text
    table.cell(2, 0).merge(table.cell(3, 0)).text = "Cliff"
    for row, cells in ((2, ("many", "few")), (3, ("more", "none"))):
        for place, text in enumerate(cells, 1):
            table.cell(row, place).text = text
    for row in table.rows[:2]:
        row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").split("\n")[1:] == [
        "Line: Cliff (Passengers); spring: many; autumn: few",
        "Line: Cliff (Passengers); spring: more; autumn: none",
    ]


def test_layout_table_is_read_as_text_with_its_inner_table(tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    outer = document.add_table(1, 2)
    outer.cell(0, 0).text = "To the left."
    inner = outer.cell(0, 1).add_table(2, 3)
    for row, cells in enumerate((("Item", "Price", "Sold"), ("Lamp", "5", "7"))):
        for place, text in enumerate(cells):
            inner.cell(row, place).text = text
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx") == "To the left.\n\nItem | Price | Sold\nItem: Lamp; Price: 5; Sold: 7"


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (0.153, "0.0%", "15.3%"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (-1200, '"$"#,##0_);[Red]\\("$"#,##0\\)', "($1,200)"),
        (12.5, "[$€-407] #,##0.00", "€ 12.50"),
        (7, '0 "days"', "7 days"),
        (0.1 + 0.2, "General", "0.3"),
        (1_500_000, "0,", "1500"),
        (0.0001, "0.00E+00", "1.00E-04"),
        (datetime.datetime(2024, 3, 9), "m/d/yyyy;@", "2024-03-09"),
        (datetime.datetime(2024, 3, 9), "d-mmm", "2024-03-09"),
        (datetime.datetime(2024, 3, 1), "mmm-yy", "March 2024"),
        (datetime.datetime(2024, 3, 9, 14, 30), "m/d/yy h:mm", "2024-03-09 14:30"),
        (True, "General", "yes"),
        (-5, "0;[Red]0", "-5"),
        (1234567, '0.0,,"M"', "1.2M"),
        (1.5, "# ?/?", "1 1/2"),
        (2.375, "# ??/8", "2 3/8"),
        (1234, "00000", "01234"),
        (123456789, "000-00-0000", "123-45-6789"),
        (0, '_(* #,##0_);_(* (#,##0);_(* "-"??_)', "-"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (1.5, "0.##", "1.5"),
        (5, ";;;", ""),
        (1500, '[>=1000]0.0,"K";0', "1.5K"),
        (19.99, '0 "dollars and" .00 "cents"', "19 dollars and .99 cents"),
        (12345, "##0.0E+0", "12.3E+3"),
        (datetime.timedelta(hours=26, minutes=5), "[h]:mm", "26:05"),
    ],
)
def test_numbers_and_dates_are_as_the_workbook_shows_them(value: object, code: str, expected: str) -> None:
    assert format_cell(value, code) == expected


REGIONS = ["Region: North (2019); Q1: 25%; Q2: 2", "Region: North (2019); Q1: 50%; Q2: 4"]


def make_merged(path: Path) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Region", "2019", None], [None, "Q1", "Q2"], ["North", 0.25, 2], [None, 0.5, 4]):
        sheet.append(row)
    sheet["B3"].number_format = sheet["B4"].number_format = "0%"
    for merged in ("A1:A2", "B1:C1", "A3:A4"):
        sheet.merge_cells(merged)
    book.save(path)
    return path


def test_merged_sheet_cells_hold_for_all_their_rows_and_columns(tmp_path: Path) -> None:
    assert read(make_merged(tmp_path / "a.xlsx")).split("\n")[2:] == REGIONS


def test_merged_cells_survive_the_edges_of_sheet_pieces(tmp_path: Path) -> None:
    part = "xl/worksheets/sheet1.xml"
    with (
        zipfile.ZipFile(make_merged(tmp_path / "a.xlsx")) as whole,
        zipfile.ZipFile(tmp_path / "b.xlsx", "w") as wider,
    ):
        for name in whole.namelist():
            data = whole.read(name)
            if name == part:
                last = data.index(b"A3:A4")
                begin = data.index(b"<mergeCells")
                data = data[:begin] + b" " * ((1 << 20) - last - 2) + data[begin:]
                assert data[(1 << 20) - 2 :].startswith(b"A3:A4")
            wider.writestr(name, data)
    assert read(tmp_path / "b.xlsx").split("\n")[2:] == REGIONS


def test_web_tables_retain_spans_captions_and_row_heads() -> None:
    html = """<table><caption>Fares</caption><thead><tr><th rowspan=2>Ticket<th colspan=2>Peak<th>Other</tr>
      <tr><th>up<th>down<th>any</tr></thead>
      <tr><th>Adult<td rowspan=2>2.50<td>2<td>1</tr><tr><th>Child<td>1<td>0</tr></table>"""
    assert html_text(html).split("\n") == [
        "Fares",
        "Ticket | Peak up | Peak down | Other any",
        "Ticket: Adult; Peak up: 2.50; Peak down: 2; Other any: 1",
        "Ticket: Child; Peak up: 2.50; Peak down: 1; Other any: 0",
    ]
    assert html_text(
        "<table><tr><td><table><tr><td>a<td>b</tr></table><td><p>One.<p>Two.</tr></table>"
    ).split() == [*("a", "|", "b", "One.", "Two.")]


def test_a_table_inside_an_article_has_the_same_form() -> None:
    story = "".join(
        f"<p>Paragraph {n} tells of the railway and of the people who built it by hand.</p>"
        for n in range(30)
    )
    links = "".join(f"<li><a href='/{n}'>Some other story of the day, number {n}</a></li>" for n in range(60))
    table = "<table><tr><th>Station<th>Height<th>Opened</tr><tr><td>Harbour<td>3<td>1872</tr></table>"
    text = page_text(
        f"<html><body><article><h1>Rails</h1>{story}{table}</article><div><ul>{links}</ul></div></body></html>"
    )
    assert "\n\nStation | Height | Opened\nStation: Harbour; Height: 3; Opened: 1872" in text
    assert "Some other story" not in text


def test_a_short_menu_next_to_a_long_article_is_no_part_of_it() -> None:
    story = "".join(
        f"<p>Paragraph {n} tells of the railway and of the people who built it by hand.</p>"
        for n in range(30)
    )
    menu = "".join(f"<li><a href='/{n}'>Language {n}</a></li>" for n in range(30))
    text = page_text(
        f"<html><body><div><ul>{menu}</ul></div><article><h1>Rails</h1>{story}</article></body></html>"
    )
    assert all(f"Paragraph {n} " in text for n in range(30))
    assert "Language" not in text


def test_what_nobody_sees_is_not_read() -> None:
    figures = "<div style='display:none'><ix:header><ix:hidden>0000013156</ix:hidden></ix:header></div>"
    assert (
        html_text(f"<body>{figures}<p>Shown.</p><p>&nbsp;</p><p>5&nbsp;km.</p></body>")
        == "Shown.\n\n5\xa0km."
    )


def test_a_page_of_many_short_entries_loses_none_of_them() -> None:
    story = (
        "<article><p>" + "This one is a longer story about the harbour and its boats. " * 8 + "</p></article>"
    )
    entries = "".join(
        f"<div><h3>Offer {n}</h3><p>A room with a view, number {n}, for two guests.</p></div>"
        for n in range(60)
    )
    text = page_text(f"<html><body>{story}{entries}</body></html>")
    assert all(f"number {n}," in text for n in range(60))


@needs_documents(ARTICLES)
def test_articles_are_separated_from_the_frames_of_their_pages() -> None:
    from benchmarks.html import measure, pages

    _, recall, f1, _ = measure(pages(), page_text)
    assert f1 > 0.95
    assert recall > 0.98


@needs_documents(TABLES)
def test_columns_of_annual_reports_are_detected() -> None:
    import json

    named = rows = 0
    for record in TABLES.read_text("utf-8").splitlines()[:200]:
        table = [
            line.strip("|").split("|")
            for line in json.loads(record)["text"].split("\n")
            if line.startswith("|")
        ]
        body = [
            line
            for line in table_rows.lines(table)
            if sum(part.strip(" $(").strip()[:1].isdigit() for part in line.split(": ")[1:])
        ]
        rows += sum(sum(cell.strip(" $(—-")[:1].isdigit() for cell in row[1:]) > 1 for row in table[2:])
        named += len(body)
    assert named / rows > 0.9


@pytest.mark.parametrize("text", ["a", "word " * 2_000], ids=["short", "long"])
def test_cells_with_huge_spans_cost_only_the_words_of_the_table(text: str) -> None:
    rows = [[(text, 100, 100), ("b", 1, 1)] for _ in range(400)]
    found = list(table_rows.grid(rows))
    assert [row.count("b") for row in found] == [1] * 400
    assert sum(len(cell) for row in found for cell in row) < 30 * 400 * len(text) + 50_000


def test_long_row_spans_repeat_their_words_in_each_row() -> None:
    rows = [
        [("North", 1, 5_000), ("Oslo", 1, 5_000), ("1", 1, 1)],
        *[[(str(number), 1, 1)] for number in range(2, 5_001)],
    ]
    assert list(table_rows.grid(rows)) == [["North", "Oslo", str(number)] for number in range(1, 5_001)]
