"""Ollama's own interface (https://github.com/ollama/ollama/blob/main/docs/api.md: chat, tags): one JSON
object per line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from ragcore.errors import LLMError, UnknownModelError
from ragcore.llms.base import LLMCall, LLMMetadata, Usage
from ragcore.llms.http_client import Exchange, mark_end, ollama_server
from ragcore.llms.http_errors import Refusal, Retries
from ragcore.llms.server_llm import Replies, Reply, ServedLLM, read_calls, text_of, usage_of
from ragcore.llms.speed import Timings
from ragcore.llms.tool_call import ToolCall, calls_of, unused_ids
from ragcore.prompts.prompt import RenderedMessage
from ragcore.schema import MessageRole


class Ollama(ServedLLM):
    """A model of Ollama. Without `base_url` at the environment's OLLAMA_HOST, or Ollama's default address on
    this machine.

    `request_timeout` is seconds without a sign of life; loading a large model for the first time takes
    minutes. `keep_alive` is how long the model stays in memory after an answer, such as "5m" or "1h". Set
    `is_function_calling_model` if the model supports tools (`ollama show` lists it): agents then use tool
    calls, and without it plain text. Ollama cannot force a tool call: for a `tool_choice` that names a tool,
    the model gets only that tool. `calls_at_once` is 1 by default, because Ollama may have room for no more
    and does not report it; the setting in Ollama is OLLAMA_NUM_PARALLEL.

    >>> Ollama("qwen3", "127.0.0.1", request_timeout=300.0)
    Ollama(model='qwen3', base_url='http://127.0.0.1:11434')
    """

    provider = "ollama"
    models_at = ("/api/tags", "models", "name")

    def __init__(
        self,
        model: str = "llama3",
        base_url: str | None = None,
        *,
        request_timeout: float = 120.0,
        context_window: int = 8192,
        num_output: int = 768,
        temperature: float = 0.1,
        keep_alive: str = "5m",
        is_function_calling_model: bool = False,
        max_retries: int = 2,
        calls_at_once: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        metadata = LLMMetadata(model, context_window, num_output, is_function_calling_model)
        super().__init__(
            ollama_server(base_url, request_timeout, calls_at_once or 1),
            metadata,
            Retries(max_retries, sleep),
        )
        self._temperature = temperature
        self._keep_alive = keep_alive
        self._takes_schemas = True  # False for versions before 0.5

    def _request(self, call: LLMCall, messages: Sequence[RenderedMessage], exchange: Exchange) -> Replies:
        while True:
            try:
                return (yield from self._request_once(call, messages, exchange))
            except Refusal as refusal:
                if not self._gives_way(refusal, call):
                    raise

    def _gives_way(self, refusal: Refusal, call: LLMCall) -> bool:
        """Whether to repeat the request without a schema, which the server does not support; later calls omit
        it, too."""
        if call.reply_schema is None or not self._takes_schemas or "format" not in refusal.detail:
            return False
        self._takes_schemas = False
        return True

    def _request_once(
        self, call: LLMCall, messages: Sequence[RenderedMessage], exchange: Exchange
    ) -> Replies:
        text = ""
        calls: list[ToolCall] = []
        ids = unused_ids(messages)
        with closing(self._server.lines("/api/chat", self._body(call, messages), exchange)) as lines:
            for line in filter(str.strip, lines):
                data = self._server.parse_answer(line)
                message = data.get("message")
                if not isinstance(message, dict):
                    raise self._server.wrong_server()
                calls += read_calls(message, ids)
                if piece := text_of(message):
                    text += piece
                    yield piece
                if data.get("done"):
                    mark_end(lines)
                    return Reply(
                        text, _usage(data), tuple(calls), data.get("done_reason") == "length", _timings(data)
                    )
                if exchange.room is not None:
                    exchange.room.take(message)
        raise self._server.broken_off(text)

    def _body(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> dict[str, Any]:
        sizes = call.metadata or self.metadata
        return {
            "model": self.metadata.model_name,
            "messages": [_wire_format(message) for message in messages],
            **({"tools": tools} if (tools := _tools(call)) else {}),
            "stream": True,
            **(
                {"format": dict(schema)}
                if (schema := call.reply_schema) is not None and self._takes_schemas
                else {}
            ),
            "keep_alive": self._keep_alive,
            "options": {
                "temperature": self._temperature,
                # without it Ollama silently cuts the prompt to a few thousand tokens
                "num_ctx": sizes.context_window,
                "num_predict": sizes.num_output,
                **({"stop": list(stop)} if (stop := call.stop_sequences) else {}),
            },
        }

    def _explain(self, refusal: Refusal, call: LLMCall) -> LLMError:
        error = super()._explain(refusal, call)
        if isinstance(error, UnknownModelError):
            error.hint = f"{error.hint} To get this one: ollama pull {self.metadata.model_name}"
        return error


def _usage(data: dict[str, Any]) -> Usage | None:
    return usage_of(data.get("prompt_eval_count"), data.get("eval_count"))


def _timings(data: dict[str, Any]) -> Timings | None:
    """In nanoseconds. Ollama does not report cached tokens: then there are few seconds for many tokens."""
    usage, took = _usage(data), [data.get(name) for name in ("prompt_eval_duration", "eval_duration")]
    reading, writing = (value / 1e9 if isinstance(value, int) else 0.0 for value in took)
    return (
        Timings(usage.prompt_tokens, reading, usage.completion_tokens, writing)
        if usage and reading and writing
        else None
    )


def _tools(call: LLMCall) -> list[dict[str, Any]]:
    if call.tool_choice == "none":
        return []
    tools = [dict(tool) for tool in call.tools]
    return [tool for tool in tools if tool["function"]["name"] == call.tool_choice] or tools


_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant", MessageRole.FUNCTION: "tool"}


def _wire_format(message: RenderedMessage) -> dict[str, Any]:
    extra = message.additional_kwargs
    wire: dict[str, Any] = {"role": _ROLES.get(message.role, message.role.value), "content": message.content}
    images = [image for block in message.blocks if (image := block.as_ollama_image()) is not None]
    if images:
        wire["images"] = images
    if wire["role"] == "tool" and (name := message.name or extra.get("name")):
        wire["tool_name"] = name
    if calls := calls_of(extra):
        wire["tool_calls"] = [
            {"function": {"name": call.function.name, "arguments": _as_object(call.function.arguments)}}
            for call in calls
        ]
    return wire


def _as_object(arguments: str) -> dict[str, Any]:
    """The arguments as the object that Ollama requires. Invalid JSON is its only value."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}
