"""Which text on a page of a PDF is a table: letters in the cells of a ruled grid, or in columns that three rows share."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragcore.readers import table_rows
from ragcore.readers.pdf.line_joining import BROKEN, Line, is_item
from ragcore.readers.pdf.ruled_tables import Grid

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
_NUMBER = re.compile(r"\W*\d[\d\s.,'’/:()–-]*\W*[A-Za-z]{0,2}\W*")


@dataclass(frozen=True, slots=True)
class Run:
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


Rows = list[list[list[Run]]]  # rows of cells of runs
Span = tuple[float, float]


# Tables with rules


def in_grids(runs: list[Run], ruled: list[Grid]) -> Iterator[Rows]:
    """Tables of at least two rows with two filled cells, whose text stays in its cells; not drawings over text."""
    for grid in ruled:
        rows: Rows = [[[] for _ in range(grid.width)] for _ in range(grid.height)]
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


def _parted(row: list[list[Run]]) -> Rows:
    """Rows with no rules between them: the cells of all are in one, on the same lines, and some are numbers."""
    levels: list[list[tuple[int, Run]]] = []
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


def aligned(runs: list[Run]) -> Iterator[Rows]:
    """Rows that follow each other and share their columns."""
    levels = [list(level) for level in _levels(runs)]
    at = 0
    while at < len(levels):
        end, columns = _shared(levels, at)
        if columns:
            yield _merged(levels[at:end], columns)
        at = max(end, at + 1)


def _levels(runs: list[Run]) -> Iterator[list[Run]]:
    """Runs that were drawn one after the other on the same line."""
    line: list[Run] = []
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


def _shared(levels: list[list[Run]], at: int) -> tuple[int, list[Span]]:
    """Where the rows that begin at `at` end, and their columns; none where they are no table."""
    columns: list[Span] = []
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


def _widened(columns: list[Span], level: list[Run]) -> list[Span]:
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


def _column(columns: list[Span], run: Run) -> int:
    number = bisect_right(columns, (run.left, math.inf)) - 1
    return number if number >= 0 and run.left <= columns[number][1] else -1


def _is_wrapped(run: Run, above: list[Run], columns: list[Span]) -> bool:
    """The second line of a cell: close below, in one of the columns."""
    near = above[0].middle - run.middle < WRAPPED * min(run.height, above[0].height)
    return near and any(left - 1 <= run.left and run.right <= right + 1 for left, right in columns)


def _merged(levels: list[list[Run]], columns: list[Span]) -> Rows:
    rows: Rows = []
    for level in levels:
        if len(level) > 1:
            rows.append([[] for _ in columns])
        for run in level:
            rows[-1][_column(columns, run)].append(run)
    return rows


def is_running_text(rows: Rows) -> bool:
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


def is_list(rows: Rows) -> bool:
    """Signs or numbers of items, and beside them what they stand for."""
    firsts = [cell_text(row[0]) for row in rows if row[0]]
    return len(rows[0]) == 2 and all(is_item(text) or len(text) == 1 for text in firsts)


def cell_text(cell: list[Run]) -> str:
    return " ".join(run.text for run in cell).replace(f"{BROKEN} ", "").replace(BROKEN, "-")


def table_lines(rows: Rows, places: bool) -> list[Line]:
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
