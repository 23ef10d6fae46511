"""Where in a passage a sentence stands that was quoted from it, whatever marks and line breaks either has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragcore.text.citations import MARKS
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import LISTED, list_items, quotes_in
from ragcore.text.sentences import sentence_spans

_BULLETS = re.compile(r"^[ \t]*(?:[-*•–#>|]+[ \t]+)+", re.M)
_EMPHASIS_MARKS = "*_`"
_LAYOUT = "|" + _EMPHASIS_MARKS
_WITH_CELLS = re.compile(r"^.*\|.*$", re.M)
_IN_MARKS = re.compile(r"[“„«»「\"]([^“”„«»「」\"]{8,})[”“»«」\"]")


def list_at_start(text: str) -> int:
    """Where the list ends that the text begins with, as far as LIST_CHARS reach; 0 where it begins with none."""
    quotes = quotes_in(text, number=0) if LISTED.match(text) else []
    items = quotes[: len(list_items(quotes))]
    return max((place[1] for item in items if (place := place_of(item.text, text))), default=0)


def quoted_from(answer: str) -> dict[int, list[str]]:
    """For each number that the answer cites, the sentences that carry it, in their order."""
    sentences: dict[int, list[str]] = {}
    for quote in quotes_in(answer, number=None):
        for mark in quote.marks:
            sentences.setdefault(mark, []).append(quote.text)
    return sentences


def quoted_places(answer: str, number: int, passage: str) -> list[tuple[int, int]]:
    """Where the passage, cited as [number], says what the answer cites it for: (start, end) in its order, none twice.

    That is what the answer quotes, as a sentence or between quotation marks; of a sentence in other words the one of the
    passage that alone has most of its words, where it has half of them.
    """
    places = {place for said in _cited_for(answer, number) for place in _places_of(said, passage)}
    return sorted(place for place in places if not any(_is_within(place, other) for other in places))


def _cited_for(answer: str, number: int) -> Iterator[str]:
    """The sentences that carry the number, and those before one that carry none."""
    pending: list[str] = []
    for quote in quotes_in(answer, number=None):
        pending.append(quote.text)
        if quote.marks:
            if number in quote.marks:
                yield from pending
            pending = []


def _places_of(said: str, passage: str) -> list[tuple[int, int]]:
    if place := place_of(said, passage):
        return [place]
    inside = [place for words in _IN_MARKS.findall(said) if (place := place_of(words, passage))]
    return inside or list(filter(None, [_nearest(said, passage)]))


def _nearest(said: str, passage: str) -> tuple[int, int] | None:
    wanted = set(content_words(said))
    spans = sentence_spans(passage)
    held = [len(wanted & set(content_words(passage[start:end]))) for start, end in spans]
    most = max(held, default=0)
    if not most or 2 * most < len(wanted) or held.count(most) > 1:
        return None
    start, end = spans[held.index(most)]
    return start, start + len(passage[start:end].rstrip())


def _is_within(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one != other and other[0] <= one[0] and one[1] <= other[1]


def first_place(sentences: Iterable[str], passage: str) -> int | None:
    """Where the first of these that stands in the passage begins; None where none does."""
    return next((place[0] for sentence in sentences if (place := place_of(sentence, passage))), None)


def place_of(sentence: str, passage: str) -> tuple[int, int] | None:
    """Where the sentence begins and ends in the passage, which may break its lines anywhere and hold marks that it lacks."""
    places, letters = _unmarked(passage)
    _, wanted = _unmarked(sentence)
    at = letters.find(wanted)
    if wanted and at >= 0:
        return places[at], places[at + len(wanted) - 1] + 1
    if ": " in sentence:
        row = _as_row(sentence)
        for line in _WITH_CELLS.finditer(passage):
            places, letters = _unmarked(line.group(), _EMPHASIS_MARKS)
            if (found := row.search(letters)) and found.group().strip("|"):
                return line.start() + places[found.start()], line.start() + places[found.end() - 1] + 1
    return None


def _as_row(sentence: str) -> re.Pattern[str]:
    """What is left of a row without the names of its columns, or of some of them: whole cells of one line."""
    cells = []
    for cell in sentence.split("; "):
        name, _, said = cell.partition(": ")
        cells.append(f"(?:{_letters(name)}:?)?{_letters(said)}" if said else _letters(cell))
    return re.compile(rf"(?<![^|]){'[;|]+'.join(cells)}(?![^|])")


def _letters(text: str) -> str:
    return re.escape(_unmarked(text)[1])


def _unmarked(text: str, layout: str = _LAYOUT) -> tuple[list[int], str]:
    """(their places, the characters) without white space, citations, marks of Markdown and what stands before an item."""
    for mark in (MARKS, _BULLETS):
        text = mark.sub(lambda match: " " * len(match.group()), text)
    places = [at for at, char in enumerate(text) if not char.isspace() and char not in layout]
    return places, "".join(text[at] for at in places)
