"""How likely a sentence answers a question: a few plain measurements, and one fitted weight for each.

Word match (BM25, Robertson & Zaragoza 2009) and closeness of meaning (cosine) see different things; a logistic regression
over both gives one probability that orders the sentences and also says when none of them is good enough. Nothing here is
bound to a language: where a cue does not exist (capital letters in Chinese), its measurement is 0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragcore.text.keywords import content_words

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vector, Vectors

FEATURES = (
    "word_match",  # BM25 over the candidates, divided by the question's idf sum
    "coverage",  # share of the question's idf that the sentence holds
    "nearby_coverage",  # the same for the sentence with its two neighbours
    "passage_coverage",  # the same for the whole passage
    "cosine",  # sentence to question
    "nearby_cosine",  # the sentence with half of each neighbour to the question
    "passage_cosine",  # the mean of the passage's best three
    "stands_out",  # cosine above the mean of all candidates
    "fitting_kind",  # +1 holds a name, date or number as the question asks for, -1 asked for but not there
    "missing_names",  # share of the question's names and numbers that the passage does not hold
    "is_fragment",  # a heading, a table row: no sentence
)
WEIGHTS = (1.0, 1.0, 1.0, 1.0, 4.0, 0.0, 2.0, 1.0, 0.5, -1.0, -0.5)
BIAS = -6.0
"""Fitted by `python benchmarks/extractive.py --fit`, which prints both."""

K1, B = 1.2, 0.75


def probabilities(measured: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, len(FEATURES)) -> (n,), 0 to 1."""
    chances: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-(measured @ np.asarray(WEIGHTS) + BIAS)))
    return chances


def measure(
    question: str, query: Vector, sentences: Sequence[str], vectors: Vectors, passages: Sequence[int]
) -> npt.NDArray[np.float64]:
    """One row of FEATURES for each sentence, shape (n, len(FEATURES)).

    `query` is the question's unit vector (d,), `vectors` are the sentences' (n, d). `passages[i]` says which passage sentence i
    stands in; sentences of one passage are neighbours in the order given.
    """
    if not sentences:
        return np.zeros((0, len(FEATURES)))
    cosines = vectors @ query  # (n, d) @ (d,) -> (n,)
    nearby_cosines = _with_neighbours(vectors, passages) @ query
    asked = set(content_words(question))
    found = [Counter(content_words(sentence)) for sentence in sentences]
    idf = _idf(asked, found)
    whole = sum(idf.values()) or 1.0
    match = _bm25(found, idf) / whole

    def coverage(rows: Sequence[int]) -> float:
        return sum(weight for term, weight in idf.items() if any(term in found[row] for row in rows)) / whole

    members: dict[int, list[int]] = {}
    for row, passage in enumerate(passages):
        members.setdefault(passage, []).append(row)
    passage_coverage = {passage: coverage(rows) for passage, rows in members.items()}
    passage_cosine = {passage: float(np.sort(cosines[rows])[-3:].mean()) for passage, rows in members.items()}
    missing = {passage: _missing_names(question, " ".join(sentences[row] for row in rows)) for passage, rows in members.items()}
    mean_cosine = float(cosines.mean())
    kind = expected_kind(question)
    table = np.empty((len(sentences), len(FEATURES)))
    for row, (sentence, passage) in enumerate(zip(sentences, passages, strict=True)):
        nearby = [near for near in (row - 1, row, row + 1) if 0 <= near < len(sentences) and passages[near] == passage]
        table[row] = (
            match[row],
            coverage([row]),
            coverage(nearby),
            passage_coverage[passage],
            cosines[row],
            nearby_cosines[row],
            passage_cosine[passage],
            cosines[row] - mean_cosine,
            _fitting(kind, sentence, question),
            missing[passage],
            not _SENTENCE_END.search(sentence),
        )
    return table


def _with_neighbours(vectors: Vectors, passages: Sequence[int]) -> Vectors:
    same = np.equal(passages[1:], passages[:-1]).astype(np.float32)[:, None]  # (n - 1, 1)
    mixed = vectors.copy()
    mixed[1:] += 0.5 * same * vectors[:-1]
    mixed[:-1] += 0.5 * same * vectors[1:]
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    return mixed


def _idf(asked: set[str], found: Sequence[Counter[str]]) -> dict[str, float]:
    return {
        term: math.log(1 + (len(found) - holding + 0.5) / (holding + 0.5))
        for term in sorted(asked)  # sums of floats depend on their order
        for holding in [sum(term in words for words in found)]
    }


def _bm25(found: Sequence[Counter[str]], idf: dict[str, float]) -> npt.NDArray[np.float64]:
    lengths = np.array([words.total() for words in found], dtype=np.float64)
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
    scores = np.zeros(len(found))
    for term, weight in idf.items():
        count = np.array([words[term] for words in found], dtype=np.float64)
        scores += weight * count * (K1 + 1) / (count + norm)
    return scores


_KINDS = {
    "number": r"how (?:many|much|long|old|far|tall|large|big|high|often)"
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
_SHAPES = {"number": _NUMBER, "date": _DATE, "name": _NAME}
_SENTENCE_END = re.compile(r"[.!?…。！？؟।:;][\"'”’»)\]\s]*$")
_NAME_OR_NUMBER = re.compile(r"(?<!^)\b(?:[^\W\d_a-zà-ÿ][\w'’-]+|\d[\d.,]*\d|\d)\b")


def expected_kind(question: str) -> str | None:
    """What an answer has to hold: "number", "date", "name", or None where the question does not say."""
    return next((kind for kind, pattern in _EXPECTED.items() if pattern.search(question)), None)


def _fitting(kind: str | None, sentence: str, question: str) -> int:
    if kind is None or (kind == "name" and sentence.lower() == sentence.upper()):
        return 0
    said = question.lower()
    return 1 if any(found.lower() not in said for found in _SHAPES[kind].findall(sentence)) else -1


def _missing_names(question: str, passage: str) -> float:
    names = [name.lower() for name in _NAME_OR_NUMBER.findall(question)]
    held = passage.lower()
    return sum(name not in held for name in names) / len(names) if names else 0.0
