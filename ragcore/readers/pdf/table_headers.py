"""Names of columns above the rows of a table without rules: groups centred over several columns, and rotated names."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from ragcore.readers.pdf.runs import Run, Span

Cell = list[Run] | None  # None: the cell on the left also spans this column
Rows = list[list[Cell]]

HEAD_ROWS = 3  # above the row of names that the table's rows begin with
FAR = 2.2  # line heights from a row of names to the next
CLOSE = 0.3  # line heights between the lines of one name
HANGING = 6.0  # line heights from the table up to rotated names that begin at the top
LONGEST_NAME = 60  # characters
OFF_CENTER = 1.5  # line heights between the middle of a group's name and that of its columns
UNCOVERED = 0.5  # line heights that a column without a group costs, where a row has several groups

FIGURE = re.compile(r"\W*\d[\d\s.,'’/:()^–-]*\W*[A-Za-z]{0,2}\W*")
_YEAR = re.compile(r"\W*(?:19|20)\d\d(?:\s*[-–/]\s*\d{2,4})?\W*")


def rows_above(
    above: Sequence[list[Run]], first: list[Run], columns: Sequence[Span], rotated: Sequence[Run], *, own: int = 0
) -> Rows:
    """The rows of names above the row `first`, from the top. `above`: the lines that were drawn before it, the last `own` of
    which belong to the table. `rotated`: runs of the page in another direction."""
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
    while remaining and len(rows) < HEAD_ROWS:
        level = remaining.pop()
        groups = _groups(level, columns, low, len(above) - len(remaining) <= own)
        if groups is None:
            break
        rows.insert(0, groups)
        low = max(run.top for run in level)
    return rows


def column_at(columns: Sequence[Span], run: Run) -> int:
    """The number of the column that the run begins in, -1 for none."""
    number = bisect_right(columns, (run.x0, math.inf)) - 1
    return number if number >= 0 and run.x0 <= columns[number][1] else -1


def name_rows(rows: Rows) -> int | None:
    """How many of the first rows are names, where some of them span several columns but not all; None elsewhere."""
    for number, row in enumerate(rows[: HEAD_ROWS + 1]):
        if any(cell and any(_is_figure(run) for run in cell) for cell in row):
            return None
        if None not in row:
            return number + 1 if 0 < number < len(rows) - 1 else None
        if row.count(None) == len(row) - 1:
            return None
    return None


def may_be_names(level: Sequence[Run]) -> bool:
    """Whether a line has no figures except years, and not exactly one year."""
    return not any(map(_is_figure, level)) and sum(_YEAR.fullmatch(run.text) is not None for run in level) != 1


def _is_figure(run: Run) -> bool:
    return FIGURE.fullmatch(run.text) is not None and _YEAR.fullmatch(run.text) is None


def _rotated_names(rotated: Sequence[Run], columns: Sequence[Span], low: float, height: float) -> list[Run]:
    """Rotated names that end close above the table, where there are at least two."""
    over = [
        run
        for run in rotated
        if run.turns in (1, 3) and columns[0][0] - height < run.center < columns[-1][1] + height and run.top > low
    ]
    nearest = min((run.bottom for run in over), default=math.inf)
    if not low - height < nearest < low + HANGING * height:
        return []
    high = max(run.top for run in over if run.bottom < nearest + height)
    names = [run for run in over if run.bottom < high]
    return in_reading_order(names) if len(names) > 1 else []


def in_reading_order(runs: Sequence[Run]) -> list[Run]:
    """Rotated runs of one cell line by line; upright ones as they are."""
    return sorted(runs, key=lambda run: {1: run.x0, 3: -run.x0}.get(run.turns, 0.0))


def _assign(runs: Sequence[Run], columns: Sequence[Span]) -> list[Cell]:
    """Each run in the nearest column."""
    row: list[Cell] = [[] for _ in columns]
    for run in runs:
        place = run.center if run.turns else run.x0
        nearest = min(range(len(columns)), key=lambda at: max(columns[at][0] - place, place - columns[at][1]))
        cell = row[nearest]
        if cell is not None:
            cell.append(run)
    return row


def _groups(level: list[Run], columns: Sequence[Span], low: float, own: bool) -> list[Cell] | None:
    """The names of a line, each in the first of the columns that it spans; None where it is not a line of names."""
    height = level[0].height
    first = 1 if len(level) == 1 else 0
    if (
        not -0.5 * height < level[0].bottom - low < (FAR - 1) * height
        or level[0].x0 < columns[first][0] - height
        or level[-1].x1 > columns[-1][1] + height
        or any(len(run.text) > LONGEST_NAME for run in level)
        or any(map(_is_figure, level))
        or any(later.x0 <= run.x1 for run, later in pairwise(level))
    ):
        return None
    blocks = (
        [range(at, at + 1) for at in range(len(columns))] if own and len(level) == len(columns) else _blocks(level, columns)
    )
    apart = level[0].bottom - low > CLOSE * height and not own
    if not blocks or (len(level) == 1 and not blocks[0][0]) or (apart and all(len(block) == 1 for block in blocks)):
        return None
    row: list[Cell] = [[] for _ in columns]
    for run, block in zip(level, blocks, strict=True):
        row[block[0]] = [run]
        row[block[0] + 1 : block[-1] + 1] = [None] * (len(block) - 1)
    return row


def _blocks(level: list[Run], columns: Sequence[Span]) -> list[range]:
    """For each run of the line the columns that it is centred over; [] where they are not clear."""
    height = level[0].height
    cost = UNCOVERED * height if len(level) > 1 else 0.0
    best: dict[int, tuple[float, list[range]]] = {0: (0.0, [])}  # by the number of columns that are used
    for run in level:
        after: dict[int, tuple[float, list[range]]] = {}
        for used, (total, blocks) in best.items():
            for start in range(used, len(columns)):
                for end in range(start + 1, len(columns) + 1):
                    off = _off_center(run, columns, start, end)
                    price = total + off + cost * (start - max(used, 1) if start > used else 0)
                    if off <= OFF_CENTER * height and price < after.get(end, (math.inf, []))[0]:
                        after[end] = (price, [*blocks, range(start, end)])
        best = after
    ends = [(total + cost * (len(columns) - used), blocks) for used, (total, blocks) in best.items()]
    return min(ends, key=lambda each: each[0], default=(0.0, []))[1]


def _off_center(run: Run, columns: Sequence[Span], start: int, end: int) -> float:
    """Points between the middle of the run and that of the columns from `start` to before `end`; infinite where it reaches
    over other columns."""
    if (start and run.x0 < columns[start - 1][1]) or (end < len(columns) and run.x1 > columns[end][0]):
        return math.inf
    return abs(run.center - (columns[start][0] + columns[end - 1][1]) / 2)
