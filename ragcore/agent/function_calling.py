"""Agents for models that call functions: each request lists the tools, and the model answers with calls.

The conversation stores every call together with its result, because servers reject a call without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragcore.agent.base import Agent, Call, Task
from ragcore.llms.base import Generation, LLMCall
from ragcore.prompts.document_text import escape_marks
from ragcore.prompts.wording import AGENT
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.json_replies import parse_loose_json

ONE_AT_A_TIME = (
    "only one tool can be called at a time, and another was. Call this one again if it is still needed."
)


class FunctionCallingAgent(Agent):
    """The tools that one round calls run at the same time; their results are in the order of the calls.

    >>> from ragcore.llms import ScriptedLLM, ToolCall
    >>> from ragcore.tools import FunctionTool
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> llm = ScriptedLLM(
    ...     [ToolCall.of("call_1", "add", '{"a": 1, "b": 2}'), "It is 3."], is_function_calling_model=True
    ... )
    >>> str(FunctionCallingAgent.from_tools([FunctionTool.from_defaults(add)], llm=llm).chat("1 + 2?"))
    'It is 3.'
    """

    mode = "function_calling"
    calls_functions = True

    def _call(self, task: Task, *, last: bool) -> LLMCall:
        tools = tuple(tool.metadata.to_openai_tool() for tool in task.tools.values())
        choice = "none" if last else "auto" if task.rounds else task.tool_choice
        variables = {"system_prompt": self._system_prompt, "query_str": task.message}
        return self._fit(LLMCall(AGENT, variables, tools=tools, tool_choice=choice), task)

    def _read(self, task: Task, generation: Generation) -> str | Sequence[Call]:
        calls = [read_call(call) for call in generation.tool_calls]
        if not self._parallel:
            calls[1:] = [
                Call(call.tool, call.arguments, call.id, problem=ONE_AT_A_TIME) for call in calls[1:]
            ]
        return calls or generation.text

    def _messages(
        self, generation: Generation, calls: Sequence[Call], results: Sequence[str]
    ) -> tuple[ChatMessage, ...]:
        result_messages = (
            ChatMessage(
                MessageRole.TOOL,
                escape_marks(result, numbered=False),
                call.tool,
                {"tool_call_id": call.id, "name": call.tool},
            )
            for call, result in zip(calls, results, strict=True)
        )
        return generation.message, *result_messages

    def _messages_between(self, task: Task) -> Sequence[ChatMessage]:
        return [message for round_ in task.rounds for message in round_.messages]


class OpenAIAgent(FunctionCallingAgent):
    """FunctionCallingAgent under LlamaIndex's name, for any model that calls functions.

    >>> from ragcore.llms import ScriptedLLM
    >>> str(OpenAIAgent.from_tools(llm=ScriptedLLM(["Hello!"], is_function_calling_model=True)).chat("Hi"))
    'Hello!'
    """

    mode = "openai"


def read_call(tool_call: Mapping[str, Any]) -> Call:
    """Parse a model's call in OpenAI's format. Missing arguments become {}. Unreadable ones stay a text, and
    the call's `problem` describes the error."""
    function = tool_call["function"]
    raw_arguments = function.get("arguments")
    call = Call(str(function["name"]), {}, str(tool_call.get("id", "")))
    if raw_arguments is None or raw_arguments == "":
        return call
    try:
        arguments = parse_loose_json(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments
    except ValueError as error:
        problem = (
            f"the arguments of {call.tool} cannot be read as JSON ({error}). Send them again as one "
            "JSON object."
        )
        return Call(call.tool, raw_arguments, call.id, problem)
    return Call(call.tool, {} if arguments is None else arguments, call.id)
