"""Agents on models that call functions: calls in parallel, each with its result, in the conversation too."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.agent import End, FunctionCallingAgent, OpenAIAgent
from ragcore.llms.base import Generation
from ragcore.llms.http_errors import EmptyAnswerError
from ragcore.schema import ChatMessage, MessageRole
from ragcore.tools import tool
from tests.ragcore.agent.doubles import TOOLS, add, caller, choices, tools_of, wanting

TOOL = MessageRole.TOOL


def test_the_tools_go_along_with_every_call_as_openai_wants_them() -> None:
    llm = caller(wanting(("add", {"a": 1, "b": 2})), "3.")
    FunctionCallingAgent.from_tools(TOOLS, llm).chat("1 + 2?")
    assert [tools_of(logged.call) for logged in llm.calls] == [["add", "fail", "read_aloud"]] * 2
    assert llm.calls[0].call.tools[0] == add.metadata.to_openai_tool()


def test_silent_model_answers_with_the_words_of_its_tool() -> None:
    nothing = EmptyAnswerError("nothing")
    llm = caller(wanting(("add", {"a": 1, "b": 2})), nothing, nothing, nothing)
    reply = OpenAIAgent.from_tools(TOOLS, llm).chat("1 + 2?")
    assert (str(reply), reply.end) == ("3", End.ANSWERED)


def test_model_silent_after_tools_is_prompted_with_the_results() -> None:
    nothing = EmptyAnswerError("nothing")
    llm = caller(wanting(("add", {"a": 1, "b": 2}), ("fail", {})), nothing, nothing, "The sum is 3.")
    agent = OpenAIAgent.from_tools(TOOLS, llm)
    reply = agent.chat("What is 1 + 2?")
    assert (str(reply), reply.end) == ("The sum is 3.", End.ANSWERED)
    asked = llm.calls[-1].call
    assert asked.tools == ()
    shown = "\n".join(message.content for message in asked.messages())
    assert "\n3\n" in shown
    assert "Error" not in shown
    assert "What is 1 + 2?" in shown
    assert agent.chat_history[-1] == ChatMessage(MessageRole.ASSISTANT, "The sum is 3.")


def test_calls_and_results_are_remembered_as_messages() -> None:
    wants = wanting(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
    llm = caller(wants, "3 and 7.")
    agent = OpenAIAgent.from_tools(TOOLS, llm)
    agent.chat("Add")
    assert agent.chat_history == [
        ChatMessage(MessageRole.USER, "Add"),
        wants.message,
        ChatMessage(TOOL, "3", "add", {"tool_call_id": "call_0", "name": "add"}),
        ChatMessage(TOOL, "7", "add", {"tool_call_id": "call_1", "name": "add"}),
        ChatMessage(MessageRole.ASSISTANT, "3 and 7."),
    ]
    assert list(llm.calls[1].call.history) == agent.chat_history[:-1]


def test_calls_of_one_round_run_in_parallel_with_ordered_results() -> None:
    both = threading.Barrier(2, timeout=20)

    @tool
    def meet(seconds: float) -> float:
        """Meet."""
        both.wait()
        time.sleep(seconds)
        return seconds

    llm = caller(wanting(("meet", {"seconds": 0.1}), ("meet", {"seconds": 0.0})), "Met.")
    answer = OpenAIAgent.from_tools([meet], llm).chat("Meet")
    assert [source.raw_output for source in answer.sources] == [0.1, 0.0]
    assert answer.trace is not None
    assert [step.facts["result"] for step in answer.trace.spans("tool")] == ["0.1", "0.0"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{a: 1 b}", "Error: the arguments of add cannot be read as JSON"),
        ('{"a": 1', "Error: the arguments of add cannot be read as JSON"),
        ("[1, 2]", "Error: the arguments do not fit add. arguments: Input should be a valid dictionary"),
        ("", "Error: the arguments do not fit add. a: Field required"),
    ],
)
def test_unreadable_arguments_are_reported_without_running_it(written: str, told: str) -> None:
    llm = caller(wanting(("add", written)), "Sorry.")
    answer = OpenAIAgent.from_tools(TOOLS, llm).chat("Add")
    assert answer.sources[0].content.startswith(told)
    assert (answer.sources[0].is_error, str(answer)) == (True, "Sorry.")


@pytest.mark.parametrize(
    "written", ["{'a': 1, 'b': 2,}", '```json\n{"a": 1, "b": 2}\n```', '{"a": "1", "b": 2}']
)
def test_arguments_in_other_habits_are_read(written: str) -> None:
    answer = OpenAIAgent.from_tools(TOOLS, caller(wanting(("add", written)), "3.")).chat("Add")
    assert answer.sources[0].raw_output == 3


def test_a_tool_without_parameters_needs_no_arguments() -> None:
    @tool
    def now() -> str:
        """Now."""
        return "noon"

    answer = OpenAIAgent.from_tools(
        [now], caller(wanting(("now", ""), ("now", "null"), ("now", {})), "Noon.")
    ).chat("When?")
    assert [source.content for source in answer.sources] == ["noon"] * 3


def test_further_calls_are_refused_if_one_tool_runs_at_a_time() -> None:
    llm = caller(wanting(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), ("fail", {"why": "x"})), "3.")
    answer = OpenAIAgent.from_tools(TOOLS, llm, allow_parallel_tool_calls=False).chat("Add")
    assert [source.is_error for source in answer.sources] == [False, True, True]
    assert answer.sources[0].raw_output == 3
    assert {source.content[:40] for source in answer.sources[1:]} == {
        "Error: only one tool can be called at a t"[:40]
    }


def test_result_is_no_direct_answer_next_to_other_calls() -> None:
    llm = caller(wanting(("read_aloud", {"text": "hush"}), ("add", {"a": 1, "b": 2})), "Hushed, 3.")
    answer = OpenAIAgent.from_tools(TOOLS, llm).chat("Both")
    assert (str(answer), answer.end) == ("Hushed, 3.", End.ANSWERED)


def test_first_round_uses_the_tool_choice_and_later_are_free() -> None:
    wants = wanting(("add", {"a": 1, "b": 2}))
    llm = caller(wants, wants, "3.", wants, "3.")
    agent = OpenAIAgent.from_tools(TOOLS, llm, default_tool_choice="add")
    agent.chat("Add")
    asyncio.run(agent.achat("Add", tool_choice="required"))  # type: ignore[call-arg]  # as `chat`, which it runs
    assert choices(llm) == ["add", "auto", "auto", "required", "auto"]


def test_words_before_a_call_are_heard_and_are_not_the_answer() -> None:
    agent = OpenAIAgent.from_tools(
        TOOLS, caller(wanting(("add", {"a": 1, "b": 2}), text="Let me add."), "It is 3.")
    )
    stream = agent.stream_chat("1 + 2?")
    assert "".join(stream) == "Let me add.\n\nIt is 3."
    assert stream.response == "It is 3."
    assert [message.content for message in agent.chat_history] == ["1 + 2?", "Let me add.", "3", "It is 3."]


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["add", "fail", "nothing"]), st.sampled_from(["{}", "{a", '{"a":1,"b":2}'])
            ),
            max_size=3,
        ),
        max_size=5,
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_whatever_is_called_every_call_has_its_result(
    script: list[list[tuple[str, Any]]], rounds: int, parallel: bool
) -> None:
    replies: list[Generation] = [wanting(*calls, text="" if calls else "Done.") for calls in script]
    llm = caller(*replies, *["Done."] * 4)
    agent = OpenAIAgent.from_tools(TOOLS, llm, max_iterations=rounds, allow_parallel_tool_calls=parallel)
    answer = agent.chat("Go")
    assert str(answer)
    pending: list[str] = []
    for message in agent.chat_history:
        if message.role is TOOL:
            assert message.additional_kwargs["tool_call_id"] == pending.pop(0)
        else:
            assert pending == []
            pending = [call["id"] for call in message.additional_kwargs.get("tool_calls", [])]
    assert pending == []
    assert len(answer.sources) == sum(message.role is TOOL for message in agent.chat_history)
