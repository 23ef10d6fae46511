"""A stretch of a document's text with the passages that it was cut into: where each begins and ends, and where they overlap."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcore.schema import TextNode
from ragcore.vector_stores.base import Store

WINDOW = 6000  # characters shown at once


@dataclass(frozen=True, slots=True)
class Span:
    """A passage: its number in the document, from 1, and which characters of the document's text it is."""

    number: int
    id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Text between two boundaries, and the numbers of the passages that hold it: none for a gap, two or more for an overlap."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """`start` and `end`: which characters of `total` these are. `passages`: how many the document has."""

    start: int
    end: int
    total: int
    passages: int
    spans: tuple[Span, ...]
    segments: tuple[Segment, ...]
    page: str | None  # the label of the page that it begins on


def window(store: Store, document_id: str, at: int, *, size: int = WINDOW) -> Window:
    """The stretch of `size` characters from the one at `at` on, or as much as there is. UnknownDocumentError.

    Only the passages of the stretch are read, so that it takes as long for a long document as for a short one.
    """
    document = store.document(document_id)
    start = max(0, min(at, len(document.text) - 1))
    end = min(len(document.text), start + size)
    ids = store.passage_ids(document_id)
    spans = _spans(ids, lambda some: store.nodes(some), start, end)
    page = document.page_at(start)
    segments = cut(document.text, spans, start, end)
    return Window(start, end, len(document.text), len(ids), spans, segments, page.label if page else None)


def find(text: str, words: str, after: int = 0) -> int | None:
    """Where in the text these words are, whatever their case: the first place from the character `after` on, or from the
    beginning where there is none behind it; None when they are nowhere."""
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    found = pattern.search(text, after) or pattern.search(text)
    return found.start() if found else None


def cut(text: str, spans: Sequence[Span], start: int, end: int) -> tuple[Segment, ...]:
    """The text from `start` to `end` in pieces, at every boundary of a passage; together they are that text."""
    inside = {at for span in spans for at in (span.start, span.end) if start < at < end}
    bounds = [start, *sorted(inside), end]
    return tuple(
        Segment(text[left:right], tuple(span.number for span in spans if span.start <= left and right <= span.end))
        for left, right in pairwise(bounds)
        if left < right
    )


def _spans(ids: Sequence[str], read: Callable[[Sequence[str]], list[TextNode]], start: int, end: int) -> tuple[Span, ...]:
    """Those that reach into the stretch. Passages stand in reading order: both their beginnings and ends ascend."""

    def edge(number: int, *, of_end: bool) -> int:
        found = read([ids[number]])
        return ((found[0].end_char_idx if of_end else found[0].start_char_idx) or 0) if found else 0

    first = bisect_right(range(len(ids)), start, key=lambda number: edge(number, of_end=True))
    last = bisect_left(range(len(ids)), end, key=lambda number: edge(number, of_end=False))
    return tuple(
        Span(first + offset + 1, node.id_, node.start_char_idx or 0, node.end_char_idx or 0)
        for offset, node in enumerate(read(ids[first:last]))
    )
