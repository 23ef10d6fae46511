"""Pictures on pages that have text, too: their words are read in their place, or the pages are named; others
are let be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ragcore.errors import RagError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.pdf.page_images import highlight_boxes
from ragcore.readers.registry import read_file
from tests.ragcore.readers.ocr.test_recognition import Double, cyrillic
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, drawn, with_tesseract
from tests.ragcore.readers.pdf.drawing import A4, turned_page

HEAD = "Letters received by the harbour office"
FOOT = "Filed by the clerk of the harbour"
LARGE = (40, 300, 515, 354)  # left, bottom, width and height in points: 36 percent of A4

Draw = Callable[[Any], None]


@pytest.fixture(autouse=True, scope="module")
def each_picture_once() -> Iterator[None]:
    """Most tests show tesseract the same pictures, each of which takes it a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tesseract, "_output", cache(tesseract._output))
        yield


def picture(canvas: Any, image: Image.Image, place: tuple[int, int, int, int] = LARGE) -> None:
    from reportlab.lib.utils import ImageReader

    canvas.drawImage(ImageReader(image), *place)


def letter(canvas: Any) -> None:
    canvas.drawString(60, 780, HEAD)
    picture(canvas, drawn(*SENTENCES))
    canvas.drawString(60, 80, FOOT)


def pages(path: Path, images: Sequence[Image.Image | None]) -> Path:
    """A page with a line for each picture, and the picture below it."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4)
    for image in images:
        canvas.drawString(60, 780, HEAD)
        if image:
            picture(canvas, image)
        canvas.showPage()
    canvas.save()
    return path


class Read:
    def __init__(self, path: Path) -> None:
        self.words: dict[int, PageWords] = {}
        left_out: list[RagError] = []
        options = ReadOptions(path.name, on_loss=left_out.append, on_words=self.words.__setitem__)
        self.text = read_file(path, options).text
        self.left_out = [error.what for error in left_out]


@with_tesseract
@pytest.mark.parametrize("rotate", [0, 90, 180])
@pytest.mark.parametrize("inside", [False, True], ids=["on the page", "in a form"])
def test_picture_words_are_in_place_between_lines_with_boxes(
    rotate: int, inside: bool, tmp_path: Path
) -> None:
    def draw(canvas: Any) -> None:
        if inside:
            canvas.beginForm("all", 0, 0, *A4)
        letter(canvas)
        if inside:
            canvas.endForm()
            canvas.doForm("all")

    path = turned_page(tmp_path / "a.pdf", draw, turns=rotate // 90, rotate=rotate)
    read = Read(path)
    assert read.text.split("\n\n") == [HEAD, "\n".join(SENTENCES), FOOT]
    assert read.left_out == []
    for number, sentence in enumerate(SENTENCES):
        [box] = read.words[0].highlight_boxes(sentence)
        left, top = 40 + 60 * 515 / 874, A4[1] - 654 + (80 + 120 * number) * 354 / 600
        assert box.x0 == pytest.approx(100 * left / A4[0], abs=1)
        assert box.top == pytest.approx(100 * top / A4[1], abs=2)
    boxes = highlight_boxes(path, 0, read.text)
    assert len(boxes) == 2  # of the lines around the picture
    assert boxes[0].top < 10
    assert boxes[1].top > 85


@with_tesseract
def test_adjacent_pictures_are_read_in_turn_apart_from_the_text(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=A4)
    for _ in range(2):
        canvas.drawString(60, 780, HEAD)
        canvas.showPage()
    canvas.drawString(60, 780, "Receipts that are kept by the")
    for number, sentence in enumerate(SENTENCES):
        picture(canvas, drawn(sentence).crop((0, 0, 600, 500)), (20 + 285 * number, 420, 270, 300))
    canvas.drawString(60, 100, "clerk of the harbour")
    canvas.save()
    head, *lines = Read(tmp_path / "a.pdf").text.split("\n\n")[2:]
    assert [head[:8], *lines] == ["Receipts", "\n".join(SENTENCES), "clerk of the harbour"]


@with_tesseract
@pytest.mark.parametrize("angle", [90, 180, 270])  # anticlockwise
def test_sideways_picture_is_read_and_marked_on_the_page(angle: int, tmp_path: Path) -> None:
    place = LARGE if angle == 180 else (60, 60, 460, 670)

    def draw(canvas: Any) -> None:
        canvas.drawString(60, 780, HEAD)
        picture(canvas, drawn(*SENTENCES, *SENTENCES).rotate(angle, expand=True), place)

    read = Read(turned_page(tmp_path / "a.pdf", draw))
    assert read.text.split() == " ".join([HEAD, *SENTENCES, *SENTENCES]).split()
    assert read.words[0].turn == 0
    boxes = read.words[0].highlight_boxes(SENTENCES[0])
    left, right = min(box.x0 for box in boxes), max(box.x0 + box.width for box in boxes)
    top, bottom = min(box.top for box in boxes), max(box.top + box.height for box in boxes)
    x, y, width, height = place
    # of the picture's width and height: where the sentence begins, and the middle of its line
    begin, line = 60 / 874, 97 / 600
    if angle == 90:
        expected = (bottom, 1 - (y + begin * height) / A4[1], (left + right) / 2, (x + line * width) / A4[0])
    elif angle == 180:
        expected = (
            right,
            (x + width - begin * width) / A4[0],
            (top + bottom) / 2,
            1 - (y + line * height) / A4[1],
        )
    else:
        expected = (
            top,
            1 - (y + height - begin * height) / A4[1],
            (left + right) / 2,
            (x + width - line * width) / A4[0],
        )
    assert expected[::2] == pytest.approx([100 * share for share in expected[1::2]], abs=1.5)


def layered(canvas: Any) -> None:
    """A scan with the words that were recognised in it upon it, which are not shown."""
    picture(canvas, drawn(*SENTENCES), (0, 0, 595, 842))
    for number, sentence in enumerate(SENTENCES):
        line = canvas.beginText(41, 842 - (108 + 120 * number) * 842 / 600)
        line.setFont("Helvetica", 20)
        line.setTextRenderMode(3)
        line.textLine(sentence)
        canvas.drawText(line)


def not_looked_at() -> list[Draw]:
    def logo(canvas: Any) -> None:
        canvas.drawString(60, 780, HEAD)
        picture(canvas, drawn(*SENTENCES), (60, 400, 300, 206))

    def coarse(canvas: Any) -> None:
        canvas.drawString(60, 780, HEAD)
        picture(canvas, drawn(*SENTENCES).resize((100, 70)))

    def background(canvas: Any) -> None:
        picture(canvas, drawn(*SENTENCES), (0, 0, 595, 842))
        for number in range(8):
            canvas.drawString(
                60, 600 - 30 * number, f"Line {number} of a page that was typed and not scanned."
            )

    return [logo, coarse, background, layered]


@pytest.mark.parametrize("draw", not_looked_at(), ids=["logo", "coarse", "background", "scan with its text"])
def test_logos_backgrounds_and_text_scans_are_not_recognised(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = turned_page(tmp_path / "a.pdf", draw)
    engine = Double("the tower of the town")
    monkeypatch.setattr(recognition, "ENGINES", (engine,))
    read = Read(path)
    assert (engine.sizes, read.words, read.left_out) == ([], {}, [])
    monkeypatch.setattr(recognition, "ENGINES", ())
    assert Read(path).left_out == []


@with_tesseract
def test_words_that_are_typed_upon_a_picture_are_not_read_twice(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        letter(canvas)
        canvas.drawString(100, 400, "Copied by the clerk")

    text = Read(turned_page(tmp_path / "a.pdf", draw)).text
    assert [text.count(line) for line in (HEAD, *SENTENCES, "Copied by the clerk", FOOT)] == [1] * 5


def test_pages_with_large_pictures_are_named_once_without_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = [drawn(*SENTENCES, f"Part {number}.") for number in range(3)]
    monkeypatch.setattr(recognition, "ENGINES", ())
    read = Read(pages(tmp_path / "a.pdf", [letters[0], None, *letters[1:]]))
    assert read.left_out == [
        (
            "In a.pdf there are large pictures beside the text of pages 1, 3 and 4, and no text recognition "
            "(OCR) is installed."
        )
    ]


def test_picture_repeated_on_every_page_is_examined_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Double("the tower of the town")
    monkeypatch.setattr(recognition, "ENGINES", (engine,))
    Read(pages(tmp_path / "a.pdf", [drawn(*SENTENCES)] * 4))
    assert sum(max(size) > recognition.SKETCH_SIDE for size in engine.sizes) == 1


@with_tesseract
def test_photographs_are_silent_and_unread_text_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "ENGINES", (tesseract,))
    noise = Image.effect_noise((900, 620), 90).convert("RGB").resize((450, 310)).resize((900, 620))
    sun = Image.radial_gradient("L").resize((900, 620)).convert("RGB")

    read = Read(pages(tmp_path / "a.pdf", [sun, noise, cyrillic()]))
    assert read.text == "\n\n".join([HEAD] * 3)
    expected = (
        []
        if {"rus", "ukr", "bul"} & set(tesseract.languages())
        else ["Text was not recognised on these pages of a.pdf: 3."]
    )
    assert read.left_out == expected
