"""The pages of a PDF as a person sees them: pictures of pages, and where on a page a quote stands.

PDFium may be used by one thread at a time, so everything here and in the PDF reader holds `LOCK`.
"""

from __future__ import annotations

import io
import stringprep
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragcore.errors import DamagedFileError, EncryptedFileError, InputError, UnsupportedFileError
from ragcore.readers.pdf.directions import Corners, direction_of, text_page, turned
from ragcore.readers.pdf.layout import page_lines
from ragcore.readers.pdf.line_joining import Line
from ragcore.readers.pdf.page_objects import page_objects

if TYPE_CHECKING:
    import pypdfium2

LOCK = threading.RLock()

MAX_PIXELS = 16_000_000  # of a page's picture; a plan on A0 is drawn smaller
MAX_SIDE = 12_000  # pixels; WebP ends at 16383
LEAST_PART = 12  # characters of a quote that count as found, where the quote is longer
GRID = 1 << 20  # steps that a page is divided into, to place boxes exactly

# FPDF_ERR_SUCCESS, FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_NOTHING_WRONG, _WRONG_PASSWORD, _UNKNOWN_SECURITY = 0, 4, 5
Place = TypeVar("Place")

_DROPPED = frozenset("-\u00ad\u2010\u2011\u2012\u2013\u2212\ufffe\x02\u200b\ufeff\0^_()/\u2044\u2215")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page in percent of its width and height, from the top left corner."""

    left: float
    top: float
    width: float
    height: float


def render_page(path: Path, page_index: int, *, scale: float = 1.6, password: str | None = None, turn: int = 0) -> bytes:
    """The page as WebP. `scale` 1.0 is 72 dots per inch; a huge page is drawn smaller. InputError when there is no page.

    `turn`: degrees clockwise that a page is turned by which lies on its side.
    """
    with opened(path, path.name, password) as pdf:
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
    """Where the quote stands on the page, one box for each line of it, in reading order.

    White space, hyphens and ligatures do not matter. Of a quote that begins on the page before or goes on to the next one,
    the part on this page is found. Empty when none of it is here. `parts`: (start, end) in the quote of what has boxes.
    """
    wanted, marked = marked_letters(quote, parts)
    if not any(marked):
        return []
    with opened(path, path.name, password) as pdf:
        page = _page(pdf, page_index, path.name)
        text, main = text_page(page)
        try:
            return _boxes(page, text, main, wanted, marked)
        finally:
            text.close()


@contextmanager
def opened(path: Path, name: str, password: str | None) -> Iterator[pypdfium2.PdfDocument]:
    """The document, with PDFium locked. EncryptedFileError, UnsupportedFileError, DamagedFileError name `name`."""
    import pypdfium2

    with LOCK:
        try:
            pdf = _open(path, password)
        except pypdfium2.PdfiumError as error:
            raise _translated(error, name, password) from error
        try:
            yield pdf
        finally:
            pdf.close()


def _open(path: Path, password: str | None) -> pypdfium2.PdfDocument:
    import pypdfium2

    # The path and not its bytes, where the file has a name: PDFium then reads what it needs, and 500 MB stay on the disk.
    source = path if path.resolve().is_file() else path.read_bytes()
    try:
        return pypdfium2.PdfDocument(source, password=password)
    except pypdfium2.PdfiumError as error:
        prepared = _prepared(password) if password else password
        if error.err_code != _WRONG_PASSWORD or prepared == password:
            raise
        return pypdfium2.PdfDocument(source, password=prepared)


def _prepared(password: str) -> str:
    """As AES-256 PDFs want passwords (SASLprep, RFC 4013): wide spaces are spaces, invisible signs are nothing, NFKC."""
    spaced = (" " if stringprep.in_table_c12(sign) else sign for sign in password)
    return unicodedata.normalize("NFKC", "".join(sign for sign in spaced if not stringprep.in_table_b1(sign)))


def _translated(error: Any, name: str, password: str | None) -> Exception:
    if error.err_code == _NOTHING_WRONG:  # and yet it does not load: PDFium's way of meeting a file without pages
        return DamagedFileError(f"{name} has no pages.", hint="Save it again from the program it comes from.")
    if error.err_code == _WRONG_PASSWORD:
        if password is None:
            return EncryptedFileError(f"{name} is protected with a password.", hint="Enter its password to read it.")
        return EncryptedFileError(f"The password for {name} is not right.", hint="Enter the password again.")
    if error.err_code == _UNKNOWN_SECURITY:
        return UnsupportedFileError(
            f"{name} is protected in a way that needs the program it was made for.",
            hint="Open it there and save a copy without protection.",
        )
    return DamagedFileError(
        f"{name} could not be read: it is damaged, or not a PDF.",
        hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
    )


def _page(pdf: pypdfium2.PdfDocument, index: int, name: str) -> pypdfium2.PdfPage:
    import pypdfium2

    if not 0 <= index < len(pdf):
        raise InputError(
            f"{name} has only {len(pdf)} pages, so there is no page {index + 1}.", hint="Choose a page that it has."
        )
    try:
        return pdf[index]
    except pypdfium2.PdfiumError as error:
        raise DamagedFileError(f"Page {index + 1} of {name} is damaged.", hint="Its other pages can be shown.") from error


def marked_letters(quote: str, parts: Sequence[tuple[int, int]] | None) -> tuple[str, list[bool]]:
    """What counts of the quote, and of each letter of that whether it gets a box: all where there are no `parts`."""
    letters = list(letters_of(quote))
    marked = [parts is None or any(start <= place < end for start, end in parts) for _, place in letters]
    return "".join(letter for letter, _ in letters), marked


def quote_runs(letters: Sequence[tuple[str, Place]], wanted: str, marked: Sequence[bool]) -> Iterator[list[Place]]:
    """The places of each stretch of `wanted` that is marked, without repeats, from the letters of a page with their places.

    Between two parts of it that are found there may be others that stand elsewhere, such as in a picture."""
    page = "".join(letter for letter, _ in letters)
    for start, begins, length in _parts(page, wanted):
        common = zip(letters[start : start + length], marked[begins : begins + length], strict=True)
        for has_box, run in groupby(common, key=lambda pair: pair[1]):
            if has_box:
                yield list(dict.fromkeys(place for (_, place), _ in run))


def _parts(page: str, wanted: str) -> Iterator[tuple[int, int, int]]:
    """As `_common`, with the parts before and after it, in reading order."""
    start, begins, length = _common(page, wanted)
    if not length:
        return
    if min(start, begins) >= LEAST_PART:
        yield from (part for part in _parts(page[:start], wanted[:begins]) if part[2] >= LEAST_PART)
    yield start, begins, length
    after, goes_on = start + length, begins + length
    if min(len(page) - after, len(wanted) - goes_on) >= LEAST_PART:
        for place, of_wanted, size in _parts(page[after:], wanted[goes_on:]):
            if size >= LEAST_PART:
                yield after + place, goes_on + of_wanted, size


def letters_of(text: str) -> Iterator[tuple[str, int]]:
    """What counts when two texts are compared, and which character of `text` it comes from."""
    for place, character in enumerate(text):
        if character.isspace() or character in _DROPPED:
            continue
        for letter in character if character.isascii() else unicodedata.normalize("NFKC", character):
            if not letter.isspace():
                yield letter, place


def _boxes(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, main: int, wanted: str, marked: Sequence[bool]) -> list[Box]:
    letters = [
        letter for line in page_lines(page_objects(page).paths, text, main, places=True) for letter in _drawn(text, line)
    ]
    boxes = []
    for run in quote_runs(letters, wanted, marked):
        drawn = dict.fromkeys(place for places in run for place in places)
        for way, places in groupby(drawn, key=lambda place: direction_of(text, place)):
            placed = [corners for place in places if (corners := _placed(text, place, way)) is not None]
            boxes += [box_on_page(page, turned(line, -way % 4)) for line in lines_of(placed)]
    return [box for box in boxes if box.width > 0 and box.height > 0]  # not what lies outside the visible page


def _drawn(text: pypdfium2.PdfTextPage, line: Line) -> Iterator[tuple[str, Sequence[int]]]:
    """What counts of the line, and the characters of the page that each letter stands for: in a table the whole row."""
    import pypdfium2.raw as pdfium

    if line.row:
        places = tuple(line.places)
        yield from ((letter, places) for letter, _ in letters_of(line.text))
        return
    for place in line.places:
        yield from ((letter, (place,)) for letter, _ in letters_of(chr(pdfium.FPDFText_GetUnicode(text, place))))


def _common(page: str, wanted: str) -> tuple[int, int, int]:
    """Where on the page the longest part of `wanted` begins, where in `wanted`, and how long it is; length 0 when only scraps
    are there."""
    whole = page.find(wanted)
    if whole >= 0:
        return whole, 0, len(wanted)
    best, begins, best_length = 0, 0, 0
    low, high = 1, min(len(page), len(wanted))
    # A part of a shared part is shared too, so the greatest length can be found by halving.
    while low <= high:
        length = (low + high) // 2
        seen = {page[place : place + length]: place for place in range(len(page) - length, -1, -1)}
        at = next((at for at in range(len(wanted) - length + 1) if wanted[at : at + length] in seen), None)
        if at is None:
            high = length - 1
        else:
            best, begins, best_length = seen[wanted[at : at + length]], at, length
            low = length + 1
    reaches_over = page.endswith(wanted[:best_length]) or page.startswith(wanted[len(wanted) - best_length :])
    return (best, begins, best_length) if best_length >= LEAST_PART or (best_length and reaches_over) else (0, 0, 0)


def _placed(text: pypdfium2.PdfTextPage, place: int, way: int) -> Corners | None:
    """Where a character is drawn, before the page is turned and cropped, turned by its direction; None when it has no size."""
    import pypdfium2

    try:
        left, bottom, right, top = text.get_charbox(place, loose=True)
    except pypdfium2.PdfiumError:
        return None
    return turned((left, bottom, right, top), way) if right > left and top > bottom else None


def lines_of(corners: Sequence[Corners]) -> list[Corners]:
    """One rectangle for each line, of those of its characters or words in reading order."""
    lines: list[Corners] = []
    for left, bottom, right, top in corners:
        if lines:
            before = lines[-1]
            level = min(before[3], top) - max(before[1], bottom) > 0.5 * min(before[3] - before[1], top - bottom)
            if level and right > before[0]:  # also when written from right to left
                lines[-1] = (min(before[0], left), min(before[1], bottom), max(before[2], right), max(before[3], top))
                continue
            if level and left < before[0] and before[0] - right < 2 * (top - bottom):
                lines[-1] = (left, min(before[1], bottom), before[2], max(before[3], top))
                continue
        lines.append((left, bottom, right, top))
    return lines


def box_on_page(page: pypdfium2.PdfPage, corners: Corners) -> Box:
    """On the page as it is shown: turned, cropped, from the top left corner."""
    import ctypes

    import pypdfium2.raw as pdfium

    x, y = ctypes.c_int(), ctypes.c_int()
    across, down = [], []
    for horizontal, vertical in ((corners[0], corners[1]), (corners[2], corners[3])):
        pdfium.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, horizontal, vertical, x, y)
        across.append(min(max(100 * x.value / GRID, 0.0), 100.0))
        down.append(min(max(100 * y.value / GRID, 0.0), 100.0))
    left, top = min(across), min(down)
    return Box(round(left, 3), round(top, 3), round(max(across) - left, 3), round(max(down) - top, 3))
