"""Tables whose text does not run to the right, and names of columns over several lines, read like their plain
siblings."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.page_images import highlight_boxes, render_page
from ragcore.readers.registry import read_file
from tests.needs import SHARED, needs_documents
from tests.ragcore.readers.pdf.drawing import ROWS, table, turned_page, written

CASE = SHARED / "cases" / "01-rotated-page-table"
ruled_or_bare = pytest.mark.parametrize("ruled", [True, False], ids=["ruled", "bare"])


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


@ruled_or_bare
@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_table_reads_alike_whichever_way_it_lies(
    turns: int, rotate: int, ruled: bool, tmp_path: Path
) -> None:
    def draw(canvas: Any) -> None:
        table(canvas, ruled=ruled, title="Stations 2024")

    text = read(turned_page(tmp_path / "a.pdf", draw, turns=turns, rotate=rotate))
    assert text == "\n\n".join(["Stations 2024", "\n".join(table_rows.lines(ROWS))])


@needs_documents(CASE)
def test_landscape_page_reads_like_its_upright_twin() -> None:
    assert read(CASE / "landscape.pdf") == read(CASE / "same-table-unrotated.pdf")


@ruled_or_bare
def test_upright_text_next_to_a_rotated_table_stays_text(ruled: bool, tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        table(canvas, ruled=ruled)
        canvas.setFont("Helvetica", 9)
        written(canvas, 40, 500, "Page 7 of the yearly report", 3)

    text = read(turned_page(tmp_path / "a.pdf", draw, turns=1))
    assert text == "\n\n".join(["\n".join(table_rows.lines(ROWS)), "Page 7 of the yearly report"])


@pytest.mark.parametrize("rotate", [0, 90])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_the_box_of_a_turned_row_encloses_its_ink(turns: int, rotate: int, tmp_path: Path) -> None:
    from PIL import Image

    path = turned_page(
        tmp_path / "a.pdf", lambda canvas: table(canvas, [ROWS[0]], ruled=False), turns=turns, rotate=rotate
    )
    image = Image.open(io.BytesIO(render_page(path, 0, scale=2.0))).convert("L")
    ink = image.point(lambda value: 255 if value < 128 else 0).getbbox()
    assert ink is not None
    boxes = highlight_boxes(path, 0, " ".join(ROWS[0]))
    left, top = min(box.x0 for box in boxes), min(box.top for box in boxes)
    right, bottom = max(box.x0 + box.width for box in boxes), max(box.top + box.height for box in boxes)
    sides = [100 * side / image.size[index % 2] for index, side in enumerate(ink)]
    assert (left, top, right, bottom) == pytest.approx(sides, abs=1.2)
    assert len(boxes) == 1  # one line, not a box for each letter


NAMES = ["Station", "Keeper\npay", "Lamp\nheight", "Built in"]
FIGURES = [
    ["Cliff Top", "12", "41", "1871"],
    ["Low Rock", "9", "17", "1902"],
    ["Far Skerry", "14", "29", "1888"],
]


@ruled_or_bare
@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("page_turns", [0, 1])
def test_names_of_columns_may_be_turned(page_turns: int, turns: int, ruled: bool, tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(65, 606, NAMES[0])
        for column, name in enumerate(NAMES):
            for line, part in enumerate(name.split("\n") if column else ()):
                x = 60 + 60 * column + (18 + 12 * line if turns == 1 else 24 - 12 * line)
                written(canvas, x, 604 if turns == 1 else 676, part, turns)
        for number, row in enumerate(FIGURES):
            for column, cell in enumerate(row):
                canvas.drawString(65 + 60 * column, 586 - 20 * number, cell)
        if ruled:
            canvas.grid([60, 120, 180, 240, 300], [680, 600, 580, 560, 540])

    rows = [[name.replace("\n", " ") for name in NAMES], *FIGURES]
    assert read(turned_page(tmp_path / "a.pdf", draw, turns=page_turns)) == "\n".join(table_rows.lines(rows))


@ruled_or_bare
@pytest.mark.parametrize("turns", [0, 1])
def test_group_name_is_part_of_each_of_its_columns(turns: int, ruled: bool, tmp_path: Path) -> None:
    names, rows = (
        ["Town", "Men", "Women", "Men", "Women"],
        [["Oslo", "12", "13", "22", "23"], ["Hamar", "16", "17", "26", "27"]],
    )

    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        for year, middle in (("2019", 220), ("2018", 380)):
            canvas.drawCentredString(middle, 686, year)
        for number, row in enumerate([names, *rows]):
            for column, cell in enumerate(row):
                lifted = 10 if ruled and cell == "Town" else 0  # the cell spans both rows of names
                canvas.drawCentredString(100 + 80 * column, 666 - 20 * number + lifted, cell)
        if ruled:
            for number, y in enumerate([700, 680, 660, 640, 620]):
                canvas.line(140 if number == 1 else 60, y, 460, y)
            for column in range(6):
                canvas.line(60 + 80 * column, 680 if column in (2, 4) else 700, 60 + 80 * column, 620)

    assert read(turned_page(tmp_path / "a.pdf", draw, turns=turns)).split("\n") == [
        "Town | 2019 Men | 2019 Women | 2018 Men | 2018 Women",
        "Town: Oslo; 2019 Men: 12; 2019 Women: 13; 2018 Men: 22; 2018 Women: 23",
        "Town: Hamar; 2019 Men: 16; 2019 Women: 17; 2018 Men: 26; 2018 Women: 27",
    ]


def test_a_cell_that_spans_rows_is_in_each_of_them(tmp_path: Path) -> None:
    rows = [["Region", "Town", "People"], ["", "Oslo", "700"], ["North", "Bergen", "290"],
            ["", "Hamar", "30"],
            ["South", "Kiel", "250"], ["", "Bonn", "330"]]  # fmt: skip

    def draw(canvas: Any) -> None:
        table(canvas, rows, ruled=False)
        for number in range(7):
            canvas.line(60 if number in (0, 1, 4, 6) else 180, 700 - 20 * number, 420, 700 - 20 * number)
        for column in range(4):
            canvas.line(60 + 120 * column, 700, 60 + 120 * column, 580)

    lines = read(turned_page(tmp_path / "a.pdf", draw)).split("\n")
    regions = ["North"] * 3 + ["South"] * 2
    assert lines[1:] == [
        f"Region: {region}; Town: {town}; People: {people}"
        for region, (_, town, people) in zip(regions, rows[1:], strict=True)
    ]


@ruled_or_bare
def test_two_tables_below_each_other_have_their_own_names(ruled: bool, tmp_path: Path) -> None:
    second = [
        ["City", "Mayor", "Seats", "Since"],
        ["Oslo", "Ada Lund", "59", "2019"],
        ["Bergen", "Bo Dahl", "67", "2021"],
    ]

    def draw(canvas: Any) -> None:
        table(canvas, ruled=ruled)
        table(canvas, second, ruled=ruled, top=596)

    text = read(turned_page(tmp_path / "a.pdf", draw))
    assert text.split("\n") == [*table_rows.lines(ROWS), *table_rows.lines(second)]


def test_a_row_of_figures_never_becomes_names(tmp_path: Path) -> None:
    rows = [["Cliff Top", "2019", "41"], ["Low Rock", "12", "17"], ["Far Skerry", "14", "29"]]
    text = read(turned_page(tmp_path / "a.pdf", lambda canvas: table(canvas, rows, ruled=False)))
    assert text == "\n".join(map(" | ".join, rows))
