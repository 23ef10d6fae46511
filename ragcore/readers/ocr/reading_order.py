"""The order in which the lines of a page are read: down one column after the other, and a table row by row."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

CROSSING = 0.25  # of the lines, at most, that reach over the gap between two columns: titles, footers
FEWEST = 3  # lines on each side of such a gap
FILLED = 0.6  # of a column's width, that its middle line takes: cells of a table take less
LONG = 8  # heights of a line that a line of running text is long: a cell of a table is shorter
SPACE = 0.8  # heights of a line between two lines, from which a new paragraph begins


class Box(NamedTuple):
    """A line's rectangle on the upright page, in pixels from the top left corner; `line`: its place in the list of lines."""

    left: float
    top: float
    right: float
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
    """Rows in reading order, and whether a paragraph begins with each. A row has the boxes that stand beside each other."""
    split = _split(boxes)
    if split is None:
        return _rows(boxes)
    return [row for part in split for row in reading_order(part)]


def _split(boxes: Sequence[Box]) -> list[list[Box]] | None:
    """The page cut into columns, and into what reaches over them; None where it has one column."""
    gap = _gap(boxes)
    if gap is None:
        return None
    parts: list[list[Box]] = []
    over: list[Box] = []
    left: list[Box] = []
    right: list[Box] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if box.left < gap < box.right:
            parts += [part for part in (left, right) if part]
            left, right = [], []
            over.append(box)
            continue
        if over:
            parts.append(over)
            over = []
        (left if box.right <= gap else right).append(box)
    return [part for part in (*parts, over, left, right) if part]


def _gap(boxes: Sequence[Box]) -> float | None:
    """Where the page is best cut between two columns of running text: the x that the fewest lines reach over."""
    places = sorted({box.right + 1 for box in boxes})
    best: tuple[int, float] | None = None
    for x in places:
        left = [box for box in boxes if box.right <= x]
        right = [box for box in boxes if box.left >= x]
        crossing = len(boxes) - len(left) - len(right)
        if crossing > CROSSING * len(boxes) or (best is not None and crossing >= best[0]):
            continue
        if _is_running_text(left) and _is_running_text(right) and _beside(left, right):
            best = (crossing, x)
    return best[1] if best else None


def _is_running_text(boxes: Sequence[Box]) -> bool:
    """Whether these are lines that fill the width of their column, or columns, and are longer than the cells of a table."""
    if len(boxes) < FEWEST:
        return False
    columns: list[tuple[float, float]] = []
    for box in sorted(boxes):
        if columns and box.left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], box.right))
        else:
            columns.append((box.left, box.right))
    width = median(box.right - box.left for box in boxes)
    widest = max(right - left for left, right in columns)
    return width >= FILLED * widest and width >= LONG * median(box.height for box in boxes)


def _beside(left: Sequence[Box], right: Sequence[Box]) -> bool:
    """Whether the two stand beside each other for more than a line."""
    top = max(min(box.top for box in side) for side in (left, right))
    bottom = min(max(box.bottom for box in side) for side in (left, right))
    return bottom - top >= 2 * median(box.height for box in (*left, *right))


def _rows(boxes: Sequence[Box]) -> list[tuple[Row, bool]]:
    rows: list[Row] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if rows and abs(box.middle - median(each.middle for each in rows[-1])) < 0.5 * min(box.height, rows[-1][0].height):
            rows[-1].append(box)
        else:
            rows.append([box])
    found: list[tuple[Row, bool]] = []
    before: Row = []
    for row in rows:
        space = min(box.top for box in row) - max(box.bottom for box in before) if before else 0.0
        found.append((sorted(row), not before or space > SPACE * min(row[0].height, before[0].height)))
        before = row
    return found
