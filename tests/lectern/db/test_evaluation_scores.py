"""What counts as found, and how sure a figure is: against values worked out by hand or in a simpler way."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.db.evaluation_scores import RetrievedPassage, answer_recall, retrieval_scores
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.evaluation.significance import EXACT_UP_TO, difference, mean


def make_hit(
    document: str, start: int = 0, end: int = 10, text: str = "", pages: tuple[str, ...] = ()
) -> RetrievedPassage:
    return RetrievedPassage(document, start, end, text, pages)


def scores(question: Question, *passages: RetrievedPassage) -> dict[str, float]:
    return retrieval_scores(question, passages)[0]


def test_the_place_of_the_first_right_passage_makes_the_scores() -> None:
    question = Question("Who?", expected=(ExpectedSource("a.pdf"),))
    got, right = retrieval_scores(question, [make_hit("b.pdf"), make_hit("A.PDF"), make_hit("a.pdf")])
    assert got == pytest.approx({"hit_rate": 1.0, "mrr": 1 / 2, "ndcg": 1 / math.log2(3)})
    assert right == (False, True, True)


def test_no_relevant_and_no_retrieved_passage_score_nothing() -> None:
    question = Question("Who?", expected=(ExpectedSource("a.pdf"),))
    for passages in ((make_hit("b.pdf"),), ()):
        assert scores(question, *passages) == {"hit_rate": 0.0, "mrr": 0.0, "ndcg": 0.0}


def test_each_of_several_relevant_documents_counts_once() -> None:
    question = Question("Who?", expected=(ExpectedSource("a.pdf"), ExpectedSource("b.pdf")))
    got = scores(question, make_hit("a.pdf"), make_hit("a.pdf"), make_hit("b.pdf"))
    assert got["ndcg"] == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))


def test_a_passage_must_lie_on_a_relevant_page() -> None:
    question = Question("Who?", expected=(ExpectedSource("a.pdf", ("4", "5")),))
    assert scores(question, make_hit("a.pdf", pages=("3",)))["hit_rate"] == 0
    assert scores(question, make_hit("a.pdf", pages=("3", "4")))["hit_rate"] == 1


@pytest.mark.parametrize(
    ("start", "end", "hit"),
    [
        (100, 200, 1),
        (150, 250, 1),
        (151, 251, 0),
        (140, 160, 1),
        (0, 1000, 1),
        (190, 210, 1),
        (191, 211, 0),
        (200, 300, 0),
    ],
)
def test_hit_needs_half_of_the_shorter_of_passage_and_place(start: int, end: int, hit: int) -> None:
    question = Question("Who?", expected=(ExpectedSource("a.txt", start=100, end=200),))
    assert scores(question, make_hit("a.txt", start, end))["hit_rate"] == hit


def test_passage_with_the_answer_is_right_without_a_document() -> None:
    question = Question("Who?", answers=("Ada  Penrose", "A. P."))
    assert scores(question, make_hit("x", text="Built by ada\npenrose."))["mrr"] == 1
    assert scores(question, make_hit("x", text="Built by somebody."))["mrr"] == 0
    assert scores(question, make_hit("x", text="Built by Ada Penrosen."))["mrr"] == 0


def test_a_question_that_expects_nothing_has_no_scores() -> None:
    assert retrieval_scores(Question("Who?"), [make_hit("x")]) == ({}, (False,))


@pytest.mark.parametrize(
    ("answers", "answer", "share"),
    [
        (("Ada Penrose",), "It was built by ADA.", 0.5),
        (("Ada Penrose", "Ada"), "Ada did it.", 1.0),
        (("1871",), "In 1871 [2].", 1.0),
        (("the",), "the", 1.0),
        ((), "anything", None),
        (("???",), "anything", None),
    ],
)
def test_right_words_are_the_share_of_the_answers_words(
    answers: tuple[str, ...], answer: str, share: float | None
) -> None:
    assert answer_recall(answers, answer) == share


def test_a_mean_lies_in_its_interval_which_is_that_of_resampling() -> None:
    values = [0.0, 1.0, 0.5, 1.0, 0.0, 1.0, 0.25, 0.75] * 5
    got = mean(values)
    assert got is not None
    assert (got.value, got.number) == (pytest.approx(np.mean(values)), 40)
    # the interval of many means is nearly that of a normal distribution
    error = np.std(values) / math.sqrt(len(values))
    assert got.low == pytest.approx(got.value - 1.96 * error, abs=0.02)
    assert got.high == pytest.approx(got.value + 1.96 * error, abs=0.02)
    assert mean([]) is None
    assert mean(values) == got


def test_the_chance_of_a_difference_is_that_of_all_sign_patterns() -> None:
    first, second = [0.1, 0.5, 0.4, 0.9, 0.2], [0.3, 0.4, 0.9, 0.9, 0.8]
    change = [b - a for a, b in zip(first, second, strict=True)]
    patterns = [
        sum(sign * one for sign, one in zip(signs, change, strict=True))
        for signs in product((1, -1), repeat=5)
    ]
    expected = sum(abs(total) >= abs(sum(change)) - 1e-12 for total in patterns) / 32
    got = difference(first, second)
    assert got is not None
    assert got.p == pytest.approx(expected)
    assert (got.value, got.higher, got.lower) == (pytest.approx(sum(change) / 5), 3, 1)


def test_chance_of_many_questions_is_near_that_of_all_patterns() -> None:
    change = [1.0] * 12 + [-1.0] * 4
    got = difference([0.0] * 16, change)
    assert len(change) > EXACT_UP_TO
    assert got is not None
    at_least = sum(math.comb(16, k) for k in range(17) if abs(2 * k - 16) >= 8) / 2**16  # signs are coins
    assert got.p == pytest.approx(at_least, abs=0.01)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_setting_does_not_differ_from_itself(values: list[float]) -> None:
    got = difference(values, values)
    assert got is not None
    assert (got.value, got.low, got.high, got.p, got.higher, got.lower) == (0, 0, 0, 1, 0, 0)


def test_scores_of_different_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="2 scores"):
        difference([1, 1], [1])
    assert difference([], []) is None
