"""A language model behind a server: the part of a client that does not depend on the wire format.

A temporary failure is tried again as long as no text was returned; thoughts are removed; tokens are counted
here if the server does not count them.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from ragcore.errors import LLMError, LLMProtocolError
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Pieces, Stream, Usage
from ragcore.llms.call_stages import CallStage
from ragcore.llms.http_client import Exchange, ModelServer, objects
from ragcore.llms.http_errors import EndlessReplyError, Refusal, Retries
from ragcore.llms.prompt_echo import ReplyFilter
from ragcore.llms.reply_room import ReplyRoom
from ragcore.llms.speed import Speed, Timings, record_of
from ragcore.llms.tool_call import ToolCall
from ragcore.observe import set_stage
from ragcore.prompts.prompt import RenderedMessage

SLOW_READING = 20.0  # tokens a second, the expected minimum before the speed of a server is known


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a server: the raw text with thoughts; None if it did not count tokens, or not measure the
    time."""

    text: str
    usage: Usage | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    cut_short: bool = False
    timings: Timings | None = None


Replies: TypeAlias = Generator[str, None, Reply]
"""Pieces of the raw text; the return value is the whole."""


class ServedLLM(LLM):
    """Subclasses define `models_at` and `_request`. Threads may share one.

    Every answer is streamed, even if the caller wants the whole: so it can be ended at any time, and silence
    means a failure.
    """

    # path, the key of the list in the answer, and the key of the name
    models_at: ClassVar[tuple[str, str, str]]

    def __init__(self, server: ModelServer, metadata: LLMMetadata, retries: Retries) -> None:
        self._server = server
        self._metadata = metadata
        self._retries = retries
        self._speed = record_of(server.url, metadata.model_name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.metadata.model_name!r}, base_url={self._server.url!r})"

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    def list_models(self) -> tuple[str, ...]:
        """The names of the server's models, in its order."""
        path, field, name = self.models_at
        try:
            models = self._server.get(path).get(field)
        except Refusal as refusal:
            raise self._server.failure(refusal, model=self.metadata.model_name, available=tuple) from refusal
        if not isinstance(models, list):
            raise self._server.wrong_server()
        return tuple(str(model[name]) for model in objects(models) if name in model)

    @abstractmethod
    def _request(self, call: LLMCall, messages: Sequence[RenderedMessage], exchange: Exchange) -> Replies:
        """One request for the answer in pieces."""

    @property
    def speed(self) -> Speed | None:
        return self._speed.speed

    def close(self) -> None:
        """Close its connections, as the garbage collector also does."""
        self._server.close()

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        def generate() -> Generation:
            stream = Pieces(self._stream_once(call, messages, []))
            for _ in stream:
                pass
            return stream.result

        return self._retries.run(generate)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        attempt = 0
        while True:
            pieces: list[str] = []
            try:
                return (yield from self._stream_once(call, messages, pieces))
            except LLMError as error:
                if pieces or not self._retries.wait(error, attempt):
                    raise
                attempt += 1

    def _stream_once(self, call: LLMCall, messages: Sequence[RenderedMessage], pieces: list[str]) -> Stream:
        """One attempt. It also adds its pieces to `pieces`."""
        answer = ReplyFilter(call.prompt.task, messages, call.tools)
        room = ReplyRoom((call.metadata or self.metadata).num_output, self.count_tokens)
        exchange = Exchange(self._server.timeout + self._reading_seconds(call, messages), room=room)
        replies = Pieces(self._request(call, messages, exchange))
        first = last = 0.0  # times of pieces
        try:
            for raw in replies:
                piece = answer.feed(raw)
                last = time.perf_counter()
                if not first:
                    first = last
                    set_stage(CallStage.WRITING)
                if piece:
                    pieces.append(piece)
                    yield piece
        except Refusal as refusal:
            raise self._explain(refusal, call) from refusal
        except EndlessReplyError as error:
            error.partial = "".join(pieces)
            raise
        except LLMProtocolError as error:
            if not pieces:
                raise
            raise self._server.broken_off("".join(pieces)) from error
        finally:
            replies.close()
        reply = replies.result
        if rest := answer.end():
            pieces.append(rest)
            yield rest
        usage = reply.usage or self.usage(messages, reply.text, call.tools, reply.tool_calls)
        timings = reply.timings or (_measure(usage, exchange.began, first, last) if first < last else None)
        if timings is not None:
            self._speed.add(timings)
        text, tool_calls = "".join(pieces), reply.tool_calls or answer.tool_calls
        improves = bool(call.variables.get("existing_answer"))  # an echo of the prompt then keeps that answer
        if not text.strip() and not tool_calls and not (improves and reply.text.strip()):
            raise self._server.empty(at_limit=reply.cut_short)
        return Generation(text, usage, tool_calls, reply.cut_short, timings)

    def _reading_seconds(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> float:
        """The time for reading this prompt at half the measured speed; many servers are silent meanwhile."""
        measured = self.speed
        speed = measured.prompt_tokens_per_second / 2 if measured else SLOW_READING
        return self.usage(messages, "", call.tools).prompt_tokens / speed

    def _explain(self, refusal: Refusal, call: LLMCall) -> LLMError:
        def models() -> tuple[str, ...]:
            try:
                return self.list_models()
            except LLMError:  # must not hide the refusal
                return ()

        return self._server.failure(
            refusal, model=self.metadata.model_name, available=models, sent_tools=bool(call.tools)
        )


def text_of(message: dict[str, Any]) -> str:
    """The text of a message on the wire, without thoughts, which are in other fields or parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(
            str(part.get("text", ""))
            for part in content
            if isinstance(part, dict) and part.get("type") == "text"
        )
    return content if isinstance(content, str) else ""


def read_calls(message: dict[str, Any], ids: Iterator[str]) -> list[ToolCall]:
    """The tool calls of a message on the wire, those without an id with one of `ids`."""
    return [ToolCall.read(call, next(ids)) for call in objects(message.get("tool_calls"))]


def usage_of(sent: object, written: object, cached: object = None) -> Usage | None:
    """A server's own count, if it has one."""
    if isinstance(sent, int) and isinstance(written, int):
        return Usage(sent, written, cached_tokens=cached if isinstance(cached, int) else None)
    return None


def _measure(usage: Usage, began: float, first: float, last: float) -> Timings:
    """By our own clock. The time until the first word counts as reading."""
    read = usage.prompt_tokens - (usage.cached_tokens or 0)
    return Timings(read, first - began, usage.completion_tokens - 1, last - first)
