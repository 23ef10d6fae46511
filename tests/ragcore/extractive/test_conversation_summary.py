from __future__ import annotations

import pytest

from ragcore.extractive.conversation_summary import summarize_turns
from ragcore.schema import ChatMessage, MessageRole

USER, ASSISTANT, SYSTEM = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.SYSTEM


def turn(question: str, answer: str) -> list[ChatMessage]:
    return [ChatMessage(USER, question), ChatMessage(ASSISTANT, answer)]


def over_and_over(talk: list[ChatMessage], times: int, note: str = "") -> str:
    """What is recall after each turn of what was recall before it and the turn."""
    earlier = note
    for _ in range(times):
        earlier = summarize_turns([ChatMessage(SYSTEM, earlier), *talk])
    return earlier


@pytest.mark.parametrize("answer", ["Ada.", "", "in\ntwo\u2028lines", "word " * 100, "“quoted” Asked: “so”"])
@pytest.mark.parametrize("question", ["Who?", "", "in\ntwo\u2028lines", "word " * 100])
def test_a_summary_after_200_turns_is_no_longer_than_after_20(question: str, answer: str) -> None:
    talk = turn(question, answer)
    assert over_and_over(talk, 200) == over_and_over(talk, 20)


def test_the_latest_turns_of_an_earlier_summary_stay() -> None:
    said = [f"Asked: “question {n}?” Answered: “Answer {n}.”" for n in range(10)]
    earlier = ""
    for n in range(0, 10, 2):
        talk = [*turn(f"question {n}?", f"Answer {n}."), *turn(f"question {n + 1}?", f"Answer {n + 1}.")]
        earlier = summarize_turns([ChatMessage(SYSTEM, earlier), *talk])
        assert earlier.splitlines() == said[max(0, n - 6) : n + 2]


def test_other_system_notes_stay_as_they_are() -> None:
    note = "Be brief.\n\nAda is asking."
    assert over_and_over(turn("Who?", "Ada."), 20, note) == "\n".join(
        [note, *["Asked: “Who?” Answered: “Ada.”"] * 8]
    )
