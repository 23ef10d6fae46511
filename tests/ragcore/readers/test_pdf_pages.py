"""Pictures of pages, and boxes on the words of a quote, compared with where reportlab drew them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import DamagedFileError, EncryptedFileError, InputError
from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.page_images import Box, highlight_boxes, render_page
from ragcore.readers.registry import read_file
from tests.making import make_pdf

A4 = (595.276, 841.89)  # points
LINES = ["Alpha beta gamma delta.", "Epsilon zeta eta theta iota.", "Kappa lambda my ny xi omikron."]


def drawn(path: Path, lines: list[str], *, turned: int = 0) -> dict[str, Box]:
    """A page with the lines; where each stands, from the widths that reportlab knows."""
    from reportlab.pdfbase.pdfmetrics import stringWidth
    from reportlab.pdfgen.canvas import Canvas

    # For a page on its side reportlab exchanges the sides that it is given.
    canvas = Canvas(str(path), pagesize=A4[::-1] if turned in (90, 270) else A4)
    if turned:
        canvas.setPageRotation(turned)
    canvas.setFont("Helvetica", 12)
    boxes = {}
    for number, line in enumerate(lines):
        y = 700 - 40 * number
        canvas.drawString(100, y, line)
        boxes[line] = Box(
            100 * 100 / A4[0],
            100 * (A4[1] - y - 12) / A4[1],
            100 * stringWidth(line, "Helvetica", 12) / A4[0],
            100 * 12 / A4[1],
        )
    canvas.save()
    return boxes


@pytest.mark.parametrize("line", LINES)
def test_a_box_lies_on_the_words_that_were_drawn(line: str, tmp_path: Path) -> None:
    boxes = drawn(tmp_path / "a.pdf", LINES)
    [box] = highlight_boxes(tmp_path / "a.pdf", 0, line)
    assert (box.x0, box.width) == pytest.approx((boxes[line].x0, boxes[line].width), abs=0.4)
    middle = boxes[line].top + boxes[line].height / 2
    assert box.top < middle < box.top + box.height
    assert box.height < 3  # percent: one line, not two


def test_quote_of_three_lines_has_three_boxes_top_to_bottom(tmp_path: Path) -> None:
    drawn(tmp_path / "a.pdf", LINES)
    boxes = highlight_boxes(tmp_path / "a.pdf", 0, "gamma delta.\n\nEpsilon zeta  eta theta iota. Kappa")
    assert len(boxes) == 3
    assert [box.top for box in boxes] == sorted(box.top for box in boxes)
    assert boxes[0].x0 > boxes[1].x0 + 5  # the first begins in the middle of its line
    assert boxes[2].width < boxes[1].width / 2  # the last is one word


def test_parts_of_a_quote_have_boxes_where_the_quote_stands(tmp_path: Path) -> None:
    drawn(tmp_path / "a.pdf", ["beta alone", *LINES])
    quote = " ".join(LINES)
    parts = [(start, start + len(word)) for word in ("beta", "delta.") if (start := quote.index(word)) >= 0]
    beta, delta = highlight_boxes(tmp_path / "a.pdf", 0, quote, parts=parts)
    whole, *_ = highlight_boxes(tmp_path / "a.pdf", 0, quote)
    assert beta.top == delta.top == whole.top  # not where the word stands outside the quote
    assert whole.x0 < beta.x0 < beta.x0 + beta.width < delta.x0
    assert highlight_boxes(tmp_path / "a.pdf", 0, quote, parts=[]) == []
    # Of a quote that begins on the page before, too.
    assert highlight_boxes(
        tmp_path / "a.pdf", 0, f"Before. {quote}", parts=[(start + 8, end + 8) for start, end in parts]
    ) == [
        beta,
        delta,
    ]


def test_boxes_turn_with_the_page(tmp_path: Path) -> None:
    upright = drawn(tmp_path / "a.pdf", LINES)[LINES[0]]
    drawn(tmp_path / "b.pdf", LINES, turned=90)
    [box] = highlight_boxes(tmp_path / "b.pdf", 0, LINES[0])
    # Turned clockwise, what was at the left is at the top, and what was at the top is at the right.
    assert box.top == pytest.approx(upright.x0, abs=0.4)
    assert box.height == pytest.approx(upright.width, abs=0.4)
    assert 100 - box.x0 - box.width == pytest.approx(upright.top, abs=1)


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_a_box_encloses_the_ink_of_the_picture(turned: int, tmp_path: Path) -> None:
    from PIL import Image

    drawn(tmp_path / "a.pdf", LINES[:1], turned=turned)
    image = Image.open(io.BytesIO(render_page(tmp_path / "a.pdf", 0, scale=2.0))).convert("L")
    ink = image.point(lambda value: 255 if value < 128 else 0).getbbox()
    assert ink is not None
    [box] = highlight_boxes(tmp_path / "a.pdf", 0, LINES[0])
    left, top, right, bottom = (100 * side / image.size[index % 2] for index, side in enumerate(ink))
    assert box.x0 - 0.3 <= left < right <= box.x0 + box.width + 0.3
    assert box.top - 0.3 <= top < bottom <= box.top + box.height + 0.3
    assert box.width * box.height < 2.5 * (right - left) * (bottom - top)


def test_text_outside_the_visible_page_has_no_box(tmp_path: Path) -> None:
    import pypdfium2

    drawn(tmp_path / "a.pdf", LINES)
    pdf = pypdfium2.PdfDocument(tmp_path / "a.pdf")
    pdf[0].set_cropbox(0, 0, A4[0], 690)  # without the first line
    pdf.save(tmp_path / "b.pdf")
    pdf.close()
    assert highlight_boxes(tmp_path / "b.pdf", 0, LINES[0]) == []
    [box] = highlight_boxes(tmp_path / "b.pdf", 0, LINES[1])
    assert box.top + box.height / 2 == pytest.approx(100 * (690 - 664) / 690, abs=1)


def test_the_part_of_a_quote_on_this_page_is_located(tmp_path: Path) -> None:
    path = make_pdf(
        tmp_path / "a.pdf",
        [
            "Nothing here. The sentence begins on the first page",
            "and it ends on the second one. Other words.",
        ],
    )
    document = read_file(path, ReadOptions("a.pdf"))
    quote = "The sentence begins on the first page and it ends on the second one."
    assert quote in document.text
    [first], [second] = highlight_boxes(path, 0, quote), highlight_boxes(path, 1, quote)
    [whole] = highlight_boxes(path, 0, "The sentence begins on the first page")
    assert first == whole
    assert second == highlight_boxes(path, 1, "and it ends on the second one.")[0]


def test_a_hyphenated_word_is_located_as_it_is_read(tmp_path: Path) -> None:
    drawn(tmp_path / "a.pdf", ["This is the funda-", "mental idea of it."])
    text = read_file(tmp_path / "a.pdf", ReadOptions("a.pdf")).text
    assert "the fundamental idea" in text
    assert len(highlight_boxes(tmp_path / "a.pdf", 0, "fundamental idea")) == 2


def test_what_is_not_on_the_page_has_no_boxes(tmp_path: Path) -> None:
    drawn(tmp_path / "a.pdf", LINES)
    assert highlight_boxes(tmp_path / "a.pdf", 0, "Something else entirely, with words of its own") == []
    assert highlight_boxes(tmp_path / "a.pdf", 0, "") == []


WORDS = " ".join(LINES).split()


@given(first=st.integers(0, len(WORDS) - 1), count=st.integers(1, 8))
def test_any_run_of_words_is_covered_by_boxes_on_the_page(first: int, count: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    if not path.exists():
        drawn(path, LINES)
    boxes = highlight_boxes(path, 0, " ".join(WORDS[first : first + count]))
    assert boxes
    for box in boxes:
        assert 0 <= box.x0 < box.x0 + box.width <= 100
        assert 0 <= box.top < box.top + box.height <= 100


def test_a_page_is_drawn_at_its_size(tmp_path: Path) -> None:
    from PIL import Image

    path = make_pdf(tmp_path / "a.pdf", ["one", "two"])
    image = Image.open(io.BytesIO(render_page(path, 1, scale=1.0)))
    assert image.format == "WEBP"
    assert image.size == pytest.approx((595, 842), abs=1)
    dark = image.convert("L").point(lambda value: 255 if value < 128 else 0).getbbox()
    assert dark is not None
    assert 60 < dark[0] < 90  # the text begins at the left margin that it was drawn at


def test_a_giant_page_is_drawn_smaller(tmp_path: Path) -> None:
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=(14_000, 14_000))
    canvas.drawString(100, 100, "plan")
    canvas.save()
    width, height = Image.open(io.BytesIO(render_page(tmp_path / "a.pdf", 0))).size
    assert width * height <= 16_100_000


def test_passwords_are_requested_refused_and_accepted(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["The secret words."], password="open sesame")
    with pytest.raises(EncryptedFileError, match="protected with a password"):
        read_file(path, ReadOptions("a.pdf"))
    with pytest.raises(EncryptedFileError, match="not right"):
        read_file(path, ReadOptions("a.pdf", password="wrong"))
    assert "secret words" in read_file(path, ReadOptions("a.pdf", password="open sesame")).text
    assert render_page(path, 0, password="open sesame")
    assert highlight_boxes(path, 0, "secret words", password="open sesame")


def test_a_missing_page_and_a_missing_pdf_are_reported(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["one"])
    with pytest.raises(InputError, match="no page 6"):
        render_page(path, 5)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DamagedFileError, match=r"b\.pdf"):
        render_page(tmp_path / "b.pdf", 0)
