"""A language model behind a server: what every client does around its own wire format.

A failure that may pass is tried again as long as nothing has been said; thoughts are taken out; tokens that the server does not
count are counted here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ragcore.errors import LLMError, LLMProtocolError
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream, Usage
from ragcore.llms.http_client import ModelServer, objects
from ragcore.llms.http_errors import Refusal, Retries
from ragcore.llms.prompt_echo import ReplyFilter
from ragcore.llms.tool_call import ToolCall
from ragcore.prompts.prompt import RenderedMessage


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said: the raw text, thoughts included; None where it did not count its tokens."""

    text: str
    usage: Usage | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    cut_short: bool = False


Replies: TypeAlias = Generator[str, None, Reply]
"""Pieces of the raw text as they come; the return value is the whole."""


class ServedLLM(LLM):
    """Subclasses give `models_at`, `_ask` and `_listen`. Several threads may use one at once."""

    models_at: ClassVar[tuple[str, str, str]]  # path, the list in what comes back, and the name in each of it

    def __init__(self, server: ModelServer, metadata: LLMMetadata, retries: Retries) -> None:
        self._server = server
        self._metadata = metadata
        self._retries = retries

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
    def _ask(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Reply:
        """One request for the whole answer."""

    @abstractmethod
    def _listen(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Replies:
        """One request for the answer in pieces."""

    def close(self) -> None:
        """Give its connections back; they also go with the object."""
        self._server.close()

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return self._retries.run(lambda: self._asked_once(call, messages))

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

    def _asked_once(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        try:
            reply = self._ask(call, messages)
        except Refusal as refusal:
            raise self._in_words(refusal, call) from refusal
        answer = ReplyFilter(call.prompt.task, messages, call.tools)
        text = answer.feed(reply.text) + answer.end()
        return self._generation(call, messages, reply, text, answer.tool_calls)

    def _heard_once(self, call: LLMCall, messages: Sequence[RenderedMessage], said: list[str]) -> Stream:
        """One attempt; what it gives out it also adds to `said`."""
        answer = ReplyFilter(call.prompt.task, messages, call.tools)
        replies = self._listen(call, messages)
        try:
            while True:
                try:
                    piece = answer.feed(next(replies))
                except StopIteration as stop:
                    reply: Reply = stop.value
                    break
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
        return self._generation(call, messages, reply, "".join(said), answer.tool_calls)

    def _generation(
        self,
        call: LLMCall,
        messages: Sequence[RenderedMessage],
        reply: Reply,
        text: str,
        calls_in_text: tuple[ToolCall, ...],
    ) -> Generation:
        tool_calls = reply.tool_calls or calls_in_text
        improves = bool(call.variables.get("existing_answer"))  # which stays, where the reply is the prompt again
        if not text.strip() and not tool_calls and not (improves and reply.text.strip()):
            raise self._server.empty(at_limit=reply.cut_short)
        return Generation(
            text,
            reply.usage or self.usage(messages, reply.text, call.tools, reply.tool_calls),
            tool_calls,
            reply.cut_short,
        )

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
