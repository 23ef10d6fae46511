"""Selects the pictures on a PDF page with text that may contain words, and recognises these words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.recognised_page import RecognisedPage, Word
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners, character_boxes, find_character, rotate, union
from ragcore.readers.pdf.layout import text_pieces
from ragcore.readers.pdf.line_joining import Line, paragraphs, text_lines
from ragcore.readers.pdf.page_images import Box, box_on_page
from ragcore.readers.pdf.page_objects import PageObjects, PlacedImage, placed_images

if TYPE_CHECKING:
    from PIL.Image import Image

MIN_COVERED = 0.3  # of the page; pictures that cover less are not read
MIN_PICTURE = 0.03  # of the page; smaller pictures are logos and icons
MIN_PIXELS = 75_000  # of all pictures of a page together: a third of A5 at 75 dots per inch
MAX_PICTURES = 500  # pictures of a page that are compared; a scan may consist of many strips
MAX_LETTERS = 150  # letters on a picture; with more, it is a background or a scan whose text is in the file
MAX_HIDDEN = 20  # invisible letters on a picture; with more, it is a scan whose text is in the file
MARGIN = 100 / 6  # percent of the page's height that headers and footers may take
LETTER_WIDTH = 0.5  # of a letter, as a share of its height
MAX_GAP = 0.5  # percent of the page; pictures that are closer are parts of one picture


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """`page` has the recognised words with their positions on the whole page."""

    box: Box
    page: RecognisedPage


class PagePictures:
    """Finds the pictures of one file page after page. A picture that appears again at the same position is a
    background or a letterhead."""

    def __init__(self) -> None:
        self._seen: set[PlacedImage] = set()

    def find(self, page: pdfium.PdfPage, text: pdfium.PdfTextPage, objects: PageObjects) -> list[Box]:
        """The boxes, from the top down, that may contain words which are not in the text. [] if pictures
        cover little of the page."""
        if not (objects.images or objects.forms):
            return []
        images = [image for image in islice(placed_images(objects), MAX_PICTURES) if image not in self._seen]
        self._seen.update(images)
        if sum(image.pixels for image in images) < MIN_PIXELS:
            return []
        boxes = [
            box
            for box in _merge(box_on_page(page, image.corners) for image in images)
            if _share(box) >= MIN_PICTURE
        ]
        if sum(map(_share, boxes)) < MIN_COVERED:
            return []
        pieces = [(corners, box_on_page(page, corners)) for corners in text_pieces(text)]
        boxes = [box for box in boxes if not _has_text(box, pieces, text)]
        return (
            sorted(boxes, key=lambda box: (box.top, box.x0)) if sum(map(_share, boxes)) >= MIN_COVERED else []
        )


def render_for_recognition(page: pdfium.PdfPage) -> Image:
    """The page in shades of grey at 300 dots per inch, or fewer if it is huge."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(tesseract.DPI / 72, (tesseract.MAX_PIXELS / (width * height)) ** 0.5)
    picture: Image = page.render(scale=scale, grayscale=True).to_pil()
    return picture


def read_pictures(
    page: pdfium.PdfPage, text: pdfium.PdfTextPage, boxes: Sequence[Box], name: str
) -> Iterator[ReadPicture]:
    """The pictures in the boxes that contain something like text, without the words that the page has there
    as text."""
    rendered = render_for_recognition(page)
    typed = [box_on_page(page, corners) for corners in text_pieces(text)]
    for box in boxes:
        x0, x1 = (round(rendered.width * side / 100) for side in (box.x0, box.x1))
        top, bottom = (round(rendered.height * side / 100) for side in (box.top, box.bottom))
        recognised = recognition.recognise(rendered.crop((x0, top, x1, bottom)), name)
        placed = _remove_typed(typed, _place_on_page(recognised, x0, top, rendered.width, rendered.height))
        if placed.is_like_text:
            yield ReadPicture(box, placed)


def with_pictures(
    page: pdfium.PdfPage, text: pdfium.PdfTextPage, lines: list[Line], pictures: Sequence[ReadPicture]
) -> list[Line]:
    """The lines of the page, with the words of each picture after the line above it. Needs `Line.indexes`."""
    box_of = character_boxes(text, 0, ())
    boxes = []
    for line in lines:
        corners = [box for index in line.indexes if (box := box_of(index)) is not None]
        boxes.append(box_on_page(page, reduce(union, corners)) if corners else None)
    out = list(lines)
    for number, picture in sorted(
        ((_line_after(boxes, picture.box), picture) for picture in pictures), key=lambda each: each[0]
    ):
        begin = number + len(out) - len(lines)
        words = paragraphs(text_lines(picture.page.text)).split("\n")
        # no line is joined to them
        out[begin:begin] = [Line(paragraph, row=True) for paragraph in words if paragraph]
    return out


def _line_after(boxes: Sequence[Box | None], picture: Box) -> int:
    """The number of the line before which the words of a picture are inserted: the one after the closest line
    above its middle, or else the first below. Lines at its sides count only if no line is above or below
    it."""
    lines = [(box, number) for number, box in enumerate(boxes) if box]
    over = [line for line in lines if line[0].x0 < picture.x1 and picture.x0 < line[0].x1]
    middles = [(box.middle, number) for box, number in over or lines]
    above = [line for line in middles if line[0] < picture.middle]
    if above:
        return max(above)[1] + 1
    return min(middles)[1] if middles else len(boxes)


def _has_text(picture: Box, pieces: Sequence[tuple[Corners, Box]], text: pdfium.PdfTextPage) -> bool:
    """Whether the picture has so much text on it that it is a background, or a scan whose text is in the
    file."""
    upon = [(corners, box) for corners, box in pieces if picture.contains(box.x0 + box.width / 2, box.middle)]
    letters = sum(_letters(corners) for corners, box in upon if MARGIN < box.middle < 100 - MARGIN)
    return (
        letters > MAX_LETTERS
        or sum(_letters(corners) for corners, _ in upon if _is_hidden(text, corners)) > MAX_HIDDEN
    )


def _letters(piece: Corners) -> float:
    x0, bottom, x1, top = piece
    shorter, longer = sorted((x1 - x0, top - bottom))
    return longer / max(LETTER_WIDTH * shorter, 1.0)


def _is_hidden(text: pdfium.PdfTextPage, piece: Corners) -> bool:
    index = find_character(text, piece)
    drawn = pdfium.FPDFText_GetTextObject(text, index) if index >= 0 else None
    return bool(drawn and pdfium.FPDFTextObj_GetTextRenderMode(drawn) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _place_on_page(part: RecognisedPage, x0: int, top: int, width: int, height: int) -> RecognisedPage:
    """The words of a part of a page, which may be turned, moved to their positions on the displayed page."""
    turns = part.turn // 90
    across, down = [(0, 0), (0, part.width), (part.width, part.height), (part.height, 0)][turns]

    def move(word: Word) -> Word:
        sides = rotate((word.x0, word.top, word.x1, word.bottom), turns)
        moved = [side + (top + down if number % 2 else x0 + across) for number, side in enumerate(sides)]
        return word._replace(x0=moved[0], top=moved[1], x1=moved[2], bottom=moved[3])

    lines = [replace(line, words=tuple(map(move, line.words))) for line in part.candidates]
    return RecognisedPage(lines, width, height)


def _remove_typed(typed: Sequence[Box], page: RecognisedPage) -> RecognisedPage:
    """The recognised page without the words at positions where the PDF has text."""

    def is_typed(word: Word) -> bool:
        x, y = 50 * (word.x0 + word.x1) / page.width, 50 * (word.top + word.bottom) / page.height
        return any(box.contains(x, y) for box in typed)

    lines = [
        replace(line, words=tuple(word for word in line.words if not is_typed(word)))
        for line in page.candidates
    ]
    return replace(page, candidates=[line for line in lines if line.letters or line.capacity])


def _merge(boxes: Iterator[Box]) -> list[Box]:
    """Merge the boxes that touch each other."""
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
        one.x0 <= other.x1 + MAX_GAP
        and other.x0 <= one.x1 + MAX_GAP
        and one.top <= other.bottom + MAX_GAP
        and other.top <= one.bottom + MAX_GAP
    )


def _share(box: Box) -> float:
    """The share of the page's area, 0 to 1."""
    return box.width * box.height / 10_000
