"""The base of your own model that continues a text. (LLM is the base of one that takes messages.)"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TypeAlias

from ragcore.llms.base import LLM, Generation, LLMCall, Stream
from ragcore.prompts.prompt import RenderedMessage
from ragcore.prompts.wording import MESSAGES
from ragcore.schema import CompletionResponse, Fields, MessageRole

CompletionResponseGen: TypeAlias = Generator[CompletionResponse, None, None]
"""The type of `stream_complete`."""


class CustomLLM(Fields, LLM):
    """Subclasses implement `metadata` and `complete`, and `stream_complete` if they can, or `chat`. Only
    these call the model.

    A prompt of one message is sent as its text. Several messages are sent as lines "role: content", ending
    with "assistant: ". Direct calls of `complete` by a script are not traced.

    >>> from ragcore.llms import LLMMetadata
    >>> class Echo(CustomLLM):
    ...     context_window: int = 3900
    ...     ending: str = "!"
    ...
    ...     @property
    ...     def metadata(self):
    ...         return LLMMetadata(context_window=self.context_window, model_name="echo")
    ...
    ...     def complete(self, prompt, **kwargs):
    ...         return CompletionResponse(text=prompt + self.ending)
    >>> str(Echo(ending="?").complete("A boat"))
    'A boat?'
    """

    @abstractmethod
    def complete(self, prompt: str) -> CompletionResponse: ...

    def stream_complete(self, prompt: str) -> CompletionResponseGen:
        """Each has the whole text so far, and its newest piece as `delta` or None."""
        whole = self.complete(prompt)
        yield CompletionResponse(whole.text, whole.text, whole.raw)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        if type(self).chat is not LLM.chat:
            return super()._generate(call, messages)
        text = self.complete(_one_text(call, messages)).text
        return Generation(text, self.usage(messages, text, call.tools))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        if type(self).chat is not LLM.chat:
            return (yield from super()._stream(call, messages))
        text = ""
        with closing(self.stream_complete(_one_text(call, messages))) as responses:
            for response in responses:
                piece = response.text[len(text) :] if response.delta is None else response.delta
                text += piece
                yield piece
        return Generation(text, self.usage(messages, text, call.tools))


def _one_text(call: LLMCall, messages: Sequence[RenderedMessage]) -> str:
    if len(messages) == 1 and call.prompt is not MESSAGES:
        return messages[0].content
    lines = [f"{message.role.value}: {message.content}" for message in messages]
    return "\n".join([*lines, f"{MessageRole.ASSISTANT.value}: "])
