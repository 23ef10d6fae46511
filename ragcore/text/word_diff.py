"""What two texts have in common and where they differ, word by word: Ratcliff and Obershelp's matching, as difflib has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["same", "removed", "added"]

# The space before a word belongs to it. A citation is a word; scripts without spaces go sign by sign.
_WORD = re.compile(
    r"\s*(?:\[\d+\]|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\w\s])|\s+"
)
_ISLAND = 2  # so many words in common between two differences make reading harder, not easier
_LONG = 3000  # words; in longer texts the most frequent ones do not begin a match, which would take minutes


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that both have, or only the first ("removed"), or only the second ("added")."""

    kind: Kind
    text: str


def word_differences(first: str, second: str) -> list[Piece]:
    """How the second text came from the first: without "added" the pieces are the first, without "removed" the second.

    No two neighbours are of one kind. Two empty texts have no pieces.
    """
    before, after = _WORD.findall(first), _WORD.findall(second)
    return [
        Piece(kind, "".join(text for _, text in run))
        for kind, run in groupby(filter(itemgetter(1), _pieces(before, after)), key=itemgetter(0))
    ]


def legible(pieces: Sequence[Piece]) -> list[Piece]:
    """For who looks at them: without the white space that was removed alone, which would stand there as a gap."""
    return [piece for piece in pieces if piece.kind != "removed" or piece.text.strip()]


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """Of each stretch between two that are the same, first what was removed and then what was added; some are empty."""
    left = right = 0
    for same_left, same_right, length in _in_common(before, after):
        removed, added = before[left:same_left], after[right:same_right]
        stays = _word_that_stays(removed, added)
        yield "removed", "".join(removed).removesuffix(stays)
        yield "added", "".join(added).removesuffix(stays)
        left, right = same_left + length, same_right + length
        yield "same", stays + "".join(before[same_left:left])


def _word_that_stays(removed: Sequence[str], added: Sequence[str]) -> str:
    """The last word of both, where the space before it alone is another: a paragraph that had one before it, or has one now."""
    if removed and added and removed[-1].lstrip() == added[-1].lstrip():
        return removed[-1].lstrip()
    return ""


def _in_common(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """Places in both and the number of words; at last an empty stretch at both ends."""
    matcher = SequenceMatcher(None, before, after, autojunk=max(len(before), len(after)) > _LONG)
    end = (len(before), len(after))
    return [
        (left, right, length)
        for left, right, length in matcher.get_matching_blocks()
        if length > _ISLAND or (left, right) == (0, 0) or (left + length, right + length) == end
    ]
