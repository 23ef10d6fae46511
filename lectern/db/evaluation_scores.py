"""What was found and answered for one question of a set, scored by what the question expects.

A passage is right when it lies in a wanted document, on one of the wanted pages, and where characters are wanted, when half of
the shorter of the two is in both, so that another way of cutting documents can be measured with the same questions. A question
that names right answers and no document is served by a passage that holds one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcore.errors import Problem
from ragcore.evaluation.answer_match import holds
from ragcore.evaluation.metrics import MRR, NDCG, HitRate
from ragcore.evaluation.question_sets import Question, Wanted
from ragcore.text.keywords import content_words, words

FINDING = ("hit_rate", "mrr", "ndcg")
ANSWERING = ("answered", "recall", "faithfulness", "relevancy")
METRICS = (*FINDING, *ANSWERING)

_FOUND = (HitRate(), MRR(), NDCG())


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that was found. `pages` are the labels of all that it lies on; `right`: it is one of those wanted."""

    document: str
    start: int
    end: int
    text: str
    pages: tuple[str, ...] = ()
    score: float | None = None
    right: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """`scores` are 0 to 1, by METRICS; one that cannot be said is not among them. `seconds`: to find and to answer.

    `reasons` are what the judges said, by their metrics. `problem`: why there is no answer.
    """

    question: Question
    scores: Mapping[str, float]
    seconds: float
    found: tuple[Found, ...] = ()
    answer: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None


def finding_scores(question: Question, found: Sequence[Found]) -> tuple[dict[str, float], tuple[bool, ...]]:
    """The scores of FINDING, and which of the passages, best first, are right. No scores where the question expects nothing."""
    if not question.findable:
        return {}, tuple(False for _ in found)
    expected = [f"wanted {number}" for number in range(len(question.wanted) or 1)]
    free = list(expected)
    retrieved: list[str] = []
    for place, passage in enumerate(found):
        fitting = [expected[number] for number in _served(question, passage)]
        # One that serves several serves the first that nothing has served yet.
        serves = next((name for name in fitting if name in free), fitting[0] if fitting else f"other {place}")
        free = [name for name in free if name != serves]
        retrieved.append(serves)
    scores = {metric.metric_name: metric.compute(expected_ids=expected, retrieved_ids=retrieved).score for metric in _FOUND}
    return scores, tuple(name.startswith("wanted") for name in retrieved)


def answer_recall(answers: Sequence[str], answer: str) -> float | None:
    """The share of a right answer's words, stop words aside, that the answer has; the best of several. None for none."""
    shares = []
    for right in answers:
        wanted = Counter(content_words(right) or words(right))
        if wanted:
            shares.append((wanted & Counter(words(answer))).total() / wanted.total())
    return max(shares, default=None)


def _served(question: Question, passage: Found) -> list[int]:
    """Which of the wanted it is, by number; 0 for one that holds the answer to a question without documents."""
    if not question.wanted:
        return [0] if holds(passage.text, question.answers) else []
    return [number for number, wanted in enumerate(question.wanted) if _is(wanted, passage)]


def _is(wanted: Wanted, passage: Found) -> bool:
    if wanted.document.casefold() != passage.document.casefold():
        return False
    if wanted.start is not None and wanted.end is not None:
        common = min(wanted.end, passage.end) - max(wanted.start, passage.start)
        return 2 * common >= max(1, min(wanted.end - wanted.start, passage.end - passage.start))
    return not wanted.pages or bool(set(wanted.pages) & set(passage.pages))
