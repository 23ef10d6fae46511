"""Tools, and models that want to call them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ragcore.llms.base import Generation, LLMCall, Usage
from ragcore.llms.scripted import Rule, ScriptedLLM
from ragcore.tools import FunctionTool, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(why: str) -> str:
    """Always fails."""
    raise RuntimeError(why)


@tool(return_direct=True)
def read_aloud(text: str) -> str:
    """Read a text aloud."""
    return text.upper()


TOOLS: list[FunctionTool] = [add, fail, read_aloud]


def wanting(*calls: tuple[str, Any], text: str = "") -> Generation:
    """A reply that calls functions; arguments that are no text are written as JSON."""
    written = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls]
    return Generation(
        text,
        Usage(0, 0),
        tuple(
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(written)
        ),
    )


def caller(*replies: str | Generation | Exception, window: int = 8192) -> ScriptedLLM:
    """A model that calls functions."""
    return ScriptedLLM(replies, is_function_calling_model=True, context_window=window)


def calling(rule: Rule) -> ScriptedLLM:
    return ScriptedLLM(rule, is_function_calling_model=True)


def act(name: str, arguments: Any, thought: str = "I need a tool.") -> str:
    """A reply in the ReAct form."""
    return f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def said(text: str) -> str:
    return f"Thought: I can answer now.\nAnswer: {text}"


def contents(llm: ScriptedLLM, number: int = -1) -> Sequence[tuple[str, str]]:
    """(role, content) of the messages of a call, the system's left out."""
    return [(message.role.value, message.content) for message in llm.calls[number].messages[1:]]


def choices(llm: ScriptedLLM) -> list[str]:
    return [logged.call.tool_choice for logged in llm.calls]


def tools_of(call: LLMCall) -> list[str]:
    return [offered["function"]["name"] for offered in call.tools]
