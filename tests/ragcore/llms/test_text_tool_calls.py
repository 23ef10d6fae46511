"""Calls of tools that models write as text are calls, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.llms.base import LLMCall
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.text_tool_calls import ToolCallFilter, calls_in
from ragcore.prompts.wording import MESSAGES
from ragcore.schema import ChatMessage, MessageRole
from tests.scripted_server import ScriptedServer


def tool(name: str, *parameters: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {parameter: {"type": "string"} for parameter in parameters}}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = (tool("search", "query", "k"), tool("add", "a", "b"))
WIND = '{"name": "search", "arguments": {"query": "wind"}}'
ADD = '{"name": "add", "arguments": {"a": 1, "b": 2}}'


def ids() -> Iterator[str]:
    return (f"call_{number}" for number in count())


def read(reply: str) -> list[tuple[str, Any]]:
    return [
        (call.function.name, json.loads(call.function.arguments)) for call in calls_in(reply, TOOLS, ids())
    ]


@pytest.mark.parametrize(
    "reply",
    [
        WIND,
        f"```json\n{WIND}\n```",
        f"```\n{WIND}\n```\n",
        f"<tool_call>\n{WIND}\n</tool_call>",
        f"<tool_call>{WIND}",
        f'<tools>\n{{"type": "function", "function": {WIND}}}\n</tools>',  # Qwen2.5-Coder 1.5B
        '{{"name": "search", "arguments": {"query": "wind"}}}',
        '{{"name": "search", "arguments": {{"query": "wind"}}}}',
        '{{"name": "search", "arguments": {"query": "wind"}}',
        '{{"name": "search", "arguments": {"query": "wind"}}}}',
        '{"name": "search", "parameters": {"query": "wind"}}',
        '{"name": "search", "arguments": "{\\"query\\": \\"wind\\"}"}',
        '{"type": "function", "function": {"name": "search", "arguments": {"query": "wind"}}}',
        '{"tool_name": "search", "args": {"query": "wind"}}',
        f"[{WIND}]",
        "{'name': 'search', 'arguments': {'query': 'wind'}}",
        'search(query="wind")',
        "search('wind')",
        '```python\nsearch(query="wind")\n```',
    ],
)
def test_a_call_is_a_call_in_whatever_dress(reply: str) -> None:
    assert read(reply) == [("search", {"query": "wind"})]


@pytest.mark.parametrize(
    "reply",
    [
        f"[{WIND}, {ADD}]",
        f"{WIND}\n{ADD}",
        f"<tool_call>\n{WIND}\n</tool_call>\n<tool_call>\n{ADD}\n</tool_call>",
    ],
)
def test_several_calls_are_read_in_order(reply: str) -> None:
    assert read(reply) == [("search", {"query": "wind"}), ("add", {"a": 1, "b": 2})]
    assert [call.id for call in calls_in(reply, TOOLS, ids())] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The limit is 40.",
        f"I would call {WIND}.",
        WIND.replace("search", "unknown"),
        f"[{WIND}, 3]",
        '{"limit": 40}',
        "[1]",
        "search(query=open('x'))",
        "search('a', 'b', 'c')",
        "search({[1]: 2})",
        "search({'wind'}, b'k')",
        "print('x')",
        WIND[:-3],
    ],
)
def test_anything_else_is_an_answer(reply: str) -> None:
    assert read(reply) == []
    calls_filter = ToolCallFilter(TOOLS)
    assert calls_filter.feed(reply) + calls_filter.end(ids())[0] == reply


@given(
    st.sampled_from([WIND, f"```json\n{WIND}\n```", "{}", "A {b} c", "[1] says so."]),
    st.lists(st.integers(1, 6), max_size=30),
)
def test_a_reply_is_read_the_same_however_a_stream_cuts_it(reply: str, sizes: list[int]) -> None:
    calls_filter, text, rest = ToolCallFilter(TOOLS), "", reply
    for size in [*sizes, len(reply)]:
        text += calls_filter.feed(rest[:size])
        rest = rest[size:]
    last, calls = calls_filter.end(ids())
    assert [call.function.name for call in calls] == [name for name, _ in read(reply)]
    assert text + last == ("" if calls else reply)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_server_that_gives_calls_as_text_gives_calls(streamed: bool) -> None:
    call = LLMCall(MESSAGES, {}, (ChatMessage(MessageRole.USER, "Wind?"),), TOOLS)
    said = f"```json\n{WIND}\n```"
    with (
        ScriptedServer(lambda messages: said) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        *pieces, generation = drained(llm, call) if streamed else ["", llm.generate(call)]
    assert "".join(pieces) == generation.text == ""
    assert [made["function"]["name"] for made in generation.tool_calls] == ["search"]


def drained(llm: OpenAICompatibleLLM, call: LLMCall) -> Iterator[Any]:
    """The pieces of a stream, and its generation last."""
    yield (yield from llm.stream(call))
