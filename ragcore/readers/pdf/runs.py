"""Runs: letters on one line of a PDF page without a wide gap. Tables and columns consist of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragcore.readers.pdf.directions import BoxOf, Corners, rotate
from ragcore.readers.pdf.ruled_tables import Grid

LEVEL = 0.5  # of the lower of two letters' height, which two letters on one line share
GAP = 0.9  # of a line's height: wider than between words, even of justified text
SPACE = 0.4  # of a line's height: as wide as between words of a line that is not justified
BROAD = 0.75  # of a line's height: few letters are that wide

_WORD = re.compile(r"[^\s\x02\ufffe]+[\x02\ufffe]?")  # a hyphen at a line's end is one of these two

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Run:
    """Letters on one line without a wide gap: their first and last place among the page's characters, the text, and the
    rectangle around them in points, rotated by a direction.

    `turns` are the quarter turns, anticlockwise, from that direction to the run's own.
    """

    first: int
    last: int
    text: str
    left: float
    bottom: float
    right: float
    top: float
    turns: int = 0

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2

    def is_level_with(self, other: Run) -> bool:
        return min(self.top, other.top) - max(self.bottom, other.bottom) > LEVEL * min(self.height, other.height)

    def rotate(self, own: int, direction: int) -> Run:
        """The same run of direction `own`, its rectangle rotated by `direction` instead."""
        if own == direction:
            return self
        left, bottom, right, top = rotate((self.left, self.bottom, self.right, self.top), (direction - own) % 4)
        return replace(self, left=left, bottom=bottom, right=right, top=top, turns=(own - direction) % 4)


def runs_of(
    signs: str, box_of: BoxOf, spelled: Callable[[int, int], str], ways: Sequence[int], ruled: dict[int, list[Grid]]
) -> Iterator[tuple[int, Run]]:
    """Direction and run, each rotated by its own direction, in the order in which they were drawn.

    `ways`: the direction of each character. `spelled(first, last)` is the text of these. `ruled`: grids by direction.
    """
    first = last = -1
    left = bottom = right = top = 0.0
    way = 0
    for start, end, box in _words(signs, box_of, ways):
        low, high = (bottom, top) if top - bottom > box[3] - box[1] else (box[1], box[3])
        gap = box[0] - right
        if (
            first >= 0
            and way == ways[start]
            and low - high < gap < GAP * (high - low)
            and is_level((left, bottom, right, top), box)
            and not any(
                grid.separates(right, box[0], (box[1] + box[3]) / 2, SPACE * (high - low)) for grid in ruled.get(way, ())
            )
        ):
            left, bottom, right, top = min(left, box[0]), min(bottom, box[1]), max(right, box[2]), max(top, box[3])
        else:
            if first >= 0:
                yield way, Run(first, last, spelled(first, last), left, bottom, right, top)
            first, way, (left, bottom, right, top) = start, ways[start], box
        last = end
    if first >= 0:
        yield way, Run(first, last, spelled(first, last), left, bottom, right, top)


def _words(signs: str, box_of: BoxOf, ways: Sequence[int]) -> Iterator[tuple[int, int, Corners]]:
    """First and last place of each word, and the rectangle around it, from its first and last letter."""
    for word in _WORD.finditer(signs):
        start, end = word.span()
        first, last = box_of(start), box_of(end - 1)
        if (
            first
            and last
            and ways[start] == ways[end - 1]
            and is_level(first, last)
            and last[2] - first[0] < BROAD * (first[3] - first[1]) * (end - start)
        ):
            yield start, end - 1, (
                min(first[0], last[0]), min(first[1], last[1]), max(first[2], last[2]), max(first[3], last[3]),
            )  # fmt: skip
        else:  # the word continues on another line or in another column
            yield from ((place, place, box) for place in range(start, end) if (box := box_of(place)))


def is_level(one: Corners, other: Corners) -> bool:
    return min(one[3], other[3]) - max(one[1], other[1]) > LEVEL * min(one[3] - one[1], other[3] - other[1])
