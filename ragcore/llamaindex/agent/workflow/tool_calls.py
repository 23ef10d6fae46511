"""The calls of tools in agents that are workflows, and the messages of a run (extra: workflow)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragcore.llamaindex.workflow import Context
from ragcore.prompts.templates import PromptTemplate
from ragcore.schema import ChatMessage
from ragcore.storage.chat_store import message_from_dict, message_to_dict
from ragcore.tools import ArgumentsError, BaseTool, FunctionTool, ToolOutput, check_arguments

HANDOFF = "handoff"


async def read_scratchpad(ctx: Context) -> list[ChatMessage]:
    """The messages of the model and the tools in this run."""
    return [message_from_dict(message) for message in await ctx.store.get("scratchpad")]


async def write_scratchpad(ctx: Context, messages: Sequence[ChatMessage]) -> None:
    dicts = [message_to_dict(message) for message in messages]  # a context must fit JSON
    await ctx.store.set("scratchpad", dicts)


async def call_tool(tool: BaseTool, arguments: Mapping[str, Any], ctx: Context) -> ToolOutput:
    """The tool's result; an error becomes a result. The tool receives the context if it has a parameter for
    it."""
    try:
        values = check_arguments(tool.metadata, arguments)
    except ArgumentsError as error:
        return ToolOutput(f"Error: {error}", tool.metadata.name, {"kwargs": arguments}, error, is_error=True)
    if (name := getattr(tool, "ctx_param_name", None)) is not None:
        values[name] = ctx
    try:
        return await tool.acall(**values)
    except Exception as error:  # the model sees any error of a tool as its result, and may go on
        if type(error).__module__.startswith("workflows"):  # a step waits for an event by raising
            raise
        text = f"Error: {error or type(error).__name__}"
        return ToolOutput(text, tool.metadata.name, {"kwargs": arguments}, error, is_error=True)


def handoff_tool(others: Mapping[str, str], description: str, output: PromptTemplate) -> FunctionTool:
    """The tool that hands over to one of the `others`, descriptions by name. `output` is what it returns."""

    async def handoff(ctx: Context, to_agent: str, reason: str) -> str:
        if to_agent not in others:
            return f"There is no agent {to_agent!r} to hand over to. The agents are: {', '.join(others)}."
        await ctx.store.set("next_agent", to_agent)
        return output.format(to_agent=to_agent, reason=reason)

    return FunctionTool.from_defaults(async_fn=handoff, name=HANDOFF, description=description)
