"""What stands where on a page of a PDF: tables row by row, columns one after the other, headlines apart from the text.

PDFium gives a page's text in the order in which it was drawn. That is nearly always the order to read it in, and then all
that is added is the size of each line's letters. Where lines have wide gaps, or rules are drawn, every letter's place is
looked at: letters in the cells of a grid, or in columns that three rows share, are a table; lines side by side that are both
full of words are columns of text.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from ragcore.readers import table_rows
from ragcore.readers.encodings import clean
from ragcore.readers.pdf.line_joining import BROKEN, Line, fills, is_item, widths_near
from ragcore.readers.pdf.ruled_tables import Grid, grids

if TYPE_CHECKING:
    import pypdfium2

WIDE = 1.1  # of the height of the ink: a gap that is surely wider than GAP
GAP = 0.9  # of a line's height: wider than between words, even of justified text
BROAD = 0.75  # of a line's height: few letters are that wide
LEVEL = 0.5  # of the lower of two letters' height: so much they share when they stand on one line
ROWS = 3  # with the same columns, before they are a table without rules
APART = 3.0  # line heights from one row to the next
WRAPPED = 1.5  # line heights to the second line of a cell
FILLED = 0.4  # of the cells of a table
MISPLACED = 0.1  # of the pieces of text in a grid may reach over its rules
EVEN = 0.8  # of the lines in a row of a grid reach through all its cells, where they are rows of their own
FULL = 0.72  # of its column's width that an ordinary line of running text has
WORDY = 24  # characters of an ordinary line of running text in a column
NEXT = 50  # rows among which a line of a table's text is looked for
COLUMN_LINES = 6  # side by side, before they are columns of running text

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_NUMBER = re.compile(r"\W*\d[\d\s.,'’/:()–-]*\W*[A-Za-z]{0,2}\W*")
_FIGURE = re.compile(r"(?<!\S)[^\w\s]{0,2}\d[\d.,]*[^\w\s]{0,2}(?!\S)")
_WORD = re.compile(r"[^\s\x02\ufffe]+[\x02\ufffe]?")  # a hyphen at a line's end is one of these two
_ODD = re.compile("[\x00-\x1f\x7f\ufb00-\ufb06\ufeff\ufffe\ud800-\udfff]")
_DIGIT = re.compile(r"\d")
_BOLD = re.compile(rb"bold|black|heavy", re.I)
_HYPHEN = str.maketrans({2: BROKEN})
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_LEFTWARD = re.compile(f"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT} ]*[{_RIGHT_TO_LEFT}]")


@dataclass(frozen=True, slots=True)
class _Run:
    """Letters that stand on one line without a wide gap: their first and last place among the page's characters, the text,
    and the rectangle around them in points from the lower left corner."""

    first: int
    last: int
    text: str
    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


_Rows = list[list[list[_Run]]]  # rows of cells of runs
_Span = tuple[float, float]
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
    below: list[_Span] = []  # gaps of the line that is being looked at
    above: list[_Span] = []  # of the last one that had some
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


def _overlap(spans: list[_Span], span: _Span) -> bool:
    return any(left < span[1] and span[0] < right for left, right in spans)


# Letter by letter


def _placed_lines(text: pypdfium2.PdfTextPage, ruled: list[Grid], signs: str, places: bool) -> Iterator[Line]:
    runs = list(_runs(text, signs, ruled))
    found = [*_in_grids(runs, ruled)]
    taken = {run.first for rows in found for row in rows for cell in row for run in cell}
    columns: list[list[list[_Run]]] = []
    for rows in _aligned([run for run in runs if run.first not in taken]):
        if _is_running_text(rows):
            columns.append([[run for row in rows for run in row[place]] for place in range(len(rows[0]))])
        elif not _is_list(rows):
            found.append(rows)
    blocks: dict[int, list[Line]] = {}  # by the place of their first character
    owner: dict[int, int] = {}  # of the first character of each run
    for rows in found:
        _own(owner, [run for row in rows for cell in row for run in cell], blocks, _table_lines(rows, places))
    for side_by_side in columns:
        lines = [Line(run.text, *_look(text, run.first, run.last), places=range(run.first, run.last + 1))
                 for column in side_by_side for run in column]  # fmt: skip
        _own(owner, [run for column in side_by_side for run in column], blocks, lines)
    yield from _in_order(text, signs, runs, owner, blocks)


def _own(owner: dict[int, int], runs: list[_Run], blocks: dict[int, list[Line]], lines: list[Line]) -> None:
    begin = min(run.first for run in runs)
    blocks[begin] = lines
    owner.update((run.first, begin) for run in runs)


def _in_order(
    text: pypdfium2.PdfTextPage,
    signs: str,
    runs: list[_Run],
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


def _runs(text: pypdfium2.PdfTextPage, signs: str, ruled: list[Grid]) -> Iterator[_Run]:
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
                yield _Run(first, last, _legible(signs[first : last + 1]), left, bottom, right, top)
            first, (left, bottom, right, top) = start, box
        last = end
    if first >= 0:
        yield _Run(first, last, _legible(signs[first : last + 1]), left, bottom, right, top)


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


# Tables with rules


def _in_grids(runs: list[_Run], ruled: list[Grid]) -> Iterator[_Rows]:
    """Tables of at least two rows with two filled cells, whose text stays in its cells; not drawings over text."""
    for grid in ruled:
        rows: _Rows = [[[] for _ in range(grid.width)] for _ in range(grid.height)]
        outside = inside = 0
        for run in runs:
            if cell := grid.cell(run.left + 0.3 * run.height, run.middle):
                rows[cell[0]][cell[1]].append(run)
                inside += 1
                outside += run.right > grid.xs[cell[1] + 1] + run.height and sum(map(bool, rows[cell[0]])) > 1
        filled = [part for row in rows if any(row) for part in _parted(row)]
        cells = sum(bool(cell) for row in filled for cell in row)
        several = sum(sum(map(bool, row)) > 1 for row in filled)
        if several > 1 and cells >= FILLED * grid.width * len(filled) and outside <= MISPLACED * inside:
            yield filled


def _parted(row: list[list[_Run]]) -> _Rows:
    """Rows with no rules between them: the cells of all are in one, on the same lines, and some are numbers."""
    levels: list[list[tuple[int, _Run]]] = []
    runs = [(column, run) for column, cell in enumerate(row) for run in cell]
    for column, run in sorted(runs, key=lambda each: -each[1].middle):
        if not levels or levels[-1][0][1].middle - run.middle > LEVEL * run.height:
            levels.append([])
        levels[-1].append((column, run))
    filled = sum(map(bool, row))
    if (
        filled < 2
        or len(levels) < 2
        or sum(len({column for column, _ in level}) == filled for level in levels) < EVEN * len(levels)
    ):
        return [row]
    if not any(len(cell) > 1 and all(_NUMBER.fullmatch(run.text) for run in cell) for cell in row):
        return [row]
    return [[[run for at, run in level if at == column] for column in range(len(row))] for level in levels]


# Tables without rules


def _aligned(runs: list[_Run]) -> Iterator[_Rows]:
    """Rows that follow each other and share their columns."""
    levels = [list(level) for level in _levels(runs)]
    at = 0
    while at < len(levels):
        end, columns = _shared(levels, at)
        if columns:
            yield _merged(levels[at:end], columns)
        at = max(end, at + 1)


def _levels(runs: list[_Run]) -> Iterator[list[_Run]]:
    """Runs that were drawn one after the other on the same line."""
    line: list[_Run] = []
    for run in runs:
        if line and not (
            min(line[-1].top, run.top) - max(line[-1].bottom, run.bottom) > LEVEL * min(line[-1].height, run.height)
            and run.left > line[-1].right
        ):
            yield line
            line = []
        line.append(run)
    if line:
        yield line


def _shared(levels: list[list[_Run]], at: int) -> tuple[int, list[_Span]]:
    """Where the rows that begin at `at` end, and their columns; none where they are no table."""
    columns: list[_Span] = []
    rows, end = 0, at
    for number in range(at, len(levels)):
        level = levels[number]
        below = number == at or 0 < levels[number - 1][0].middle - level[0].middle < APART * level[0].height
        wider = _widened(columns, level) if below else []
        if not wider or (len(level) == 1 and number == at):
            break
        if len(level) > 1:
            columns, rows, end = wider, rows + 1, number + 1
        elif not _is_wrapped(level[0], levels[number - 1], columns):
            break
        else:
            end = number + 1
    return (end, columns) if rows >= ROWS and len(columns) > 1 else (at, [])


def _widened(columns: list[_Span], level: list[_Run]) -> list[_Span]:
    """The columns with the row's runs in them; [] where two of these would be in one."""
    spans = sorted([*columns, *((run.left, run.right) for run in level)])
    merged = [spans[0]]
    for left, right in spans[1:]:
        if left < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    own = [_column(merged, run) for run in level]
    if len(set(own)) < len(level) or (columns and len(merged) < len(columns)):
        return []
    return merged


def _column(columns: list[_Span], run: _Run) -> int:
    number = bisect_right(columns, (run.left, math.inf)) - 1
    return number if number >= 0 and run.left <= columns[number][1] else -1


def _is_wrapped(run: _Run, above: list[_Run], columns: list[_Span]) -> bool:
    """The second line of a cell: close below, in one of the columns."""
    near = above[0].middle - run.middle < WRAPPED * min(run.height, above[0].height)
    return near and any(left - 1 <= run.left and run.right <= right + 1 for left, right in columns)


def _merged(levels: list[list[_Run]], columns: list[_Span]) -> _Rows:
    rows: _Rows = []
    for level in levels:
        if len(level) > 1:
            rows.append([[] for _ in columns])
        for run in level:
            rows[-1][_column(columns, run)].append(run)
    return rows


def _is_running_text(rows: _Rows) -> bool:
    """Two or three columns full of words, line by line."""
    if len(rows) < COLUMN_LINES or len(rows[0]) > 3:
        return False
    for column in zip(*rows, strict=True):
        runs = [run for cell in column for run in cell]
        width = max(run.right for run in runs) - min(run.left for run in runs)
        full = sum(run.right - run.left > FULL * width for run in runs)
        if 2 * full < len(runs) or sum(len(run.text) for run in runs) < WORDY * len(runs):
            return False
    return True


def _is_list(rows: _Rows) -> bool:
    """Signs or numbers of items, and beside them what they stand for."""
    firsts = [cell_text(row[0]) for row in rows if row[0]]
    return len(rows[0]) == 2 and all(is_item(text) or len(text) == 1 for text in firsts)


def cell_text(cell: list[_Run]) -> str:
    return " ".join(run.text for run in cell).replace(f"{BROKEN} ", "").replace(BROKEN, "-")


def _table_lines(rows: _Rows, places: bool) -> list[Line]:
    texts = [[cell_text(cell) for cell in row] for row in rows]
    lines = table_rows.lines(texts)
    if not places:
        return [Line(line, row=True) for line in lines]
    of_rows = [[place for cell in row for run in cell for place in range(run.first, run.last + 1)] for row in rows]
    return [Line(line, row=True, places=of_rows[row]) for line, row in _told(lines, texts)]


def _told(lines: Iterable[str], rows: list[list[str]]) -> Iterator[tuple[str, int]]:
    """Each line and which row it tells: the next one of those that are most nearly all in it. Rows keep their order."""
    row = -1
    for line in lines:
        near = range(max(row, 0), min(row + 1 + NEXT, len(rows)))
        shares = {later: _share(line, rows[later]) for later in near}
        best = max(shares.values())
        row = next((later for later in near if later > row and shares[later] == best), row)
        yield line, row


def _share(line: str, cells: list[str]) -> float:
    total = sum(map(len, cells))
    return sum(len(cell) for cell in cells if cell and cell in line) / total if total else 0.0
