"""A language model of which less, or more, is used at a time than it says itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.prompts import RenderedMessage


class WindowedLLM(LLM):
    """Another model under metadata that differ from its own; a model behind a server is asked with these sizes."""

    def __init__(self, llm: LLM, metadata: LLMMetadata) -> None:
        self.llm = llm
        self.provider = llm.provider
        self._metadata = metadata

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    def count_tokens(self, text: str) -> int:
        return self.llm.count_tokens(text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return self.llm._generate(self._sized(call), messages)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        return (yield from self.llm._stream(self._sized(call), messages))

    def _sized(self, call: LLMCall) -> LLMCall:
        return call if call.metadata else replace(call, metadata=self._metadata)
