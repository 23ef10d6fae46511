"""The grids of ruled tables, from the rules that are drawn on a PDF page."""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners, rotate

MAX_THICKNESS = 2.5  # points; a thinner rectangle is a rule
MIN_LENGTH = 6.0  # points; a shorter rule is a dot
MAX_GAP = 3.0  # maximum points between the ends of rules that meet
MAX_RULES = 3_000  # rules of a page; a page with more is a drawing
MAX_SEGMENTS = 400  # of a path that may be a table

_Rule = tuple[float, float, float]  # position on the other axis, start, end


@dataclass(frozen=True, slots=True)
class Grid:
    """`xs` and `ys` are ascending, in points; y grows upwards.

    `walls` has, for each row from the top, the borders of columns with a rule; border 1 is after column 0.
    `floors` has, for each column, the borders of rows with a rule; border 1 is below row 0.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    walls: Sequence[frozenset[int]]
    floors: Sequence[frozenset[int]]

    @property
    def width(self) -> int:
        return len(self.xs) - 1

    @property
    def height(self) -> int:
        return len(self.ys) - 1

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Row, from the top, and column of a point; None outside."""
        column, row = bisect_right(self.xs, x) - 1, bisect_right(self.ys, y) - 1
        if not (0 <= column < self.width and 0 <= row < self.height):
            return None
        return self.height - 1 - row, column

    def separates(self, end: float, start: float, y: float, space: float) -> bool:
        """Whether a rule lies between x `end` of one word and x `start` of the next, at height `y`. A rule of
        other rows counts where the words are farther apart than `space`."""
        if not self.ys[0] <= y < self.ys[-1]:
            return False
        borders = range(bisect_right(self.xs, end - 0.5), bisect_right(self.xs, start + 0.5))
        if not borders or start - end > space:
            return bool(borders)
        walls = self.walls[self.height - bisect_right(self.ys, y)]
        return any(border in (0, self.width) or border in walls for border in borders)

    def across(self, row: int, column: int) -> range:
        """The columns that the cell spans."""
        return _between_borders(self.walls[row], column, self.width)

    def down(self, row: int, column: int) -> range:
        """The rows that the cell spans."""
        return _between_borders(self.floors[column], row, self.height)


def _between_borders(borders: frozenset[int], at: int, end: int) -> range:
    before = max((border for border in borders if border <= at), default=0)
    return range(before, min((border for border in borders if border > at), default=end))


def grids(paths: Sequence[Any], direction: int = 0) -> list[Grid]:
    """The grids with at least two rows and two columns, rotated by the direction of the text in them."""
    across: list[_Rule] = []
    down: list[_Rule] = []
    for stroke in _strokes(paths):
        x0, bottom, x1, top = rotate(stroke, direction)
        if top - bottom <= MAX_THICKNESS and x1 - x0 >= MIN_LENGTH:
            across.append(((top + bottom) / 2, x0, x1))
        elif x1 - x0 <= MAX_THICKNESS and top - bottom >= MIN_LENGTH:
            down.append(((x0 + x1) / 2, bottom, top))
        if len(across) + len(down) > MAX_RULES:
            return []
    out = []
    for rows, columns in _groups(_join_rules(across), _join_rules(down)):
        xs = _merge_close([x for x, _, _ in columns] + [end for _, x0, x1 in rows for end in (x0, x1)])
        ys = _merge_close(
            [y for y, _, _ in rows] + [end for _, bottom, top in columns for end in (bottom, top)]
        )
        if len(xs) > 2 and len(ys) > 2:
            out.append(_grid(xs, ys, rows, columns))
    return out


def _grid(xs: list[float], ys: list[float], rows: list[_Rule], columns: list[_Rule]) -> Grid:
    """If most rows have rules between their columns, a row without them is one cell. If not, it has a border
    at each column."""
    walls: list[set[int]] = [set() for _ in ys[1:]]
    for x, bottom, top in columns:
        for row in _intervals(ys, bottom, top):
            walls[len(ys) - 2 - row].add(_index(xs, x))
    floors: list[set[int]] = [set() for _ in xs[1:]]
    for y, x0, x1 in rows:
        for column in _intervals(xs, x0, x1):
            floors[column].add(len(ys) - 1 - _index(ys, y))
    inner = range(1, len(xs) - 1)
    empty = sum(not row.intersection(inner) for row in walls)
    if 2 * empty > len(walls):
        walls = [row if row.intersection(inner) else set(inner) for row in walls]
    return Grid(xs, ys, [frozenset(row) for row in walls], [frozenset(column) for column in floors])


def _intervals(positions: list[float], start: float, end: float) -> range:
    """The intervals of `positions` whose middles lie between `start` and `end`."""
    middles = [(one + other) / 2 for one, other in pairwise(positions)]
    return range(bisect_left(middles, start), bisect_right(middles, end))


def _index(positions: list[float], value: float) -> int:
    """The last position that is not above `value`, because `_merge_close` returns the lowest of nearly equal
    positions."""
    return bisect_right(positions, value) - 1


def _join_rules(rules: list[_Rule]) -> list[_Rule]:
    """Join rules that are drawn piece by piece, such as along each cell."""
    out: list[_Rule] = []
    for position, start, end in sorted((round(position), start, end) for position, start, end in rules):
        if out and out[-1][0] == position and start <= out[-1][2] + MAX_GAP:
            out[-1] = (position, out[-1][1], max(out[-1][2], end))
        else:
            out.append((position, start, end))
    return out


def _groups(across: list[_Rule], down: list[_Rule]) -> Iterator[tuple[list[_Rule], list[_Rule]]]:
    """Groups of rules that meet."""
    remaining, rows = list(down), list(across)
    while remaining:
        columns, own_rows = [remaining.pop()], []
        more = columns
        while more:
            met = [row for row in rows if any(_meet(row, column) for column in columns)]
            rows = [row for row in rows if row not in met]
            own_rows += met
            more = [column for column in remaining if any(_meet(row, column) for row in met)]
            remaining = [column for column in remaining if column not in more]
            columns = columns + more
        yield own_rows, columns


def _meet(row: _Rule, column: _Rule) -> bool:
    return (
        row[1] - MAX_GAP <= column[0] <= row[2] + MAX_GAP
        and column[1] - MAX_GAP <= row[0] <= column[2] + MAX_GAP
    )


def _merge_close(values: list[float]) -> list[float]:
    """The values in order, the lowest of several that are nearly equal."""
    out: list[float] = []
    for value in sorted(values):
        if not out or value - out[-1] > MAX_GAP:
            out.append(value)
    return out


def _strokes(paths: Sequence[Any]) -> Iterator[Corners]:
    """Rectangles around the straight parts of the paths. Paths with curves or slopes are drawings."""
    sides = [ctypes.c_float() for _ in range(4)]
    for path in paths:
        if not pdfium.FPDFPageObj_GetBounds(path, *sides):
            continue
        x0, bottom, x1, top = (side.value for side in sides)
        across, up = x1 - x0, top - bottom
        if across < MIN_LENGTH and up < MIN_LENGTH:
            continue
        if across <= MAX_THICKNESS or up <= MAX_THICKNESS:
            yield x0, bottom, x1, top
        elif pdfium.FPDFPath_CountSegments(path) <= MAX_SEGMENTS:
            yield from _edges(path)


def _edges(path: Any) -> list[Corners]:
    """Rectangles around the path's straight parts; [] if a part is curved, or neither horizontal nor
    vertical."""
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, matrix)
    a, b, c, d, e, f = matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = before = (0.0, 0.0)
    edges: list[Corners] = []
    for number in range(pdfium.FPDFPath_CountSegments(path)):
        segment = pdfium.FPDFPath_GetPathSegment(path, number)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind not in (pdfium.FPDF_SEGMENT_MOVETO, pdfium.FPDF_SEGMENT_LINETO):
            return []
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = (a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        ends = [begin] if pdfium.FPDFPathSegment_GetClose(segment) else []
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            begin = point
        else:
            ends.insert(0, before)
        for end in ends:
            edge = min(end[0], point[0]), min(end[1], point[1]), max(end[0], point[0]), max(end[1], point[1])
            if edge[2] - edge[0] > MAX_THICKNESS and edge[3] - edge[1] > MAX_THICKNESS:
                return []
            edges.append(edge)
        before = point
    return edges
