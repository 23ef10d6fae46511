"""Pictures on a PDF page that has text, too: which of them may hold words, what is recognised there, and where it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.recognised_page import RecognisedPage, Word
from ragcore.readers.pdf.directions import Corners, character_boxes, turned
from ragcore.readers.pdf.layout import text_pieces
from ragcore.readers.pdf.line_joining import Line, paragraphs, plain
from ragcore.readers.pdf.page_images import Box, box_on_page
from ragcore.readers.pdf.page_objects import PageObjects, PlacedImage, placed_images

if TYPE_CHECKING:
    import pypdfium2
    from PIL.Image import Image

COVERED = 0.3  # of a page, by pictures, from which they are looked at
SMALLEST = 0.03  # of a page; smaller ones are logos and icons
FEWEST_PIXELS = 75_000  # of the pictures of a page; a third of A5 at 75 dots per inch has as many
MOST = 500  # pictures of a page that are looked at: a scan may be cut into strips
UPON = 150  # letters upon a picture: it is a background, or a scan whose text is in the file
HIDDEN = 20  # letters that are not drawn, upon a scan whose text is in the file
EDGE = 100 / 6  # percent of the page's height: letters there are a header or footer, also of a scan
WIDTH = 0.5  # of its height, that a letter takes
TOUCH = 0.5  # percent of the page between pictures that are parts of one


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """`page`: what was recognised, as if the whole page had been, so that its words have their places on the page."""

    box: Box
    page: RecognisedPage


class PagePictures:
    """Finds them, page after page of one file. A picture that stands at its place again is a background or a letterhead."""

    def __init__(self) -> None:
        self._seen: set[PlacedImage] = set()

    def find(self, page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, objects: PageObjects) -> list[Box]:
        """Where words may stand that are not in the text, from the top down; [] where pictures take little of the page."""
        if not (objects.images or objects.forms):
            return []
        images = [image for image in islice(placed_images(objects), MOST) if image not in self._seen]
        self._seen.update(images)
        if sum(image.pixels for image in images) < FEWEST_PIXELS:
            return []
        boxes = [box for box in _merged(box_on_page(page, image.corners) for image in images) if _share(box) >= SMALLEST]
        if sum(map(_share, boxes)) < COVERED:
            return []
        pieces = [(corners, box_on_page(page, corners)) for corners in text_pieces(text)]
        boxes = [box for box in boxes if not _is_typed([piece for piece in pieces if _holds(box, piece[1])], text)]
        return sorted(boxes, key=lambda box: (box.top, box.left)) if sum(map(_share, boxes)) >= COVERED else []


def page_picture(page: pypdfium2.PdfPage) -> Image:
    """The page as it is recognised: in shades of grey, 300 dots per inch; a huge one smaller."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(tesseract.DPI / 72, (tesseract.MAX_PIXELS / (width * height)) ** 0.5)
    picture: Image = page.render(scale=scale, grayscale=True).to_pil()
    return picture


def read_pictures(
    page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, boxes: Sequence[Box], name: str
) -> Iterator[ReadPicture]:
    """What is recognised in those that hold something like text, but for what the text of the page says there."""
    shown = page_picture(page)
    typed = [box_on_page(page, corners) for corners in text_pieces(text)]
    for box in boxes:
        left, right = (round(shown.width * side / 100) for side in (box.left, box.left + box.width))
        top, bottom = (round(shown.height * side / 100) for side in (box.top, box.top + box.height))
        found = recognition.recognise(shown.crop((left, top, right, bottom)), name)
        placed = _without(typed, _placed(found, left, top, shown.width, shown.height))
        if placed.is_like_text:
            yield ReadPicture(box, placed)


def with_pictures(
    page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, lines: list[Line], pictures: Sequence[ReadPicture]
) -> list[Line]:
    """The lines of the page, which know their places, and the words of each picture after the line above it."""
    box_of = character_boxes(text, 0, ())
    boxes = []
    for line in lines:
        corners = [found for place in line.places if (found := box_of(place)) is not None]
        boxes.append(box_on_page(page, _around(corners)) if corners else None)
    out = list(lines)
    for picture in sorted(pictures, key=lambda picture: _place(boxes, picture.box)):  # and those of one place from the top down
        place = _place(boxes, picture.box) + len(out) - len(lines)
        read = paragraphs(plain(picture.page.text)).split("\n")
        out[place:place] = [Line(paragraph, row=True) for paragraph in read if paragraph]  # which no line is joined to
    return out


def _place(boxes: Sequence[Box | None], picture: Box) -> int:
    """After the line that stands closest above the middle of the picture; where there is none, before the first below. Lines
    that stand beside it, and not over or under it, count where there are no others."""
    lines = [(box, place) for place, box in enumerate(boxes) if box]
    over = [
        (box, place) for box, place in lines if box.left < picture.left + picture.width and picture.left < box.left + box.width
    ]
    middles = [(_middle(box), place) for box, place in over or lines]
    above = [line for line in middles if line[0] < _middle(picture)]
    if above:
        return max(above)[1] + 1
    return min(middles)[1] if middles else len(boxes)


def _is_typed(pieces: Sequence[tuple[Corners, Box]], text: pypdfium2.PdfTextPage) -> bool:
    """Whether the pieces of text upon a picture are so many that it is a background, or a scan with its text."""
    letters = sum(_letters(corners) for corners, box in pieces if EDGE < _middle(box) < 100 - EDGE)
    return letters > UPON or sum(_letters(corners) for corners, _ in pieces if _is_hidden(text, corners)) > HIDDEN


def _letters(piece: Corners) -> float:
    left, bottom, right, top = piece
    shorter, longer = sorted((right - left, top - bottom))
    return longer / max(WIDTH * shorter, 1.0)


def _is_hidden(text: pypdfium2.PdfTextPage, piece: Corners) -> bool:
    import pypdfium2.raw as pdfium

    left, bottom, right, top = piece
    half = max(right - left, top - bottom) / 2
    place = pdfium.FPDFText_GetCharIndexAtPos(text, (left + right) / 2, (bottom + top) / 2, half, half)
    drawn = pdfium.FPDFText_GetTextObject(text, place) if place >= 0 else None
    return bool(drawn and pdfium.FPDFTextObj_GetTextRenderMode(drawn) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _placed(found: RecognisedPage, left: int, top: int, width: int, height: int) -> RecognisedPage:
    """What was recognised in a part of a page, which may have been turned for that, on the whole page as it is shown."""
    turns = found.turn // 90
    across, down = [(0, 0), (0, found.width), (found.width, found.height), (found.height, 0)][turns]

    def placed(word: Word) -> Word:
        sides = turned((word.left, word.top, word.right, word.bottom), turns)
        moved = [side + (top + down if place % 2 else left + across) for place, side in enumerate(sides)]
        return word._replace(left=moved[0], top=moved[1], right=moved[2], bottom=moved[3])

    lines = [replace(line, words=tuple(map(placed, line.words))) for line in found.candidates]
    return RecognisedPage(lines, width, height)


def _without(typed: Sequence[Box], page: RecognisedPage) -> RecognisedPage:
    """Without the words that stand where the text of the page does, which says them already."""

    def is_typed(word: Word) -> bool:
        x, y = 50 * (word.left + word.right) / page.width, 50 * (word.top + word.bottom) / page.height
        return any(box.left <= x <= box.left + box.width and box.top <= y <= box.top + box.height for box in typed)

    lines = [replace(line, words=tuple(word for word in line.words if not is_typed(word))) for line in page.candidates]
    return replace(page, candidates=[line for line in lines if line.letters or line.capacity])


def _merged(boxes: Iterator[Box]) -> list[Box]:
    """Those that touch each other as one."""
    merged: list[Box] = []
    for box in boxes:
        touching = [other for other in merged if _touch(box, other)]
        merged = [other for other in merged if other not in touching]
        for other in touching:
            left, top = min(box.left, other.left), min(box.top, other.top)
            right = max(box.left + box.width, other.left + other.width)
            box = Box(left, top, right - left, max(box.top + box.height, other.top + other.height) - top)
        merged.append(box)
    return merged


def _touch(one: Box, other: Box) -> bool:
    return (
        one.left <= other.left + other.width + TOUCH
        and other.left <= one.left + one.width + TOUCH
        and one.top <= other.top + other.height + TOUCH
        and other.top <= one.top + one.height + TOUCH
    )


def _share(box: Box) -> float:
    """Of the page."""
    return box.width * box.height / 10_000


def _middle(box: Box) -> float:
    return box.top + box.height / 2


def _holds(box: Box, piece: Box) -> bool:
    """Whether the middle of a piece of text stands in the box."""
    return (
        box.left <= piece.left + piece.width / 2 <= box.left + box.width and box.top <= _middle(piece) <= box.top + box.height
    )


def _around(corners: Sequence[Corners]) -> Corners:
    lefts, bottoms, rights, tops = zip(*corners, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
