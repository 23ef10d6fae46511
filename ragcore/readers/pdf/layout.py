"""What stands where on a page of a PDF: tables row by row, columns one after the other, headlines apart from the text.

PDFium gives a page's text in the order in which it was drawn. That is nearly always the order to read it in, and then all
that is added is the size of each line's letters. Where lines have wide gaps, or rules are drawn, every letter's place is
looked at: letters in the cells of a grid, or in columns that three rows share, are a table; lines side by side that are both
full of words are columns of text.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ragcore.readers import typography
from ragcore.readers.encodings import clean
from ragcore.readers.pdf.directions import NO_DIRECTION, BoxOf, Corners, character_boxes, directions, turned
from ragcore.readers.pdf.line_joining import BROKEN, Line, fills, widths_near
from ragcore.readers.pdf.ruled_tables import Grid, grids
from ragcore.readers.pdf.runs import LEVEL, Run, Span, runs_of
from ragcore.readers.pdf.shifted import ShiftedLetters, candidates
from ragcore.readers.pdf.table_detection import ROWS, aligned, in_grids, is_list, is_running_text, table_lines

if TYPE_CHECKING:
    import pypdfium2

WIDE = 1.1  # of the height of the ink: a gap that is surely wider than GAP

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_FIGURE = re.compile(r"(?<!\S)[^\w\s]{0,2}\d[\d.,]*[^\w\s]{0,2}(?!\S)")
_ODD = re.compile("[\x00-\x1f\x7f\ufb00-\ufb06\ufeff\ufffe\ud800-\udfff]")
_DIGIT = re.compile(r"\d")
_BOLD = re.compile(rb"bold|black|heavy", re.I)
_HYPHEN = str.maketrans({2: BROKEN})
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_LEFTWARD = re.compile(f"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT} ]*[{_RIGHT_TO_LEFT}]")


@dataclass(frozen=True, slots=True)
class _Letters:
    """The characters of a page: `signs` has one for each place, `shown` what is read there, `ways` the direction of each, and
    `box_of` its rectangle, turned by that direction."""

    text: pypdfium2.PdfTextPage
    signs: str
    shown: Sequence[str]
    ways: Sequence[int]
    box_of: BoxOf

    def spelled(self, first: int, last: int) -> str:
        return self.joined(range(first, last + 1))

    def joined(self, places: Iterable[int]) -> str:
        return _legible(typography.plain("".join(self.shown[place] for place in places)))

    def look(self, first: int, last: int) -> tuple[float, bool]:
        return _look(self.text, self.box_of, first, last)


def page_lines(paths: Sequence[Any], text: pypdfium2.PdfTextPage, main: int, *, places: bool = False) -> list[Line]:
    """The lines of a page in the order in which they are read. `main` is the direction of most of its text, `paths` may be
    rules of tables.

    `places`: which characters of the page each is made of."""
    whole = text.get_text_range()
    pieces = text_pieces(text)
    ways = directions(text, main, pieces)
    ruled = {way: _tables(paths, way, pieces) for way in sorted({main, *ways} - {NO_DIRECTION}, key=lambda way: way != main)}
    gaps = any(_has_gaps([turned(piece, way) for piece in pieces] if way else pieces) for way in ruled)
    box_of = character_boxes(text, main, ways)
    shifted = _shifted(text, whole, main, pieces)
    if not (places or any(ruled.values()) or _LEFTWARD.search(whole) or gaps or _has_figures(whole)):
        return list(_drawn_lines(text, whole, box_of, shifted))
    signs = _signs(text, whole)
    shown = [shifted.get(place, sign) for place, sign in enumerate(signs)] if shifted else signs
    return list(_placed_lines(_Letters(text, signs, shown, ways or [main] * len(signs), box_of), ruled, places))


def _shifted(text: pypdfium2.PdfTextPage, whole: str, main: int, pieces: list[Corners]) -> dict[int, str]:
    """What is read in the place of characters that are raised, lowered, or beside a drop cap."""
    found = list(candidates(pieces, [turned(piece, main) for piece in pieces] if main else pieces))
    if not found:
        return {}
    letters = ShiftedLetters(text, _signs(text, whole), main)
    for piece in found:
        letters.look_at(piece)
    return letters.found


def _tables(paths: Sequence[Any], way: int, pieces: list[Corners]) -> list[Grid]:
    """The grids that may be tables whose text has this direction."""
    found = grids(paths, way)
    if not found:
        return []
    upright = [turned(piece, way) for piece in pieces] if way else pieces
    return [grid for grid in found if _may_fill(grid, upright)]


def _drawn_lines(text: pypdfium2.PdfTextPage, whole: str, box_of: BoxOf, shifted: dict[int, str]) -> Iterator[Line]:
    """As PDFium gives them. How the letters look is asked only where a headline as long as a line could go before a text."""
    ends = whole.split("\n")
    firsts: list[int] = []  # place of the first character of each line, where letters are shifted
    if shifted:
        shown = [shifted.get(place, sign) for place, sign in enumerate(_signs(text, whole))]
        firsts = [0, *(place + 1 for place, sign in enumerate(shown) if sign == "\n")]
        ends = typography.plain("".join(shown)).split("\n")
    lines = [line.rstrip() for line in ends]
    looked_at = _before_headlines(lines)
    start = 0
    for number, line in enumerate(lines):
        if number in looked_at:
            first = firsts[number] if firsts else _place_of(text, start)
            yield Line(_legible(line), *_look(text, box_of, first, first + len(line) - 1))
        else:
            yield Line(_legible(line))
        start += len(ends[number]) + 1


def _before_headlines(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that may be a headline or end above one, and of those below them."""
    widths = widths_near([len(line) for line in lines])
    looked_at: set[int] = set()
    for number, line in enumerate(lines):
        if fills(len(line), widths[number]):
            below = next((later for later in range(number + 1, min(number + 3, len(lines))) if lines[later]), None)
            if below and not lines[below][0].islower():
                looked_at |= {number, below}
    return looked_at


def _place_of(text: pypdfium2.PdfTextPage, index: int) -> int:
    """The place on the page of a character of the whole text."""
    import pypdfium2.raw as pdfium

    return int(pdfium.FPDFText_GetCharIndexFromTextIndex(text, index))


def _look(text: pypdfium2.PdfTextPage, box_of: BoxOf, first: int, last: int) -> tuple[float, bool]:
    """The height of a line's first letter, and whether its first and its last are bold."""
    box = box_of(first)
    return (box[3] - box[1] if box else 0.0), _is_bold(text, first) and _is_bold(text, last)


def _is_bold(text: pypdfium2.PdfTextPage, place: int) -> bool:
    import pypdfium2.raw as pdfium

    name = ctypes.create_string_buffer(100)
    pdfium.FPDFText_GetFontInfo(text, place, name, len(name), None)
    return bool(_BOLD.search(name.value))


def _legible(line: str) -> str:
    if not _ODD.search(line):
        return line
    return clean(line.translate(_HYPHEN)).translate(_LIGATURES).replace("\n", " ")


def text_pieces(text: pypdfium2.PdfTextPage) -> list[Corners]:
    """Around each piece of text that was drawn at once, which is quicker than to ask for each letter."""
    import pypdfium2.raw as pdfium

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    found = []
    raw = text.raw
    for number in range(pdfium.FPDFText_CountRects(raw, 0, -1)):
        pdfium.FPDFText_GetRect(raw, number, left, top, right, bottom)
        found.append((left.value, bottom.value, right.value, top.value))
    return found


def _may_fill(grid: Grid, pieces: list[Corners]) -> bool:
    """Whether at least two rows have text in at least two cells."""
    cells = {cell for left, bottom, _, top in pieces if (cell := grid.cell(left + 1, (bottom + top) / 2))}
    return sum(count > 1 for count in Counter(row for row, _ in cells).values()) > 1


def _has_gaps(pieces: list[Corners]) -> bool:
    """Whether lines that follow each other have wide gaps at the same place."""
    below: list[Span] = []  # gaps of the line that is being looked at
    above: list[Span] = []  # of the last one that had some
    low = high = end = 0.0
    lines = 0
    for left, bottom, right, top in pieces:
        if min(high, top) - max(low, bottom) > LEVEL * min(high - low, top - bottom):
            if left - end > WIDE * max(high - low, top - bottom):
                if not below:
                    lines = lines + 1 if _overlap(above, (end, left)) else 1
                below.append((end, left))
                if lines >= ROWS:
                    return True
        else:
            above, below = below or above, []
        low, high, end = bottom, top, right
    return False


def _has_figures(whole: str) -> bool:
    """Whether several figures stand in each of some lines that follow each other: some programs draw a whole row at once."""
    lines = 0
    for line in whole.split("\n"):
        lines = lines + 1 if _DIGIT.search(line) and len(_FIGURE.findall(line)) > 1 else 0
        if lines >= ROWS:
            return True
    return False


def _overlap(spans: list[Span], span: Span) -> bool:
    return any(left < span[1] and span[0] < right for left, right in spans)


# Letter by letter


def _placed_lines(letters: _Letters, ruled: dict[int, list[Grid]], places: bool) -> Iterator[Line]:
    placed = list(runs_of(letters.signs, letters.box_of, letters.spelled, letters.ways, ruled))
    blocks: dict[int, list[Line]] = {}  # by the place of their first character
    owner: dict[int, int] = {}  # of the first character of each run
    for way, tables in ruled.items():
        runs = [run.seen_from(own, way) for own, run in placed if own != NO_DIRECTION and run.first not in owner]
        found = list(in_grids(runs, tables))
        in_tables = {run.first for rows in found for row in rows for cell in row for run in cell or ()}
        columns: list[list[list[Run]]] = []
        for rows in aligned([run for run in runs if run.first not in in_tables]):
            if is_running_text(rows):
                columns.append([[run for row in rows for run in row[place] or ()] for place in range(len(rows[0]))])
            elif not is_list(rows):
                found.append(rows)
        for rows in found:
            _own(owner, [run for row in rows for cell in row for run in cell or ()], blocks, table_lines(rows, places))
        for side_by_side in columns:
            lines = [Line(run.text, *letters.look(run.first, run.last), places=range(run.first, run.last + 1))
                     for column in side_by_side for run in column]  # fmt: skip
            _own(owner, [run for column in side_by_side for run in column], blocks, lines)
    yield from _in_order(letters, [run for _, run in placed], owner, blocks)


def _own(owner: dict[int, int], runs: list[Run], blocks: dict[int, list[Line]], lines: list[Line]) -> None:
    begin = min(run.first for run in runs)
    blocks[begin] = lines
    owner.update((run.first, begin) for run in runs)


def _in_order(letters: _Letters, runs: list[Run], owner: dict[int, int], blocks: dict[int, list[Line]]) -> Iterator[Line]:
    """The lines of running text, and each block of others where its first letter was drawn."""
    done: set[int] = set()
    at = 0
    free: list[int] = []
    for run in runs:
        free.extend(range(at, run.first))
        begin = owner.get(run.first)
        if begin is None:
            free.extend(range(run.first, run.last + 1))
        elif begin not in done:
            done.add(begin)
            yield from _running(letters, free)
            free = []
            yield Line("")
            yield from blocks[begin]
            yield Line("")
        at = run.last + 1
    free.extend(range(at, len(letters.signs)))
    yield from _running(letters, free)


def _running(letters: _Letters, free: list[int]) -> Iterator[Line]:
    signs = letters.signs
    for ends, line in groupby(free, key=lambda place: letters.shown[place] in ("\r", "\n")):
        if ends:
            continue
        seen = list(line)
        filled = [place for place in seen if not signs[place].isspace()]
        if not filled:
            yield Line("")
            continue
        seen = _rightward(letters, seen)
        yield Line(letters.joined(seen), *letters.look(filled[0], filled[-1]), places=seen)


def _rightward(letters: _Letters, line: list[int]) -> list[int]:
    """The line with the words of scripts that are written to the left in the order in which they are read.

    PDFium turns such words round, as most programs draw them from the left. Those that were drawn from the right are then
    the wrong way round; and so are the letters of a glyph that stands for several, if it is none of Unicode's ligatures.
    """
    out, box_of = list(line), letters.box_of
    for found in _LEFTWARD.finditer("".join(letters.signs[place] for place in line)):
        word = line[found.start() : found.end()]
        boxes = {place: box_of(place) for place in word}
        first, last = boxes[word[0]], boxes[word[-1]]
        if first and last and first[0] < last[0]:
            word.reverse()
        else:
            word = [place for _, glyph in groupby(word, key=boxes.__getitem__) for place in _spelled(list(glyph), letters.text)]
        out[found.start() : found.end()] = word
    return out


def _spelled(glyph: list[int], text: pypdfium2.PdfTextPage) -> list[int]:
    import pypdfium2.raw as pdfium

    letters = "".join(chr(pdfium.FPDFText_GetUnicode(text, place)) for place in glyph)
    return glyph if len(glyph) == 1 or letters in _arabic_ligatures() else glyph[::-1]


@cache
def _arabic_ligatures() -> frozenset[str]:
    """The letters of each, in the order in which they are read."""
    return frozenset(unicodedata.normalize("NFKC", chr(point)) for point in (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFEFF)))


def _signs(text: pypdfium2.PdfTextPage, whole: str) -> str:
    """The character at each place. The whole text leaves some out that are not to be seen, and then has fewer."""
    import pypdfium2.raw as pdfium

    if len(whole) == text.count_chars():
        return whole
    return "".join(chr(pdfium.FPDFText_GetUnicode(text, place)) for place in range(text.count_chars()))
