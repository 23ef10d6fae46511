"""Signs of symbol fonts, formulas without results, small pictures of text and the notes of rich text."""

from __future__ import annotations

import io
import re
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
from PIL import Image

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from tests.ragcore.readers.packages import make_docx, pack, relations


def _read(path: Path) -> tuple[str, list[str]]:
    left_out: list[str] = []
    document = read_file(path, ReadOptions(name=path.name, on_loss=lambda error: left_out.append(error.what)))
    return document.text, left_out


@pytest.mark.parametrize(
    ("font", "char", "sign"),
    [
        ("Symbol", "F06D", "μ"),
        ("Symbol", "F0B3", "≥"),
        ("Symbol", "61", "α"),
        ("Wingdings", "F0FC", "✓"),
        ("Wingdings", "F0A8", "☐"),
        ("Arial", "20AC", "€"),
        ("House Font", "F0FC", ""),
    ],
)
def test_signs_of_symbol_fonts_are_read_as_what_they_show(
    tmp_path: Path, font: str, char: str, sign: str
) -> None:
    body = (
        f'<w:p><w:r><w:t>5 </w:t></w:r><w:r><w:sym w:font="{font}" '
        f'w:char="{char}"/></w:r><w:r><w:t>m</w:t></w:r></w:p>'
    )
    assert _read(make_docx(tmp_path / "a.docx", body))[0] == f"5 {sign}m"


def test_formulas_without_results_are_reported(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Item", "Sum"], ["Rope", 4], ["Total", "=SUM(B2:B2)"], ["Mean", "=B3/1"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert _read(tmp_path / "a.xlsx")[1] == [
        "Formulas of a.xlsx have no results in the file and were not read (cells: 2)."
    ]


def test_formulas_whose_result_is_an_empty_text_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Item", "Sum"], ["Rope", '=IF(1,"","x")']):
        book.active.append(row)
    book.save(tmp_path / "made.xlsx")
    with zipfile.ZipFile(tmp_path / "made.xlsx") as made:
        parts = {name: made.read(name) for name in made.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    written = re.sub(r'<c r="B2"[^>]*>(<f>.*?</f>)<v ?/?>(</v>)?', r'<c r="B2" t="str">\1<v></v>', sheet)
    assert written != sheet
    assert _read(pack(tmp_path / "a.xlsx", {**parts, "xl/worksheets/sheet1.xml": written}))[1] == []


@pytest.mark.parametrize(("size", "is_said"), [((900, 600), True), ((90, 60), False)])
def test_small_picture_is_reported_if_large_enough_for_text(
    tmp_path: Path, size: tuple[int, int], is_said: bool
) -> None:
    picture = io.BytesIO()
    Image.new("1", size, 1).save(picture, "png")
    more = {
        "word/_rels/document.xml.rels": relations(
            ("s", "styles", "styles.xml"), ("p", "image", "media/a.png")
        ),
        "word/media/a.png": picture.getvalue(),
    }
    left_out = _read(
        make_docx(tmp_path / "a.docx", "<w:p><w:r><w:t>See below.</w:t></w:r></w:p>", more=more)
    )[1]
    assert left_out == (["Text in pictures of a.docx was not read (pictures: 1)."] if is_said else [])


def test_notes_comments_and_margins_of_rich_text_are_read(tmp_path: Path) -> None:
    rtf = (
        r"{\rtf1\ansi{\header\pard Harbour office\par}{\footer\pard Page of 1907\par}\pard The rent is due"
        r"{\super\chftn}{\footnote\pard\plain{\super\chftn} Paid {\b since} 1998.} in May"
        r"{\*\atnid IF}{\*\atnauthor Ida}{\*\annotation\pard\plain{\*\atnref 1}Ask Vera.}.\par}"
    )
    path = tmp_path / "a.rtf"
    path.write_text(rtf)
    text, _ = _read(path)
    for words in (
        "Harbour office\n",
        "Page of 1907\n",
        "[ Paid since 1998.] in May",
        "[Comment: Ask Vera.].",
    ):
        assert words in text


@pytest.mark.parametrize("defined", ["before", "behind"])
def test_rich_text_table_rows_have_their_column_names(defined: str, tmp_path: Path) -> None:
    def row(*cells: str) -> str:
        return (
            r"\trowd\cellx2000\cellx4000\pard\intbl "
            + "".join(cell + r"\cell " for cell in cells)
            + r"{\trowd\row}"
        )

    table = (
        row("Station", "Opened", "Sign")
        + row(r"Cliff\par Top", "1871", r"{\strike A}\u8364")
        + row("Low Rock", "1902", r"\\cell|")
    )
    layout = row(r"A letter.\par Of two paragraphs.") + row("And its end.")
    if defined == "behind":  # its cells, as some programs write it
        table, layout = (re.sub(r"\\trowd\\cellx2000\\cellx4000", "", each) for each in (table, layout))
    path = tmp_path / "a.rtf"
    path.write_text(rf"{{\rtf1\ansi Before.\par {table}\pard Between.\par {layout}\pard Behind.\par}}")
    assert _read(path)[0].split("\n") == [
        "Before.",
        "",
        "Station | Opened | Sign",
        "Station: Cliff Top; Opened: 1871; Sign: ~~A~~€",
        r"Station: Low Rock; Opened: 1902; Sign: \cell|",
        "",
        "Between.",
        "",
        "A letter.",
        "Of two paragraphs.",
        "And its end.",
        "",
        "Behind.",
    ]


def test_words_after_the_last_cell_of_an_rtf_row_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_text(r"{\rtf1\ansi \trowd\intbl Fare\cell 30\cell stray\row\pard Behind.\par}")
    assert _read(path)[0] == "Fare | 30 | stray\n\nBehind."


@pytest.mark.parametrize(
    "font",
    [r"{\f%d Arial;}", r"{\f%d\fcharset0 Arial}", r"\f%d\fcharset0 "],
    ids=["without an encoding", "without an end", "without braces"],
)
def test_rich_text_of_many_fonts_is_read_fast_in_its_encodings(font: str, tmp_path: Path) -> None:
    fonts = r"{\f1\fcharset204 Arial Cyr;}" + "".join(font % number for number in range(2, 30_000))
    path = tmp_path / "a.rtf"
    path.write_text(rf"{{\rtf1\ansi{{\fonttbl{fonts}}}{{\f1 \'cc\'e8\'f0}} and \'e9}}")
    began = time.process_time()
    assert _read(path)[0] == "Мир and é"
    assert time.process_time() - began < 10


def test_rich_text_of_many_links_is_read_fast_with_addresses(tmp_path: Path) -> None:
    link = r'{\field{\*\fldinst{HYPERLINK "https://example.org"}}{\fldrslt{\ul here}}}'
    path = tmp_path / "a.rtf"
    path.write_text(
        r"{\rtf1\ansi See "
        + link
        + " and "
        + link
        + r"{\field{\*\fldinst{HYPERLINK " * 3_000
        + r'"'
        + "}}}" * 3_000
        + "}"
    )
    began = time.process_time()
    assert _read(path)[0].split() == [
        "See",
        'here("https://example.org")',
        "and",
        'here("https://example.org")',
    ]
    assert time.process_time() - began < 10
