"""Which way the text of a PDF page runs, and rectangles turned so that this way is from left to right.

A direction is the number of quarter turns, anticlockwise, from text that runs to the right: 1 runs upwards, 2 is upside
down, 3 runs downwards. Turned by its own direction, text stands as a person reads it: rows are level, columns upright.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2

SLANT = 20  # degrees to the nearest quarter turn; text with more, such as a watermark, has no direction
NO_DIRECTION = -1
FEW, MANY = 8, 60  # characters of a page whose direction is looked at: many where one of the few is turned
TALL = 2.0  # widths of a piece of text: one that is taller may be turned

Corners = tuple[float, float, float, float]  # left, bottom, right, top
BoxOf = Callable[[int], Corners | None]


def turned(corners: Corners, direction: int) -> Corners:
    """The rectangle as it lies where text of the direction runs to the right.

    >>> turned((10, 20, 12, 50), 1)
    (20, -12, 50, -10)
    """
    left, bottom, right, top = corners
    if direction == 1:
        return bottom, -right, top, -left
    if direction == 2:
        return -right, -top, -left, -bottom
    if direction == 3:
        return -top, left, -bottom, right
    return corners


def text_page(page: pypdfium2.PdfPage) -> tuple[pypdfium2.PdfTextPage, int]:
    """The page's text, and the direction of most of it.

    PDFium puts lines together as the page is shown, so a page whose text does not run to the right on the screen is turned
    until it does. The page itself stays as it is.
    """
    text = page.get_textpage()
    main = 0 if all(way in (0, None) for way in _sample(text, FEW)) else _most_common(_sample(text, MANY))
    shown = page.get_rotation()
    if 90 * main == shown:
        return text, main
    text.close()
    page.set_rotation(90 * main)
    try:
        return page.get_textpage(), main
    finally:
        page.set_rotation(shown)


def _sample(text: pypdfium2.PdfTextPage, size: int) -> list[int | None]:
    count = text.count_chars()
    return [_direction(text, place) for place in range(0, count, max(count // size, 1))]


def _most_common(ways: Sequence[int | None]) -> int:
    counted = Counter(way for way in ways if way is not None and way != NO_DIRECTION)
    return counted.most_common(1)[0][0] if counted else 0


def directions(text: pypdfium2.PdfTextPage, main: int, pieces: Sequence[Corners]) -> Sequence[int]:
    """The direction of each character; () where all have that of the page. `pieces`: the rectangles around its text."""
    x, y = (1, 0) if main % 2 else (0, 1)
    tall = [piece for piece in pieces if piece[y + 2] - piece[y] > TALL * (piece[x + 2] - piece[x])]
    if not any(_is_turned(text, main, piece) for piece in tall):
        return ()
    found: list[int] = []
    for place in range(text.count_chars()):
        way = _direction(text, place)
        found.append((found[-1] if found else main) if way is None else way)
    return found if set(found) != {main} else ()


def _is_turned(text: pypdfium2.PdfTextPage, main: int, piece: Corners) -> bool:
    """Whether the first character of a piece of text is turned."""
    import pypdfium2.raw as pdfium

    left, bottom, right, top = piece
    half = max(right - left, top - bottom) / 2
    place = pdfium.FPDFText_GetCharIndexAtPos(text, (left + right) / 2, (bottom + top) / 2, half, half)
    return place < 0 or _direction(text, place) not in (main, None)


def character_boxes(text: pypdfium2.PdfTextPage, main: int, ways: Sequence[int]) -> BoxOf:
    """Gives the rectangle around the character at a place, turned by its direction; None where it has none."""
    import pypdfium2.raw as pdfium

    raw, box, ask = text.raw, pdfium.FS_RECTF(), pdfium.FPDFText_GetLooseCharBox  # once, as every letter may be asked for

    def box_of(place: int) -> Corners | None:
        if not ask(raw, place, box):
            return None
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if not (right > left and top > bottom):
            return None
        corners = (left, bottom, right, top)
        way = ways[place] if ways else main
        return turned(corners, way) if way > 0 else corners

    return box_of


def direction_of(text: pypdfium2.PdfTextPage, place: int) -> int:
    """The direction of a character; that of text that runs to the right where it has none."""
    return max(_direction(text, place) or 0, 0)


def _direction(text: pypdfium2.PdfTextPage, place: int) -> int | None:
    """Of a character; None of one that PDFium put in, such as the end of a line."""
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFText_GetMatrix(text, place, matrix) or not (matrix.a or matrix.b):
        return None
    if matrix.a > 0 and not matrix.b and pdfium.FPDFText_IsGenerated(text, place) == 1:
        return None
    sign = -1 if pdfium.FPDFText_GetFontSize(text, place) < 0 else 1
    degrees = math.degrees(math.atan2(sign * matrix.b, sign * matrix.a))
    quarters = round(degrees / 90)
    return quarters % 4 if abs(degrees - 90 * quarters) <= SLANT else NO_DIRECTION
