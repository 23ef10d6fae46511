"""The interface of a language model: a call goes in, an answer comes out, whole or in pieces, and the trace
records both.

A call is a prompt with typed variables, not a string. A model behind a server gets the rendered messages.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from ragcore.concurrency import awaitable, awaitable_stream
from ragcore.llms.speed import Speed, Timings
from ragcore.llms.tool_call import ToolCall, calls_of
from ragcore.llms.tool_calling import ToolCalling
from ragcore.observe import Span, start, stream_in, within
from ragcore.prompts.prompt import Prompt, RenderedMessage, Variable, Variables
from ragcore.prompts.structured_output import Form, parse_form
from ragcore.prompts.wording import GENERATION, MESSAGES, in_form
from ragcore.schema import ChatMessage, ChatResponse, CompletionResponse, MessageRole, Outcome
from ragcore.text.tokens import count_tokens

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LLMMetadata:
    """The limits of a model. `context_window` and `num_output` are tokens; `num_output` is reserved for the
    answer.

    >>> LLMMetadata("llama3", context_window=4096).num_output
    768
    """

    model_name: str = "unknown"
    context_window: int = 8192
    num_output: int = 768
    is_function_calling_model: bool = False

    @property
    def is_chat_model(self) -> bool:
        """True: every model here takes messages."""
        return True


@dataclass(frozen=True, slots=True)
class LLMCall:
    """`tools` are in OpenAI's format, see `ToolMetadata.to_openai_tool`. `tool_choice` is "auto", "none",
    "required" or the name of the tool that the model must call; ValueError for any other. `metadata` are the
    limits for which the call was packed, if they are not the model's own. `schema` is the JSON schema of an
    object as reply; servers that cannot enforce it ignore it."""

    prompt: Prompt
    variables: Variables
    history: tuple[ChatMessage, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str = "auto"
    metadata: LLMMetadata | None = None
    schema: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        names = [str(tool["function"]["name"]) for tool in self.tools]
        if self.tool_choice not in ("auto", "none", "required", *names):
            raise ValueError(
                f"tool_choice is {self.tool_choice!r}; it can be 'auto', 'none', 'required' or one of {names}"
            )

    @property
    def reply_schema(self) -> Mapping[str, Any] | None:
        """`schema`, or that of the prompt's own variable output_schema."""
        written = self.variables.get("output_schema")
        if self.schema is not None or not isinstance(written, str):
            return self.schema
        schema: Mapping[str, Any] = json.loads(written)
        return schema

    @property
    def stop_sequences(self) -> tuple[str, ...]:
        """Those of the prompt, without labels that the question mentions, as in "Write three questions"."""
        question = str(self.variables.get("query_str", "")).lower()
        return tuple(stop for stop in self.prompt.stop_sequences if stop.strip("\n:").lower() not in question)

    def messages(self) -> list[RenderedMessage]:
        return self.prompt.render(self.variables, self.history)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of prompt and answer; `estimated` if we counted them ourselves. `cached_tokens` of the prompt
    were in the server's cache; None if the server does not report them."""

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """`tool_calls` are in OpenAI's format, see ToolCall; those of `message` are ToolCalls.

    >>> str(Generation("Ada did.", Usage(12, 2)).message)
    'assistant: Ada did.'
    """

    text: str
    usage: Usage
    tool_calls: tuple[dict[str, Any], ...] = field(default=())
    cut_short: bool = False  # the model stopped at its limit of tokens
    timings: Timings | None = field(default=None, compare=False)  # None if unknown
    outcome: Outcome | None = None  # None if the model does not report it

    @property
    def message(self) -> ChatMessage:
        calls = {"tool_calls": [ToolCall.read(call) for call in self.tool_calls]} if self.tool_calls else {}
        return ChatMessage(MessageRole.ASSISTANT, self.text, additional_kwargs=calls)


Stream: TypeAlias = Generator[str, None, Generation]
"""Pieces of the text; the return value is the whole generation: `generation = yield from
llm.stream(call)`."""


class Pieces(Generic[T]):
    """Iterates over the pieces of a stream. Afterwards `result` is its return value."""

    def __init__(self, stream: Generator[str, None, T]) -> None:
        self._stream = stream
        self.close = stream.close

    def __iter__(self) -> Iterator[str]:
        self.result: T = yield from self._stream


class LLM(ToolCalling, ABC):
    """A language model. Subclasses give `metadata`, `_generate` or `chat`, and perhaps `_stream`. Failures
    are LLMErrors.

    >>> class Echo(LLM):
    ...     metadata = LLMMetadata("echo")
    ...
    ...     def _generate(self, call, messages):
    ...         return Generation(messages[-1].content, self.usage(messages, ""))
    >>> str(Echo().complete("Hello"))
    'Hello'
    """

    provider = "ragcore"  # its name in traces

    @property
    @abstractmethod
    def metadata(self) -> LLMMetadata: ...

    @property
    def speed(self) -> Speed | None:
        """Measured on the answers of the model in this process; None before the first, and for models without
        a server."""
        return None

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        if type(self).chat is LLM.chat:
            raise NotImplementedError(f"{type(self).__name__} needs _generate or chat")
        response = self.chat(
            [
                ChatMessage(each.role, each.content, each.name, each.additional_kwargs, each.blocks)
                for each in messages
            ]
        )
        selections = self.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        calls = [ToolCall.of(each.tool_id, each.tool_name, _json(each.tool_kwargs)) for each in selections]
        text = response.message.content or ""
        return Generation(text, self.usage(messages, text, call.tools, calls), tuple(calls))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        yield generation.text
        return generation

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def generate(self, call: LLMCall) -> Generation:
        messages = call.messages()
        with within(self._begin(call, messages)) as step:
            generation = self._generate(call, messages)
            _note(step, generation)
        return generation

    def stream(self, prompt: LLMCall | Prompt, /, **variables: Variable) -> Stream:
        """The answer in pieces, to a call, or to a prompt with these values, as in `predict`.

        The request is sent when the first piece is read. Closing the stream ends the request.
        """
        if isinstance(prompt, Prompt):
            return self._stream_call(LLMCall(prompt, prompt.check_variables(variables)))
        if variables:
            raise TypeError(f"a call has its values already; these are too many: {sorted(variables)}")
        return self._stream_call(prompt)

    def _stream_call(self, call: LLMCall) -> Stream:
        messages = call.messages()
        step = self._begin(call, messages)

        def record() -> Stream:
            texts: list[str] = []
            try:
                with closing(Pieces(self._stream(call, messages))) as pieces:
                    for piece in pieces:
                        texts.append(piece)
                        yield piece
                    _note(step, pieces.result)
                    return pieces.result
            except GeneratorExit:
                _note_usage(step, self.usage(messages, "".join(texts), call.tools))
                raise
            finally:
                step.facts.setdefault("reply", "".join(texts))

        return (yield from stream_in(step, record()))

    def chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str = "auto",
    ) -> ChatResponse:
        """The model's answer to messages as they are; tool calls are in
        `message.additional_kwargs["tool_calls"]`."""
        generation = self.generate(LLMCall(MESSAGES, {}, tuple(messages), tuple(tools), tool_choice))
        return ChatResponse(generation.message, raw=generation)

    def stream_chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str = "auto",
    ) -> Generator[ChatResponse, None, ChatResponse]:
        """The answer as it grows: each response has the whole text so far, and its newest piece as `delta`.

        If the model calls tools, a last response has the calls.
        """
        text = ""
        with closing(
            Pieces(self.stream(LLMCall(MESSAGES, {}, tuple(messages), tuple(tools), tool_choice)))
        ) as pieces:
            for piece in pieces:
                text += piece
                yield ChatResponse(ChatMessage(MessageRole.ASSISTANT, text), piece)
            whole = ChatResponse(pieces.result.message, raw=pieces.result)
            if pieces.result.tool_calls:
                yield ChatResponse(whole.message, "", pieces.result)
            return whole

    def complete(self, prompt: str) -> CompletionResponse:
        generation = self.generate(LLMCall(GENERATION, {"query_str": prompt}))
        return CompletionResponse(generation.text, raw=generation)

    def stream_complete(self, prompt: str) -> Generator[CompletionResponse, None, None]:
        text = ""
        with closing(self.stream(LLMCall(GENERATION, {"query_str": prompt}))) as pieces:
            for piece in pieces:
                text += piece
                yield CompletionResponse(text, piece)

    def predict(self, prompt: Prompt, /, **variables: Variable) -> str:
        """The answer to a prompt with these values. ValueError for one that the prompt does not name, or a
        missing one."""
        return self.generate(LLMCall(prompt, prompt.check_variables(variables))).text

    def structured_predict(self, output_cls: type[Form], prompt: Prompt, /, **variables: Variable) -> Form:
        """The answer as a pydantic model; LLMProtocolError if the reply does not fit it. Variables as in
        `predict`."""
        schema = json.dumps(output_cls.model_json_schema(), ensure_ascii=False)
        call = LLMCall(in_form(prompt), {**prompt.check_variables(variables), "output_schema": schema})
        return parse_form(self.generate(call).text, output_cls)

    achat = awaitable(chat)
    astream_chat = awaitable_stream(stream_chat)
    acomplete = awaitable(complete)
    astream_complete = awaitable_stream(stream_complete)
    apredict = awaitable(predict)
    astream = awaitable_stream(stream)
    astructured_predict = awaitable(structured_predict)

    def prompt_tokens(self, call: LLMCall) -> int:
        """The tokens of a call: of its messages, the tool calls in them, and the schemas of its tools."""
        return self.usage(call.messages(), "", call.tools).prompt_tokens

    def usage(
        self,
        messages: Sequence[RenderedMessage],
        text: str,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_calls: Sequence[Mapping[str, Any]] = (),
    ) -> Usage:
        """Our own count, for servers that do not report theirs."""
        called = [
            message.additional_kwargs["tool_calls"]
            for message in messages
            if "tool_calls" in message.additional_kwargs
        ]
        sent = [*(message.content for message in messages), *map(_json, called), *map(_json, tools)]
        written = [text, *map(_json, tool_calls)]
        return Usage(sum(map(self.count_tokens, sent)), sum(map(self.count_tokens, written)), estimated=True)

    def _begin(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Span:
        return start(
            "llm",
            prompt=call.prompt.name,
            model=self.metadata.model_name,
            provider=self.provider,
            messages=[_describe(message) for message in messages],
            **({"tools": [tool["function"]["name"] for tool in call.tools]} if call.tools else {}),
        )


FunctionCallingLLM = LLM
"""The name of a base of models that call functions."""


def _describe(message: RenderedMessage) -> dict[str, Any]:
    extra = message.additional_kwargs
    more = {
        "name": message.name or extra.get("name"),
        "tool_calls": calls_of(extra),
        "tool_call_id": extra.get("tool_call_id"),
    }
    return {
        "role": message.role.value,
        "parts": [{"origin": part.origin.value, "text": part.text} for part in message.parts],
        **{name: value for name, value in more.items() if value},
    }


def _note(step: Span, generation: Generation) -> None:
    _note_usage(step, generation.usage)
    step.note(
        reply=generation.text,
        cut_short=generation.cut_short,
        **({"tool_calls": list(generation.tool_calls)} if generation.tool_calls else {}),
        **({"outcome": generation.outcome} if generation.outcome else {}),
    )
    if timings := generation.timings:
        step.note(prompt_seconds=timings.prompt_seconds, completion_seconds=timings.completion_seconds)


def _note_usage(step: Span, usage: Usage) -> None:
    step.note(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        tokens_estimated=usage.estimated,
    )
    if usage.cached_tokens is not None:
        step.note(cached_tokens=usage.cached_tokens)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
