"""Cuts a text into pieces that fit, and packs the pieces into chunks that overlap. All results are spans of
the text.

A piece is a span that no chunk divides. Pieces lie end to end over the whole text. The white space or
separator between two pieces belongs to one of them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TypeAlias

from ragcore.node_parser.node_building import trim_span
from ragcore.text.sentences import sentence_spans
from ragcore.text.tokens import Tokenizer

Span: TypeAlias = tuple[int, int]
Cutter: TypeAlias = Callable[[str], Iterator[int]]
"""From a text to the ascending positions at which it may be cut."""

EDGE_TOKENS = 8  # tokens that a span may have more without the white space around it
CHARS_PER_TOKEN = 8  # characters per token; a text of longer tokens is counted to its end


def at_sentences(text: str) -> Iterator[int]:
    return (start for start, _ in sentence_spans(text))


# Dataclasses and not closures: a splitter must be picklable, and the cache of ingestion compares their
# fields.
@dataclass(frozen=True, slots=True)
class BeforeEach:
    """Cuts before every `separator`, so that it stays with what follows."""

    separator: str

    def __post_init__(self) -> None:
        if not self.separator:
            raise ValueError("A separator cannot be empty; leave it out instead.")

    def __call__(self, text: str) -> Iterator[int]:
        return (match.start() for match in re.finditer(re.escape(self.separator), text))


@dataclass(frozen=True, slots=True)
class AtPieces:
    """Cuts where each piece that `split` returns begins. A piece that is not in the text word for word is
    ignored."""

    split: Callable[[str], Sequence[str]]

    def __call__(self, text: str) -> Iterator[int]:
        end = 0
        for piece in self.split(text):
            start = text.find(piece, end) if piece else -1
            if start >= 0:
                yield start
                end = start + len(piece)


@dataclass(frozen=True, slots=True)
class AtMatches:
    """Cuts where each match of `pattern` begins. The text between two matches stays with the first."""

    pattern: re.Pattern[str]

    def __call__(self, text: str) -> Iterator[int]:
        return (match.start() for match in self.pattern.finditer(text))


def is_lead(piece: str) -> bool:
    """Whether a piece is a single line that leads to what follows: a heading, or a question with its answer
    below."""
    line = piece.strip()
    return piece.endswith("\n") and _LEAD.fullmatch(line) is not None and len(line.split()) <= LEAD_WORDS


LEAD_WORDS = 14
MAX_LEADS = 4  # in a row
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
    """Spans of at most `size` tokens, in order, without white space at their ends; blank spans are omitted.

    A span that is too long is cut with the coarsest cutter that makes it fit. Each chunk begins with as many
    whole pieces from the end of the previous chunk as fit in `overlap` tokens, or fewer if the next piece
    would not fit after them. A single character of more than `size` tokens is a chunk. A piece for which
    `stays_with_next` is true ends a chunk only after more than MAX_LEADS such pieces, or if the chunk has no
    others.
    """
    if not text or text.isspace():
        return []
    ruler = _Ruler(text, tokenizer, size)
    pieces: list[_Piece] = []
    _cut(ruler, 0, len(text), cutters, max(1, min(size // 16, overlap or size)), pieces)
    spans: list[Span] = []
    for start, end in _pack(ruler, pieces, overlap, stays_with_next):
        span = trim_span(text, start, end)
        # If the new pieces are all white space, the rest is already in the previous chunk.
        if span and (not spans or span[1] > spans[-1][1]):
            spans.append(span)
    return spans


_Piece: TypeAlias = tuple[int, int, int]  # start, end, number of tokens in text[start:end] alone


class _Ruler:
    """Measures spans of one text against the size of a chunk."""

    def __init__(self, text: str, tokenizer: Tokenizer, size: int) -> None:
        self.text = text
        self.size = size
        self.count = tokenizer.count
        self.starts = tokenizer.starts
        self._far = size * CHARS_PER_TOKEN

    def tokens(self, start: int, end: int) -> int | None:
        """The tokens of a piece, with the white space at its ends. None if the piece alone does not fit in a
        chunk."""
        if (
            end - start > self._far
            and self.count(self.text[start : start + self._far]) > self.size + EDGE_TOKENS
        ):
            return None
        tokens = self.count(self.text[start:end])
        return tokens if tokens * 2 + EDGE_TOKENS <= self.size or self.fits(start, end) else None

    def fits(self, start: int, end: int) -> bool:
        return self.count(self.text[start:end].strip()) <= self.size


def _cut(
    ruler: _Ruler, start: int, end: int, cutters: Sequence[Cutter], stride: int, pieces: list[_Piece]
) -> None:
    """Append the pieces of a span, in order."""
    tokens = ruler.tokens(start, end)
    if tokens is not None:
        pieces.append((start, end, tokens))
    elif not cutters:
        pieces += _strides(ruler, start, end, stride)
    else:
        offset = start
        for position in chain(cutters[0](ruler.text[start:end]), [end - offset]):
            if start < offset + position <= end:
                _cut(ruler, start, offset + position, cutters[1:], stride, pieces)
                start = offset + position


def _strides(ruler: _Ruler, start: int, end: int, stride: int) -> Iterator[_Piece]:
    """Cut a span that no cutter divides into pieces of about `stride` tokens. A longer character is one
    piece."""
    offset = start
    starts = ruler.starts(ruler.text[start:end])
    while start < end:
        next_ = bisect_left(starts, start - offset) + stride
        place = offset + starts[next_] if next_ < len(starts) else end
        place = _whole_characters(ruler.text, start, min(max(place, start + 1), end))
        tokens = ruler.tokens(start, place)
        if tokens is None:
            place = start + 1
            tokens = ruler.count(ruler.text[start])
        yield start, place, tokens
        start = place


def _whole_characters(text: str, start: int, place: int) -> int:
    """The nearest place, preferably before, that does not separate an accent, emoji or flag from its
    character."""
    candidates = chain(
        range(place, max(start, place - 16), -1), range(place + 1, min(place + 16, len(text)) + 1)
    )
    return next(
        (candidate for candidate in candidates if not _is_within_character(text, start, candidate)), place
    )


_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two of these letters are one flag


def _is_within_character(text: str, start: int, place: int) -> bool:
    """Whether `place` is in the middle of what a reader sees as one character. A character begins at
    `start`."""
    if place >= len(text):
        return False
    before, after = text[place - 1], text[place]
    return (
        after == "\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or (
            after in _FLAG_LETTERS and (place - start - len(text[start:place].rstrip(_FLAG_LETTERS))) % 2 == 1
        )
        or unicodedata.category(after)[0] == "M"
    )


def _leads(ruler: _Ruler, pieces: Sequence[_Piece], stays_with_next: Callable[[str], bool]) -> int:
    """How many pieces at the end belong to what follows: none of many short lines, as in a chat."""
    for count, (start, end, _) in enumerate(reversed(pieces)):
        if count > MAX_LEADS:
            break
        if not stays_with_next(ruler.text[start:end]):
            return count
    return 0


def _pack(
    ruler: _Ruler, pieces: list[_Piece], overlap: int, stays_with_next: Callable[[str], bool] | None
) -> Iterator[Span]:
    """Greedy. Every chunk has at least one new piece, so the work is linear in the pieces and their
    overlaps."""
    until = [0, *accumulate(tokens for _, _, tokens in pieces)]  # until[i]: tokens before piece i
    size = ruler.size
    first = fresh = (
        0  # the chunk begins with piece `first`; `fresh` is the first piece that is in no chunk yet
    )
    while fresh < len(pieces):
        while first < fresh and until[fresh + 1] - until[first] > size:
            first += 1
        last = max(bisect_right(until, until[first] + size) - 1, fresh + 1)
        while last - first > 1 and not ruler.fits(pieces[first][0], pieces[last - 1][1]):
            if first < fresh:
                first += 1
            else:
                last -= 1
        if stays_with_next and last < len(pieces):
            last -= _leads(ruler, pieces[fresh:last], stays_with_next)
        yield pieces[first][0], pieces[last - 1][1]
        floor, first, fresh = first, last, last
        # A piece within a word may have no tokens of its own; without overlap it is not repeated either.
        while overlap and first > floor and until[fresh] - until[first - 1] <= overlap:
            first -= 1
        while (
            first < fresh
            and ruler.count(ruler.text[pieces[first][0] : pieces[fresh - 1][1]].strip()) > overlap
        ):
            first += 1  # pieces may have more tokens together than alone
