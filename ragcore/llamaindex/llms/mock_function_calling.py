"""A model for tests that calls tools and takes blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragcore.llms.base import LLM, LLMMetadata
from ragcore.schema import ChatMessage, ChatResponse, MessageRole
from ragcore.schema.content_blocks import Block, TextBlock, ToolCallBlock


class MockFunctionCallingLLM(LLM):
    """A model that answers with `response_generator(messages)`, or repeats the blocks of the last message as
    text.

    `blocks_to_content_callback` makes the text of the blocks. `tool_calls` has those that it was sent.

    >>> str(MockFunctionCallingLLM().chat([ChatMessage(content="Hello")]))
    'assistant: Hello'
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        blocks_to_content_callback: Callable[..., str] | None = None,
        response_generator: Callable[[Sequence[ChatMessage]], ChatMessage] | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.tool_calls: list[ToolCallBlock] = []
        self._content_of = blocks_to_content_callback or _content_of
        self._respond = response_generator

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            "mock", num_output=self.max_tokens or LLMMetadata().num_output, is_function_calling_model=True
        )

    def chat(
        self, messages: Sequence[ChatMessage], tools: Any = (), tool_choice: str = "auto"
    ) -> ChatResponse:
        if self._respond is not None:
            return ChatResponse(self._respond(messages))
        content = self._content_of(list(messages[-1].blocks), self.tool_calls)
        return ChatResponse(ChatMessage(MessageRole.ASSISTANT, content or "<empty>"))


def _content_of(blocks: Sequence[Block], tool_calls: list[ToolCallBlock]) -> str:
    tool_calls.extend(block for block in blocks if isinstance(block, ToolCallBlock))
    return "".join(_text_of(block) for block in blocks if not isinstance(block, ToolCallBlock))


def _text_of(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    data = getattr(block, "raw_data", None) or b""
    return f"<{block.block_type}>{data.decode(errors='replace')}</{block.block_type}>"
