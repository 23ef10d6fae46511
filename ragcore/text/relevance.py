"""How likely a sentence answers a question: a few plain measurements, and one fitted weight for each.

Shared words and closeness of meaning (cosine) see different things; weighed together they order the sentences, and also say
when none of them is good enough. Nothing here is bound to a language: where a cue does not exist (capital letters in
Chinese), its measurement is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragcore.text.keywords import content_words
from ragcore.text.quotes import Quote

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vector, Vectors

FEATURES = (
    "coverage",  # share of the question's words in the sentence and its lead, weighed by their idf among the sentences
    "nearby_coverage",  # the same for the sentence with its two neighbours
    "cosine",  # sentence to question
    "nearby_cosine",  # the sentence with half of each neighbour to the question
    "passage_cosine",  # the mean of the best three cosines in the passage
    "fitting_kind",  # 1 holds a name, date, number or reason as the question asks for, -1 does not, 0 nothing such is asked for
    "is_fragment",  # 1 for a heading, a table row: no sentence
    "adds",  # logarithm of the number of words beyond the question's: what says nothing new seldom answers
)
WEIGHTS = (5.342, 2.769, 1.876, 5.619, 3.028, 0.586, -0.990, 0.593)
BIAS = -10.594
"""A conditional logit (McFadden 1974) of which sentence is right, with "none of them" as one more choice of weight 1.
Fitted by `python -m benchmarks.extractive --fit`, which prints both."""


def log_odds(measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, len(FEATURES)) -> (n,): of each sentence being the answer against there being none."""
    odds: npt.NDArray[np.float64] = measured @ np.asarray(WEIGHTS) + BIAS
    return odds


def measure(
    question: str, query: Vector, quotes: Sequence[Quote], vectors: Vectors, *, floor: float = 0.0
) -> npt.NDArray[np.float64]:
    """One row of FEATURES for each quote, shape (n, len(FEATURES)).

    `query` is the question's unit vector (d,), `vectors` are those of the quotes as read with their leads (n, d). Quotes of one
    passage are neighbours in the order given. `floor` is the cosine of texts that have nothing to do with each other: some
    embedders begin at 0.7, and only what rises above tells something.
    """
    if not quotes:
        return np.zeros((0, len(FEATURES)))
    passages = [quote.passage for quote in quotes]
    cosines = (vectors @ query - floor) / (1 - floor)  # (n, d) @ (d,) -> (n,)
    nearby_cosines = (_with_neighbours(vectors, passages) @ query - floor) / (1 - floor)
    shares = idf_shares(question, [quote.read_with_lead for quote in quotes])  # (n, words)
    members: dict[int, list[int]] = {}
    for row, passage in enumerate(passages):
        members.setdefault(passage, []).append(row)
    passage_cosine = {passage: float(np.sort(cosines[rows])[-3:].mean()) for passage, rows in members.items()}
    kind = expected_kind(question)
    asked = set(content_words(question))
    table = np.empty((len(quotes), len(FEATURES)))
    for row, quote in enumerate(quotes):
        nearby = [near for near in (row - 1, row, row + 1) if 0 <= near < len(quotes) and passages[near] == quote.passage]
        table[row] = (
            shares[row].sum(),
            shares[nearby].max(axis=0).sum(),
            cosines[row],
            nearby_cosines[row],
            passage_cosine[quote.passage],
            _fitting(kind, quote.text, question),
            not _SENTENCE_END.search(quote.text),
            math.log1p(len(set(content_words(quote.text)) - asked)),
        )
    return table


def idf_shares(question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """(n, words): each word's share of the question's idf among the texts, 0 in the texts without the word."""
    asked = sorted(set(content_words(question)))  # sums of floats depend on their order
    said = [set(content_words(text)) for text in texts]
    holds = np.array([[word in words for word in asked] for words in said], dtype=np.float64).reshape(len(said), len(asked))
    holding = holds.sum(axis=0)
    # The texts were found by these words, so what the question is about is common among them; it must not count for nothing.
    idf = 1 + np.log(1 + (len(said) - holding + 0.5) / (holding + 0.5))
    return np.asarray(holds * idf / max(float(idf.sum()), 1e-9), dtype=np.float64)


def unrelated_cosine(vectors: Vectors) -> float:
    """The mean cosine between the rows, each a text about something else: the `floor` of their embedder, 0 to 0.95."""
    count = len(vectors)
    mean = float((vectors @ vectors.T).sum() - count) / (count * (count - 1))
    return min(max(mean, 0.0), 0.95)


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


def _with_neighbours(vectors: Vectors, passages: Sequence[int]) -> Vectors:
    same = np.equal(passages[1:], passages[:-1]).astype(np.float32)[:, None]  # (n - 1, 1)
    mixed = vectors.copy()
    mixed[1:] += 0.5 * same * vectors[:-1]
    mixed[:-1] += 0.5 * same * vectors[1:]
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    return mixed


_KINDS = {
    "reason": r"\bwhy\b|\bwhat (?:caused?|made)\b|reasons?\b|\bwarum\b|\bwieso\b|pourquoi|por qu[eé]|为什么|为何",
    "number": r"how (?:many|much|long|old|far|tall|large|big|high|often|fast|deep|wide|heavy)|at what (?:age|speed|price)"
    r"|wie ?viele?\b|combien|cu[aá]nt[oa]s?|多少|几[个年次人]",
    "date": r"\bwhen\b|what (?:year|date|day|month|century|decade)|which (?:year|date|century|decade)"
    r"|\bwann\b|welche[mn]? (?:jahr|datum)|\bquand\b|quelle (?:ann[ée]e|date)|cu[aá]ndo|qu[eé] (?:a[nñ]o|fecha)"
    r"|什么时候|何时|哪一?年",
    "name": r"\bwho(?:m|se)?\b|\bwer\b|\bwe[mn]\b|\bqui\b|qui[eé]n(?:es)?\b|\bwhere\b|\bwo\b|\boù\b|d[oó]nde\b",
}
_EXPECTED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
_NUMBER = re.compile(
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half"
    r"|third|quarter|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq|dos|tres|cuatro|cinco)\b"
    r"|[一二三四五六七八九十百千万亿]",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b1\d{3}s?\b|\b20\d\ds?\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre"
    r"|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
    r"|\d+年|\b\d+(?:st|nd|rd|th) century|century|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b",
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[^\W\d_a-zà-ÿ][\w'’-]+")
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|caused?|causing|so that|in order to|as a result|result(?:s|ed|ing)? (?:of|in|from)"
    r"|led to|leads? to|on account of|thanks to|reasons?|therefore|thus|for want of|weil|wegen|da|damit|parce que|car|à cause"
    r"|porque|debido)\b|因为|由于|因此|所以",
    re.IGNORECASE,
)
_SHAPES = {"reason": _REASON, "number": _NUMBER, "date": _DATE, "name": _NAME}
_SENTENCE_END = re.compile(r"[.!?…。！？؟।:;][\"'”’»)\]\s]*$")


def expected_kind(question: str) -> str | None:
    """What an answer has to hold: "number", "date", "name", "reason", or None where the question does not say."""
    return next((kind for kind, pattern in _EXPECTED.items() if pattern.search(question)), None)


def fits_kind(kind: str | None, sentence: str, question: str) -> bool:
    """Whether it holds a name, date, number or reason, as `kind` says, that the question does not hold itself."""
    return _fitting(kind, sentence, question) > 0


def _fitting(kind: str | None, sentence: str, question: str) -> int:
    if kind is None or (kind == "name" and sentence.lower() == sentence.upper()):
        return 0
    said = question.lower()
    return 1 if any(found.lower() not in said for found in _SHAPES[kind].findall(sentence)) else -1
