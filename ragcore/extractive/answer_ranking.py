"""How likely a sentence answers a question: a few plain measurements, and one fitted weight for each.

Shared words and closeness of meaning (cosine) see different things; weighed together they order the sentences, and also say
when none of them is good enough. Nothing here is bound to a language: where a cue does not exist (capital letters in
Chinese), its measurement is 0.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragcore.extractive.word_vectors import Words
from ragcore.questions.answer_types import MUST_HOLD, expected_kind, fitting
from ragcore.text.keywords import content_words, stem, telling_words
from ragcore.text.quotable_sentences import Quote, introduces_list

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vector, Vectors

FEATURES = (
    "coverage",  # share of the question's words in the sentence and above it, see `held`
    "nearby_coverage",  # the same for the sentence with its two neighbours
    "cosine",  # sentence to question
    "nearby_cosine",  # the sentence with half of each neighbour to the question
    "passage_cosine",  # the mean of the best three cosines in the passage
    "fitting_kind",  # 1 holds what is asked for, such as a name or what a thing is, -1 does not, 0 see `fitting`
    "is_fragment",  # 1 for a heading, a letterhead, a row without names of columns, "Summary:" without a list: no sentence
    "adds",  # logarithm of the number of words beyond the question's: what says nothing new seldom answers
)
WEIGHTS = (5.342, 2.769, 1.876, 5.619, 3.028, 0.586, -0.990, 0.593)
BIAS = -10.594
"""A conditional logit (McFadden 1974) of which sentence is right, with "none of them" as one more choice of weight 1.
Fitted by `python -m benchmarks.extractive --fit-order`, which prints both."""

SURE_WEIGHTS = (3.067, -1.037, 7.971, -0.795, -1.424, 0.146, -1.958, 0.360, 5.561)
SURE_BIAS = -8.089
"""Of FEATURES and of the words that are met, for `margin` alone: a conditional logit as above, fitted to English questions,
more of them without an answer. What orders sentences best is not what best tells whether there is an answer at all. The bias
refuses at most a tenth of the answerable questions of a set. Fitted by `python -m benchmarks.extractive --fit`."""

FOREIGN_WEIGHTS = (7.164, 6.925, 3.775, 0.811, -2.579, 0.697, 0.496, 0.266)
FOREIGN_BIAS = -7.251
FOREIGN_THRESHOLD = -2.840
"""Of FEATURES, for `foreign_log_odds`: a conditional logit as above, fitted to German, Chinese and Arabic questions that are
put to all documents, and to all but their own. Most weight is on words, as the bundled embedder's cosines tell little there.
The log odds that the best sentence must reach refuse at most a tenth of the answerable development questions of each. Fitted by
`python -m benchmarks.extractive --foreign --fit`."""

EMBEDDED = 6  # sentences of an answer
EMBEDDED_BLIND = 32  # where words tell little
TELLING = 0.25  # share of the question's words that the best sentence holds, from which words tell which to embed
RANK, MOST_RANK = 0.1, 5  # what a passage loses for each that is better
FRAGMENT = 0.2  # what a fragment loses
FITS = 0.05  # what a sentence gains that holds what the question asks for, and one loses that does not
MUST_FIT = 1.0  # the same where one that does not is no answer
LENT = 0.6  # what a word counts that a sentence has from the heading above it alone
ELSEWHERE = 50  # texts without a word of the question, see `_idf`
CARRIED = 0.3  # what one counts that stands in brackets at the question's end, where a follow-up has what it is about


def log_odds(measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, len(FEATURES)) -> (n,): of each sentence being the answer against there being none."""
    odds: npt.NDArray[np.float64] = measured @ np.asarray(WEIGHTS) + BIAS
    return odds


def margin(measured: npt.NDArray[np.float64], met: npt.NDArray[np.float64]) -> float:
    """How far the log odds that one of the sentences answers lie above what it takes to answer; below 0, nothing was found.

    `measured` (n, len(FEATURES)), `met` (n,) as `met_words` gives it; at least one sentence.
    """
    sure: npt.NDArray[np.float64] = np.column_stack([measured, met]) @ np.asarray(SURE_WEIGHTS) + SURE_BIAS
    return float(sure.max())


def foreign_log_odds(measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`log_odds` where the question is in a language that the bundled embedder does not know."""
    odds: npt.NDArray[np.float64] = measured @ np.asarray(FOREIGN_WEIGHTS) + FOREIGN_BIAS
    return odds


def likely(question: str, quotes: Sequence[Quote], wanted: Sequence[bool] | None = None) -> list[int]:
    """The rows worth embedding, in order: of those `wanted`, or of all, those with the most of the question's words, in
    themselves and beside them.

    EMBEDDED of them, or EMBEDDED_BLIND where words tell little, as between two languages; where advice is asked for, as many
    that give it, too.
    """
    among = list(range(len(quotes))) if wanted is None else [row for row, wants in enumerate(wanted) if wants]
    if len(among) <= EMBEDDED:
        return among
    shares, nearby = _coverage(question, quotes)
    worth = shares + nearby - RANK * np.minimum([quote.passage for quote in quotes], MOST_RANK)
    worth -= FRAGMENT * np.array([_is_fragment(quote) for quote in quotes])
    kind = expected_kind(question)
    fit = np.array([fitting(kind, quote.text, question) for quote in quotes])
    worth += (MUST_FIT if kind in MUST_HOLD else FITS) * fit
    most = EMBEDDED if shares.max() >= TELLING else EMBEDDED_BLIND
    found = sorted(among, key=lambda row: -worth[row])[:most]
    if kind == "advice":  # is seldom in the words of the question
        found += sorted(among, key=lambda row: -worth[row] - MUST_FIT * fit[row])[:most]
    return sorted(set(found))


def measure(
    question: str,
    query: Vector,
    quotes: Sequence[Quote],
    vectors: Vectors,
    rows: Sequence[int] | None = None,
    *,
    floor: float = 0.0,
) -> npt.NDArray[np.float64]:
    """FEATURES of the quotes at `rows`, of all without them: shape (rows, len(FEATURES)).

    `query` is the question's unit vector (d,), `vectors` are those of these quotes as read with their leads (rows, d). Quotes
    of one passage are neighbours in the order given. `floor` is the cosine of texts that have nothing to do with each other:
    some embedders begin at 0.7, and only what rises above tells something.
    """
    rows = range(len(quotes)) if rows is None else rows
    if not rows:
        return np.zeros((0, len(FEATURES)))
    cosines = (vectors @ query - floor) / (1 - floor)  # (rows, d) @ (d,) -> (rows,)
    nearby_cosines = (_with_neighbours(vectors, rows, quotes) @ query - floor) / (1 - floor)
    shares, nearby = _coverage(question, quotes)
    members: dict[int, list[float]] = {}
    for row, cosine in zip(rows, cosines.tolist(), strict=True):
        members.setdefault(quotes[row].passage, []).append(cosine)
    passage_cosine = {passage: float(np.sort(found)[-3:].mean()) for passage, found in members.items()}
    kind = expected_kind(question)
    asked = set(content_words(question))
    return np.array(
        [
            (
                shares[row],
                nearby[row],
                cosine,
                nearby_cosine,
                passage_cosine[quotes[row].passage],
                fitting(kind, quotes[row].text, question),
                _is_fragment(quotes[row]),
                math.log1p(len(set(content_words(quotes[row].text)) - asked)),
            )
            for row, cosine, nearby_cosine in zip(rows, cosines, nearby_cosines, strict=True)
        ]
    )


def _coverage(question: str, quotes: Sequence[Quote]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The share of the question's idf that each quote holds, and that it holds with its neighbours: (n,) and (n,)."""
    shares = held(question, quotes)  # (n, words)
    nearby = shares.copy()
    same = np.equal([quote.passage for quote in quotes[1:]], [quote.passage for quote in quotes[:-1]])[:, None]
    nearby[1:] = np.maximum(nearby[1:], same * shares[:-1])
    nearby[:-1] = np.maximum(nearby[:-1], same * shares[1:])
    return shares.sum(axis=1), nearby.sum(axis=1)


def _is_fragment(quote: Quote) -> bool:
    introduces_nothing = introduces_list(quote.text) and not quote.introduces
    says_something = _SENTENCE_END.search(quote.text) or quote.is_row or quote.introduces or introduces_list(quote.lead)
    return introduces_nothing or not says_something or is_heading(quote)


def is_heading(quote: Quote) -> bool:
    """Whether each of several words begins with a capital or is a number, as in a letterhead, and it is no row of a table."""
    words = quote.text.split()
    begun = [word[0] for word in words if word[0].isalnum()]
    capitals = len(words) > 2 and quote.text != quote.text.lower() and all(char.isupper() or char.isdigit() for char in begun)
    return capitals and not quote.is_row


def met_words(question: Words, quotes: Sequence[Quote], rows: Sequence[int], said: Sequence[Words]) -> npt.NDArray[np.float64]:
    """(rows,): how near the nearest word of each sentence, or of its neighbours among the rows, is to each of the question's:
    the mean of the cosines, weighed by idf among the quotes. `said` are the words of the quotes at `rows`."""
    if not question.stems:
        return np.zeros(len(rows))
    idf = _idf(question.stems, [set(content_words(quote.read_with_lead)) for quote in quotes])
    nearest = np.array([question.nearest(words) for words in said])  # (rows, words)
    beside = [
        [other for other, at in enumerate(rows) if abs(at - row) <= 1 and quotes[at].passage == quotes[row].passage]
        for row in rows
    ]
    met: npt.NDArray[np.float64] = np.array([nearest[others].max(axis=0) for others in beside]) @ (idf / idf.sum())
    return met


def held(question: str, quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n, words): each word's share of the question's idf in the quotes that say it or stand under a question that does, LENT
    of it in those that only stand below it, 0 in the others. What a passage begins with is above all of it, as a title is."""
    titles: dict[int, str] = {}
    for quote in quotes:
        titles.setdefault(quote.passage, quote.lead)
    above = {lead: set(telling_words(lead)) for lead in {*titles.values(), *(quote.lead for quote in quotes)}}
    asked = sorted(set(asked_words(question)))
    own = [set(telling_words(quote.read_with_lead if quote.answers_lead else quote.text)) for quote in quotes]
    read = [said | above[quote.lead] | above[titles[quote.passage]] for said, quote in zip(own, quotes, strict=True)]
    return (LENT * _holds(asked, read) + (1 - LENT) * _holds(asked, own)) * _part(question, asked, read)


def asked_words(question: str) -> list[str]:
    """Its words that an answer should have: "rent" of "How high is the rent?"."""
    idle = idle_words(question)
    return [word for word in telling_words(question) if word not in idle]


def idle_words(question: str) -> frozenset[str]:
    """The stems of those that an answer need not have: "high" in "How high is the rent?", "anybody"."""
    return frozenset(stem(word) for found in _IDLE.findall(question.lower()) for word in found if word)


def idf_shares(question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """(n, words): each word's share of the question's idf among the texts, 0 in the texts without the word."""
    asked = sorted(set(asked_words(question)))
    said = [set(telling_words(text)) for text in texts]
    return _holds(asked, said) * _part(question, asked, said)


def _holds(asked: Sequence[str], said: Sequence[set[str]]) -> npt.NDArray[np.float64]:
    """(n, words): 1 where a text has a word."""
    holds = [[word in words for word in asked] for words in said]
    return np.array(holds, dtype=np.float64).reshape(len(said), len(asked))


def _part(question: str, asked: Sequence[str], said: Sequence[set[str]]) -> npt.NDArray[np.float64]:
    """(words,): of the idf of them all, CARRIED of it for those in brackets at the end of the question. `asked` is sorted, as
    sums of floats depend on their order."""
    idf = _idf(asked, said)
    if brackets := _BRACKETS.search(question):
        typed = set(asked_words(question[: brackets.start()]))
        idf *= [1.0 if word in typed else CARRIED for word in asked]
    return np.asarray(idf / max(float(idf.sum()), 1e-9), dtype=np.float64)


def _idf(asked: Sequence[str], said: Sequence[set[str]]) -> npt.NDArray[np.float64]:
    """(words,). The texts were found by these words, so what the question is about is common among them; it must not count
    for nothing, nor for less where fewer were found: as many again, at most ELSEWHERE, are counted without any of the words."""
    holding = np.array([sum(word in words for words in said) for word in asked], dtype=np.float64)
    without = len(said) - holding + min(len(said), ELSEWHERE)
    return np.asarray(1 + np.log(1 + (without + 0.5) / (holding + 0.5)), dtype=np.float64)


def unrelated_cosine(vectors: Vectors) -> float:
    """The mean cosine between the rows, each a text about something else: the `floor` of their embedder, 0 to 0.95."""
    count = len(vectors)
    mean = float((vectors @ vectors.T).sum() - count) / (count * (count - 1))
    return min(max(mean, 0.0), 0.95)


_IDLE = re.compile(
    r"\bhow (high|low|big|large|small|long|short|old|far|tall|fast|quick(?:ly)?|soon|deep|wide|heavy|late|early|expensive"
    r"|frequent(?:ly)?|bad|good|well)\b"
    r"|\b((?:any|some)(?:body|one|thing|where))\b"
)
_BRACKETS = re.compile(r"\([^()]+\)\W*$")
UNRELATED = (
    "The recipe needs two eggs and a cup of flour.",
    "Parliament passed the budget late on Thursday.",
    "Glaciers carve deep valleys into the rock.",
    "Her violin was made in Italy three centuries ago.",
    "Press the red button to restart the printer.",
    "The striker scored twice in the second half.",
    "Insulin lowers the sugar in the blood.",
    "Rent is due on the first day of the month.",
)
"""Texts that have nothing to do with each other, for `unrelated_cosine`."""


def _with_neighbours(vectors: Vectors, rows: Sequence[int], quotes: Sequence[Quote]) -> Vectors:
    """With half of each neighbour that is among the rows."""
    beside = np.array(
        [after - row == 1 and quotes[row].passage == quotes[after].passage for row, after in itertools.pairwise(rows)],
        dtype=np.float32,
    )[:, None]  # (rows - 1, 1)
    mixed = vectors.copy()
    mixed[1:] += 0.5 * beside * vectors[:-1]
    mixed[:-1] += 0.5 * beside * vectors[1:]
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    return mixed


_SENTENCE_END = re.compile(r"[.!?…。！？؟।:;][\"'”’»)\]\s]*$")
