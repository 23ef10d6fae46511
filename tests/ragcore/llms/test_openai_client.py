"""Held against OpenAI's own client: it takes what we send for its own, and reads from the scripted server
what we read.

It is installed with `pip install "transformers[serving]"`; without it these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.openai import OpenAIEmbedding
from ragcore.llms.base import LLMCall
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.tool_call import ToolCall
from ragcore.prompts.wording import MESSAGES
from ragcore.schema import ChatMessage, MessageRole
from tests.scripted_server import Fault, ScriptedServer

openai = pytest.importorskip("openai")

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
}
CALLS = (ToolCall.of("c1", "add", '{"a": 1, "b": "zwölf"}'), ToolCall.of("c2", "add", '{"a"'))
HISTORY = (
    ChatMessage(MessageRole.SYSTEM, "Be brief."),
    ChatMessage(MessageRole.USER, "Add.", name="ada"),
    ChatMessage(MessageRole.ASSISTANT, "", additional_kwargs={"tool_calls": list(CALLS)}),
    ChatMessage(MessageRole.TOOL, "3", name="add", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(MessageRole.TOOL, "Error", name="add", additional_kwargs={"tool_call_id": "c2"}),
    ChatMessage(MessageRole.CHATBOT, "It is 3."),
    ChatMessage(MessageRole.FUNCTION, "3", name="add"),
)
CALL = LLMCall(MESSAGES, {}, HISTORY, (TOOL,), "add")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda messages: "Let me add.", tool_calls=CALLS) as running:
        yield running


@pytest.fixture
def official(server: ScriptedServer) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="sk", max_retries=0) as client:
        yield client


def test_what_we_send_is_what_its_types_say(server: ScriptedServer) -> None:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionToolChoiceOptionParam,
        ChatCompletionToolParam,
    )
    from pydantic import TypeAdapter

    with closing(OpenAICompatibleLLM("tiny", server.url)) as llm:
        llm.generate(CALL)
    body = server.chats[0].body
    messages = TypeAdapter(list[ChatCompletionMessageParam]).validate_python(body["messages"])
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "function",
    ]
    assert list(messages[2]["tool_calls"]) == list(CALLS)  # checked as it is read
    assert TypeAdapter(list[ChatCompletionToolParam]).validate_python(body["tools"]) == [TOOL]
    TypeAdapter(ChatCompletionToolChoiceOptionParam).validate_python(body["tool_choice"])


@pytest.mark.smoke
def test_both_read_the_same_answer_and_calls(server: ScriptedServer, official: Any) -> None:
    answer = official.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "Add."}], tools=[TOOL]
    )
    theirs = answer.choices[0].message
    with closing(OpenAICompatibleLLM("tiny", server.url)) as llm:
        ours = llm.chat([ChatMessage(MessageRole.USER, "Add.")], tools=[TOOL])
    assert ours.message.content == theirs.content
    for mine, other in zip(ours.message.additional_kwargs["tool_calls"], theirs.tool_calls, strict=True):
        assert (mine.id, mine.function.name, mine.function.arguments) == (
            other.id,
            other.function.name,
            other.function.arguments,
        )
    assert (ours.raw.usage.prompt_tokens, ours.raw.usage.completion_tokens) == (
        answer.usage.prompt_tokens,
        answer.usage.completion_tokens,
    )


def test_both_read_the_same_calls_from_a_stream(server: ScriptedServer, official: Any) -> None:
    with official.chat.completions.stream(
        model="tiny", messages=[{"role": "user", "content": "Add."}], tools=[TOOL]
    ) as events:
        events.until_done()
        theirs = events.get_final_completion().choices[0].message
    with closing(OpenAICompatibleLLM("tiny", server.url)) as llm:
        *_, last = llm.stream_chat([ChatMessage(MessageRole.USER, "Add.")], tools=[TOOL])
    assert last.message.content == theirs.content
    arguments = [made.function.arguments for made in last.message.additional_kwargs["tool_calls"]]
    assert (
        arguments
        == [other.function.arguments for other in theirs.tool_calls]
        == [made.function.arguments for made in CALLS]
    )


def test_both_get_the_same_vectors(server: ScriptedServer, official: Any) -> None:
    server.always = Fault(shuffled=True)
    texts = ["the heron stands", "rates rise"]
    answer = official.embeddings.create(model="tiny", input=texts, dimensions=8, encoding_format="float")
    theirs = np.array([item.embedding for item in sorted(answer.data, key=lambda item: item.index)])
    with closing(OpenAIEmbedding("tiny", api_base=server.url, dimensions=8)) as embedder:
        ours = embedder.embed_passages(texts)
    assert ours == pytest.approx(theirs / np.linalg.norm(theirs, axis=1, keepdims=True), abs=1e-6)
    first, second = (json.dumps(request.body, sort_keys=True) for request in server.requests)
    assert first == second
