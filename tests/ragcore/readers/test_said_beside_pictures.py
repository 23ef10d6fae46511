"""Words that a page, a drawing or a document shows in other ways than as its text, and those that it does not
show."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.web.html_text import html_text
from tests.ragcore.readers.packages import make_docx


def read(path: Path) -> str:
    return read_file(path, ReadOptions(path.name)).text


def test_the_visible_text_of_a_drawing_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><style>.a { fill: red }</style><title>Map</title><text>Pier"
        "<tspan display='none'>no</tspan> 4</text><g style='display: none'><text>Draft</text></g></svg>"
    )
    assert read(tmp_path / "a.svg") == "Map\nPier\n4"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "<p>Name <input value='Ada'><input type=hidden value=77><input type=SUBMIT value=Send></p>",
            "Name Ada",
        ),
        ("<script>run()</script><noscript><p>Open 9 to 5.</p></noscript>", "Open 9 to 5."),
        ("<p>Open 9 to 5.</p><noscript>Switch on JavaScript.</noscript>", "Open 9 to 5."),
    ],
)
def test_form_fields_and_noscript_text_are_read(body: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f"<html><body>{body}</body></html>")
    assert read(tmp_path / "a.html") == text


@pytest.mark.parametrize(
    ("said", "text"), [("The pier at noon", "Before.The pier at noon"), ("pier.JPG", "Before.")]
)
def test_alternative_text_of_a_picture_in_word_is_read(said: str, text: str, tmp_path: Path) -> None:
    body = (
        f"<w:p><w:r><w:t>Before.</w:t></w:r><w:r><w:drawing><inline><docPr id='1' descr='{said}'/>"
        "<graphic><graphicData><pic/></graphicData></graphic></inline></w:drawing></w:r></w:p>"
    )
    assert read(make_docx(tmp_path / "a.docx", body)).replace("\n", "") == text


def test_alternative_text_of_a_picture_on_a_slide_is_read(tmp_path: Path) -> None:
    from pptx import Presentation

    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    picture = slide.shapes.add_picture(str(tmp_path / "a.png"), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "The pier at noon")
    deck.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx") == "The pier at noon"


def test_noscript_within_noscript_is_read_once() -> None:
    assert html_text("<body>" + "<p></p><noscript>" * 60 + "hi" + "</noscript>" * 60).split() == ["hi"]
