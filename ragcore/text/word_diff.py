"""The differences of two texts, word by word, by the matching of Ratcliff and Obershelp in difflib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["same", "removed", "added"]

# The space before a word belongs to it. A citation is a word, and so is each character of a script without
# spaces.
_WORD = re.compile(
    r"\s*(?:\[\d+\]|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\w\s])|\s+"
)
_MAX_ISLAND = 2  # words in common between two differences, up to which these are one
_LONG_TEXT = (
    3000  # words; in longer texts the most frequent words do not begin a match, which would take minutes
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text of both texts, or of only the first ("removed"), or of only the second ("added")."""

    kind: Kind
    text: str


def word_differences(first: str, second: str) -> list[Piece]:
    """The pieces without the "added" ones are the first text, those without the "removed" ones the second.

    Two neighbours are of different kinds. Two empty texts have no pieces.

    >>> [(piece.kind, piece.text) for piece in word_differences("It is red.", "It is very red.")]
    [('same', 'It is'), ('added', ' very'), ('same', ' red.')]
    """
    before, after = _WORD.findall(first), _WORD.findall(second)
    return [
        Piece(kind, "".join(text for _, text in run))
        for kind, run in groupby(filter(itemgetter(1), _pieces(before, after)), key=itemgetter(0))
    ]


def legible(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces for display, without removed white space, which would look like a gap."""
    return [piece for piece in pieces if piece.kind != "removed" or piece.text.strip()]


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """The removed and added words before each common stretch, which may be empty, and then the stretch
    itself."""
    start = other_start = 0
    for place, other_place, length in _in_common(before, after):
        removed, added = before[start:place], after[other_start:other_place]
        # If only the space before the last words differs, as at a new paragraph, they are the same word.
        same_word = removed and added and removed[-1].lstrip() == added[-1].lstrip()
        stays = removed[-1].lstrip() if same_word else ""
        yield "removed", "".join(removed).removesuffix(stays)
        yield "added", "".join(added).removesuffix(stays)
        start, other_start = place + length, other_place + length
        yield "same", stays + "".join(before[place:start])


def _in_common(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """(place in each, number of words) of each common stretch; the last is empty."""
    matcher = SequenceMatcher(None, before, after, autojunk=max(len(before), len(after)) > _LONG_TEXT)
    end = (len(before), len(after))
    return [
        (place, other, length)
        for place, other, length in matcher.get_matching_blocks()
        if length > _MAX_ISLAND or (place, other) == (0, 0) or (place + length, other + length) == end
    ]
