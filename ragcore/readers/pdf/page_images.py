"""Pictures of the pages of a PDF, and the boxes of a quote on a page.

Only one thread at a time may use PDFium, so everything here and in the PDF reader holds `LOCK`.
"""

from __future__ import annotations

import ctypes
import io
import stringprep
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from ragcore.errors import DamagedFileError, EncryptedFileError, InputError, UnsupportedFileError
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners, direction_of, rotate, text_page, union
from ragcore.readers.pdf.layout import page_lines
from ragcore.readers.pdf.line_joining import Line
from ragcore.readers.pdf.page_objects import page_objects
from ragcore.readers.pdf.runs import is_level

LOCK = threading.RLock()

MAX_PIXELS = (
    16_000_000  # of a rendered page; larger pages, such as a plan on A0, are rendered at a lower scale
)
MAX_SIDE = 12_000  # pixels; WebP allows 16383
MIN_PART = 12  # characters of a part of a quote; a shorter match counts only at the edge of a page
GRID = 1 << 20  # steps per page in which PDFium computes boxes

# FPDF_ERR_SUCCESS, FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_SUCCESS, _WRONG_PASSWORD, _UNKNOWN_SECURITY = 0, 4, 5
At = TypeVar("At")

_IGNORED = frozenset("-\u00ad\u2010\u2011\u2012\u2013\u2212\ufffe\x02\u200b\ufeff\0^_()/\u2044\u2215")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page in percent of its width and height; y grows downwards."""

    x0: float
    top: float
    width: float
    height: float

    @property
    def x1(self) -> float:
        return self.x0 + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> float:
        return self.top + self.height / 2

    def contains(self, x: float, y: float) -> bool:
        return self.x0 <= x <= self.x1 and self.top <= y <= self.bottom


def render_page(
    path: Path, page_index: int, *, scale: float = 1.6, password: str | None = None, turn: int = 0
) -> bytes:
    """The page as WebP, turned `turn` degrees clockwise. InputError if there is no such page.

    A `scale` of 1.0 is 72 dots per inch. A huge page has a lower scale.
    """
    with open_pdf(path, path.name, password) as pdf:
        page = _page(pdf, page_index, path.name)
        width, height = (max(side, 1.0) for side in page.get_size())
        scale = min(scale, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / max(width, height))
        image = page.render(scale=scale, rotation=turn).to_pil()
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=82, method=2)
    return buffer.getvalue()


def highlight_boxes(
    path: Path,
    page_index: int,
    quote: str,
    *,
    parts: Sequence[tuple[int, int]] | None = None,
    password: str | None = None,
) -> list[Box]:
    """The boxes of the quote on the page, one for each of its lines, in reading order.

    White space, hyphens and ligatures do not matter. If the quote begins on the page before or continues on
    the next one, the boxes mark its part on this page. [] if no part is here. `parts` are (start, end) of the
    spans of the quote to mark.
    """
    letters, marked = marked_letters(quote, parts)
    if not any(marked):
        return []
    with open_pdf(path, path.name, password) as pdf:
        page = _page(pdf, page_index, path.name)
        text, main = text_page(page)
        try:
            return _boxes(page, text, main, letters, marked)
        finally:
            text.close()


@contextmanager
def open_pdf(path: Path, name: str, password: str | None) -> Iterator[pdfium.PdfDocument]:
    """The document, with PDFium locked. EncryptedFileError, UnsupportedFileError, DamagedFileError name
    `name`."""
    with LOCK:
        try:
            pdf = _open(path, password)
        except pdfium.PdfiumError as error:
            raise _translate(error, name, password) from error
        try:
            yield pdf
        finally:
            pdf.close()


def _open(path: Path, password: str | None) -> pdfium.PdfDocument:
    # PDFium reads only the bytes it needs from a path, but it cannot open a file that has no name.
    source = path if path.resolve().is_file() else path.read_bytes()
    try:
        return pdfium.PdfDocument(source, password=password)
    except pdfium.PdfiumError as error:
        prepared = _prepare(password) if password else password
        if error.err_code != _WRONG_PASSWORD or prepared == password:
            raise
        return pdfium.PdfDocument(source, password=prepared)


def _prepare(password: str) -> str:
    """The form of passwords in PDFs with AES-256 (SASLprep, RFC 4013): wide spaces become spaces, invisible
    characters are removed, then NFKC."""
    spaced = (" " if stringprep.in_table_c12(character) else character for character in password)
    visible = [character for character in spaced if not stringprep.in_table_b1(character)]
    return unicodedata.normalize("NFKC", "".join(visible))


def _translate(error: Any, name: str, password: str | None) -> Exception:
    if error.err_code == _SUCCESS:  # PDFium does not load a file without pages, but reports no error
        return DamagedFileError(f"{name} has no pages.", hint="Save it again from the program it comes from.")
    if error.err_code == _WRONG_PASSWORD:
        return EncryptedFileError.of(name, password)
    if error.err_code == _UNKNOWN_SECURITY:
        return UnsupportedFileError(
            f"{name} is protected in a way that needs the program it was made for.",
            hint="Open it there and save a copy without protection.",
        )
    return DamagedFileError(
        f"{name} could not be read: it is damaged, or not a PDF.",
        hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
    )


def _page(pdf: pdfium.PdfDocument, index: int, name: str) -> pdfium.PdfPage:
    if not 0 <= index < len(pdf):
        raise InputError(
            f"{name} has only {len(pdf)} pages, so there is no page {index + 1}.",
            hint="Choose a page that it has.",
        )
    try:
        return pdf[index]
    except pdfium.PdfiumError as error:
        raise DamagedFileError(
            f"Page {index + 1} of {name} is damaged.", hint="Its other pages can be shown."
        ) from error


def marked_letters(quote: str, parts: Sequence[tuple[int, int]] | None) -> tuple[str, list[bool]]:
    """The letters of the quote to compare, and whether each is in `parts`. None are all."""
    letters = list(letters_of(quote))
    marked = [parts is None or any(start <= index < end for start, end in parts) for _, index in letters]
    return "".join(letter for letter, _ in letters), marked


def quote_runs(letters: Sequence[tuple[str, At]], quote: str, marked: Sequence[bool]) -> Iterator[list[At]]:
    """Where each marked stretch of `quote` is, without repeats. `letters` are those of the page, each with
    where it is, such as its index. Parts of the quote may be missing on the page, or elsewhere, as in a
    picture."""
    for begin, start, length in _common_parts(quote, "".join(letter for letter, _ in letters)):
        common = zip(letters[start : start + length], marked[begin : begin + length], strict=True)
        for has_box, run in groupby(common, key=lambda pair: pair[1]):
            if has_box:
                yield list(dict.fromkeys(at for (_, at), _ in run))


def _common_parts(quote: str, page: str) -> list[Match]:
    """The parts of the quote on the page, in reading order; [] if there are only short ones."""
    if (start := page.find(quote)) >= 0:
        return [Match(0, start, len(quote))]
    matcher = SequenceMatcher(None, quote, page, autojunk=False)

    def long_parts(begin: int, end: int, page_start: int, page_end: int) -> Iterator[Match]:
        longest = matcher.find_longest_match(begin, end, page_start, page_end)
        if longest.size >= MIN_PART:
            yield from long_parts(begin, longest.a, page_start, longest.b)
            yield longest
            yield from long_parts(longest.a + longest.size, end, longest.b + longest.size, page_end)

    if parts := list(long_parts(0, len(quote), 0, len(page))):
        return parts
    longest = matcher.find_longest_match()
    size = longest.size
    is_at_edge = size and (page.endswith(quote[:size]) or page.startswith(quote[-size:]))
    return [longest] if is_at_edge else []


def letters_of(text: str) -> Iterator[tuple[str, int]]:
    """The letters of the text to compare, each with the index of its character in `text`."""
    for index, character in enumerate(text):
        if character.isspace() or character in _IGNORED:
            continue
        for letter in character if character.isascii() else unicodedata.normalize("NFKC", character):
            if not letter.isspace():
                yield letter, index


def _boxes(
    page: pdfium.PdfPage, text: pdfium.PdfTextPage, main: int, quote: str, marked: Sequence[bool]
) -> list[Box]:
    lines = page_lines(page_objects(page).paths, text, main, with_indexes=True)
    letters = [letter for line in lines for letter in _line_letters(text, line)]
    boxes = []
    for run in quote_runs(letters, quote, marked):
        drawn = dict.fromkeys(index for indexes in run for index in indexes)
        for direction, indexes in groupby(drawn, key=lambda index: direction_of(text, index)):
            corners = [box for index in indexes if (box := _character_box(text, index, direction))]
            boxes += [box_on_page(page, rotate(line, -direction % 4)) for line in lines_of(corners)]
    return [box for box in boxes if box.width > 0 and box.height > 0]  # drops boxes outside the visible page


def _line_letters(text: pdfium.PdfTextPage, line: Line) -> Iterator[tuple[str, Sequence[int]]]:
    """The letters of the line to compare, each with its characters on the page. In a table these are the
    whole row."""
    if line.row:
        indexes = tuple(line.indexes)
        yield from ((letter, indexes) for letter, _ in letters_of(line.text))
        return
    for index in line.indexes:
        character = chr(pdfium.FPDFText_GetUnicode(text, index))
        yield from ((letter, (index,)) for letter, _ in letters_of(character))


def _character_box(text: pdfium.PdfTextPage, index: int, direction: int) -> Corners | None:
    """The box of a character before the page is rotated and cropped, rotated by its direction; None if it has
    no size."""
    try:
        x0, bottom, x1, top = text.get_charbox(index, loose=True)
    except pdfium.PdfiumError:
        return None
    return rotate((x0, bottom, x1, top), direction) if x1 > x0 and top > bottom else None


def lines_of(corners: Sequence[Corners]) -> list[Corners]:
    """One rectangle for each line, from those of its characters or words in reading order."""
    lines: list[Corners] = []
    for box in corners:
        # also in right-to-left text
        if lines and is_level(lines[-1], box) and lines[-1][0] - box[2] < 2 * (box[3] - box[1]):
            lines[-1] = union(lines[-1], box)
        else:
            lines.append(box)
    return lines


def box_on_page(page: pdfium.PdfPage, corners: Corners) -> Box:
    """The box on the visible page: rotated, cropped, y growing downwards."""
    x, y = ctypes.c_int(), ctypes.c_int()
    xs, ys = [], []
    for horizontal, vertical in (corners[:2], corners[2:]):
        pdfium.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, horizontal, vertical, x, y)
        xs.append(min(max(100 * x.value / GRID, 0.0), 100.0))
        ys.append(min(max(100 * y.value / GRID, 0.0), 100.0))
    x0, top = min(xs), min(ys)
    return Box(round(x0, 3), round(top, 3), round(max(xs) - x0, 3), round(max(ys) - top, 3))
