"""The parts of a message: text, calls of tools, and those of `ragcore.llamaindex.content_blocks`, such as
images.

>>> from ragcore.schema import ChatMessage
>>> ChatMessage(role="user", blocks=[TextBlock(text="What is"), TextBlock(text="this?")]).content
'What is\\nthis?'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar


class Block:
    """A part of a message. A subclass is a frozen dataclass; servers receive what it returns for their
    format."""

    __slots__ = ()
    block_type: ClassVar[str]

    def as_openai(self) -> dict[str, Any] | None:
        """The part in OpenAI's format; None if it is not sent."""
        return None

    def as_ollama_image(self) -> str | None:
        """The image in base64, as Ollama reads it; None for other parts."""
        return None


@dataclass(frozen=True, slots=True)
class TextBlock(Block):
    """A stretch of text.

    >>> TextBlock(text="Hello").text
    'Hello'
    """

    text: str = ""
    block_type: ClassVar[str] = "text"

    def as_openai(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ToolCallBlock(Block):
    """A model's call of a tool. The arguments are an object, or JSON as the model wrote it.

    >>> ToolCallBlock(tool_name="add", tool_kwargs={"a": 1}).block_type
    'tool_call'
    """

    tool_name: str
    tool_kwargs: dict[str, Any] | str = field(default_factory=dict)
    tool_call_id: str | None = None
    block_type: ClassVar[str] = "tool_call"


def text_of(blocks: Iterable[Block]) -> str:
    """The texts, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def in_openai_format(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """The parts of a message in OpenAI's format."""
    parts = []
    for block in blocks:
        part = block.as_openai()
        if part is not None:
            parts.append(part)
    return parts
