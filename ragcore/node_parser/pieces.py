"""Cutting a text into pieces that fit, and packing pieces into chunks that overlap. Spans only; no text is copied or lost.

A piece is a span that no chunk divides. Pieces lie end to end over the whole text. The white space or separator between two
pieces belongs to one of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from ragcore.node_parser.nodes import trimmed
from ragcore.text.sentences import sentence_spans
from ragcore.text.tokens import Tokenizer, TokenSpans

Span: TypeAlias = tuple[int, int]
Cutter: TypeAlias = Callable[[str], Iterator[int]]
"""Ascending positions, inside a text, at which it may be cut."""


FEW = 8  # tokens; a stretch by itself is hardly ever this many more than its share of the whole


def at_sentences(text: str) -> Iterator[int]:
    return (start for start, _ in sentence_spans(text))


# Classes and not functions within functions: a splitter can then be sent to another process.
@dataclass(frozen=True, slots=True)
class BeforeEach:
    """Cuts before every `separator`, so that it stays with what follows."""

    separator: str

    def __post_init__(self) -> None:
        if not self.separator:
            raise ValueError("A separator cannot be empty; leave it out instead.")

    def __call__(self, text: str) -> Iterator[int]:
        position = text.find(self.separator)
        while position >= 0:
            yield position
            position = text.find(self.separator, position + len(self.separator))


@dataclass(frozen=True, slots=True)
class AtPieces:
    """Cuts where each piece that `split` makes of the text begins; a piece that is not in the text as it is does not count."""

    split: Callable[[str], Sequence[str]]

    def __call__(self, text: str) -> Iterator[int]:
        reached = 0
        for piece in self.split(text):
            start = text.find(piece, reached) if piece else -1
            if start >= 0:
                yield start
                reached = start + len(piece)


@dataclass(frozen=True, slots=True)
class AtMatches:
    """Cuts where each match of `pattern` begins; what lies between two matches stays with the first."""

    pattern: re.Pattern[str]

    def __call__(self, text: str) -> Iterator[int]:
        return (match.start() for match in self.pattern.finditer(text))


def is_lead(piece: str) -> bool:
    """A line of its own that leads to what follows: a heading, or a question that is answered below it."""
    line = piece.strip()
    return piece.endswith("\n") and _LEAD.fullmatch(line) is not None and len(line.split()) <= LEAD_WORDS


LEAD_WORDS = 14
_LEAD = re.compile(r"[^\n|;]*[^\s.!…:,|;。！]")


def chunk_spans(
    text: str,
    *,
    size: int,
    overlap: int,
    tokenizer: Tokenizer,
    cutters: Sequence[Cutter],
    stays_with_next: Callable[[str], bool] | None = None,
) -> list[Span]:
    """Spans of at most `size` tokens, in order, without white space at their ends; blank ones are left out.

    A piece of which `stays_with_next` says so does not end a chunk, where the chunk has others.

    The coarsest cutter that makes a stretch fit is used for it. Each chunk begins with as many whole pieces from the end of
    the one before as `overlap` tokens hold, or with fewer when the next piece would not fit beside them. A single
    character that is more than `size` tokens stands alone.
    """
    if not text or text.isspace():
        return []
    ruler = _Ruler(text, tokenizer, size)
    stride = max(1, min(size // 16, overlap or size))
    pieces = list(_pieces(ruler, 0, len(text), cutters, stride))
    spans: list[Span] = []
    leads = [stays_with_next is not None and stays_with_next(text[start:end]) for start, end in pieces]
    for start, end in _pack(ruler, pieces, overlap, leads):
        span = trimmed(text, start, end)
        # Where all that is new is white space, what is left was in the chunk before.
        if span and (not spans or span[1] > spans[-1][1]):
            spans.append(span)
    return spans


class _Ruler:
    """Measures spans of one text against a chunk's size; the text is encoded once, and spans by themselves only in doubt."""

    def __init__(self, text: str, tokenizer: Tokenizer, size: int) -> None:
        self.text = text
        self.size = size
        self._tokenizer = tokenizer
        self._tokens = TokenSpans(text, tokenizer)
        self.count = self._tokens.count  # (start, end)
        self.reach = self._tokens.reach  # (start, tokens)

    def fits(self, start: int, end: int) -> bool:
        count = self.count(start, end)
        if count > self.size:
            return False
        # By itself a stretch can be a few tokens more than its share of the whole.
        return count * 2 + FEW <= self.size or self._is_exact(start, end) or self._alone(start, end) <= self.size

    def share(self, start: int, end: int) -> int:
        """What a piece adds to a chunk. Where counts do not add up it is the piece's own, seldom too few."""
        return self.count(start, end) if self._tokenizer.adds_up else self._tokenizer.count(self.text[start:end])

    def fits_chunk(self, start: int, end: int) -> bool:
        """As `fits`, for pieces whose shares together are no more than `size` tokens."""
        if self._tokenizer.adds_up:
            return self._is_exact(start, end) or self._alone(start, end) <= self.size
        return self.count(start, end) + FEW <= self.size or self._alone(start, end) <= self.size

    def _alone(self, start: int, end: int) -> int:
        return self._tokenizer.count(self.text[start:end].strip())

    def _is_exact(self, start: int, end: int) -> bool:
        return self._tokenizer.adds_up and self._between_words(start) and self._between_words(end)

    def _between_words(self, place: int) -> bool:
        text = self.text
        return place in (0, len(text)) or text[place].isspace() or text[place - 1].isspace()


def _pieces(ruler: _Ruler, start: int, end: int, cutters: Sequence[Cutter], stride: int) -> Iterator[Span]:
    if ruler.fits(start, end):
        yield start, end
        return
    if not cutters:
        yield from _strides(ruler, start, end, stride)
        return
    offset = start
    part = ruler.text[start:end]
    for position in cutters[0](part):
        if start < offset + position < end:
            yield from _pieces(ruler, start, offset + position, cutters[1:], stride)
            start = offset + position
    yield from _pieces(ruler, start, end, cutters[1:], stride)


def _strides(ruler: _Ruler, start: int, end: int, stride: int) -> Iterator[Span]:
    """A stretch with no place to cut, in pieces of about `stride` tokens, or of one character where that has more."""
    while start < end:
        place = _whole_characters(ruler.text, start, min(max(ruler.reach(start, stride), start + 1), end))
        if not ruler.fits(start, place):
            place = start + 1
        yield start, place
        start = place


def _whole_characters(text: str, start: int, place: int) -> int:
    """The nearest place, rather before than after, that parts no accent, emoji or flag from what it belongs to."""
    candidates = chain(range(place, max(start, place - 16), -1), range(place + 1, min(place + 16, len(text)) + 1))
    return next((candidate for candidate in candidates if not _joined(text, start, candidate)), place)


_OF_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # letters, of which every two are a flag


def _joined(text: str, start: int, place: int) -> bool:
    """Whether what stands on both sides of `place` is one character to a reader; at `start` a character begins."""
    if place >= len(text):
        return False
    before, after = text[place - 1], text[place]
    return (
        after == "\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or (after in _OF_FLAGS and (place - start - len(text[start:place].rstrip(_OF_FLAGS))) % 2 == 1)
        or unicodedata.category(after)[0] == "M"
    )


def _pack(ruler: _Ruler, pieces: list[Span], overlap: int, leads: Sequence[bool]) -> Iterator[Span]:
    """Greedy. Every chunk takes at least one new piece, so the work is linear in the pieces and what overlaps."""
    until = [0]  # until[i]: tokens before piece i
    for start, end in pieces:
        until.append(until[-1] + ruler.share(start, end))
    size = ruler.size
    first = fresh = 0  # the chunk begins with piece `first`; `fresh` is the first that no chunk holds yet
    while fresh < len(pieces):
        last = fresh + 1
        while first < fresh and until[last] - until[first] > size:
            first += 1
        while last < len(pieces) and until[last + 1] - until[first] <= size:
            last += 1
        while last - first > 1 and not ruler.fits_chunk(pieces[first][0], pieces[last - 1][1]):
            if first < fresh:
                first += 1
            else:
                last -= 1
        while last < len(pieces) and last - 1 > fresh and leads[last - 1]:
            last -= 1
        yield pieces[first][0], pieces[last - 1][1]
        floor, first, fresh = first, last, last
        # A piece within a word may have no tokens of its own; without overlap it is not repeated either.
        while overlap and first > floor and until[fresh] - until[first - 1] <= overlap:
            first -= 1
