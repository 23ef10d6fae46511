"""Scores the passages and the answer for one question of a set.

A passage is right if it is in an expected document, on one of the expected pages, and overlaps an expected
range of characters by half of the shorter of the two, so that splitters can be compared with the same
questions. For a question that names right answers and no document, a passage with one of the answers is
right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lectern.schema import Amount, AnswerPart
from ragcore.errors import Problem
from ragcore.evaluation.answer_match import contains_answer
from ragcore.evaluation.metrics import MRR, NDCG, HitRate
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.schema import Outcome
from ragcore.text.keywords import content_words, words

RETRIEVAL_METRICS = ("hit_rate", "mrr", "ndcg")
ANSWER_METRICS = ("answered", "recall", "faithfulness", "relevancy")
METRICS = (*RETRIEVAL_METRICS, *ANSWER_METRICS)

_METRICS = (HitRate(), MRR(), NDCG())


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A retrieved passage, with the labels of all its pages. `right`: it is one of the expected passages."""

    document: str
    start: int
    end: int
    text: str
    pages: tuple[str, ...] = ()
    score: Amount | None = None
    right: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """`scores` by METRICS, 0 to 1; a metric that does not apply is missing. `seconds` for retrieval and
    answer.

    `reasons` of the judges, by their metrics. `problem`: why there is no answer. `parts` of the answer.
    """

    question: Question
    scores: Mapping[str, float]
    seconds: float
    passages: tuple[RetrievedPassage, ...] = ()
    answer: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    outcome: Outcome = "answer"
    parts: tuple[AnswerPart, ...] = ()


def retrieval_scores(
    question: Question, passages: Sequence[RetrievedPassage]
) -> tuple[dict[str, float], tuple[bool, ...]]:
    """The scores of RETRIEVAL_METRICS, and whether each passage, best first, is right. No scores if nothing
    is expected."""
    if not question.is_scorable:
        return {}, tuple(False for _ in passages)
    expected = list(range(len(question.expected) or 1))
    free = list(expected)
    retrieved: list[int] = []
    for place, passage in enumerate(passages):
        matches = _match(question, passage)
        # A passage that matches several counts for the first one without a passage. Wrong ones have negative
        # numbers.
        match = next((number for number in matches if number in free), matches[0] if matches else -1 - place)
        free = [number for number in free if number != match]
        retrieved.append(match)
    ids = {"expected_ids": list(map(str, expected)), "retrieved_ids": list(map(str, retrieved))}
    return {metric.metric_name: metric.compute(**ids).score for metric in _METRICS}, tuple(
        each >= 0 for each in retrieved
    )


def answer_recall(answers: Sequence[str], answer: str) -> float | None:
    """The share of a right answer's words, without stop words, that the answer has; the best of several. None
    for none."""
    shares = []
    for right in answers:
        expected = Counter(content_words(right) or words(right))
        if expected:
            shares.append((expected & Counter(words(answer))).total() / expected.total())
    return max(shares, default=None)


def _match(question: Question, passage: RetrievedPassage) -> list[int]:
    """The numbers of the expected passages that it matches; 0 for a passage with the answer to a question
    without documents."""
    if not question.expected:
        return [0] if contains_answer(passage.text, question.answers) else []
    return [number for number, expected in enumerate(question.expected) if _is_expected(expected, passage)]


def _is_expected(expected: ExpectedSource, passage: RetrievedPassage) -> bool:
    if expected.document.casefold() != passage.document.casefold():
        return False
    if expected.start is not None and expected.end is not None:
        common = min(expected.end, passage.end) - max(expected.start, passage.start)
        return 2 * common >= max(1, min(expected.end - expected.start, passage.end - passage.start))
    return not expected.pages or bool(set(expected.pages) & set(passage.pages))
