"""A script's tools with any model that calls functions: its calls, and the results of the tools."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragcore.concurrency import awaitable, awaitable_stream
from ragcore.errors import LLMProtocolError
from ragcore.llms.tool_call import ToolCall
from ragcore.schema import ChatMessage, ChatResponse, MessageRole
from ragcore.schema.content_blocks import ToolCallBlock
from ragcore.text.json_replies import parse_loose_json
from ragcore.tools import BaseTool, ToolOutput, ToolSelection, as_tools, run_tool

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ragcore.llms.structured import StructuredLLM


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PredictAndCallResponse:
    """The results of the tools that a model called, joined; `sources` are the single results."""

    response: str
    sources: tuple[ToolOutput, ...] = ()

    def __str__(self) -> str:
        return self.response


class ToolCalling:
    """The methods of a model for tools, on top of `chat` and `stream_chat`.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.llms.tool_call import ToolCall, calls_of
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> llm = ScriptedLLM([ToolCall.of("call_1", "add", '{"a": 1, "b": 2}')])
    >>> str(llm.predict_and_call([add], "What is 1 + 2?"))
    '3'
    """

    if TYPE_CHECKING:

        def chat(
            self, messages: Sequence[ChatMessage], tools: Any = ..., tool_choice: str = ...
        ) -> ChatResponse: ...

        def stream_chat(
            self, messages: Sequence[ChatMessage], tools: Any = ..., tool_choice: str = ...
        ) -> Generator[ChatResponse, None, ChatResponse]: ...

    def chat_with_tools(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        user_msg: str | ChatMessage | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        tool_choice: str | None = None,
    ) -> ChatResponse:
        """The answer to the history and the message, with calls of tools for `get_tool_calls_from_response`.
        No tool is called. Without `allow_parallel_tool_calls` only the first call is in the answer."""
        messages, schemas, choice = _request(tools, user_msg, chat_history, tool_required, tool_choice)
        response = self.chat(messages, tools=schemas, tool_choice=choice)
        return _log_and_limit(response, verbose, allow_parallel_tool_calls)

    def stream_chat_with_tools(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        user_msg: str | ChatMessage | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        tool_choice: str | None = None,
    ) -> Generator[ChatResponse, None, None]:
        """The same in pieces; the last has the calls."""
        messages, schemas, choice = _request(tools, user_msg, chat_history, tool_required, tool_choice)
        for response in self.stream_chat(messages, tools=schemas, tool_choice=choice):
            yield _log_and_limit(response, verbose, allow_parallel_tool_calls)

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True
    ) -> list[ToolSelection]:
        """ValueError without a call, if `error_on_no_tool_call`. LLMProtocolError for arguments that are no
        JSON object."""
        message = response.message
        calls = [
            *(message.additional_kwargs.get("tool_calls") or ()),
            *(b for b in message.blocks if isinstance(b, ToolCallBlock)),
        ]
        if not calls and error_on_no_tool_call:
            raise ValueError(f"the model called no tool; it answered: {message.content[:200]!r}")
        return [_selection(call) for call in calls]

    def predict_and_call(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        user_msg: str | ChatMessage | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        error_on_no_tool_call: bool = True,
        error_on_tool_error: bool = False,
    ) -> PredictAndCallResponse:
        """Let the model choose a tool, and call it. The error of a tool is its result, or with
        `error_on_tool_error` a ValueError."""
        response = self.chat_with_tools(
            tools, user_msg, chat_history, verbose, allow_parallel_tool_calls=allow_parallel_tool_calls
        )
        named = {tool.metadata.name: tool for tool in as_tools(tools)}
        outputs: list[ToolOutput] = []
        for call in self.get_tool_calls_from_response(response, error_on_no_tool_call):
            if call.tool_name not in named:
                raise ValueError(f"the model called {call.tool_name!r}; there are {sorted(named)}")
            outputs.append(run_tool(named[call.tool_name], call.tool_kwargs))
            if error_on_tool_error and outputs[-1].is_error:
                raise ValueError(outputs[-1].content)
        text = "\n\n".join(output.content for output in outputs) or response.message.content
        return PredictAndCallResponse(text, tuple(outputs))

    def as_structured_llm(self, output_cls: type[BaseModel]) -> StructuredLLM:
        """This model, with all answers as JSON of the pydantic model.

        >>> from pydantic import BaseModel
        >>> from ragcore.llms import ScriptedLLM
        >>> class Person(BaseModel):
        ...     name: str
        >>> ScriptedLLM(['{"name": "Ada"}']).as_structured_llm(Person).complete("Who?").raw
        Person(name='Ada')
        """
        from ragcore.llms.structured import StructuredLLM

        return StructuredLLM(self, output_cls)  # type: ignore[arg-type]  # only an LLM has this method

    achat_with_tools = awaitable(chat_with_tools)
    astream_chat_with_tools = awaitable_stream(stream_chat_with_tools)
    apredict_and_call = awaitable(predict_and_call)


def _request(
    tools: Sequence[Any],
    user_msg: str | ChatMessage | None,
    chat_history: Sequence[ChatMessage] | None,
    tool_required: bool,
    tool_choice: str | None,
) -> tuple[list[ChatMessage], tuple[Mapping[str, Any], ...], str]:
    """The messages, the tools in OpenAI's format, and which of them must be called."""
    message = ChatMessage(MessageRole.USER, user_msg) if isinstance(user_msg, str) else user_msg
    messages = [*(chat_history or ()), *([message] if message else [])]
    schemas = tuple(tool.metadata.to_openai_tool() for tool in as_tools(tools))
    return (
        messages,
        schemas,
        (tool_choice or ("required" if tool_required else "auto")) if schemas else "auto",
    )


def _log_and_limit(response: ChatResponse, verbose: bool, parallel: bool) -> ChatResponse:
    """The response; with only its first call, unless several may run in `parallel`."""
    message = response.message
    logger.log(logging.INFO if verbose else logging.DEBUG, "tool calls: %s", message.additional_kwargs)
    calls = message.additional_kwargs.get("tool_calls")
    if parallel or not calls or len(calls) == 1:
        return response
    kwargs = {**message.additional_kwargs, "tool_calls": calls[:1]}
    return ChatResponse(
        ChatMessage(message.role, message.content, message.name, kwargs), response.delta, response.raw
    )


def _selection(call: Any) -> ToolSelection:
    if isinstance(call, ToolSelection):
        return call
    if isinstance(call, ToolCallBlock):
        arguments = call.tool_kwargs if isinstance(call.tool_kwargs, str) else json.dumps(call.tool_kwargs)
        call = ToolCall.of(call.tool_call_id or "", call.tool_name, arguments)
    call = ToolCall.read(call)
    return ToolSelection(call.id, call.function.name, _arguments(call))


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        value = parse_loose_json(call.function.arguments or "{}")
    except ValueError as error:
        value = error
    if not isinstance(value, Mapping):
        raise LLMProtocolError(
            f"The arguments of {call.function.name} are no JSON object: {call.function.arguments[:200]}",
            hint="Ask again, or choose a larger model.",
        )
    return value
