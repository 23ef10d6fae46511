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
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from ragcore.readers.encodings import clean
from ragcore.readers.pdf.line_joining import BROKEN, Line, fills, widths_near
from ragcore.readers.pdf.ruled_tables import Grid, grids
from ragcore.readers.pdf.table_detection import LEVEL, ROWS, Run, Span, aligned, in_grids, is_list, is_running_text, table_lines

if TYPE_CHECKING:
    import pypdfium2

WIDE = 1.1  # of the height of the ink: a gap that is surely wider than GAP
GAP = 0.9  # of a line's height: wider than between words, even of justified text
BROAD = 0.75  # of a line's height: few letters are that wide

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_FIGURE = re.compile(r"(?<!\S)[^\w\s]{0,2}\d[\d.,]*[^\w\s]{0,2}(?!\S)")
_WORD = re.compile(r"[^\s\x02\ufffe]+[\x02\ufffe]?")  # a hyphen at a line's end is one of these two
_ODD = re.compile("[\x00-\x1f\x7f\ufb00-\ufb06\ufeff\ufffe\ud800-\udfff]")
_DIGIT = re.compile(r"\d")
_BOLD = re.compile(rb"bold|black|heavy", re.I)
_HYPHEN = str.maketrans({2: BROKEN})
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_LEFTWARD = re.compile(f"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT} ]*[{_RIGHT_TO_LEFT}]")

_Corners = tuple[float, float, float, float]  # left, bottom, right, top


def page_lines(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, *, places: bool = False) -> list[Line]:
    """The lines of the page in the order in which they are read. `places`: which characters of the page each is made of."""
    whole = text.get_text_range()
    pieces = _pieces(text)
    ruled = [grid for grid in grids(page) if _may_fill(grid, pieces)]
    if not (places or ruled or _LEFTWARD.search(whole) or _has_gaps(pieces) or _has_figures(whole)):
        return list(_drawn_lines(text, whole))
    return list(_placed_lines(text, ruled, _signs(text, whole), places))


def _drawn_lines(text: pypdfium2.PdfTextPage, whole: str) -> Iterator[Line]:
    """As PDFium gives them. How the letters look is asked only where a headline as long as a line could go before a text."""
    import pypdfium2.raw as pdfium

    ends = whole.split("\n")
    lines = [line.rstrip() for line in ends]
    widths = widths_near([len(line) for line in lines])
    looked_at: set[int] = set()
    for number, line in enumerate(lines):
        if fills(len(line), widths[number]):
            below = next((later for later in range(number + 1, min(number + 3, len(lines))) if lines[later]), None)
            if below and not lines[below][0].islower():
                looked_at |= {number, below}
    start = 0
    for number, line in enumerate(lines):
        if number in looked_at:
            first = pdfium.FPDFText_GetCharIndexFromTextIndex(text, start)
            yield Line(_legible(line), *_look(text, first, first + len(line) - 1))
        else:
            yield Line(_legible(line))
        start += len(ends[number]) + 1


def _look(text: pypdfium2.PdfTextPage, first: int, last: int) -> tuple[float, bool]:
    """The height of a line's first letter, and whether its first and its last are bold."""
    box = _boxes(text)(first)
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


def _pieces(text: pypdfium2.PdfTextPage) -> list[_Corners]:
    """Around each piece of text that was drawn at once, which is quicker than to ask for each letter."""
    import pypdfium2.raw as pdfium

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    found = []
    raw = text.raw
    for number in range(pdfium.FPDFText_CountRects(raw, 0, -1)):
        pdfium.FPDFText_GetRect(raw, number, left, top, right, bottom)
        found.append((left.value, bottom.value, right.value, top.value))
    return found


def _may_fill(grid: Grid, pieces: list[_Corners]) -> bool:
    """Whether at least two rows have text in at least two cells."""
    cells = {cell for left, bottom, _, top in pieces if (cell := grid.cell(left + 1, (bottom + top) / 2))}
    return sum(count > 1 for count in Counter(row for row, _ in cells).values()) > 1


def _has_gaps(pieces: list[_Corners]) -> bool:
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


def _placed_lines(text: pypdfium2.PdfTextPage, ruled: list[Grid], signs: str, places: bool) -> Iterator[Line]:
    runs = list(_runs(text, signs, ruled))
    found = [*in_grids(runs, ruled)]
    taken = {run.first for rows in found for row in rows for cell in row for run in cell}
    columns: list[list[list[Run]]] = []
    for rows in aligned([run for run in runs if run.first not in taken]):
        if is_running_text(rows):
            columns.append([[run for row in rows for run in row[place]] for place in range(len(rows[0]))])
        elif not is_list(rows):
            found.append(rows)
    blocks: dict[int, list[Line]] = {}  # by the place of their first character
    owner: dict[int, int] = {}  # of the first character of each run
    for rows in found:
        _own(owner, [run for row in rows for cell in row for run in cell], blocks, table_lines(rows, places))
    for side_by_side in columns:
        lines = [Line(run.text, *_look(text, run.first, run.last), places=range(run.first, run.last + 1))
                 for column in side_by_side for run in column]  # fmt: skip
        _own(owner, [run for column in side_by_side for run in column], blocks, lines)
    yield from _in_order(text, signs, runs, owner, blocks)


def _own(owner: dict[int, int], runs: list[Run], blocks: dict[int, list[Line]], lines: list[Line]) -> None:
    begin = min(run.first for run in runs)
    blocks[begin] = lines
    owner.update((run.first, begin) for run in runs)


def _in_order(
    text: pypdfium2.PdfTextPage,
    signs: str,
    runs: list[Run],
    owner: dict[int, int],
    blocks: dict[int, list[Line]],
) -> Iterator[Line]:
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
            yield from _running(text, signs, free)
            free = []
            yield Line("")
            yield from blocks[begin]
            yield Line("")
        at = run.last + 1
    free.extend(range(at, len(signs)))
    yield from _running(text, signs, free)


def _running(text: pypdfium2.PdfTextPage, signs: str, free: list[int]) -> Iterator[Line]:
    for ends, line in groupby(free, key=lambda place: signs[place] in "\r\n"):
        if ends:
            continue
        seen = list(line)
        filled = [place for place in seen if not signs[place].isspace()]
        if not filled:
            yield Line("")
            continue
        seen = _rightward(text, signs, seen)
        yield Line(_legible("".join(signs[place] for place in seen)), *_look(text, filled[0], filled[-1]), places=seen)


def _rightward(text: pypdfium2.PdfTextPage, signs: str, line: list[int]) -> list[int]:
    """The line with the words of scripts that are written to the left in the order in which they are read.

    PDFium turns such words round, as most programs draw them from the left. Those that were drawn from the right are then
    the wrong way round; and so are the letters of a glyph that stands for several, if it is none of Unicode's ligatures.
    """
    out, box_of = list(line), _boxes(text)
    for found in _LEFTWARD.finditer("".join(signs[place] for place in line)):
        word = line[found.start() : found.end()]
        boxes = {place: box_of(place) for place in word}
        first, last = boxes[word[0]], boxes[word[-1]]
        if first and last and first[0] < last[0]:
            word.reverse()
        else:
            word = [place for _, glyph in groupby(word, key=boxes.__getitem__) for place in _spelled(list(glyph), text)]
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


def _boxes(text: pypdfium2.PdfTextPage) -> Callable[[int], _Corners | None]:
    """Gives the rectangle around the character at a place; None where it has none."""
    import pypdfium2.raw as pdfium

    raw, box, ask = text.raw, pdfium.FS_RECTF(), pdfium.FPDFText_GetLooseCharBox  # once, as every letter may be asked for

    def box_of(place: int) -> _Corners | None:
        if not ask(raw, place, box):
            return None
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        return (left, bottom, right, top) if right > left and top > bottom else None

    return box_of


def _runs(text: pypdfium2.PdfTextPage, signs: str, ruled: list[Grid]) -> Iterator[Run]:
    """In the order in which they were drawn."""
    first = last = -1
    left = bottom = right = top = 0.0
    for start, end, box in _words(text, signs):
        low, high = (bottom, top) if top - bottom > box[3] - box[1] else (box[1], box[3])
        gap = box[0] - right
        if (
            first >= 0
            and low - high < gap < GAP * (high - low)
            and _level((left, bottom, right, top), box)
            and not any(grid.parts(right, box[0], box[1]) for grid in ruled)
        ):
            left, bottom, right, top = min(left, box[0]), min(bottom, box[1]), max(right, box[2]), max(top, box[3])
        else:
            if first >= 0:
                yield Run(first, last, _legible(signs[first : last + 1]), left, bottom, right, top)
            first, (left, bottom, right, top) = start, box
        last = end
    if first >= 0:
        yield Run(first, last, _legible(signs[first : last + 1]), left, bottom, right, top)


def _words(text: pypdfium2.PdfTextPage, signs: str) -> Iterator[tuple[int, int, _Corners]]:
    """First and last place of each word, and the rectangle around it, from its first and last letter."""
    box_of = _boxes(text)
    for word in _WORD.finditer(signs):
        start, end = word.span()
        first, last = box_of(start), box_of(end - 1)
        if first and last and _level(first, last) and last[2] - first[0] < BROAD * (first[3] - first[1]) * (end - start):
            yield start, end - 1, (
                min(first[0], last[0]), min(first[1], last[1]), max(first[2], last[2]), max(first[3], last[3]),
            )  # fmt: skip
        else:  # it goes on in another line or column
            yield from ((place, place, box) for place in range(start, end) if (box := box_of(place)))


def _level(one: _Corners, other: _Corners) -> bool:
    return min(one[3], other[3]) - max(one[1], other[1]) > LEVEL * min(one[3] - one[1], other[3] - other[1])
