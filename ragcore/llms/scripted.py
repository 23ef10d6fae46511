"""A language model for tests that answers from a list, or by a rule, and records every call."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.llms.tool_call import ToolCall
from ragcore.prompts.prompt import RenderedMessage, Variables

Line: TypeAlias = str | Generation | ToolCall | Sequence[ToolCall] | Exception
Rule: TypeAlias = Callable[[LLMCall], Line]


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A recorded call."""

    prompt: str  # its name
    variables: Variables
    messages: tuple[RenderedMessage, ...]
    call: LLMCall
    streamed: bool


class ScriptedLLM(LLM):
    """`replies` are one reply for each call in order, or a function of the call. An exception among them is
    raised; a ToolCall, or several in a list, are a reply without text.

    More calls than replies are an AssertionError. With `counts_words` tokens are words, which a test can
    count by eye. Streams fail with `failure` after `breaks_after` words.

    >>> llm = ScriptedLLM(["Blue."])
    >>> llm.complete("What colour is the sea?").text, llm.calls[0].prompt
    ('Blue.', 'generation')
    """

    def __init__(
        self,
        replies: Sequence[Line] | Rule = (),
        *,
        model_name: str = "scripted",
        context_window: int = 8192,
        num_output: int = 768,
        is_function_calling_model: bool = False,
        counts_words: bool = False,
        breaks_after: int | None = None,
        failure: Exception | None = None,
    ) -> None:
        self._rule = replies if callable(replies) else None
        self._replies: Iterator[Line] = iter(() if callable(replies) else tuple(replies))
        self._metadata = LLMMetadata(model_name, context_window, num_output, is_function_calling_model)
        self._counts_words = counts_words
        self._breaks_after = breaks_after
        self._failure = failure
        self._lock = threading.Lock()  # independent calls of one answer come from several threads
        self.calls: list[LoggedCall] = []
        self.closed_streams = 0  # closed before their end

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    def count_tokens(self, text: str) -> int:
        return len(text.split()) if self._counts_words else super().count_tokens(text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return self._next(call, messages, streamed=False)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._next(call, messages, streamed=True)
        try:
            for index, word in enumerate(re.findall(r"\s*\S+\s*$|\s*\S+|\s+", generation.text)):
                if index == self._breaks_after and self._failure is not None:
                    raise self._failure
                yield word
        except GeneratorExit:
            with self._lock:
                self.closed_streams += 1
            raise
        return generation

    def _next(self, call: LLMCall, messages: Sequence[RenderedMessage], *, streamed: bool) -> Generation:
        with self._lock:
            self.calls.append(LoggedCall(call.prompt.name, call.variables, tuple(messages), call, streamed))
            number = len(self.calls)
            reply = self._rule(call) if self._rule else next(self._replies, None)
        if reply is None:
            raise AssertionError(f"call {number} ({call.prompt.name}) has no reply in the script")
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Generation):
            return reply
        text, calls = (
            (reply, ())
            if isinstance(reply, str)
            else ("", (reply,) if isinstance(reply, ToolCall) else tuple(reply))
        )
        return Generation(text, self.usage(messages, text, call.tools, calls), calls)
