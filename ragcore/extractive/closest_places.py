"""The places to show if it is not sure that any sentence answers: at most three, likeliest first.

A place is a passage. Scraps are left out: lines of a letterhead, titles of a cover, single numbers. They are
no sentences, and say something only with words of the question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ragcore.extractive.features import is_fragment
from ragcore.extractive.fixed_replies import MAX_PLACES, shared_words
from ragcore.text.keywords import WITHOUT_SPACES, content_words, words
from ragcore.text.quotable_sentences import Quote, introduces_list
from ragcore.text.sentences import letterhead

MAX_CLOSEST = 1400  # characters of all places, without headings and introductions of lists
AROUND = (0, 1, -1, 2, -2)  # steps from a sentence to others of its place

# A word that is more than a unit, such as "kg" or "pm".
_WORD = re.compile(rf"[^\W\d_]{{3}}|[{WITHOUT_SPACES}]")
_LABEL_OR_PRICE = re.compile(r": |[€$£¥₹%]|\d[.,:]\d\d$")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DIGIT = re.compile(r"\d")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]\s]*$")


def choose_places(question: str, log_odds: npt.NDArray[np.float64], quotes: Sequence[Quote]) -> list[int]:
    """The rows of the best sentences of up to MAX_PLACES passages, with others of these passages, up to
    MAX_CLOSEST characters. The sentence with most words of the question is among them."""
    says_something = _say_something(question, quotes)
    order = [row for row in np.argsort(-log_odds, kind="stable").tolist() if np.isfinite(log_odds[row])]
    order = [row for row in order if says_something[row]] or order
    best_rows: dict[int, int] = {}
    for row in order:
        best_rows.setdefault(quotes[row].passage, row)
    best = list(best_rows.values())[:MAX_PLACES]
    matching = row_with_most_words(question, quotes, [row for row, says in enumerate(says_something) if says])
    if matching is not None:
        if quotes[matching].passage not in {quotes[row].passage for row in best}:
            best = best[: MAX_PLACES - 1]
        best.append(matching)
    passages = {quotes[row].passage for row in best}
    others = [
        row
        for row in [*order[:MAX_PLACES], *_around(order, len(quotes)), *range(len(quotes))]
        if says_something[row] and quotes[row].passage in passages
    ]
    chosen: list[int] = []
    chars = 0
    for row in dict.fromkeys([*best, *others]):
        if row in best or chars + len(quotes[row].text) <= MAX_CLOSEST:
            chosen.append(row)
            chars += len(quotes[row].text)
    return sorted(chosen)


def _around(order: Sequence[int], number: int) -> list[int]:
    """Of `number` rows, those of `order` two by two, with the rows around each two."""
    pairs = [order[start : start + 2] for start in range(0, len(order), 2)]
    rows = [row + step for pair in pairs for step in AROUND for row in pair]
    return [row for row in rows if 0 <= row < number]


def likeliest_first(
    question: str, chosen: Iterable[Quote], quotes: Sequence[Quote], log_odds: npt.NDArray[np.float64]
) -> list[Quote]:
    """The quotes of at most MAX_PLACES passages, the likeliest passage first, and in each the likeliest
    heading first. The passage of the sentence with most words of the question stays."""
    odds: dict[tuple[int, str], float] = {}
    for quote, own in zip(quotes, log_odds.tolist(), strict=True):
        part = (quote.passage, quote.lead)
        odds[part] = max(odds.get(part, -np.inf), own)
    said = [quote for quote in chosen if not quote.is_heading or _WORD.search(quote.text)]
    ranked = sorted(said, key=lambda quote: -odds.get((quote.passage, quote.lead), -np.inf))
    passages = list(dict.fromkeys(quote.passage for quote in ranked))
    shown = passages[:MAX_PLACES]
    matching = row_with_most_words(question, ranked, range(len(ranked)))
    if matching is not None and ranked[matching].passage not in shown:
        shown[-1] = ranked[matching].passage
    return [quote for passage in shown for quote in ranked if quote.passage == passage]


def row_with_most_words(question: str, quotes: Sequence[Quote], rows: Iterable[int]) -> int | None:
    """The first of these rows that shares most words with the question; None if none shares any."""
    shared = {row: shared_words(question, quotes[row].with_list) for row in rows}
    most = max(shared.values(), default=0)
    return next((row for row, number in shared.items() if number == most), None) if most else None


def _say_something(question: str, quotes: Sequence[Quote]) -> list[bool]:
    sought = {*content_words(question)}
    heads: dict[int, Collection[str]] = {}
    for passage, part in groupby(quotes, key=lambda quote: quote.passage):
        heads[passage] = _letterhead(list(part))
    is_title = [_is_line(quote) for quote in quotes]
    for row, quote in enumerate(quotes[:-1]):
        # The first title of a list is read as its heading.
        if quote.introduces and not introduces_list(quote.text) and is_title[row + 1]:
            is_title[row] = _DIGIT.search(quote.with_list) is None
    return [
        _says_something(sought, quote, quote.text in heads[quote.passage], title)
        for quote, title in zip(quotes, is_title, strict=True)
    ]


def _letterhead(quotes: Sequence[Quote]) -> list[str]:
    """The lines of the letterhead that the sentences of a passage begin with; no list of prices or labels."""
    first = quotes[0].text
    lines = []
    for quote in quotes:
        is_below = quote.lead in ("", first) and quote.bullet in (None, "=")
        if not is_below or _SENTENCE_END.search(quote.text):
            break
        lines.append(quote.text)
    if 2 * sum(_LABEL_OR_PRICE.search(line) is not None for line in lines) >= len(lines):
        return []
    return letterhead("\n".join([*lines, "It ends here."])).splitlines()


def _is_line(quote: Quote) -> bool:
    """Whether it is a line of a list without marks, and neither a sentence nor "Desk: 0161"."""
    return quote.bullet == "=" and not _SENTENCE_END.search(quote.text) and ": " not in quote.text


def _says_something(sought: Collection[str], quote: Quote, in_letterhead: bool, is_title: bool) -> bool:
    """Whether it is a sentence, a row or an item. A scrap needs half of the question's words, or one of them
    and a number."""
    has_word = _WORD.search(quote.text) is not None
    has_label = ": " in quote.text
    if has_word and not in_letterhead and not is_title and (has_label or not is_fragment(quote)):
        return True
    shared = {*sought} & {*words(quote.text if is_title else quote.read_with_lead)}
    if in_letterhead or not has_word:
        return bool(sought) and len(shared) == len(sought)
    has_cells = quote.bullet == "=" or "|" in quote.text
    has_value = has_cells and bool(shared) and _DIGIT.search(_YEAR.sub("", quote.text)) is not None
    return has_value or (bool(shared) and 2 * len(shared) >= len(sought))
