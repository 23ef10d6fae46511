"""A stretch of a document's text with the boundaries and overlaps of its passages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcore.vector_stores.base import Store

WINDOW_CHARS = 6000  # characters


@dataclass(frozen=True, slots=True)
class Span:
    """A passage: its number in the document, from 1, and its (start, end) in the document's text."""

    number: int
    id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Text between two boundaries, and the numbers of its passages: several for an overlap."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Characters `start` to `end` of `total`. `passages`: the number of passages of the document."""

    start: int
    end: int
    total: int
    passages: int
    spans: tuple[Span, ...]
    segments: tuple[Segment, ...]
    pages: str  # the labels of its first and last page, "2–3"; "" without pages
    page_word: str = "page"  # or slide, sheet, chapter, message


def window(store: Store, document_id: str, at: int, *, size: int = WINDOW_CHARS) -> Window:
    """At most `size` characters from `at` on. UnknownDocumentError.

    Only the passages of the stretch are read, so that long documents take no longer than short ones.
    """
    document = store.document(document_id)
    start = max(0, min(at, len(document.text) - 1))
    end = min(len(document.text), start + size)
    ids = store.passage_ids(document_id)
    spans = _spans(store, ids, start, end)
    pages = (document.page_at(at) for at in (start, end - 1))
    labels = dict.fromkeys(page.label for page in pages if page)
    segments = cut(document.text, spans, start, end)
    return Window(
        start, end, len(document.text), len(ids), spans, segments, "–".join(labels), document.page_word
    )


def find(text: str, words: str, after: int = 0) -> int | None:
    """The first place of these words from `after` on, or else in the whole text, in any case; or None."""
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    match = pattern.search(text, after) or pattern.search(text)
    return match.start() if match else None


def cut(text: str, spans: Sequence[Span], start: int, end: int) -> tuple[Segment, ...]:
    """The text from `start` to `end`, cut at every boundary of a passage."""
    inside = {at for span in spans for at in (span.start, span.end) if start < at < end}
    bounds = [start, *sorted(inside), end]
    return tuple(
        Segment(
            text[first:last], tuple(span.number for span in spans if span.start <= first and last <= span.end)
        )
        for first, last in pairwise(bounds)
        if first < last
    )


def _spans(store: Store, ids: Sequence[str], start: int, end: int) -> tuple[Span, ...]:
    """The passages that overlap the stretch. They are in reading order: their starts and ends ascend."""

    def edge(number: int, *, of_end: bool) -> int:
        nodes = store.nodes([ids[number]])
        return ((nodes[0].end_char_idx if of_end else nodes[0].start_char_idx) or 0) if nodes else 0

    first = bisect_right(range(len(ids)), start, key=lambda number: edge(number, of_end=True))
    last = bisect_left(range(len(ids)), end, key=lambda number: edge(number, of_end=False))
    return tuple(
        Span(first + offset + 1, node.id_, node.start_char_idx or 0, node.end_char_idx or 0)
        for offset, node in enumerate(store.nodes(ids[first:last]))
    )
