"""Raised and lowered letters, fractions and drop caps of PDFs, read as a person reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.page_images import highlight_boxes
from ragcore.readers.registry import read_file
from tests.needs import SHARED, needs_documents
from tests.ragcore.readers.pdf.drawing import turned_page

CASE = SHARED / "cases" / "06-superscripts" / "powers.pdf"


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


def written(path: Path, *paragraphs: str) -> Path:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    style = getSampleStyleSheet()["BodyText"]
    SimpleDocTemplate(str(path)).build([Paragraph(each, style) for each in paragraphs])
    return path


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("The culture holds 10<super>6</super> cells.", "The culture holds 10^6 cells."),
        ("About 10<super>-3</super> of them in 5 m<super>2</super>.", "About 10^-3 of them in 5 m^2."),
        ("At 3 m s<super>-1</super> and x<super>n+1</super> more.", "At 3 m s^-1 and x^(n+1) more."),
        ("It is H<sub>2</sub>O, with CO<sub>2</sub> in it.", "It is H2O, with CO2 in it."),
        ("Ca<super>2+</super> and SO<sub>4</sub><super>2-</super> ions.", "Ca^2+ and SO4^2- ions."),
        (
            "The changing ion Cl<super>-</super> and the charge e<super>-</super> of it.",
            "The changing ion Cl^- and the charge e^- of it.",
        ),
        (
            "A change that is well<b>-</b>known, of pages 3<b>-</b>9.",
            "A change that is well-known, of pages 3-9.",
        ),
        (
            "The 1<super>st</super> of May, by Lectern<super>TM</super> it is.",
            "The 1st of May, by Lectern™ it is.",
        ),
        ("The sum is 1,234<super>2</super> euro.", "The sum is 1,234^2 euro."),
        ("It was built in 1871<super>12</super> here.", "It was built in 1871^12 here."),
        (
            "It is steep.<super>3</super> Mind the gap<super>*</super> there.",
            "It is steep.3 Mind the gap* there.",
        ),
        ("Take 3<super>1</super>/<sub>2</sub> cups of it.", "Take 3 1/2 cups of it."),
        ("Take <super>3</super>⁄<sub>4</sub> of a cup.", "Take 3/4 of a cup."),
        ("A plain line of 106 words and 10-3 more.", "A plain line of 106 words and 10-3 more."),
    ],
)
def test_letters_off_the_line_keep_what_they_mean(markup: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", markup)
    assert read(path) == text
    [box] = highlight_boxes(path, 0, text)  # one line, marks or not
    assert box.height < 4


@needs_documents(CASE)
def test_the_case_reads_the_power() -> None:
    assert read(CASE) == "The culture holds 10^6 cells."


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_cells_of_tables_and_turned_pages_have_powers_too(turns: int, tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.grid([60, 160, 260], [700, 680, 660, 640])
        for number, (name, power) in enumerate([("Tank", ""), ("Upper", "6"), ("Lower", "-3")]):
            canvas.setFont("Helvetica", 10)
            canvas.drawString(65, 686 - 20 * number, name)
            canvas.drawString(165, 686 - 20 * number, "10" if power else "Cells")
            canvas.setFont("Helvetica", 6)
            canvas.drawString(177, 690 - 20 * number, power)

    assert "Tank: Upper; Cells: 10^6" in read(turned_page(tmp_path / "a.pdf", draw, turns=turns))


LINES = [
    "astleford was sold in 1888 to the family of the",
    "keeper, who had lived there for many years and",
    "paid for it in gold.",
]


def dropped(cap: str, lines: list[str], path: Path) -> Path:
    def draw(canvas: Any) -> None:
        canvas.setFont("Times-Roman", 44)
        canvas.drawString(60, 700, cap)
        canvas.setFont("Times-Roman", 12)
        for number, line in enumerate(lines):
            canvas.drawString(94, 722 - 14 * number, line)

    return turned_page(path, draw)


@pytest.mark.parametrize(
    ("cap", "lines", "begin"),
    [
        ("C", LINES, "Castleford was sold in 1888 to the family of the keeper, who"),
        (
            "A",
            ["nother day, the lamp went out in the tower", "and the keeper slept on."],
            "Another day, the lamp",
        ),
        (
            "A",
            ["railway ran up the cliff from the harbour to", "the top, and no railway was steeper then."],
            "A railway ran up",
        ),
    ],
)
def test_a_drop_cap_belongs_to_its_word(cap: str, lines: list[str], begin: str, tmp_path: Path) -> None:
    assert read(dropped(cap, lines, tmp_path / "a.pdf")).startswith(begin)
