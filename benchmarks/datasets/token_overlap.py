"""Recall, precision and intersection over union of retrieved text, character by character, as in Chroma's
study of splitters (Smith & Troynikov 2024, https://research.trychroma.com/evaluating-chunking, where they are
called token-wise).

Text that is retrieved twice counts twice as retrieved, and once as expected. So overlapping passages are no
advantage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcore.evaluation.answer_match import plain


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters start to end of a document."""

    document: str
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Overlap:
    """Each 0 to 1."""

    recall: float
    precision: float
    iou: float


def measure_overlap(expected: Sequence[Stretch], retrieved: Sequence[Stretch]) -> Overlap:
    """All 0 if nothing is retrieved. ValueError if nothing is expected."""
    expected_length = sum(stretch.length for stretch in expected)
    if not expected_length:
        raise ValueError("a question without expected text cannot be scored")
    both = _length(
        _common(one, other) for one in expected for other in retrieved if one.document == other.document
    )
    missing = _length((one.document, one.start, one.end) for one in expected) - both
    read = sum(stretch.length for stretch in retrieved)
    return Overlap(both / expected_length, both / read if read else 0.0, both / (read + missing))


def _common(one: Stretch, other: Stretch) -> tuple[str, int, int]:
    return one.document, max(one.start, other.start), min(one.end, other.end)


def _length(stretches: Iterable[tuple[str, int, int]]) -> int:
    """The total length; overlaps count once."""
    total, last, reached = 0, "", 0
    for document, start, end in sorted(stretches):
        if document != last:
            last, reached = document, 0
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total


def token_recall(text: str, answers: Sequence[str]) -> float:
    """The share of an answer's tokens that the text has; the best over several answers that are right, 0 to
    1."""
    have = Counter(plain(text).split())
    token_counts = [Counter(plain(answer).split()) for answer in answers]
    return max(
        ((have & expected).total() / max(expected.total(), 1) for expected in token_counts), default=0.0
    )
