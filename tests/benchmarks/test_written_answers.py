"""The judges of `python -m benchmarks.written_answers`, on replies of a real model
(Qwen2.5-Coder-1.5B-Instruct)."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.written_answers.figures import table
from benchmarks.written_answers.judging import (
    echoes,
    has_all,
    is_refused,
    is_right,
    is_supported,
    statements,
    supports,
)
from benchmarks.written_answers.tasks import calculate, is_done

ABC = {
    "number": 1,
    "place": "0a914c104a94.txt",
    "text": "Headquartered in southern California are The Walt Disney Company (which also owns ABC), Sony "
    "Pictures, Universal, "
    "MGM, Paramount Pictures, 20th Century Fox, and Warner Brothers. The first studio opened in 1911.",
}
RULES = (
    "You answer questions about the user's own documents.\n- Use only the passages you are given. Add "
    "nothing that they do not "
    "say.\n\nThe answer so far:\n"
)


def row(answer: str, gold: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "question": "Which company owns ABC?",
        "answer": answer,
        "gold": ["The Walt Disney Company"] if gold is None else gold,
        "passages": [ABC],
        "state": "done",
        "marked": [],
        "absent": [],
        "instructions": [RULES],
        **more,
    }


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The Walt Disney Company owns ABC.", True),
        ("According to the passage, the Walt Disney Company also owns ABC.", True),
        ("The first studio opened in 1911.", True),
        ("The first studio opened in 1912.", False),  # another number
        ("Sony Pictures and Netflix are headquartered in California.", False),  # another name
        ("The Walt Disney Company does not own ABC.", False),  # the passage says "not" nowhere
        ("The Walt Disney Company produces motion pictures and television series.", False),  # half the words
    ],
)
def test_a_passage_supports_what_it_says(sentence: str, expected: bool) -> None:
    assert supports(ABC, sentence, ["The Walt Disney Company"]) is expected


def test_sentence_is_supported_only_by_its_own_source() -> None:
    cited, uncited = statements(row("The Walt Disney Company owns ABC. [1] The first studio opened in 1911."))
    assert (cited.cited, uncited.cited) == ((1,), ())
    assert is_supported(cited, row(""))
    assert not is_supported(uncited, row(""))


def test_a_sentence_that_only_points_at_a_source_states_nothing() -> None:
    said = statements(row("The Walt Disney Company owns ABC. This information is found in [1]."))
    assert [one.text for one in said] == ["The Walt Disney Company owns ABC."]


@pytest.mark.parametrize(
    ("answer", "marked", "expected"),
    [
        ("I could not find this in your documents.", [], True),
        ("The passages do not mention who owns NBC.", [], True),
        ("I could not find the answer in the documents. However, Comcast owns NBC.", [], False),
        ("Comcast owns NBC.", [], False),
        ("Comcast owns NBC.", [[0, 17]], True),
        ("Comcast owns NBC. It was founded in 1926.", [[0, 17]], False),
    ],
)
def test_refusal_is_an_answer_that_states_nothing_unmarked(
    answer: str, marked: list[list[int]], expected: bool
) -> None:
    assert is_refused(row(answer, [], absent=marked)) is expected


def test_right_is_an_accepted_answer_in_whole_words() -> None:
    assert is_right(row("It is walt disney company [1]."))
    assert not is_right(row("It is the Walt Disney Companyon [1]."))
    assert not is_right(row("The Walt Disney Company owns ABC.", absent=[[0, 33]]))
    assert has_all(
        row("The rent is 1,240 euros, due on the third working day."),
        [["1240", "1,240"], ["third working day"]],
    )
    assert not has_all(row("The rent is 1,240 euros."), [["1240", "1,240"], ["third working day"]])


def test_prompt_words_are_an_echo_and_passage_words_are_not() -> None:
    assert echoes(row("Use only the passages you are given. It is Disney."))
    assert echoes(row("The answer so far: it is Disney."))
    assert not echoes(
        row("Headquartered in southern California are The Walt Disney Company and Sony Pictures.")
    )


def test_task_is_done_once_its_tools_ran_and_no_call_shows() -> None:
    task = {
        "expected": [["442.8"]],
        "tools": ["gym_prices", "calculate"],
        "called": ["calculate", "gym_prices"],
    }
    assert is_done({**task, "answer": "It costs 442.80 euros."})
    assert not is_done({**task, "answer": "It costs 442.80 euros.", "called": ["calculate"]})
    assert not is_done(
        {**task, "answer": '{"name": "calculate", "arguments": {"expression": "36.9 * 12"}} gives 442.80'}
    )
    assert calculate("12 * (36.90 - 2) / -4") == pytest.approx(-104.7)
    with pytest.raises(ValueError, match="only numbers"):
        calculate("__import__('os')")


def test_the_table_has_numerators_and_denominators() -> None:
    rows = {"squad2": [row("The Walt Disney Company owns ABC. [1]"), row("Comcast owns NBC.", [])]}
    lines = table(rows).splitlines()
    assert any(
        "the shown source supports it" in line and "0.50 (1 of 2)" in line and line.endswith(".95")
        for line in lines
    )
    assert any("right, of the answerable" in line and "1.00 (1 of 1)" in line for line in lines)
    assert any("refused or marked, of the unanswerable" in line and "0.00 (0 of 1)" in line for line in lines)
