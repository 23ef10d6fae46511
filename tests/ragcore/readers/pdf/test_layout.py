"""Tables, columns and headlines of made PDFs, compared with what was drawn; and of real ones, with what is
seen on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.page_images import highlight_boxes
from ragcore.readers.registry import read_file
from tests.needs import SHARED, needs_documents

DATA = SHARED / "data" / "nasty" / "pdf_ok"
A4 = (595.276, 841.89)  # points
ROWS = [
    ["Station", "Opened", "Height (m)"],
    ["Cliff Top", "1871", "84"],
    ["Harbour", "1872", "3"],
    ["Engine House", "1880", "41"],
]
BEFORE, AFTER = "The stations of the railway are these.", "All of them are open in summer."
PROSE = (
    "The railway was built in two summers by ninety men, who cut the track into the rock with hand "
    "tools and hauled the"
    " carriages up with a rope that ran over the wheel in the engine house, where it can still be seen "
    "by visitors today."
)


def drawn(path: Path, story: list[Any]) -> Path:
    from reportlab.platypus import SimpleDocTemplate

    SimpleDocTemplate(str(path), pagesize=A4).build(story)
    return path


def paragraph(text: str, **style: Any) -> Any:
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
    from reportlab.platypus import Paragraph

    return Paragraph(text, ParagraphStyle("made", parent=getSampleStyleSheet()["BodyText"], **style))


def table(rows: list[list[Any]], *style: tuple[Any, ...], widths: list[float] | None = None) -> Any:
    from reportlab.platypus import Table

    return Table(rows, style=list(style), colWidths=widths)


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


GRID = ("GRID", (0, 0), (-1, -1), 0.5, "black")
BOOK = [("LINEABOVE", (0, 0), (-1, 0), 1, "black"), ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black")]
BANDS = ("ROWBACKGROUNDS", (0, 0), (-1, -1), ["#dddddd", "#ffffff"])


@pytest.mark.parametrize("style", [[GRID], [], BOOK, [BANDS]], ids=["grid", "bare", "rules above", "bands"])
def test_each_table_row_is_a_line_with_its_column_names(style: list[Any], tmp_path: Path) -> None:
    text = read(drawn(tmp_path / "a.pdf", [paragraph(BEFORE), table(ROWS, *style), paragraph(AFTER)]))
    assert text == "\n\n".join([BEFORE, "\n".join(table_rows.lines(ROWS)), AFTER])
    assert "Station: Harbour; Opened: 1872; Height (m): 3" in text


def test_a_cell_of_several_lines_stays_one_cell(tmp_path: Path) -> None:
    rows = [
        ["Station", "Opened", "What is there"],
        ["Cliff Top", "1871", paragraph(PROSE)],
        ["Harbour", "1872", paragraph(BEFORE)],
    ]
    text = read(drawn(tmp_path / "a.pdf", [table(rows, GRID, widths=[90, 60, 200])]))
    assert f"Station: Cliff Top; Opened: 1871; What is there: {PROSE}" in text


def test_rows_without_rules_between_them_are_rows(tmp_path: Path) -> None:
    rows = [ROWS[0], ["\n".join(column) for column in zip(*ROWS[1:], strict=True)]]
    assert read(drawn(tmp_path / "a.pdf", [table(rows, GRID)])) == "\n".join(table_rows.lines(ROWS))


def test_the_boxes_of_a_row_lie_on_that_row(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", [paragraph(BEFORE), table(ROWS, GRID), paragraph(AFTER)])
    found = {
        row[0]: highlight_boxes(path, 0, line) for row, line in zip(ROWS, table_rows.lines(ROWS), strict=True)
    }
    tops = [min(box.top for box in boxes) for boxes in found.values()]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(ROWS)
    for boxes in found.values():
        # percent: one row
        assert max(box.top + box.height for box in boxes) - min(box.top for box in boxes) < 3
    whole = highlight_boxes(path, 0, read(path))
    assert min(box.top for box in whole) < tops[0]
    assert max(box.top for box in whole) > tops[-1]


def test_passage_from_a_table_to_the_text_below_is_located(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", [paragraph(BEFORE), table(ROWS, GRID), paragraph(AFTER)])
    text = read(path)
    quote = text[text.index("Station: Engine") :]
    [last] = highlight_boxes(path, 0, AFTER)
    assert last in highlight_boxes(path, 0, quote)


@given(
    cells=st.lists(
        st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=3, max_size=3), min_size=3, max_size=8
    ),
    ruled=st.booleans(),
)
def test_no_word_of_a_table_is_lost_or_moved_to_another_row(
    cells: list[list[str]], ruled: bool, tmp_path: Path
) -> None:
    lines = read(
        drawn(tmp_path / "a.pdf", [table(cells, *([GRID] if ruled else []), widths=[120.0] * 3)])
    ).split("\n")
    assert lines == list(table_rows.lines(cells))


def test_columns_drawn_line_by_line_are_read_one_after_another(tmp_path: Path) -> None:
    from textwrap import wrap

    from reportlab.pdfgen.canvas import Canvas

    left, right = (
        wrap(text, 44)
        for text in (PROSE, PROSE.replace("railway", "lighthouse").replace("carriages", "lamps"))
    )
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for number, (one, other) in enumerate(zip(left, right, strict=False)):
        canvas.drawString(60, 700 - 13 * number, one)
        canvas.drawString(320, 700 - 13 * number, other)
    canvas.save()
    text = read(tmp_path / "a.pdf").replace("\n", " ")
    assert " ".join(left) in text
    assert " ".join(right[: len(left)]) in text


def test_headline_as_long_as_a_line_stays_apart_from_the_text(tmp_path: Path) -> None:
    title = "The History of the Cliff Railway and of Everybody who Built it"
    for name, style in (("large", {"fontSize": 16, "leading": 20}), ("bold", {"fontName": "Helvetica-Bold"})):
        path = drawn(
            tmp_path / f"{name}.pdf",
            [paragraph(title, spaceAfter=0, **style), paragraph(PROSE, rightIndent=120)],
        )
        assert read(path) == f"{title}\n\n{PROSE}"


def test_a_list_and_a_drawing_are_no_tables(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    for number, item in enumerate(["a lamp", "a rope", "a map", "a tin"]):
        canvas.drawString(72, 700 - 20 * number, f"{number + 1}.")
        canvas.drawString(110, 700 - 20 * number, item)
    for number in range(8):  # a chart's raster
        canvas.line(100, 300 + 20 * number, 300, 300 + 20 * number)
        canvas.line(100 + 28 * number, 300, 100 + 28 * number, 440)
        canvas.drawString(80, 298 + 20 * number, str(number))
    canvas.save()
    text = read(tmp_path / "a.pdf")
    assert "|" not in text
    assert [item in text for item in ("a lamp", "a rope", "a map", "a tin")] == [True] * 4


REAL = {
    "multicolumn.pdf": "Country: Denmark; Population (millions): 5.8; Area (km^2): 42,951; Capital: "
    "Copenhagen",
    "multi-column.pdf": "Type: BM25; #N: 7; IB: ✗; Top-5: 50.0; Top-20: 63.3; Top-100: 74.8",
    "testPDFVarious.pdf": "Row 2 Col 1 | Row 2 Col 2 | Row 2 Col 3",
    "issue-625-identity-cmap.pdf": "Lp: 1; Nazwa: Testy Książę; Jedn: szt.; Ilość: 1; Cena netto: 33,00; "
    "Stawka: 23%",
}


@needs_documents(DATA)
@pytest.mark.parametrize("name", sorted(REAL))
def test_tables_of_real_documents(name: str) -> None:
    assert REAL[name] in read(DATA / name)


def typed(path: Path, pages: list[list[tuple[str, str]]]) -> Path:
    """Lines of (font, text) just as they are given, one below the other."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4)
    for lines in pages:
        for number, (font, text) in enumerate(lines):
            canvas.setFont(font, 10)
            canvas.drawString(50, 780 - 12 * number, text)
        canvas.showPage()
    canvas.save()
    return path


def test_bold_headline_is_not_joined_to_the_paragraph_above(tmp_path: Path) -> None:
    full = [
        "The carriages go up every ten minutes from March to the end",
        "of October, and in winter they go up when somebody asks so.",
    ]
    lines = [
        ("Helvetica", full[0]),
        ("Helvetica", full[1]),
        ("Helvetica-Bold", "Tickets"),
        ("Helvetica", "They are sold below."),
    ]
    assert read(typed(tmp_path / "a.pdf", [lines])).split("\n\n") == [
        " ".join(full),
        "Tickets\nThey are sold below.",
    ]


@pytest.mark.parametrize(("inside", "word"), [(20, "cutting-edge"), (3, "cuttingedge")])
def test_line_end_hyphen_stays_in_an_unhyphenated_document(inside: int, word: str, tmp_path: Path) -> None:
    lines = [
        "The railway is well-known and its engine, which was cutting-",
        "edge when it was built, is well-kept by all of them.",
    ]
    lines += [f"It is a well-loved railway, and that for {number} years by now." for number in range(inside)]
    assert f"was {word} when" in read(typed(tmp_path / "a.pdf", [[("Helvetica", line) for line in lines]]))
