"""Answers side by side: what each column says of its own."""

from __future__ import annotations

from ragcore.conversations import AnswerFacts, Price
from ui.widgets import compare


def test_a_column_says_what_was_expected_as_the_line_under_an_answer_does() -> None:
    facts = AnswerFacts("compact", "compact", 6, 1.84, 6, 1340, 2000, 310, expected=Price(6, 2000, 400, 10.0))
    assert compare._cost(facts) == "6 calls · 2,310 tokens · 1.8 s (about 10 s expected)"
