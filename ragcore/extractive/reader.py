"""Reads passages for a question: rates the sentences that may answer it, and selects the ones to quote.

The candidates are the sentences, rows and list items of the passages. `features` measures them, `weights`
turns that into log odds, and two thresholds divide the best log odds into three outcomes. A quote has the
context that it needs: a list its introduction, a sentence with "it" the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, groupby

import numpy as np
import numpy.typing as npt

from ragcore.embeddings.base import Embedder
from ragcore.embeddings.spelling_correction import correct_spelling
from ragcore.extractive import features, weights
from ragcore.extractive.closest_places import choose_places, likeliest_first
from ragcore.extractive.contradictions import contradict
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.extractive.identifiers import has_identifier, identifiers, names_other
from ragcore.extractive.languages.quantities import lacks_number
from ragcore.extractive.rows import alike_rows, needs_computation, order_by_words
from ragcore.extractive.sentence_vectors import SentenceVectors
from ragcore.prompts.prompt import Passage
from ragcore.schema import Outcome
from ragcore.text.keywords import content_words, words
from ragcore.text.language import SMALL_WORDS, language_of
from ragcore.text.quotable_sentences import (
    DEPENDS_ON_PREVIOUS,
    Quote,
    distinct,
    introduces_list,
    quotes_in,
    with_lists,
)
from ragcore.text.turns import question_words

MAX_QUOTED = 3  # sentences of an answer
ANSWER_MARGIN = 4.0  # maximum difference of log odds between the best sentence of an answer and another one
ITEM_MARGIN = 2.0  # the same if the best one is a row or a list item, because its neighbours are similar
MAX_SECTION = 400  # characters below one heading, up to which all of it is quoted


@dataclass(frozen=True, slots=True)
class Reading:
    """`quotes` are the text to show, in order, empty if the outcome is "nothing". `candidates` are all
    sentences, with their `log_odds` (n,), -inf if not measured."""

    outcome: Outcome
    quotes: list[Quote]
    candidates: Sequence[Quote]
    log_odds: npt.NDArray[np.float64]

    @property
    def best_first(self) -> list[Quote]:
        """The candidates, likeliest first."""
        return [self.candidates[row] for row in np.argsort(-self.log_odds, kind="stable")]


class Reader:
    """Safe to share between threads.

    >>> from ragcore.embeddings.hashing import HashEmbedding
    >>> reading = Reader(HashEmbedding()).read(
    ...     "How high is the tower?", [Passage("The tower is 40 m high. It is red.", 1)]
    ... )
    >>> reading.best_first[0].text
    'The tower is 40 m high.'
    """

    def __init__(self, embedder: Embedder) -> None:
        self.vectors = SentenceVectors(embedder)

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Reads the passages, which are best first."""
        return self.read_quotes(question, candidates(passages), [passage.relevance for passage in passages])

    def read_quotes(self, question: str, quotes: Sequence[Quote], relevance: Sequence[float]) -> Reading:
        """Like `read`, for sentences. `relevance` is that of their passages."""
        question = correct_spelling(
            question, [quote.read_with_lead for quote in quotes], self.vectors.embedder
        )
        log_odds = self.log_odds(question, quotes, [relevance[quote.passage] for quote in quotes])
        fitted = self.weights
        contradicts, lacks = contradict(question, quotes), _lack_identifier(question, quotes)
        agreeing = np.where(np.logical_or(contradicts, lacks), -np.inf, log_odds)
        best = int(agreeing.argmax()) if len(quotes) else 0
        if len(quotes) and agreeing[best] >= fitted.answer and not needs_computation(question, best, quotes):
            behind = ANSWER_MARGIN if quotes[best].bullet is None else ITEM_MARGIN
            chosen = [*choose(agreeing, quotes, behind), *_section(question, best, quotes)]
            rows = _replies(question, _by_passage(chosen, quotes), quotes)
            rows = order_by_words(question, rows, quotes)
            return Reading("answer", in_context(question, rows, quotes), quotes, log_odds)
        close = list(compress(quotes, log_odds >= fitted.closest))
        if self._is_any_close(question, close) or self._cannot_compare(question, quotes):
            in_places = in_context(question, choose_places(question, log_odds, quotes), quotes)
            shown = likeliest_first(question, in_places, quotes, log_odds)
            return Reading("closest", shown, quotes, log_odds)
        return Reading("nothing", [], quotes, log_odds)

    def log_odds(
        self, question: str, quotes: Sequence[Quote], relevance: Sequence[float] | None = None
    ) -> npt.NDArray[np.float64]:
        """(n,): the log odds that each sentence is the answer; -inf for sentences that were not measured."""
        odds = np.full(len(quotes), -np.inf)
        rows, measured = features.measure(question, quotes, relevance or [1.0] * len(quotes), self.vectors)
        odds[rows] = measured @ np.array(self.weights.features) + self.weights.bias
        return odds

    def _cannot_compare(self, question: str, quotes: Sequence[Quote]) -> bool:
        """Whether the question is in another language than each passage, and one that the embedder does not
        know, so that low log odds mean nothing."""
        passages = groupby(quotes, key=lambda quote: quote.passage)
        languages = {language_of(" ".join(quote.text for quote in part)) for _, part in passages}
        return (
            bool(quotes)
            and self._knows_only_other(language := language_of(question))
            and (language not in languages)
        )

    def _is_any_close(self, question: str, quotes: Sequence[Quote]) -> bool:
        """Whether any of these sentences is about the question. In a language that the embedder does not
        know, all sentences of that language look similar to it, so only one with a word of the question is.
        """
        language = language_of(question)
        if not self._knows_only_other(language):
            return bool(quotes)
        sought = {*content_words(question)} - SMALL_WORDS.get(language, frozenset())
        texts = (" ".join(words(quote.read_with_lead)) for quote in quotes)
        return any(word in text for text in texts for word in sought)  # also as a part of a compound

    def _knows_only_other(self, language: str) -> bool:
        """Whether the embedder knows only another language than this one."""
        return self.vectors.knows_only_english and language not in ("", "en")

    @property
    def weights(self) -> weights.Weights:
        if not self.vectors.has_words:
            return weights.WITHOUT_WORDS
        return weights.MULTILINGUAL if self.vectors.is_multilingual else weights.WITH_WORDS


def candidates(passages: Sequence[Passage]) -> list[Quote]:
    """Their sentences, rows and list items, each once; `passage` of each is the index of its passage."""
    return distinct(
        quote
        for place, passage in enumerate(passages)
        for quote in quotes_in(passage.text, number=passage.number, source=passage.source, passage=place)
        if not is_refusal(quote.text)
    )


def choose(log_odds: npt.NDArray[np.float64], quotes: Sequence[Quote], behind: float) -> list[int]:
    """The rows of the best sentence and of up to two more with at most `behind` less, by passage, best
    passage first. No heading is quoted with a sentence."""
    order = _best_first(log_odds, quotes)[:MAX_QUOTED]
    return _by_passage([row for row in order if log_odds[row] >= log_odds[order[0]] - behind], quotes)


def _replies(question: str, rows: Sequence[int], quotes: Sequence[Quote]) -> list[int]:
    """The rows without replies to other questions: to "When is it?" if another replies to "Where is it?"."""
    sought = question_words(question)
    asked = {row: question_words(quotes[row].lead if quotes[row].bullet == "=" else "") for row in rows}
    if not any(sought & words for words in asked.values()):
        return list(rows)
    return [row for row, words in asked.items() if not words or sought & words]


def _best_first(log_odds: npt.NDArray[np.float64], quotes: Sequence[Quote]) -> list[int]:
    """The rows that were measured, without fragments unless the best is one."""
    order = [row for row in np.argsort(-log_odds, kind="stable").tolist() if np.isfinite(log_odds[row])]
    if features.is_fragment(quotes[order[0]]):
        return order
    return [row for row in order if not features.is_fragment(quotes[row])]


def _by_passage(rows: Sequence[int], quotes: Sequence[Quote]) -> list[int]:
    """Each row once, in order within each passage; passages in the order of their first row."""
    passages = list(dict.fromkeys(quotes[row].passage for row in rows))
    return sorted({*rows}, key=lambda row: (passages.index(quotes[row].passage), row))


def in_context(question: str, rows: Sequence[int], quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes of these rows with the context that they need: the introduction of a list, the rest of a
    list item, the sentence before one that begins with "it", the list after "These include:", and a heading
    with words or a number of the question that the sentence below it lacks."""
    chosen: dict[int, None] = {}
    for row in rows:
        leans = _follows(row, quotes) and DEPENDS_ON_PREVIOUS.match(quotes[row].text)
        chosen |= dict.fromkeys([row - 1, row] if leans else _item(row, quotes))
        if row + 1 < len(quotes) and _follows(row + 1, quotes):
            after = quotes[row + 1]
            if after.goes_on_as_list and introduces_list(after.text):
                chosen[row + 1] = None
    quoted = with_lists(list(chosen), quotes)
    alike = alike_rows(quoted)
    whole: list[Quote] = []
    for quote in quoted:
        first = all(quote.lead not in (other.lead, other.text) for other in whole)
        is_alike = quote.lead and (quote in alike or _is_of_record(question, quote))
        if first and (is_alike or _needs_heading(question, quote)):
            whole.append(quote.heading)
        whole.append(quote)
    return whole


def _lack_identifier(question: str, quotes: Sequence[Quote]) -> list[bool]:
    """For each quote, whether its passage and its document's name lack an identifier of the question, or its
    heading has another one, so that it is about another one."""
    sought = identifiers(question)
    if not sought:
        return [False] * len(quotes)
    texts: dict[int, str] = {}
    for quote in quotes:
        texts[quote.passage] = f"{texts.get(quote.passage, quote.document)}\n{quote.read_with_lead}"
    lacking = {
        passage: not all(has_identifier(each, text) for each in sought) for passage, text in texts.items()
    }
    return [lacking[quote.passage] or names_other(question, quote.lead) for quote in quotes]


def _follows(row: int, quotes: Sequence[Quote]) -> bool:
    """Whether the row before it is of the same passage."""
    return row > 0 and quotes[row - 1].passage == quotes[row].passage


def _is_of_record(question: str, quote: Quote) -> bool:
    """Whether it is a line of the record that the question names: "Total: 20 euro" below "Invoice 17"."""
    return quote.bullet == "=" and any(has_identifier(named, quote.lead) for named in identifiers(question))


def _needs_heading(question: str, quote: Quote) -> bool:
    """Whether a word or the number of the answer is only in the heading above a sentence."""
    if not quote.lead or quote.bullet is not None or quote.introduces:
        return False
    only_above = set(content_words(quote.lead)) - set(content_words(quote.text))
    number_above = lacks_number(question, quote.text) and not lacks_number(question, quote.lead)
    return number_above or bool(only_above & set(content_words(question)))


def _section(question: str, row: int, quotes: Sequence[Quote]) -> list[int]:
    """The rows below the heading of this one, if only the heading has a word of the question: any of them may
    answer. [] if they have more than MAX_SECTION characters."""
    if not _needs_heading(question, quotes[row]):
        return []
    rows = [
        at
        for at, quote in enumerate(quotes)
        if (quote.passage, quote.lead) == (quotes[row].passage, quotes[row].lead)
    ]
    return rows if sum(len(quotes[at].text) for at in rows) <= MAX_SECTION else []


def _item(row: int, quotes: Sequence[Quote]) -> list[int]:
    """The rows of the list item of this sentence; only its own row if it is in no list."""
    if quotes[row].bullet is None:
        return [row]
    first, last = row, row + 1
    while first > 0 and not quotes[first].begins_item and _continues(first, quotes):
        first -= 1
    while last < len(quotes) and _continues(last, quotes):
        last += 1
    return list(range(first, last))


def _continues(row: int, quotes: Sequence[Quote]) -> bool:
    """Whether the row is in the same list item as the one before it."""
    one, before = quotes[row], quotes[row - 1]
    return (
        one.bullet == ""
        and not one.begins_item
        and before.bullet is not None
        and before.passage == one.passage
    )
