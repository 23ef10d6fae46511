"""Answers side by side: what each column says of its own."""

from __future__ import annotations

from lectern.schema import AnswerFacts, Price
from lectern.ui.widgets import answer_columns, differences
from ragcore.text.word_diff import word_differences


def test_column_states_the_expected_cost_like_an_answer() -> None:
    facts = AnswerFacts("compact", "compact", 6, 1.84, 6, 1340, 2000, 310, expected=Price(6, 2000, 400, 10.0))
    assert (
        answer_columns._cost(facts)
        == "6 calls · 2,310 tokens · 1.8\N{NO-BREAK SPACE}s (about 10\N{NO-BREAK SPACE}s expected)"
    )


def test_answers_that_differ_only_in_paragraphs_are_equal() -> None:
    assert differences.have_same_words(word_differences("One. Two.", "One.\n\nTwo."))
    assert not differences.have_same_words(word_differences("One. Two.", "One.\n\nThree."))
