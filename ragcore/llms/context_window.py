"""Cutting texts so that they fit the window of a model: each keeps its beginning, the longest lose most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.llms.speed import Speed
from ragcore.observe import Span
from ragcore.prompts.prompt import Passage, Prompt, RenderedMessage, Variables
from ragcore.prompts.structured_output import RANKING
from ragcore.text.json_replies import parse_json_values

PER_TEXT = 12  # tokens for a text's number and the space around it
LEAST = 16  # minimum tokens of a text after cutting


def rank_texts(llm: LLM, prompt: Prompt, question: str, texts: Sequence[str], step: Span) -> str:
    """The model's ranking of `texts`, numbered from 1 and `shortened`: lines as the prompt requests, or JSON
    if the server enforces RANKING. "" for an empty list."""
    fitting = shorten_texts(llm, prompt, {"context_str": (), "query_str": question}, texts, step)
    passages = tuple(Passage(text, number) for number, text in enumerate(fitting, 1))
    reply = llm.generate(
        LLMCall(prompt, {"context_str": passages, "query_str": question}, schema=RANKING)
    ).text
    return "" if parse_json_values(reply) == [{"passages": []}] else reply


def shorten_texts(
    llm: LLM, prompt: Prompt, variables: Variables, texts: Sequence[str], step: Span
) -> list[str]:
    """`texts`, cut to fit together with the rest of the prompt, whose `variables` do not contain them.

    `step` records the number of cut texts as `shortened`.
    """
    rest = sum(llm.count_tokens(message.content) for message in prompt.render(variables))
    room = llm.metadata.context_window - llm.metadata.num_output - rest - PER_TEXT * len(texts)
    sizes = [llm.count_tokens(text) for text in texts]
    if sum(sizes) <= room:
        return list(texts)
    most = max(fair_share(sizes, room), LEAST)
    step.note(shortened=sum(size > most for size in sizes))
    return [
        text if size <= most else _cut_text(llm, text, most) for text, size in zip(texts, sizes, strict=True)
    ]


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The maximum size such that all fit after cutting the larger ones to it; `room` if nothing must be
    cut."""
    remaining = room
    for place, size in enumerate(sorted(sizes)):
        share = remaining // (len(sizes) - place)
        if size > share:
            return share
        remaining -= size
    return room


def _cut_text(llm: LLM, text: str, tokens: int) -> str:
    end = len(text)
    while end and (size := llm.count_tokens(text[:end])) > tokens:
        end = min(end - 1, end * tokens // size)
    return text[:end]


class WindowedLLM(LLM):
    """Another model with different metadata; requests to a server have these sizes."""

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
        return self.llm._generate(self._with_sizes(call), messages)

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        return (yield from self.llm._stream(self._with_sizes(call), messages))

    def _with_sizes(self, call: LLMCall) -> LLMCall:
        return call if call.metadata else replace(call, metadata=self._metadata)
