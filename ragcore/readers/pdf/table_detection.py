"""Finds tables in the text of a PDF page: text in the cells of a ruled grid, or in columns that three rows share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from statistics import median

from ragcore.readers import table_rows
from ragcore.readers.pdf.line_joining import BROKEN, Line, is_item
from ragcore.readers.pdf.ruled_tables import Grid
from ragcore.readers.pdf.runs import LEVEL, Run, Span
from ragcore.readers.pdf.table_headers import (
    FIGURE,
    Cell,
    Rows,
    column_at,
    in_reading_order,
    may_be_names,
    name_rows,
    rows_above,
)

ROWS = 3  # with the same columns, from which they are a table without rules
APART = 3.0  # line heights from one row to the next
WRAPPED = 1.5  # line heights to the second line of a cell
FILLED = 0.4  # of the cells of a table
MISPLACED = 0.1  # of the runs in a grid may cross its rules
EVEN = 0.8  # of the lines in a row of a grid have text in all its cells, where each line is a row
FULL = 0.72  # of its column's width that an ordinary line of running text has
WORDY = 24  # characters of an ordinary line of running text in a column
NEXT = 50  # rows among which the row of a line is searched
NEW_TABLE = 1.6  # times the usual step from row to row: a row that is farther below belongs to another table
COLUMN_LINES = 6  # side by side, from which they are columns of running text


# Tables with rules


def in_grids(runs: list[Run], ruled: list[Grid]) -> Iterator[Rows]:
    """Tables of at least two rows with two filled cells, whose text stays in its cells; not drawings over text."""
    for grid in ruled:
        rows: list[list[list[Run]]] = [[[] for _ in range(grid.width)] for _ in range(grid.height)]
        for run in runs:
            if cell := grid.cell(run.center if run.turns else run.x0 + 0.3 * run.height, run.middle):
                rows[cell[0]][cell[1]].append(run)
        inside = [run for row in rows for cell in row for run in cell]
        if 2 * sum(run.turns != 0 for run in inside) > len(inside):
            continue  # a table of another direction
        spanned = _span_cells(grid, rows)
        outside = sum(_count_crossing(grid, row) for row in spanned)
        filled = [part for row in rows if any(row) for part in _split_row([*row])]
        cells = sum(bool(cell) for row in filled for cell in row)
        several = sum(sum(map(bool, row)) > 1 for row in filled)
        if several > 1 and cells >= FILLED * grid.width * len(filled) and outside <= MISPLACED * len(inside):
            yield [part for row in spanned if any(row) for part in _split_row(row)]


def _count_crossing(grid: Grid, row: Sequence[Cell]) -> int:
    """How many runs cross the rule on their right; 0 in a row with text in one cell only."""
    count = 0
    for column, cell in enumerate(row):
        last = next((at for at in range(column + 1, len(row)) if row[at] is not None), len(row))
        count += sum(run.x1 > grid.xs[last] + run.height for run in cell or ())
    return count if sum(map(bool, row)) > 1 else 0


def _span_cells(grid: Grid, rows: list[list[list[Run]]]) -> Rows:
    """The rows, with the text of a cell that spans columns in the first column, and of one that spans rows in each row."""
    rows = [[in_reading_order(cell) for cell in row] for row in rows]
    out: Rows = [list(row) for row in rows]
    for number, row in enumerate(rows):
        column = 0
        while column < grid.width:
            columns = grid.across(number, column)
            runs = [run for at in columns for run in row[at]]
            if len(columns) > 1 and runs and _is_stack(runs):
                out[number][columns[0]] = runs
                out[number][columns[0] + 1 : columns[-1] + 1] = [None] * (len(columns) - 1)
            elif len(columns) == 1:
                _fill_down(grid, rows, out, number, column)
            column = columns[-1] + 1
    return out


def _fill_down(grid: Grid, rows: list[list[list[Run]]], out: Rows, number: int, column: int) -> None:
    """Repeat the text of a cell that begins in this row in each of the rows that it spans."""
    down = grid.down(number, column)
    if number != down[0] or len(down) == 1 or any(len(grid.across(row, column)) > 1 for row in down):
        return
    filled = [row for row in down if rows[row][column]]
    runs = [run for row in filled for run in rows[row][column]]
    neighbours = [run for row in down for at, cell in enumerate(rows[row]) if at != column for run in cell]
    rules = grid.floors[column]
    closed = {down[0], down[-1] + 1} <= {0, grid.height, *rules}
    label = len(runs) == 1 or not any(_is_aligned(run, neighbours) for run in runs)
    if not label and len(filled) == 1:  # it has more lines than its neighbours
        label = len(runs) > max((len(cell) for at, cell in enumerate(rows[filled[0]]) if at != column), default=0)
    if closed and runs and neighbours and label:
        for row in down:
            out[row][column] = runs


def _is_stack(runs: list[Run]) -> bool:
    """Whether the runs are lines of one text, one below the other."""
    return not any(one.is_level_with(other) for one, other in combinations(runs, 2))


def _is_aligned(run: Run, others: list[Run]) -> bool:
    return any(abs(run.middle - other.middle) < (1 - LEVEL) / 2 * min(run.height, other.height) for other in others)


def _split_row(row: list[Cell]) -> Rows:
    """Split a row of a grid that consists of several rows without rules between them: its cells have the same lines, and some
    of them are numbers."""
    levels: list[list[tuple[int, Run]]] = []
    runs = [(column, run) for column, cell in enumerate(row) for run in cell or ()]
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
    if not any(cell and len(cell) > 1 and all(FIGURE.fullmatch(run.text) for run in cell) for cell in row):
        return [row]
    return [[[run for at, run in level if at == column] for column in range(len(row))] for level in levels]


# Tables without rules


def find_aligned(runs: list[Run]) -> Iterator[Rows]:
    """Consecutive rows that share their columns, with the names above them."""
    levels = list(_levels([run for run in runs if not run.turns]))
    rotated = [run for run in runs if run.turns]
    at = free = 0
    while at < len(levels):
        begin, end, columns = _table(levels, at, rotated)
        if columns:
            above = rows_above(levels[free:begin], levels[begin], columns, rotated, own=begin - at)
            yield [*above, *_table_rows(levels[begin:end], columns)]
            free = end
        at = max(end, at + 1)


def _levels(runs: list[Run]) -> Iterator[list[Run]]:
    """Runs that were drawn one after the other on the same line."""
    line: list[Run] = []
    for run in runs:
        if line and not (line[-1].is_level_with(run) and run.x0 > line[-1].x1):
            yield line
            line = []
        line.append(run)
    if line:
        yield line


def _table(levels: list[list[Run]], at: int, rotated: list[Run]) -> tuple[int, int, list[Span]]:
    """The first row, the end and the columns of the table that begins at `at` or little below it; no columns for no table."""
    end, columns = _shared_columns(levels, at, ROWS)
    if not columns and rotated:
        end, columns = _shared_columns(levels, at, ROWS - 1)
        if columns and not rows_above([], levels[at], columns, rotated):
            return at, at, []
    begin = _below_groups(levels[at:end], columns) + at
    if begin > at:  # names of groups between the columns, which would be columns themselves
        last, narrower = _shared_columns(levels, begin, ROWS - 1)
        if last == end and narrower:
            return begin, end, narrower
    return at, end, columns


def _below_groups(levels: list[list[Run]], columns: list[Span]) -> int:
    """The number of the first level below those with text in columns that no other level uses."""
    used = [{column_at(columns, run) for run in level} for level in levels]
    for first in (1, 2):
        below = set().union(*used[first:])
        if len(used) > first and len(below) > 1 and not all(used[number] <= below for number in range(first)):
            return first if all(not column or column not in below for column in used[first - 1]) else 0
    return 0


def _shared_columns(levels: list[list[Run]], at: int, least: int) -> tuple[int, list[Span]]:
    """The end of the rows that begin at `at`, and their columns; no columns where they are fewer than `least` rows."""
    columns: list[Span] = []
    rows, end = 0, at
    for number in range(at, len(levels)):
        level = levels[number]
        below = number == at or 0 < levels[number - 1][0].middle - level[0].middle < APART * level[0].height
        wider = _widen(columns, level) if below else []
        if not wider or (len(level) == 1 and number == at):
            break
        if len(level) > 1:
            columns, rows, end = wider, rows + 1, number + 1
        elif not _is_wrapped(level[0], levels[number - 1], columns):
            break
        else:
            end = number + 1
    return (end, columns) if rows >= least and len(columns) > 1 else (at, [])


def _widen(columns: list[Span], level: list[Run]) -> list[Span]:
    """The columns, wide enough for the row's runs; [] where two runs would be in one column."""
    spans = sorted([*columns, *((run.x0, run.x1) for run in level)])
    merged = [spans[0]]
    for x0, x1 in spans[1:]:
        if x0 < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], x1))
        else:
            merged.append((x0, x1))
    own = [column_at(merged, run) for run in level]
    if len(set(own)) < len(level) or (columns and len(merged) < len(columns)):
        return []
    return merged


def _is_wrapped(run: Run, above: list[Run], columns: list[Span]) -> bool:
    """Whether the run is the second line of a cell: close below, in one of the columns."""
    near = above[0].middle - run.middle < WRAPPED * min(run.height, above[0].height)
    return near and any(x0 - 1 <= run.x0 and run.x1 <= x1 + 1 for x0, x1 in columns)


def _table_rows(levels: list[list[Run]], columns: list[Span]) -> Rows:
    """A row for each level; an empty one before a level far below, which begins another table."""
    firsts = [level[0].middle for level in levels if len(level) > 1]
    steps = [above - below for above, below in pairwise(firsts)]
    rows: Rows = []
    for level in levels:
        if len(level) > 1:
            number = sum(map(any, rows))
            if number and steps[number - 1] > NEW_TABLE * median(steps) and may_be_names(level):
                rows.append([[] for _ in columns])
            rows.append([[] for _ in columns])
        for run in level:
            cell = rows[-1][column_at(columns, run)]
            if cell is not None:
                cell.append(run)
    return rows


def is_running_text(rows: Rows) -> bool:
    """Whether these are two or three columns full of words, line by line."""
    if len(rows) < COLUMN_LINES or len(rows[0]) > 3:
        return False
    for column in zip(*rows, strict=True):
        runs = [run for cell in column for run in cell or ()]
        if not runs:
            return False
        width = max(run.x1 for run in runs) - min(run.x0 for run in runs)
        full = sum(run.x1 - run.x0 > FULL * width for run in runs)
        if 2 * full < len(runs) or sum(len(run.text) for run in runs) < WORDY * len(runs):
            return False
    return True


def is_list(rows: Rows) -> bool:
    """Whether the first of two columns has only the marks or numbers of list items."""
    firsts = [_cell_text(row[0]) for row in rows if row[0]]
    return len(rows[0]) == 2 and all(is_item(text) or len(text) == 1 for text in firsts)


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return table_rows.MERGED
    return " ".join(run.text for run in cell).replace(f"{BROKEN} ", "").replace(BROKEN, "-")


def table_lines(rows: Rows, places: bool) -> list[Line]:
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    lines = table_rows.lines(texts, name_rows=name_rows(rows))
    if not places:
        return [Line(line, row=True) for line in lines]
    of_rows = [[place for cell in row for run in cell or () for place in range(run.first, run.last + 1)] for row in rows]
    return [Line(line, row=True, places=of_rows[row]) for line, row in _match_rows(lines, texts)]


def _match_rows(lines: Iterable[str], rows: list[list[str]]) -> Iterator[tuple[str, int]]:
    """Each line, and the row that it contains most of. Of several the next one; rows stay in order."""
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
