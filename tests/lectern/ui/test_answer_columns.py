"""Answers side by side: what each column says of its own."""

from __future__ import annotations

from lectern.schema import AnswerFacts, Price
from lectern.ui.safetext import answer_md
from lectern.ui.widgets import answer_columns, differences
from lectern.ui.widgets.answer import mark_unsure_rows
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


def test_only_the_row_that_quotes_the_closest_passages_is_marked() -> None:
    text = "Response 1: It rains. [1]\n---------------------\nResponse 2: Closest passages:\n\nDogs. [2]"
    first, second = mark_unsure_rows(answer_md(text)).split("---")
    assert "Not sure" not in first
    assert "Response 2: :small[:gray[:material/contrast: Not sure]] Closest passages:" in second
