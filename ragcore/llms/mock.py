"""A language model that repeats its prompt, to see what another would receive."""

from __future__ import annotations

import re
from collections.abc import Generator

from ragcore.llms.base import LLMMetadata
from ragcore.llms.custom import CustomLLM
from ragcore.schema import CompletionResponse


class MockLLM(CustomLLM):
    """Answers with the prompt, streamed word by word; with `max_tokens`, it answers with that many times
    "text".

    >>> MockLLM().complete("A boat").text
    'A boat'
    """

    def __init__(self, max_tokens: int | None = None) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens}; it must be at least 1")
        self.max_tokens = max_tokens

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("mock", num_output=self.max_tokens or LLMMetadata("mock").num_output)

    def complete(self, prompt: str) -> CompletionResponse:
        return CompletionResponse(prompt if self.max_tokens is None else " ".join(["text"] * self.max_tokens))

    def stream_complete(self, prompt: str) -> Generator[CompletionResponse, None, None]:
        text = ""
        if not prompt:
            yield CompletionResponse("", "")
        for word in re.findall(r"\s*\S+\s*$|\s*\S+|\s+", self.complete(prompt).text):
            text += word
            yield CompletionResponse(text, word)
