"""Finds tables in the text of a PDF page: text in the cells of a ruled grid, or in columns that three rows
share."""

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

MIN_ROWS = 3  # minimum number of rows with the same columns in a table without rules
MAX_ROW_STEP = 3.0  # maximum line heights from one row to the next
MAX_WRAP_STEP = 1.5  # maximum line heights to the second line of a cell
MIN_FILLED = 0.4  # minimum share of the cells of a table that have text
MAX_CROSSING = 0.1  # maximum share of the runs in a grid that cross its rules
EVEN_LINES = (
    0.8  # share of the lines in a row of a grid with text in all cells; with more, each line is a row
)
FULL_LINE = 0.72  # of its column's width; an ordinary line of running text is longer
WORDY_LINE = 24  # characters; an ordinary line of running text in a column has more
SEARCHED_ROWS = 50  # rows in which the row of a line is searched
NEW_TABLE_STEP = 1.6  # times the usual distance of rows; a row that is farther below begins another table
MIN_COLUMN_LINES = 6  # minimum number of lines side by side in columns of running text


# Tables with rules


def in_grids(runs: list[Run], ruled: list[Grid]) -> Iterator[Rows]:
    """Tables of at least two rows with two filled cells. In a drawing over text, the text would cross the
    rules."""
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
        if (
            several > 1
            and cells >= MIN_FILLED * grid.width * len(filled)
            and outside <= MAX_CROSSING * len(inside)
        ):
            yield [part for row in spanned if any(row) for part in _split_row(row)]


def _count_crossing(grid: Grid, row: Sequence[Cell]) -> int:
    """The number of runs that cross the rule after them; 0 in a row with text in one cell only."""
    count = 0
    for column, cell in enumerate(row):
        last = next((at for at in range(column + 1, len(row)) if row[at] is not None), len(row))
        count += sum(run.x1 > grid.xs[last] + run.height for run in cell or ())
    return count if sum(map(bool, row)) > 1 else 0


def _span_cells(grid: Grid, rows: list[list[list[Run]]]) -> Rows:
    """The rows, with the text of a cell that spans columns in the first column, and of one that spans rows in
    each row."""
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
    if not label and len(filled) == 1:  # the cell has more lines than its neighbours
        label = len(runs) > max(
            (len(cell) for at, cell in enumerate(rows[filled[0]]) if at != column), default=0
        )
    if closed and runs and neighbours and label:
        for row in down:
            out[row][column] = runs


def _is_stack(runs: list[Run]) -> bool:
    """Whether the runs are consecutive lines of one text."""
    return not any(one.is_level_with(other) for one, other in combinations(runs, 2))


def _is_aligned(run: Run, others: list[Run]) -> bool:
    return any(
        abs(run.middle - other.middle) < (1 - LEVEL) / 2 * min(run.height, other.height) for other in others
    )


def _split_row(row: list[Cell]) -> Rows:
    """Split a row of a grid that consists of several rows without rules between them. Its cells have lines at
    the same heights, and some lines are numbers."""
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
        or sum(len({column for column, _ in level}) == filled for level in levels) < EVEN_LINES * len(levels)
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
    """The first row, the end and the columns of the table that begins at `at` or shortly below; no columns if
    there is none."""
    end, columns = _shared_columns(levels, at, MIN_ROWS)
    if not columns and rotated:
        end, columns = _shared_columns(levels, at, MIN_ROWS - 1)
        if columns and not rows_above([], levels[at], columns, rotated):
            return at, at, []
    begin = _below_groups(levels[at:end], columns) + at
    if begin > at:  # names of groups, which stand between the columns, would look like columns
        last, narrower = _shared_columns(levels, begin, MIN_ROWS - 1)
        if last == end and narrower:
            return begin, end, narrower
    return at, end, columns


def _below_groups(levels: list[list[Run]], columns: list[Span]) -> int:
    """The first level below the levels with text in columns that no other level uses."""
    used = [{column_at(columns, run) for run in level} for level in levels]
    for first in (1, 2):
        below = set().union(*used[first:])
        if len(used) > first and len(below) > 1 and not all(used[number] <= below for number in range(first)):
            return first if all(not column or column not in below for column in used[first - 1]) else 0
    return 0


def _shared_columns(levels: list[list[Run]], at: int, least: int) -> tuple[int, list[Span]]:
    """The end of the rows that begin at `at`, and their columns; no columns if there are fewer than `least`
    rows."""
    columns: list[Span] = []
    rows, end = 0, at
    for number in range(at, len(levels)):
        level = levels[number]
        below = (
            number == at
            or 0 < levels[number - 1][0].middle - level[0].middle < MAX_ROW_STEP * level[0].height
        )
        wider = _extend_columns(columns, level) if below else []
        if not wider or (len(level) == 1 and number == at):
            break
        if len(level) > 1:
            columns, rows, end = wider, rows + 1, number + 1
        elif not _is_wrapped(level[0], levels[number - 1], columns):
            break
        else:
            end = number + 1
    return (end, columns) if rows >= least and len(columns) > 1 else (at, [])


def _extend_columns(columns: list[Span], level: list[Run]) -> list[Span]:
    """The columns, extended to contain the runs of the row; [] if two runs would be in one column."""
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
    near = above[0].middle - run.middle < MAX_WRAP_STEP * min(run.height, above[0].height)
    return near and any(x0 - 1 <= run.x0 and run.x1 <= x1 + 1 for x0, x1 in columns)


def _table_rows(levels: list[list[Run]], columns: list[Span]) -> Rows:
    """A row for each level; an empty one before a level far below, which begins another table."""
    firsts = [level[0].middle for level in levels if len(level) > 1]
    steps = [above - below for above, below in pairwise(firsts)]
    rows: Rows = []
    for level in levels:
        if len(level) > 1:
            number = sum(map(any, rows))
            if number and steps[number - 1] > NEW_TABLE_STEP * median(steps) and may_be_names(level):
                rows.append([[] for _ in columns])
            rows.append([[] for _ in columns])
        for run in level:
            cell = rows[-1][column_at(columns, run)]
            if cell is not None:
                cell.append(run)
    return rows


def is_running_text(rows: Rows) -> bool:
    """Whether the rows are the lines of two or three columns of text."""
    if len(rows) < MIN_COLUMN_LINES or len(rows[0]) > 3:
        return False
    for column in zip(*rows, strict=True):
        runs = [run for cell in column for run in cell or ()]
        if not runs:
            return False
        width = max(run.x1 for run in runs) - min(run.x0 for run in runs)
        full = sum(run.x1 - run.x0 > FULL_LINE * width for run in runs)
        if 2 * full < len(runs) or sum(len(run.text) for run in runs) < WORDY_LINE * len(runs):
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


def runs_in(rows: Iterable[Iterable[Cell]]) -> list[Run]:
    return [run for row in rows for cell in row for run in cell or ()]


def table_lines(rows: Rows, with_indexes: bool) -> list[Line]:
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    lines = table_rows.lines(texts, name_rows=name_rows(rows))
    if not with_indexes:
        return [Line(line, row=True) for line in lines]
    of_rows = [[index for run in runs_in([row]) for index in range(run.first, run.last + 1)] for row in rows]
    return [Line(line, row=True, indexes=of_rows[row]) for line, row in _match_rows(lines, texts)]


def _match_rows(lines: Iterable[str], rows: list[list[str]]) -> Iterator[tuple[str, int]]:
    """Each line with the row that has most cells in it, or the next of several. Rows stay in order."""
    row = -1
    for line in lines:
        near = range(max(row, 0), min(row + 1 + SEARCHED_ROWS, len(rows)))
        shares = {later: _share(line, rows[later]) for later in near}
        best = max(shares.values())
        row = next((later for later in near if later > row and shares[later] == best), row)
        yield line, row


def _share(line: str, cells: list[str]) -> float:
    total = sum(map(len, cells))
    return sum(len(cell) for cell in cells if cell and cell in line) / total if total else 0.0
