"""The direction of text on a PDF page, and rectangles rotated so that this text runs from left to right.

A direction is the number of quarter turns, anticlockwise, from text that runs to the right: 1 runs upwards, 2
is upside down, 3 runs downwards. Text that is rotated by its own direction has level rows and upright
columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ragcore.readers.pdf import pdfium

MAX_SLANT = (
    20  # degrees; text with more slant to the nearest quarter turn, such as a watermark, has no direction
)
NO_DIRECTION = -1
# characters of a page; the large one if some of the small one does not run to the right
SMALL_SAMPLE, LARGE_SAMPLE = 8, 60
TALL_RATIO = 2.0  # ratio of height to width; a piece of text with a larger one may have another direction

Corners = tuple[float, float, float, float]  # x0, bottom, x1, top in points; y grows upwards
BoxOf = Callable[[int], Corners | None]


def rotate(corners: Corners, direction: int) -> Corners:
    """The rectangle after the page is rotated so that text of this direction runs to the right.

    >>> rotate((10, 20, 12, 50), 1)
    (20, -12, 50, -10)
    """
    x0, bottom, x1, top = corners
    if direction == 1:
        return bottom, -x1, top, -x0
    if direction == 2:
        return -x1, -top, -x0, -bottom
    if direction == 3:
        return -top, x0, -bottom, x1
    return corners


def union(one: Corners, other: Corners) -> Corners:
    """The smallest rectangle around both."""
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def rotate_all(pieces: list[Corners], direction: int) -> list[Corners]:
    return [rotate(piece, direction) for piece in pieces] if direction else pieces


def text_page(page: pdfium.PdfPage) -> tuple[pdfium.PdfTextPage, int]:
    """The page's text, and the direction of most of it.

    PDFium forms lines as the page is displayed. A page whose text does not run to the right on the screen is
    rotated until it does, and rotated back afterwards.
    """
    text = page.get_textpage()
    main = 0
    if any(direction not in (0, None) for direction in _sample(text, SMALL_SAMPLE)):
        counts = Counter(
            each for each in _sample(text, LARGE_SAMPLE) if each is not None and each != NO_DIRECTION
        )
        main = max(counts, key=counts.__getitem__, default=0)
    rotation = page.get_rotation()
    if 90 * main == rotation:
        return text, main
    text.close()
    page.set_rotation(90 * main)
    try:
        return page.get_textpage(), main
    finally:
        page.set_rotation(rotation)


def _sample(text: pdfium.PdfTextPage, size: int) -> list[int | None]:
    count = text.count_chars()
    return [_direction(text, index) for index in range(0, count, max(count // size, 1))]


def find_directions(text: pdfium.PdfTextPage, main: int, pieces: Sequence[Corners]) -> Sequence[int]:
    """The direction of each character; () if all have that of the page. `pieces` are the rectangles around
    its text."""
    x, y = (1, 0) if main % 2 else (0, 1)
    tall = [piece for piece in pieces if piece[y + 2] - piece[y] > TALL_RATIO * (piece[x + 2] - piece[x])]
    indexes = (find_character(text, piece) for piece in tall)
    if all(index >= 0 and _direction(text, index) in (main, None) for index in indexes):
        return ()
    out: list[int] = []
    for index in range(text.count_chars()):
        direction = _direction(text, index)
        out.append((out[-1] if out else main) if direction is None else direction)
    return out if set(out) != {main} else ()


def find_character(text: pdfium.PdfTextPage, piece: Corners) -> int:
    """The index of a character in the rectangle; negative for none."""
    x0, bottom, x1, top = piece
    half = max(x1 - x0, top - bottom) / 2
    return int(pdfium.FPDFText_GetCharIndexAtPos(text, (x0 + x1) / 2, (bottom + top) / 2, half, half))


def character_boxes(text: pdfium.PdfTextPage, main: int, directions: Sequence[int]) -> BoxOf:
    """A function from a character to the rectangle around it, rotated by its direction; None if it has none.
    `directions` has the direction of each character; () if all have the direction `main`."""
    # looked up once for all characters
    raw, box, get_box = text.raw, pdfium.FS_RECTF(), pdfium.FPDFText_GetLooseCharBox

    def box_of(index: int) -> Corners | None:
        if not get_box(raw, index, box):
            return None
        corners = x0, bottom, x1, top = box.left, box.bottom, box.right, box.top
        if not (x1 > x0 and top > bottom):
            return None
        direction = directions[index] if directions else main
        return rotate(corners, direction) if direction > 0 else corners

    return box_of


def direction_of(text: pdfium.PdfTextPage, index: int) -> int:
    """The direction of a character; 0 if it has none."""
    return max(_direction(text, index) or 0, 0)


def _direction(text: pdfium.PdfTextPage, index: int) -> int | None:
    """The direction of a character; None for one that PDFium inserted, such as the end of a line."""
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFText_GetMatrix(text, index, matrix) or not (matrix.a or matrix.b):
        return None
    if matrix.a > 0 and not matrix.b and pdfium.FPDFText_IsGenerated(text, index) == 1:
        return None
    sign = -1 if pdfium.FPDFText_GetFontSize(text, index) < 0 else 1
    degrees = math.degrees(math.atan2(sign * matrix.b, sign * matrix.a))
    quarters = round(degrees / 90)
    return quarters % 4 if abs(degrees - 90 * quarters) <= MAX_SLANT else NO_DIRECTION
