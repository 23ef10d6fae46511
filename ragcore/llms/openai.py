"""OpenAI's chat completions, and the many servers with the same interface: LM Studio, vLLM, llama.cpp,
OpenRouter, ...

Wire format: https://platform.openai.com/docs/api-reference/chat. Servers differ in their parameters. The
client omits or renames parameters that a server refuses by name, and remembers them.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, TypedDict, Unpack

from ragcore.errors import LLMAuthError
from ragcore.llms.base import LLMCall, LLMMetadata, Usage
from ragcore.llms.http_client import Exchange, ModelServer, events, mark_end, objects
from ragcore.llms.http_errors import Refusal, Retries
from ragcore.llms.server_address import api_address, openai_base_url
from ragcore.llms.server_llm import Replies, Reply, ServedLLM, read_calls, text_of, usage_of
from ragcore.llms.speed import Timings
from ragcore.llms.tool_call import ToolCall, calls_of, unused_ids
from ragcore.prompts.prompt import RenderedMessage
from ragcore.schema import MessageRole
from ragcore.schema.content_blocks import in_openai_format

_OPTIONAL = frozenset(
    (
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "stream",
        "stream_options",
        "stop",
        "response_format",
    )
)
_NOT_TAKEN = re.compile(
    r"support|unexpected|unrecogni[sz]ed|unknown|extra|not (permitted|allowed|accepted)|instead",
    re.IGNORECASE,
)


class ClientOptions(TypedDict, total=False):
    """Arguments of `OpenAICompatibleLLM`."""

    temperature: float
    context_window: int
    timeout: float
    max_retries: int
    calls_at_once: int | None
    sleep: Callable[[float], None]


class OpenAICompatibleLLM(ServedLLM):
    """`base_url` may lack the scheme and /v1, or end with a slash. `timeout` is seconds without a sign of
    life.

    `calls_at_once`: None for the limit that a llama.cpp server reports; for other servers one on this
    computer, and eight elsewhere. Set `is_function_calling_model` if server and model support tools: agents
    then use tool calls, and without it plain text.

    >>> llm = OpenAICompatibleLLM("qwen3", "127.0.0.1:1234", context_window=4096)
    >>> llm.metadata.context_window
    4096
    """

    provider = "openai"
    models_at = ("/models", "data", "id")

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str = "",
        temperature: float = 0.1,
        num_output: int = 768,
        context_window: int = 8192,
        timeout: float = 120.0,
        max_retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
        is_function_calling_model: bool = False,
        calls_at_once: int | None = None,
        name: str = "The model server",
        down_hint: str = "Is the server running, and is this the address it shows?",
    ) -> None:
        url = api_address(base_url)
        server = ModelServer(
            url,
            kind="an OpenAI-compatible server",
            name=name,
            down_hint=down_hint,
            key=api_key,
            timeout=timeout,
            calls_at_once=calls_at_once,
            slots_at=""
            if url.host == "api.openai.com"
            else re.sub(r"/v\d+$", "/props", str(url).rstrip("/")),
        )
        metadata = LLMMetadata(model, context_window, num_output, is_function_calling_model)
        super().__init__(server, metadata, Retries(max_retries, sleep))
        self._temperature = temperature
        # OpenAI's newer models accept only the second name, older servers only the first.
        names = ("max_tokens", "max_completion_tokens")
        self._limit_names = names[::-1] if url.host == "api.openai.com" else names
        self._refused: frozenset[str] = frozenset()

    def _request(self, call: LLMCall, messages: Sequence[RenderedMessage], exchange: Exchange) -> Replies:
        while True:
            body = self._body(call, messages)
            try:
                with closing(self._server.lines("/chat/completions", body, exchange)) as lines:
                    if "stream" not in body:
                        return (yield from self._read_whole(lines, messages))
                    reply = yield from self._read_events(lines, messages, exchange)
                    mark_end(lines)
                    return reply
            except Refusal as refusal:
                if not self._gives_way(refusal, body):
                    raise

    def _body(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.metadata.model_name,
            "messages": [_wire_format(message) for message in messages],
        }
        if call.tools:
            body["tools"] = [dict(tool) for tool in call.tools]
            named = call.tool_choice not in ("auto", "none", "required")
            body["tool_choice"] = (
                {"type": "function", "function": {"name": call.tool_choice}} if named else call.tool_choice
            )
        body["temperature"] = self._temperature
        if limit := next((name for name in self._limit_names if name not in self._refused), None):
            body[limit] = (call.metadata or self.metadata).num_output
        if (schema := call.reply_schema) is not None and not call.tools:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(schema)},
            }
        if stop := call.stop_sequences:
            body["stop"] = list(stop)
        if "stream" not in self._refused:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return {name: value for name, value in body.items() if name not in self._refused}

    def _gives_way(self, refusal: Refusal, body: dict[str, Any]) -> bool:
        """Whether to repeat the request without the parameters that the server refuses; later calls omit
        them, too."""
        if "response_format" in body and (refusal.status in (500, 501) or "schema" in refusal.detail):
            self._refused |= {"response_format"}  # some servers fail instead of refusing
            return True
        if refusal.status not in (400, 422) or not _NOT_TAKEN.search(refusal.detail):
            return False
        named = {name for name in body if name in _OPTIONAL and re.search(rf"\b{name}\b", refusal.detail)}
        self._refused |= named  # a new set: other threads may be reading the old one
        return bool(named)

    def _read_whole(self, lines: Iterable[str], messages: Sequence[RenderedMessage]) -> Replies:
        """The answer of a server that does not stream this model."""
        data = self._server.parse_answer("\n".join(lines))
        choice = self._choice(data)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise self._server.unreadable()
        text, calls = text_of(message), read_calls(message, unused_ids(messages))
        yield text
        return Reply(text, _usage(data), tuple(calls), choice.get("finish_reason") == "length")

    def _read_events(
        self, lines: Iterable[str], messages: Sequence[RenderedMessage], exchange: Exchange
    ) -> Replies:
        pieces: list[str] = []
        calls = CallsInPieces()
        usage: Usage | None = None
        timings: Timings | None = None
        finish: object = None
        for event in events(lines):
            if event.strip() == "[DONE]":
                finish = finish or "stop"
                break
            data = self._server.parse_answer(event)
            usage, timings = _usage(data) or usage, _timings(data) or timings
            if data.get("choices") == []:
                continue  # the last event of a stream with usage, and the first of some servers
            choice = self._choice(data)
            finish = choice.get("finish_reason") or finish
            # "message": a server that does not stream
            delta = choice.get("delta") or choice.get("message") or {}
            if not isinstance(delta, dict):
                raise self._server.unreadable()
            for call in objects(delta.get("tool_calls")):
                calls.add(call)
            if piece := text_of(delta):
                pieces.append(piece)
                yield piece
            if exchange.room is not None and "message" not in choice:  # that one is whole
                exchange.room.take(delta)
        if finish is None:
            raise self._server.broken_off("".join(pieces))
        return Reply("".join(pieces), usage, calls.whole(messages), finish == "length", timings)

    def _choice(self, data: dict[str, Any]) -> dict[str, Any]:
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise self._server.wrong_server()
        choice: dict[str, Any] = choices[0]
        return choice


class OpenAILike(OpenAICompatibleLLM):
    """`OpenAICompatibleLLM` with LlamaIndex's arguments: `api_base` is the address, `max_tokens` the limit of
    the answer.

    >>> OpenAILike("qwen3", "127.0.0.1:1234", context_window=4096)
    OpenAILike(model='qwen3', base_url='http://127.0.0.1:1234/v1')
    """

    def __init__(
        self,
        model: str,
        api_base: str,
        *,
        api_key: str = "",
        max_tokens: int = 768,
        is_chat_model: bool = True,
        is_function_calling_model: bool = False,
        **options: Unpack[ClientOptions],
    ) -> None:
        """ValueError for a model that does not chat: all requests go to /chat/completions."""
        if not is_chat_model:
            raise ValueError(f"{model!r} is asked at /chat/completions, so is_chat_model must be True")
        super().__init__(
            model,
            api_base,
            api_key=api_key,
            num_output=max_tokens,
            is_function_calling_model=is_function_calling_model,
            **options,
        )


class OpenAI(OpenAICompatibleLLM):
    """OpenAI itself. Without `api_key` with the environment's OPENAI_API_KEY; without `api_base` at its
    OPENAI_BASE_URL, or at OpenAI's address.

    >>> OpenAI("gpt-4o-mini", api_key="sk-example", api_base="https://api.openai.com/v1")
    OpenAI(model='gpt-4o-mini', base_url='https://api.openai.com/v1')
    """

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        *,
        api_key: str | None = None,
        api_base: str | None = None,
        max_tokens: int = 768,
        **options: Unpack[ClientOptions],
    ) -> None:
        key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
        if not key.strip():
            raise LLMAuthError("OpenAI requires a key.", hint="Enter it in Settings, or set OPENAI_API_KEY.")
        super().__init__(
            model,
            openai_base_url() if api_base is None else api_base,
            api_key=key,
            num_output=max_tokens,
            is_function_calling_model=True,
            name="OpenAI",
            down_hint="Check this computer's connection to the internet.",
            **options,
        )


def _usage(data: dict[str, Any]) -> Usage | None:
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def _timings(data: dict[str, Any]) -> Timings | None:
    """Those of llama.cpp."""
    timings = data.get("timings") or {}
    try:
        read, written = int(timings["prompt_n"]), int(timings["predicted_n"])
        return Timings(read, timings["prompt_ms"] / 1e3, written, timings["predicted_ms"] / 1e3)
    except (KeyError, TypeError, ValueError):  # missing or different
        return None


class CallsInPieces:
    """Collects tool calls from a stream: first id and name, then the arguments in pieces, with an index for
    each call."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, delta: dict[str, Any]) -> None:
        call = self._calls.setdefault(self._index(delta), {"id": "", "name": "", "arguments": ""})
        call["id"] = str(delta.get("id") or call["id"])
        for function in objects([delta.get("function")]):
            if function.get("name") != call["name"]:  # some servers repeat it with each piece
                call["name"] += str(function.get("name") or "")
            arguments = function.get("arguments") or ""
            call["arguments"] += (
                arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            )

    def whole(self, messages: Sequence[RenderedMessage]) -> tuple[ToolCall, ...]:
        """The complete calls. A call without an id gets one that does not occur in `messages`."""
        calls = [self._calls[index] for index in sorted(self._calls)]
        return tuple(
            ToolCall.of(call["id"] or unused, call["name"], call["arguments"] or "{}")
            for call, unused in zip(calls, unused_ids(messages), strict=False)
        )

    def _index(self, delta: dict[str, Any]) -> int:
        index = delta.get("index")
        if isinstance(index, int):
            return index
        last = max(self._calls, default=0)  # without an index a new id starts a new call
        known = self._calls.get(last)
        return last + 1 if known and delta.get("id") and known["id"] != delta["id"] else last


_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}


def _wire_format(message: RenderedMessage) -> dict[str, Any]:
    """A message with the role `function` becomes a tool's message if it answers a tool call."""
    extra = message.additional_kwargs
    name = message.name or extra.get("name")
    call_id = extra.get("tool_call_id")
    is_tool = message.role is MessageRole.TOOL or (message.role is MessageRole.FUNCTION and call_id)
    parts = in_openai_format(message.blocks)
    wire: dict[str, Any] = {
        "role": "tool" if is_tool else _ROLES.get(message.role, message.role.value),
        "content": message.content if all(part["type"] == "text" for part in parts) else parts,
    }
    if name:
        wire["name"] = name
    if call_id:
        wire["tool_call_id"] = call_id
    if calls := calls_of(extra):
        wire["tool_calls"] = calls
    return wire
