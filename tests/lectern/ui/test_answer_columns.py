"""Answers side by side: what each column says of its own."""

from __future__ import annotations

from lectern.schema import AnswerFacts, AnswerPart, Price
from lectern.ui.safetext import answer_md
from lectern.ui.widgets import answer_columns, differences
from lectern.ui.widgets.answer import unsure_badges
from lectern.ui.widgets.answer_rows import parts_with_tables
from ragcore.response_synthesizers.modes import ROW_SEPARATOR as SEPARATOR
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


def test_only_the_part_that_quotes_the_closest_passages_is_marked() -> None:
    heading = "Closest passages:\n\n"
    first, second = f"{heading}It rains. [1]", "Dogs. [2]"  # the outcome counts, and not the words
    text = f"Response 1: {first}{SEPARATOR}Response 2: {second}"
    start = text.index(second)
    parts = (AnswerPart(12, 12 + len(first)), AnswerPart(start, len(text), "closest"))
    before, after = answer_md(text, badges=unsure_badges(parts)).split("---")
    assert "Not sure" not in before
    assert after.strip() == r"Response 2: :small[:gray[:material/contrast: Not sure]] Dogs. \[2\]"


def test_parts_are_found_again_below_their_tables() -> None:
    rows = "Day: Monday; From: 10:00 [1]\nDay: Tuesday; From: 11:00 [1]\nDay: Friday; From: 9:00 [1]"
    text = f"Response 1: {rows}{SEPARATOR}Response 2: It rains. [2]"
    end = 12 + len(rows)
    start = text.index("It rains")
    written, (first, second) = parts_with_tables(
        text, (AnswerPart(12, end), AnswerPart(start, len(text), "closest")), "When?"
    )
    assert written.startswith("Response 1: Day: Monday; From: 10:00 [1]\n\n| Day | From |")
    assert written[first.start :].startswith("Day: Monday")
    assert written[second.start :] == "It rains. [2]"
    assert second.outcome == "closest"
