"""A language model behind a server: what every client does around its own wire format.

A failure that may pass is tried again as long as nothing has been said; thoughts are taken out; tokens that the server does not
count are counted here.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ragcore.errors import LLMError, LLMProtocolError
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream, Usage
from ragcore.llms.call_stages import CallStage
from ragcore.llms.http_client import Exchange, ModelServer, objects
from ragcore.llms.http_errors import Refusal, Retries
from ragcore.llms.prompt_echo import ReplyFilter
from ragcore.llms.speed import Speed, Timings, record_of
from ragcore.llms.tool_call import ToolCall
from ragcore.observe import set_stage
from ragcore.prompts.prompt import RenderedMessage

SLOW_READING = 20.0  # tokens a second that a server must read, before it is known how fast it is


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said: the raw text, thoughts included; None where it did not count its tokens, or not take the time."""

    text: str
    usage: Usage | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    cut_short: bool = False
    timings: Timings | None = None


Replies: TypeAlias = Generator[str, None, Reply]
"""Pieces of the raw text as they come; the return value is the whole."""


class ServedLLM(LLM):
    """Subclasses give `models_at` and `_listen`. Several threads may use one at once.

    Every answer is streamed, also one that is wanted whole: so it can be ended at any time, and silence means that something is
    wrong.
    """

    models_at: ClassVar[tuple[str, str, str]]  # path, the list in what comes back, and the name in each of it

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
        """The names of the models that the server has, in its order."""
        path, field, name = self.models_at
        try:
            models = self._server.get(path).get(field)
        except Refusal as refusal:
            raise self._server.failure(refusal, model=self.metadata.model_name, available=tuple) from refusal
        if not isinstance(models, list):
            raise self._server.wrong_server()
        return tuple(str(model[name]) for model in objects(models) if name in model)

    @abstractmethod
    def _listen(self, call: LLMCall, messages: Sequence[RenderedMessage], exchange: Exchange) -> Replies:
        """One request for the answer in pieces."""

    @property
    def speed(self) -> Speed | None:
        return self._speed.speed

    def close(self) -> None:
        """Give its connections back; they also go with the object."""
        self._server.close()

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return self._retries.run(lambda: _last(self._heard_once(call, messages, [])))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        attempt = 0
        while True:
            said: list[str] = []
            try:
                return (yield from self._heard_once(call, messages, said))
            except LLMError as error:
                if said or not self._retries.wait(error, attempt):
                    raise
                attempt += 1

    def _heard_once(self, call: LLMCall, messages: Sequence[RenderedMessage], said: list[str]) -> Stream:
        """One attempt; what it gives out it also adds to `said`."""
        answer = ReplyFilter(call.prompt.task, messages, call.tools)
        exchange = Exchange(self._server.timeout + self._reading_seconds(call, messages))
        replies = self._listen(call, messages, exchange)
        first = last = 0.0  # when words came
        try:
            while True:
                try:
                    piece = answer.feed(next(replies))
                except StopIteration as stop:
                    reply: Reply = stop.value
                    break
                last = time.perf_counter()
                if not first:
                    first = last
                    set_stage(CallStage.WRITING)
                if piece:
                    said.append(piece)
                    yield piece
        except Refusal as refusal:
            raise self._in_words(refusal, call) from refusal
        except LLMProtocolError as error:
            if not said:
                raise
            raise self._server.broken_off("".join(said)) from error
        finally:
            replies.close()
        if rest := answer.end():
            said.append(rest)
            yield rest
        usage = reply.usage or self.usage(messages, reply.text, call.tools, reply.tool_calls)
        timings = reply.timings or (_measure(usage, exchange.began, first, last) if first < last else None)
        if timings is not None:
            self._speed.add(timings)
        text, tool_calls = "".join(said), reply.tool_calls or answer.tool_calls
        improves = bool(call.variables.get("existing_answer"))  # which stays, where the reply is the prompt again
        if not text.strip() and not tool_calls and not (improves and reply.text.strip()):
            raise self._server.empty(at_limit=reply.cut_short)
        return Generation(text, usage, tool_calls, reply.cut_short, timings)

    def _reading_seconds(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> float:
        """That reading this prompt may take, at half the speed measured: many servers are silent meanwhile."""
        measured = self.speed
        speed = measured.prompt_tokens_per_second / 2 if measured else SLOW_READING
        return self.usage(messages, "", call.tools).prompt_tokens / speed

    def _in_words(self, refusal: Refusal, call: LLMCall) -> LLMError:
        return self._server.failure(
            refusal, model=self.metadata.model_name, available=self._models_if_told, sent_tools=bool(call.tools)
        )

    def _models_if_told(self) -> tuple[str, ...]:
        """For the hint of an error that is already certain: a list that cannot be had must not hide it."""
        try:
            return self.list_models()
        except LLMError:
            return ()


def _last(stream: Stream) -> Generation:
    """What a stream comes to."""
    while True:
        try:
            next(stream)
        except StopIteration as stop:
            generation: Generation = stop.value
            return generation


def _measure(usage: Usage, began: float, first: float, last: float) -> Timings:
    """By our own clock: the first word was written while the prompt was read."""
    read = usage.prompt_tokens - (usage.cached_tokens or 0)
    return Timings(read, first - began, usage.completion_tokens - 1, last - first)
