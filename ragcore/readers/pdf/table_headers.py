"""Names of columns above the rows of a table without rules: groups centred over several columns, and rotated
names."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from ragcore.readers.pdf.runs import Run, Span

Cell = list[Run] | None  # None: the cell before it also spans this column
Rows = list[list[Cell]]

MAX_HEAD_ROWS = 3  # maximum rows of names above the first row of the table
MAX_NAME_STEP = 2.2  # maximum line heights from a row of names to the next
MAX_LINE_GAP = 0.3  # maximum line heights between the lines of one name
MAX_HANGING = 6.0  # maximum line heights from the table up to the start of rotated names
MAX_NAME = 60  # characters of a column's name
MAX_OFF_CENTER = (
    1.5  # maximum line heights between the middle of a group's name and the middle of its columns
)
UNCOVERED_COST = (
    0.5  # cost of a column without a group in a row with several groups, in line heights off centre
)

FIGURE = re.compile(r"\W*\d[\d\s.,'’/:()^–-]*\W*[A-Za-z]{0,2}\W*")
_YEAR = re.compile(r"\W*(?:19|20)\d\d(?:\s*[-–/]\s*\d{2,4})?\W*")


def rows_above(
    above: Sequence[list[Run]],
    first: list[Run],
    columns: Sequence[Span],
    rotated: Sequence[Run],
    *,
    own: int = 0,
) -> Rows:
    """The rows of names above the row `first`, from the top. `above` are the lines drawn before it; the last
    `own` belong to the table. `rotated` are runs in another direction."""
    rows: Rows = []
    low = max(run.top for run in first)
    height = first[0].height
    remaining = list(above)
    if names := _rotated_names(rotated, columns, low, height):
        high = max(run.top for run in names)
        while remaining and all(low - height < run.middle < high for run in remaining[-1]):
            names = [*remaining.pop(), *names]
        rows.append(_assign(names, columns))
        low = high
    while remaining and len(rows) < MAX_HEAD_ROWS:
        level = remaining.pop()
        groups = _groups(level, columns, low, len(above) - len(remaining) <= own)
        if groups is None:
            break
        rows.insert(0, groups)
        low = max(run.top for run in level)
    return rows


def column_at(columns: Sequence[Span], run: Run) -> int:
    """The number of the column in which the run begins; -1 for none."""
    number = bisect_right(columns, (run.x0, math.inf)) - 1
    return number if number >= 0 and run.x0 <= columns[number][1] else -1


def name_rows(rows: Rows) -> int | None:
    """The number of rows with names at the top, if some names span several columns but not all; None for
    other tables."""
    for number, row in enumerate(rows[: MAX_HEAD_ROWS + 1]):
        if any(cell and any(_is_figure(run) for run in cell) for cell in row):
            return None
        if None not in row:
            return number + 1 if 0 < number < len(rows) - 1 else None
        if row.count(None) == len(row) - 1:
            return None
    return None


def may_be_names(level: Sequence[Run]) -> bool:
    """Whether the only figures of the line are several years, or it has none."""
    return (
        not any(map(_is_figure, level)) and sum(_YEAR.fullmatch(run.text) is not None for run in level) != 1
    )


def _is_figure(run: Run) -> bool:
    return FIGURE.fullmatch(run.text) is not None and _YEAR.fullmatch(run.text) is None


def _rotated_names(rotated: Sequence[Run], columns: Sequence[Span], low: float, height: float) -> list[Run]:
    """The rotated names that end close above the table, if there are at least two."""
    over = [
        run
        for run in rotated
        if run.turns in (1, 3)
        and columns[0][0] - height < run.center < columns[-1][1] + height
        and run.top > low
    ]
    nearest = min((run.bottom for run in over), default=math.inf)
    if not low - height < nearest < low + MAX_HANGING * height:
        return []
    high = max(run.top for run in over if run.bottom < nearest + height)
    names = [run for run in over if run.bottom < high]
    return in_reading_order(names) if len(names) > 1 else []


def in_reading_order(runs: Sequence[Run]) -> list[Run]:
    """The runs of one cell. Rotated runs are ordered line by line."""
    return sorted(runs, key=lambda run: {1: run.x0, 3: -run.x0}.get(run.turns, 0.0))


def _assign(runs: Sequence[Run], columns: Sequence[Span]) -> list[Cell]:
    """Each run in the nearest column."""
    row: list[Cell] = [[] for _ in columns]
    for run in runs:
        x = run.center if run.turns else run.x0
        nearest = min(range(len(columns)), key=lambda at: max(columns[at][0] - x, x - columns[at][1]))
        cell = row[nearest]
        if cell is not None:
            cell.append(run)
    return row


def _groups(level: list[Run], columns: Sequence[Span], low: float, own: bool) -> list[Cell] | None:
    """The names of a line, each in the first of the columns that it spans; None if it is not a line of
    names."""
    height = level[0].height
    first = 1 if len(level) == 1 else 0
    if (
        not -0.5 * height < level[0].bottom - low < (MAX_NAME_STEP - 1) * height
        or level[0].x0 < columns[first][0] - height
        or level[-1].x1 > columns[-1][1] + height
        or any(len(run.text) > MAX_NAME for run in level)
        or any(map(_is_figure, level))
        or any(later.x0 <= run.x1 for run, later in pairwise(level))
    ):
        return None
    blocks = (
        [range(at, at + 1) for at in range(len(columns))]
        if own and len(level) == len(columns)
        else _blocks(level, columns)
    )
    apart = level[0].bottom - low > MAX_LINE_GAP * height and not own
    if (
        not blocks
        or (len(level) == 1 and not blocks[0][0])
        or (apart and all(len(block) == 1 for block in blocks))
    ):
        return None
    row: list[Cell] = [[] for _ in columns]
    for run, block in zip(level, blocks, strict=True):
        row[block[0]] = [run]
        row[block[0] + 1 : block[-1] + 1] = [None] * (len(block) - 1)
    return row


def _blocks(level: list[Run], columns: Sequence[Span]) -> list[range]:
    """The columns over which each run of the line is centred; [] if they are unclear."""
    height = level[0].height
    cost = UNCOVERED_COST * height if len(level) > 1 else 0.0
    best: dict[int, tuple[float, list[range]]] = {0: (0.0, [])}  # by the number of columns used
    for run in level:
        after: dict[int, tuple[float, list[range]]] = {}
        for used, (total, blocks) in best.items():
            for start in range(used, len(columns)):
                for end in range(start + 1, len(columns) + 1):
                    off = _off_center(run, columns, start, end)
                    price = total + off + cost * (start - max(used, 1) if start > used else 0)
                    if off <= MAX_OFF_CENTER * height and price < after.get(end, (math.inf, []))[0]:
                        after[end] = (price, [*blocks, range(start, end)])
        best = after
    ends = [(total + cost * (len(columns) - used), blocks) for used, (total, blocks) in best.items()]
    return min(ends, key=lambda each: each[0], default=(0.0, []))[1]


def _off_center(run: Run, columns: Sequence[Span], start: int, end: int) -> float:
    """Points between the middle of the run and that of the columns from `start` to before `end`; infinite if
    it extends over other columns."""
    if (start and run.x0 < columns[start - 1][1]) or (end < len(columns) and run.x1 > columns[end][0]):
        return math.inf
    return abs(run.center - (columns[start][0] + columns[end - 1][1]) / 2)
