"""Models of one's own that give `chat`, and what their messages may hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from ragcore.llamaindex.agent.workflow.multi_agent_workflow import FunctionAgent
from ragcore.llamaindex.llms import MockFunctionCallingLLM, ThinkingBlock
from ragcore.llms import LLM, LLMMetadata, TextBlock, ToolCallBlock
from ragcore.prompts.templates import PromptTemplate
from ragcore.schema import ChatMessage, ChatResponse
from ragcore.schema.content_blocks import in_openai_format


class Echo(LLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def chat(
        self, messages: Sequence[ChatMessage], tools: Any = (), tool_choice: str = "auto"
    ) -> ChatResponse:
        return ChatResponse(ChatMessage("assistant", messages[-1].content.upper()))


class Mute(LLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("mute")


def test_a_model_that_gives_chat_answers_prompts_and_streams() -> None:
    assert Echo().predict(PromptTemplate("About {topic}"), topic="boats") == "ABOUT BOATS"
    assert (
        "".join(response.delta or "" for response in Echo().stream_chat([ChatMessage("user", "hello")]))
        == "HELLO"
    )
    with pytest.raises(NotImplementedError, match="Mute needs _generate or chat"):
        Mute().complete("Hello")


def test_an_agent_runs_the_tools_that_such_a_model_calls() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    call = ToolCallBlock(tool_name="add", tool_kwargs={"a": 5, "b": 3}, tool_call_id="1")
    answers = iter([ChatMessage("assistant", [call]), ChatMessage("assistant", "It is 8.")])
    seen: list[list[ChatMessage]] = []

    def respond(messages: Sequence[ChatMessage]) -> ChatMessage:
        seen.append(list(messages))
        return next(answers)

    async def run() -> str:
        return str(
            await FunctionAgent(tools=[add], llm=MockFunctionCallingLLM(response_generator=respond)).run(
                "5 + 3?"
            )
        )

    assert asyncio.run(run()) == "It is 8."
    assert seen[1][-1].content == "8"


def test_tool_calls_and_thoughts_are_not_sent_as_parts() -> None:
    blocks = [TextBlock("Hello"), ThinkingBlock("Hm."), ToolCallBlock(tool_name="add")]
    assert in_openai_format(blocks) == [{"type": "text", "text": "Hello"}]
