"""Summaries without a model: the sentences that say most, of each document and about the topic that is asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ragcore.extractive.evidence import Evidence
from ragcore.questions import fixed_replies
from ragcore.questions.fixed_replies import in_language_of
from ragcore.questions.summary_requests import asked_length, topic_of
from ragcore.questions.topic import called
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import LEANS, Quote, joined, with_lists
from ragcore.text.salience import centrality, diverse, shares, stretches

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST, MOST = 3, 10  # sentences of a summary, unless it has more documents, each of which gives one
DOCUMENTS = 40  # that a summary is made of; of more, the longest
SHORT, LONG = 50, 260  # characters, of a sentence that suits a summary
NAMED, EARLY = 0.3, 1.0  # what holding a name, and standing first in its document, count where the commonest words count 1
ASIDE = 0.15  # what being central counts in a summary about a topic, where closeness to the topic counts 1
MAX_WEIGHED = 200  # sentences per summary; of more, those with the commonest words
_LEANING = re.compile(
    LEANS.pattern + r"|^(?:but|and|so|or|then|thus|therefore|however|instead|also|for example|for instance|yes|no|not|now|once"
    r"|later|meanwhile|when|after|before|what|there|here|both|others?|another|the (?:same|following|next|other|former|latter)"
    r"|aber|und|also|dann|danach|mais|donc|ensuite|puis|pero|luego)\b"
    r"|^[\d\W]|[\w\d]$|: .*; .*: |[?？؟“”\"«»|:]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,] )[^\W\d_a-zà-ÿ][\w'’-]+")


def summarize(evidence: Evidence, query: str, quotes: Sequence[Quote], *, again: bool = False) -> str:
    """The sentences that say most, some of each document. `again`: the quotes are summaries already, of which more is kept."""
    quotes = _common(quotes)
    if not quotes:
        return in_language_of(query, fixed_replies.NOT_FOUND)
    vectors = evidence.embed([quote.text for quote in quotes])
    scores = np.zeros(len(quotes))
    groups = np.zeros(len(quotes), dtype=int)
    for number, rows in enumerate(_by_document(quotes)):
        scores[rows] = centrality(vectors[rows]) + _stands_well([quotes[row] for row in rows])
        groups[rows] = number
    length = asked_length(query)
    wanted = len(quotes) / 2 if again else np.log2(len(quotes))
    usual = max(min(groups.max() + 1, DOCUMENTS), min(MOST, max(LEAST, int(wanted))))
    places = shares(Counter(groups.tolist()), length.sentences or usual)
    topic = topic_of(query)
    if topic and not called(topic, {quote.document for quote in quotes}):
        scores = ASIDE * scores + vectors @ evidence.query(topic)
    else:
        groups = np.array(stretches(groups.tolist(), places))
        places = dict.fromkeys((group for group in groups.tolist() if group >= 0), 1)
    taken = diverse(scores, vectors, groups.tolist(), places)
    if length.words is not None:
        taken = _within(length.words, taken, quotes)
    if length.words is not None or length.sentences is not None:  # which what belongs to a list would exceed
        return joined([replace(quotes[row], introduces=()) for row in sorted(taken)])
    return joined(with_lists(sorted(taken), quotes))


def _by_document(quotes: Sequence[Quote]) -> list[list[int]]:
    """The rows of each document, in the order in which the documents come."""
    rows: dict[str, list[int]] = {}
    for row, quote in enumerate(quotes):
        rows.setdefault(quote.document, []).append(row)
    return list(rows.values())


def _common(quotes: Sequence[Quote]) -> list[Quote]:
    """MAX_WEIGHED at most, those of each document with its commonest words: all of a short one, as many of each longer one."""
    if len(quotes) <= MAX_WEIGHED:
        return list(quotes)
    kept: list[int] = []
    by_document = sorted(_by_document(quotes), key=len)
    for at, rows in enumerate(by_document):
        words = {row: set(content_words(quotes[row].text)) for row in rows}
        common = Counter(chain.from_iterable(words.values()))
        said = sorted(rows, key=lambda row: -sum(common[word] for word in words[row]) / (len(words[row]) + 5))
        kept += said[: (MAX_WEIGHED - len(kept)) // (len(by_document) - at)]
    return [quotes[row] for row in sorted(kept)]


def _within(most: int, rows: Sequence[int], quotes: Sequence[Quote]) -> list[int]:
    """The first of the rows, and those after it that fit into so many words with what was taken: the first of each document,
    then the second of each, and so on."""
    before = Counter[str]()
    turn = {}
    for row in rows:
        turn[row] = before[quotes[row].document]
        before[quotes[row].document] += 1
    taken: list[int] = []
    left = most
    for row in sorted(rows, key=lambda row: turn[row]):
        size = len(quotes[row].text.split())
        if size <= left or not taken:
            taken.append(row)
            left -= size
    return taken


def _stands_well(quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n,), -2 to 2, of a document: high for the words that it uses most, for names, and early in it; low for what cannot be
    understood alone: scraps, rows, questions, speech, what leans on the sentence before."""
    said = [set(content_words(quote.text)) for quote in quotes]
    common = Counter(chain.from_iterable(said))
    weight = np.array([sum(np.log(common[word]) for word in words) / (len(words) + 5) for words in said])
    weight /= max(float(weight.max()), 1e-9)
    for row, quote in enumerate(quotes):
        weight[row] += NAMED * (_NAME.search(quote.text) is not None) + EARLY * (1 - row / len(quotes))
        weight[row] -= not SHORT <= len(quote.text) <= LONG or _LEANING.search(quote.text) is not None
    return weight
