"""Making texts that a model is to judge fit its window: each keeps its beginning, the longest lose most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.llms.speed import Speed
from ragcore.observe import Span
from ragcore.prompts.prompt import Passage, Prompt, RenderedMessage, Variables

PER_TEXT = 12  # tokens that a text's number and the space around it may take
LEAST = 16  # tokens that are left of a text in any case


def opinion(llm: LLM, prompt: Prompt, question: str, texts: Sequence[str], step: Span) -> str:
    """The model's reply about `texts`, numbered from 1 and `shortened`."""
    fitting = shortened(llm, prompt, {"context_str": (), "query_str": question}, texts, step)
    passages = tuple(Passage(text, number) for number, text in enumerate(fitting, 1))
    return llm.generate(LLMCall(prompt, {"context_str": passages, "query_str": question})).text


def shortened(llm: LLM, prompt: Prompt, variables: Variables, texts: Sequence[str], step: Span) -> list[str]:
    """`texts`, cut so that they fit together with the rest of the prompt, whose `variables` are given without them.

    How many were cut is noted in `step` as `shortened`.
    """
    rest = sum(llm.count_tokens(message.content) for message in prompt.render(variables))
    room = llm.metadata.context_window - llm.metadata.num_output - rest - PER_TEXT * len(texts)
    sizes = [llm.count_tokens(text) for text in texts]
    if sum(sizes) <= room:
        return list(texts)
    most = max(fair_share(sizes, room), LEAST)
    step.note(shortened=sum(size > most for size in sizes))
    return [text if size <= most else _beginning(llm, text, most) for text, size in zip(texts, sizes, strict=True)]


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The greatest size to which all larger ones can be cut so that they fit together; `room` where all do."""
    left = room
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return room


def _beginning(llm: LLM, text: str, tokens: int) -> str:
    end = len(text)
    while end and (size := llm.count_tokens(text[:end])) > tokens:
        end = min(end - 1, end * tokens // size)
    return text[:end]


class WindowedLLM(LLM):
    """Another model under metadata that differ from its own; a model behind a server is asked with these sizes."""

    def __init__(self, llm: LLM, metadata: LLMMetadata) -> None:
        self.llm = llm
        self.provider = llm.provider
        self._metadata = metadata

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    @property
    def speed(self) -> Speed | None:
        return self.llm.speed

    def count_tokens(self, text: str) -> int:
        return self.llm.count_tokens(text)

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        return self.llm._generate(self._sized(call), messages)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        return (yield from self.llm._stream(self._sized(call), messages))

    def _sized(self, call: LLMCall) -> LLMCall:
        return call if call.metadata else replace(call, metadata=self._metadata)
