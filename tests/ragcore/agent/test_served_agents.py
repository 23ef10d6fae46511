"""Agents over real clients and a real server on loopback: what they send is what such servers take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from ragcore.agent import OpenAIAgent, ReActAgent
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.server_llm import ServedLLM
from tests.ragcore.agent.doubles import TOOLS, act, said
from tests.scripted_server import ScriptedServer

CALL = {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
OTHER = {"id": "call_1", "type": "function", "function": {"name": "fail", "arguments": '{"why": "no paper"}'}}
CLIENTS: dict[str, Callable[[str], ServedLLM]] = {
    "openai": lambda url: OpenAICompatibleLLM("tiny", url, is_function_calling_model=True),
    "ollama": lambda url: Ollama("tiny", url, is_function_calling_model=True),
}


@pytest.fixture(params=list(CLIENTS))
def opened(request: pytest.FixtureRequest) -> Callable[[str], ServedLLM]:
    return CLIENTS[request.param]


def person_spoke_last(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the person spoke last."""
    return messages[-1]["role"] == "user"


def test_functions_are_called_and_answered_over_the_wire(opened: Callable[[str], ServedLLM]) -> None:
    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        return (
            ""
            if person_spoke_last(messages)
            else f"They said {[m['content'] for m in messages if m['role'] == 'tool']}."
        )

    with (
        ScriptedServer(
            reply, tool_calls=lambda messages: [CALL, OTHER] if person_spoke_last(messages) else []
        ) as server,
        closing(opened(server.url)) as llm,
    ):
        agent = OpenAIAgent.from_tools(TOOLS, llm)
        assert str(agent.chat("Go")) == "They said ['3', 'Error: no paper']."
        stream = agent.stream_chat("Again")
        assert "".join(stream) == "They said ['3', 'Error: no paper', '3', 'Error: no paper']."
    assert [message["role"] for message in server.chats[1].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]


def test_a_model_that_only_writes_acts_in_words_over_the_wire(opened: Callable[[str], ServedLLM]) -> None:
    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        last = messages[-1]["content"]
        return (
            said(f"It is {last[13:]}.") if last.startswith("Observation: ") else act("add", {"a": 1, "b": 2})
        )

    with ScriptedServer(reply) as server, closing(opened(server.url)) as llm:
        stream = ReActAgent.from_tools(TOOLS, llm).stream_chat("1 + 2?")
        assert [piece for piece in stream if piece] == ["It", " is", " 3."]
