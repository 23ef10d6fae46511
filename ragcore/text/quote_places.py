"""The place of a quote in its passage, which may have other citations, Markdown and line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragcore.text.citations import MARKS
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import list_items, quotes_in
from ragcore.text.quotable_units import LISTED
from ragcore.text.sentences import sentence_spans

_BULLETS = re.compile(r"^[ \t]*(?:[-*•–#>|]+[ \t]+)+", re.M)
_EMPHASIS_MARKS = "*_`"
_LAYOUT = "|" + _EMPHASIS_MARKS
_WITH_CELLS = re.compile(r"^.*\|.*$", re.M)
_IN_MARKS = re.compile(r"[“„«»「\"]([^“”„«»「」\"]{8,})[”“»«」\"]")


def list_at_start(text: str) -> int:
    """The end of the list that the text begins with, up to LIST_CHARS; 0 if it begins with none."""
    quotes = quotes_in(text, number=0) if LISTED.match(text) else []
    items = quotes[: len(list_items(quotes))]
    return max((place[1] for item in items if (place := place_of(item.text, text))), default=0)


def quoted_from(answer: str) -> dict[int, list[str]]:
    """The sentences of the answer by the number that they cite, in order."""
    sentences: dict[int, list[str]] = {}
    for quote in quotes_in(answer, number=None):
        for mark in quote.marks:
            sentences.setdefault(mark, []).append(quote.text)
    return sentences


def quoted_places(answer: str, number: int, passage: str) -> list[tuple[int, int]]:
    """The (start, end) in the passage, cited as [number], of what the answer cites it for, in order.

    The answer quotes it as a sentence or between quotation marks. A sentence in other words has the place of
    the one sentence of the passage that shares most words with it, if that is at least half of its words.
    """
    places = {place for sentence in _cited_for(answer, number) for place in _places_of(sentence, passage)}
    return sorted(
        (start, end)
        for start, end in places
        if not any((start, end) != (first, last) and first <= start and end <= last for first, last in places)
    )


def _cited_for(answer: str, number: int) -> Iterator[str]:
    """The sentences with this citation, and the sentences without any before each of them."""
    pending: list[str] = []
    for quote in quotes_in(answer, number=None):
        pending.append(quote.text)
        if quote.marks:
            if number in quote.marks:
                yield from pending
            pending = []


def _places_of(sentence: str, passage: str) -> list[tuple[int, int]]:
    if place := place_of(sentence, passage):
        return [place]
    if inside := [place for words in _IN_MARKS.findall(sentence) if (place := place_of(words, passage))]:
        return inside
    own = set(content_words(sentence))
    spans = sentence_spans(passage)
    shared = [len(own & set(content_words(passage[start:end]))) for start, end in spans]
    most = max(shared, default=0)
    if not most or 2 * most < len(own) or shared.count(most) > 1:
        return []
    start, end = spans[shared.index(most)]
    return [(start, start + len(passage[start:end].rstrip()))]


def first_place(sentences: Iterable[str], passage: str) -> int | None:
    """The start of the first of these sentences that is in the passage; None if none is."""
    return next((place[0] for sentence in sentences if (place := place_of(sentence, passage))), None)


def place_of(sentence: str, passage: str) -> tuple[int, int] | None:
    """The (start, end) of the sentence in the passage, in spite of line breaks, citations and Markdown."""
    places, letters = _letters_of(passage)
    _, searched = _letters_of(sentence)
    at = letters.find(searched)
    if searched and at >= 0:
        return places[at], places[at + len(searched) - 1] + 1
    if ": " in sentence:
        row = _row_pattern(sentence)
        for line in _WITH_CELLS.finditer(passage):
            places, letters = _letters_of(line.group(), _EMPHASIS_MARKS)
            if (match := row.search(letters)) and match.group().strip("|"):
                return line.start() + places[match.start()], line.start() + places[match.end() - 1] + 1
    return None


def _row_pattern(sentence: str) -> re.Pattern[str]:
    """Matches the cells of a row, with or without the names of its columns: whole cells of one line."""

    def escape(text: str) -> str:
        return re.escape(_letters_of(text)[1])

    cells = []
    for cell in sentence.split("; "):
        name, _, value = cell.partition(": ")
        cells.append(f"(?:{escape(name)}:?)?{escape(value)}" if value else escape(cell))
    return re.compile(rf"(?<![^|]){'[;|]+'.join(cells)}(?![^|])")


def _letters_of(text: str, layout: str = _LAYOUT) -> tuple[list[int], str]:
    """(places, characters) without white space, citations, Markdown and bullets."""
    for mark in (MARKS, _BULLETS):
        text = mark.sub(lambda match: " " * len(match.group()), text)
    places = [at for at, char in enumerate(text) if not char.isspace() and char not in layout]
    return places, "".join(text[at] for at in places)
