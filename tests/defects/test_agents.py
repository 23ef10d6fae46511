"""What goes wrong with agents elsewhere, and does not here."""

from __future__ import annotations

import pytest

from ragcore.agent import End, OpenAIAgent, ReActAgent
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import MessageRole
from ragcore.tools import tool
from tests.ragcore.agent.doubles import act, add, caller, said, wanting


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 7])
def test_d30_rounds_end_at_their_number_odd_or_even(rounds: int) -> None:
    llm = ScriptedLLM(lambda call: act("add", {"a": 1, "b": 2}))
    answer = ReActAgent.from_tools([add], llm, max_iterations=rounds).chat("Add for ever")
    assert (len(llm.calls), len(answer.sources)) == (rounds + 1, rounds)
    assert (str(answer), answer.end) == ("3", End.LIMIT)


def test_d30_an_answer_in_the_last_round_is_used() -> None:
    llm = ScriptedLLM([act("add", {"a": 1, "b": 2}), said("It is 3.")])
    answer = ReActAgent.from_tools([add], llm, max_iterations=2).chat("1 + 2?")
    assert (str(answer), answer.end) == ("It is 3.", End.ANSWERED)


def test_d30_tool_does_not_run_with_unreadable_arguments() -> None:
    runs: list[str] = []

    @tool
    def delete(what: str = "everything") -> str:
        """Delete."""
        runs.append(what)
        return "deleted"

    unreadable = "Thought: now\nAction: delete\nAction Input: {what: the old one}"
    agent = ReActAgent.from_tools([delete], ScriptedLLM([unreadable, said("I did nothing.")]))
    assert (str(agent.chat("Delete the old one")), runs) == ("I did nothing.", [])
    calls = caller(wanting(("delete", "{what: the old one}")), "I did nothing.")
    assert (str(OpenAIAgent.from_tools([delete], calls).chat("Delete the old one")), runs) == (
        "I did nothing.",
        [],
    )


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_d31_no_call_stays_unanswered_after_the_last_round(rounds: int) -> None:
    wants = wanting(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
    agent = OpenAIAgent.from_tools([add], caller(*[wants] * (rounds + 1), "Hi."), max_iterations=rounds)
    assert agent.chat("Add for ever").end is End.LIMIT
    messages = agent.chat_history
    asked = [call["id"] for message in messages for call in message.additional_kwargs.get("tool_calls", ())]
    answered = [
        message.additional_kwargs["tool_call_id"] for message in messages if message.role is MessageRole.TOOL
    ]
    assert asked == answered == ["call_0", "call_1"] * rounds
    assert str(agent.chat("Hello")) == "Hi."
