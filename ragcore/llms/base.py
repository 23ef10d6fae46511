"""One door to a language model: a call goes in, an answer comes out, whole or in pieces, and the trace has both.

A call is a prompt with its typed variables, not a string. A model behind a server gets the rendered messages; the extractive
reader ignores the wording and answers from the variables. Whoever calls need not know which of them it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ragcore.observe import Span, finish, start, stream_in, under
from ragcore.prompts import Prompt, RenderedMessage, Variables
from ragcore.schema import ChatMessage
from ragcore.text.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class LLMMetadata:
    """What packing must know. `context_window` and `num_output` are tokens; `num_output` is kept free for the answer."""

    model_name: str
    context_window: int = 8192
    num_output: int = 768
    is_function_calling_model: bool = False
    is_extractive: bool = False  # quotes passages, writes nothing of its own


@dataclass(frozen=True, slots=True)
class LLMCall:
    prompt: Prompt
    variables: Variables
    history: tuple[ChatMessage, ...] = ()

    def messages(self) -> list[RenderedMessage]:
        return self.prompt.render(self.variables, self.history)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens in and out; `estimated` when the server did not say and we counted ourselves."""

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    text: str
    usage: Usage
    tool_calls: tuple[dict[str, Any], ...] = field(default=())
    cut_short: bool = False  # the model stopped at its limit of tokens, not because it was done


Stream: TypeAlias = Generator[str, None, Generation]
"""Pieces of the text as they come; the return value is the whole generation: `generation = yield from llm.stream(call)`."""


class LLM(ABC):
    """A language model. Subclasses give `metadata`, `_generate` and `_stream`; failures are LLMErrors."""

    @property
    @abstractmethod
    def metadata(self) -> LLMMetadata: ...

    @abstractmethod
    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation: ...

    @abstractmethod
    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream: ...

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def generate(self, call: LLMCall) -> Generation:
        messages = call.messages()
        step = self._begin(call, messages)
        try:
            with under(step):
                generation = self._generate(call, messages)
        except BaseException as error:  # whatever it was, it is noted and goes on
            finish(step, error)
            raise
        _note(step, generation)
        finish(step)
        return generation

    def stream(self, call: LLMCall) -> Stream:
        """Nothing is sent before the first piece is asked for. Closing the stream ends the request."""
        messages = call.messages()
        step = self._begin(call, messages)

        def noted() -> Stream:
            said: list[str] = []
            pieces = self._stream(call, messages)
            try:
                while True:
                    try:
                        piece = next(pieces)
                    except StopIteration as stop:
                        generation: Generation = stop.value
                        _note(step, generation)
                        return generation
                    said.append(piece)
                    yield piece
            finally:
                pieces.close()
                step.facts.setdefault("reply", "".join(said))

        return (yield from stream_in(step, noted()))

    def usage(self, messages: Sequence[RenderedMessage], text: str) -> Usage:
        """Our own count, for servers that do not give theirs."""
        sent = sum(self.count_tokens(message.content) for message in messages)
        return Usage(sent, self.count_tokens(text), estimated=True)

    def _begin(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Span:
        return start(
            "llm",
            prompt=call.prompt.name,
            model=self.metadata.model_name,
            messages=[
                {"role": m.role.value, "parts": [{"origin": part.origin.value, "text": part.text} for part in m.parts]}
                for m in messages
            ],
        )


def _note(step: Span, generation: Generation) -> None:
    step.note(
        reply=generation.text,
        prompt_tokens=generation.usage.prompt_tokens,
        completion_tokens=generation.usage.completion_tokens,
        tokens_estimated=generation.usage.estimated,
        cut_short=generation.cut_short,
    )
