"""Pictures on a PDF page that also has text: which of them may contain words, and what is recognised in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.recognised_page import RecognisedPage, Word
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners, character_boxes, place_in, rotate, union
from ragcore.readers.pdf.layout import text_pieces
from ragcore.readers.pdf.line_joining import Line, paragraphs, text_lines
from ragcore.readers.pdf.page_images import Box, box_on_page
from ragcore.readers.pdf.page_objects import PageObjects, PlacedImage, placed_images

if TYPE_CHECKING:
    from PIL.Image import Image

COVERED = 0.3  # of a page that pictures cover, from which they are read
SMALLEST = 0.03  # of a page; smaller ones are logos and icons
FEWEST_PIXELS = 75_000  # of the pictures of a page; a third of A5 at 75 dots per inch has as many
MOST = 500  # pictures of a page that are compared: a scan may be cut into strips
UPON = 150  # letters on a picture, from which it is a background, or a scan whose text is in the file
HIDDEN = 20  # invisible letters on a picture, from which it is a scan whose text is in the file
EDGE = 100 / 6  # percent of the page's height with headers and footers, also of a scan
WIDTH = 0.5  # of a letter, in terms of its height
TOUCH = 0.5  # percent of the page between pictures that are parts of one


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """`page`: what was recognised, with the positions of its words on the whole page."""

    box: Box
    page: RecognisedPage


class PagePictures:
    """Finds the pictures of one file page after page. A picture that appears again at the same position is a background or a
    letterhead."""

    def __init__(self) -> None:
        self._seen: set[PlacedImage] = set()

    def find(self, page: pdfium.PdfPage, text: pdfium.PdfTextPage, objects: PageObjects) -> list[Box]:
        """The boxes that may contain words which are not in the text, from the top down; [] where pictures cover little of
        the page."""
        if not (objects.images or objects.forms):
            return []
        images = [image for image in islice(placed_images(objects), MOST) if image not in self._seen]
        self._seen.update(images)
        if sum(image.pixels for image in images) < FEWEST_PIXELS:
            return []
        boxes = [box for box in _merge(box_on_page(page, image.corners) for image in images) if _share(box) >= SMALLEST]
        if sum(map(_share, boxes)) < COVERED:
            return []
        pieces = [(corners, box_on_page(page, corners)) for corners in text_pieces(text)]
        boxes = [box for box in boxes if not _has_text(box, pieces, text)]
        return sorted(boxes, key=lambda box: (box.top, box.x0)) if sum(map(_share, boxes)) >= COVERED else []


def render_for_recognition(page: pdfium.PdfPage) -> Image:
    """The page in shades of grey at 300 dots per inch; a huge one smaller."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(tesseract.DPI / 72, (tesseract.MAX_PIXELS / (width * height)) ** 0.5)
    picture: Image = page.render(scale=scale, grayscale=True).to_pil()
    return picture


def read_pictures(page: pdfium.PdfPage, text: pdfium.PdfTextPage, boxes: Sequence[Box], name: str) -> Iterator[ReadPicture]:
    """What is recognised in the boxes with something like text, without words that the text of the page already has there."""
    whole = render_for_recognition(page)
    typed = [box_on_page(page, corners) for corners in text_pieces(text)]
    for box in boxes:
        x0, x1 = (round(whole.width * side / 100) for side in (box.x0, box.x1))
        top, bottom = (round(whole.height * side / 100) for side in (box.top, box.bottom))
        recognised = recognition.recognise(whole.crop((x0, top, x1, bottom)), name)
        placed = _remove_typed(typed, _place_on_page(recognised, x0, top, whole.width, whole.height))
        if placed.is_like_text:
            yield ReadPicture(box, placed)


def with_pictures(
    page: pdfium.PdfPage, text: pdfium.PdfTextPage, lines: list[Line], pictures: Sequence[ReadPicture]
) -> list[Line]:
    """The lines of the page, which have their places, and the words of each picture after the line above it."""
    box_of = character_boxes(text, 0, ())
    boxes = []
    for line in lines:
        corners = [box for place in line.places if (box := box_of(place)) is not None]
        boxes.append(box_on_page(page, reduce(union, corners)) if corners else None)
    out = list(lines)
    for number, picture in sorted(
        ((_line_after(boxes, picture.box), picture) for picture in pictures), key=lambda each: each[0]
    ):
        begin = number + len(out) - len(lines)
        words = paragraphs(text_lines(picture.page.text)).split("\n")
        out[begin:begin] = [Line(paragraph, row=True) for paragraph in words if paragraph]  # no line is joined to them
    return out


def _line_after(boxes: Sequence[Box | None], picture: Box) -> int:
    """The number of the line before which the words of a picture are inserted: the one after the closest line above its middle,
    or else the first below. Lines on its left and right count only where none is over or under it."""
    lines = [(box, number) for number, box in enumerate(boxes) if box]
    over = [line for line in lines if line[0].x0 < picture.x1 and picture.x0 < line[0].x1]
    middles = [(box.middle, number) for box, number in over or lines]
    above = [line for line in middles if line[0] < picture.middle]
    if above:
        return max(above)[1] + 1
    return min(middles)[1] if middles else len(boxes)


def _has_text(picture: Box, pieces: Sequence[tuple[Corners, Box]], text: pdfium.PdfTextPage) -> bool:
    """Whether so much text is on a picture that it is a background, or a scan with its text."""
    upon = [(corners, box) for corners, box in pieces if picture.contains(box.x0 + box.width / 2, box.middle)]
    letters = sum(_letters(corners) for corners, box in upon if EDGE < box.middle < 100 - EDGE)
    return letters > UPON or sum(_letters(corners) for corners, _ in upon if _is_hidden(text, corners)) > HIDDEN


def _letters(piece: Corners) -> float:
    x0, bottom, x1, top = piece
    shorter, longer = sorted((x1 - x0, top - bottom))
    return longer / max(WIDTH * shorter, 1.0)


def _is_hidden(text: pdfium.PdfTextPage, piece: Corners) -> bool:
    place = place_in(text, piece)
    drawn = pdfium.FPDFText_GetTextObject(text, place) if place >= 0 else None
    return bool(drawn and pdfium.FPDFTextObj_GetTextRenderMode(drawn) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _place_on_page(part: RecognisedPage, x0: int, top: int, width: int, height: int) -> RecognisedPage:
    """What was recognised in a part of a page, which may have been turned for that, on the whole page as it is displayed."""
    turns = part.turn // 90
    across, down = [(0, 0), (0, part.width), (part.width, part.height), (part.height, 0)][turns]

    def move(word: Word) -> Word:
        sides = rotate((word.x0, word.top, word.x1, word.bottom), turns)
        moved = [side + (top + down if place % 2 else x0 + across) for place, side in enumerate(sides)]
        return word._replace(x0=moved[0], top=moved[1], x1=moved[2], bottom=moved[3])

    lines = [replace(line, words=tuple(map(move, line.words))) for line in part.candidates]
    return RecognisedPage(lines, width, height)


def _remove_typed(typed: Sequence[Box], page: RecognisedPage) -> RecognisedPage:
    """Without the words at positions where the page has text, which contains them already."""

    def is_typed(word: Word) -> bool:
        x, y = 50 * (word.x0 + word.x1) / page.width, 50 * (word.top + word.bottom) / page.height
        return any(box.contains(x, y) for box in typed)

    lines = [replace(line, words=tuple(word for word in line.words if not is_typed(word))) for line in page.candidates]
    return replace(page, candidates=[line for line in lines if line.letters or line.capacity])


def _merge(boxes: Iterator[Box]) -> list[Box]:
    """The boxes, those that touch each other as one."""
    merged: list[Box] = []
    for box in boxes:
        touching = [other for other in merged if _touch(box, other)]
        merged = [other for other in merged if other not in touching]
        for other in touching:
            x0, top = min(box.x0, other.x0), min(box.top, other.top)
            box = Box(x0, top, max(box.x1, other.x1) - x0, max(box.bottom, other.bottom) - top)
        merged.append(box)
    return merged


def _touch(one: Box, other: Box) -> bool:
    return (
        one.x0 <= other.x1 + TOUCH
        and other.x0 <= one.x1 + TOUCH
        and one.top <= other.bottom + TOUCH
        and other.top <= one.bottom + TOUCH
    )


def _share(box: Box) -> float:
    """Its part of the page's area, 0 to 1."""
    return box.width * box.height / 10_000
