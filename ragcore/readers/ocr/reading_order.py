"""The reading order of the lines of a page: one column after the other, and a table row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

MAX_CROSSING = (
    0.25  # maximum share of the lines that cross the gap between two columns, such as titles and footers
)
MIN_LINES = 3  # minimum number of lines on each side of such a gap
FULL_LINE = 0.6  # of a column's width: a line of running text is longer, a cell of a table shorter
LONG_LINE = 8  # line heights: a line of running text is longer, a cell of a table shorter
PARAGRAPH_SPACE = 0.8  # minimum line heights between two paragraphs


class Box(NamedTuple):
    """A line's rectangle on the upright page, in pixels; y grows downwards. `line`: its index in the list of
    lines."""

    x0: float
    top: float
    x1: float
    bottom: float
    line: int = 0

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


Row = list[Box]


def reading_order(boxes: Sequence[Box]) -> list[tuple[Row, bool]]:
    """Rows in reading order, and whether each begins a paragraph. A row has the boxes that are side by
    side."""
    gap = _find_gap(boxes)
    if gap is None:
        return _rows(boxes)
    return [row for part in _split(boxes, gap) for row in reading_order(part)]


def _split(boxes: Sequence[Box], gap: float) -> Iterator[list[Box]]:
    """The lines that cross the gap, and the columns above, between and below them."""
    by_middle = sorted(boxes, key=lambda box: box.middle)
    for crosses, group in groupby(by_middle, key=lambda box: box.x0 < gap < box.x1):
        part = list(group)
        columns = (
            [part]
            if crosses
            else [[box for box in part if box.x1 <= gap], [box for box in part if box.x1 > gap]]
        )
        yield from filter(None, columns)


def _find_gap(boxes: Sequence[Box]) -> float | None:
    """The x between two columns of running text that the fewest lines cross; None if there is one column."""
    best, fewest = None, MAX_CROSSING * len(boxes)
    for x in sorted({box.x1 + 1 for box in boxes}):
        before = [box for box in boxes if box.x1 <= x]
        after = [box for box in boxes if box.x0 >= x]
        crossing = len(boxes) - len(before) - len(after)
        if crossing > fewest or (best is not None and crossing == fewest):
            continue
        if _is_running_text(before) and _is_running_text(after) and _overlap(before, after):
            best, fewest = x, crossing
    return best


def _is_running_text(boxes: Sequence[Box]) -> bool:
    """Whether the lines fill the width of their columns and are longer than the cells of a table."""
    if len(boxes) < MIN_LINES:
        return False
    columns: list[tuple[float, float]] = []
    for box in sorted(boxes):
        if columns and box.x0 <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], box.x1))
        else:
            columns.append((box.x0, box.x1))
    width = median(box.x1 - box.x0 for box in boxes)
    widest = max(x1 - x0 for x0, x1 in columns)
    return width >= FULL_LINE * widest and width >= LONG_LINE * median(box.height for box in boxes)


def _overlap(one: Sequence[Box], other: Sequence[Box]) -> bool:
    """Whether the two are side by side for at least two lines."""
    top = max(min(box.top for box in side) for side in (one, other))
    bottom = min(max(box.bottom for box in side) for side in (one, other))
    return bottom - top >= 2 * median(box.height for box in (*one, *other))


def _rows(boxes: Sequence[Box]) -> list[tuple[Row, bool]]:
    rows: list[Row] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if rows and abs(box.middle - median(each.middle for each in rows[-1])) < 0.5 * min(
            box.height, rows[-1][0].height
        ):
            rows[-1].append(box)
        else:
            rows.append([box])
    starts = [True]
    for above, row in pairwise(rows):
        space = min(box.top for box in row) - max(box.bottom for box in above)
        starts.append(space > PARAGRAPH_SPACE * min(row[0].height, above[0].height))
    return [(sorted(row), start) for row, start in zip(rows, starts, strict=False)]
