"""Runs: letters on one line of a PDF page without a wide gap. Tables and columns consist of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragcore.readers.pdf.directions import BoxOf, Corners, rotate, union
from ragcore.readers.pdf.ruled_tables import Grid

LEVEL = 0.5  # of the smaller letter's height; two letters on one line overlap by more
GAP = 0.9  # of a line's height; wider than between the words of justified text
SPACE = 0.4  # of a line's height; the space between words that are not justified
BROAD_LETTER = 0.75  # of a line's height; wider than most letters

_WORD = re.compile(r"[^\s\x02\ufffe]+[\x02\ufffe]?")  # a hyphen at a line's end is one of these two

Span = tuple[float, float]
Spell = Callable[[int, int], str]  # from the indexes of the first and last character to their text


@dataclass(frozen=True, slots=True)
class Run:
    """Letters on one line without a wide gap: the indexes of the first and last character on the page, the
    text, and the rectangle around it in points, rotated by a direction.

    `turns` are the quarter turns, anticlockwise, from that direction to that of the run.
    """

    first: int
    last: int
    text: str
    x0: float
    bottom: float
    x1: float
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
        return (self.x0 + self.x1) / 2

    def is_level_with(self, other: Run) -> bool:
        return min(self.top, other.top) - max(self.bottom, other.bottom) > LEVEL * min(
            self.height, other.height
        )

    def rotate(self, own: int, direction: int) -> Run:
        """The same run of direction `own`, its rectangle rotated by `direction` instead."""
        if own == direction:
            return self
        x0, bottom, x1, top = rotate((self.x0, self.bottom, self.x1, self.top), (direction - own) % 4)
        return replace(self, x0=x0, bottom=bottom, x1=x1, top=top, turns=(own - direction) % 4)


def runs_of(
    characters: str, box_of: BoxOf, spell: Spell, directions: Sequence[int], ruled: dict[int, list[Grid]]
) -> Iterator[tuple[int, Run]]:
    """The direction of each run and the run, rotated by this direction, in the order in which they were
    drawn. `directions` has the direction of each character, `ruled` the grids by direction."""
    first = last = direction = -1
    box: Corners = (0.0, 0.0, 0.0, 0.0)
    for start, end, word_box in _words(characters, box_of, directions):
        same_direction = first >= 0 and direction == directions[start]
        if same_direction and _continues(box, word_box, ruled.get(direction, ())):
            box = union(box, word_box)
        else:
            if first >= 0:
                yield direction, Run(first, last, spell(first, last), *box)
            first, direction, box = start, directions[start], word_box
        last = end
    if first >= 0:
        yield direction, Run(first, last, spell(first, last), *box)


def _continues(run: Corners, word: Corners, ruled: Sequence[Grid]) -> bool:
    """Whether a word continues the run: it is on the same line, without a wide gap or a rule between."""
    height = max(run[3] - run[1], word[3] - word[1])
    if not -height < word[0] - run[2] < GAP * height or not is_level(run, word):
        return False
    return not any(grid.separates(run[2], word[0], (word[1] + word[3]) / 2, SPACE * height) for grid in ruled)


def _words(characters: str, box_of: BoxOf, directions: Sequence[int]) -> Iterator[tuple[int, int, Corners]]:
    """The indexes of the first and last character of each word, and the rectangle around both."""
    for word in _WORD.finditer(characters):
        start, end = word.span()
        first, last = box_of(start), box_of(end - 1)
        if (
            first
            and last
            and directions[start] == directions[end - 1]
            and is_level(first, last)
            and last[2] - first[0] < BROAD_LETTER * (first[3] - first[1]) * (end - start)
        ):
            yield start, end - 1, union(first, last)
        else:  # the word continues on another line or in another column
            yield from ((index, index, box) for index in range(start, end) if (box := box_of(index)))


def is_level(one: Corners, other: Corners) -> bool:
    return min(one[3], other[3]) - max(one[1], other[1]) > LEVEL * min(one[3] - one[1], other[3] - other[1])
