"""Passages to answer from, and a retriever that finds them whatever is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.llms.scripted import Rule, ScriptedLLM
from ragcore.observe import span
from ragcore.prompts.prompt import Passage, RenderedMessage
from ragcore.response_synthesizers.packer import Packed, Passages
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, as_bundle


class ListRetriever:
    """`asked` are the questions it was asked."""

    def __init__(self, nodes: Sequence[NodeWithScore]) -> None:
        self.nodes = list(nodes)
        self.asked: list[str] = []

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        with span("retrieve"):
            self.asked.append(as_bundle(query).query_str)
            return list(self.nodes)


def nodes(*texts: str) -> list[NodeWithScore]:
    """Consecutive pages of one file."""
    return [
        NodeWithScore(TextNode(text, metadata={"file_name": "book.pdf", "page_label": str(page)}), 1.0 / page)
        for page, text in enumerate(texts, 1)
    ]


def word_llm(rule: Rule, window: int = 100_000, num_output: int = 40) -> ScriptedLLM:
    """Tokens are words."""
    return ScriptedLLM(rule, context_window=window, num_output=num_output, counts_words=True)


class UnlockedLLM(LLM):
    """Answers `rule(call)`, several at the same time; ScriptedLLM answers one after the other."""

    def __init__(self, rule: Callable[[LLMCall], str], window: int = 100_000) -> None:
        self._rule = rule
        self._metadata = LLMMetadata("unlocked", context_window=window, num_output=40)

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        text = self._rule(call)
        return Generation(text, self.usage(messages, text))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        yield from re.findall(r"\S+\s*", generation.text)
        return generation


def counting(answer: str = "A") -> Rule:
    """Answers "A1", "A2", ... in turn."""
    count = iter(range(1, 1000))
    return lambda call: f"{answer}{next(count)}"


def passages_of(call: LLMCall) -> Passages:
    """The passages that a call shows."""
    return tuple(item for item in call.variables.get("context_str", ()) if isinstance(item, Passage))


def packs(packed: Packed) -> list[Passages]:
    return [passages_of(call) for call in packed.calls]


def shown(call: LLMCall) -> list[int | None]:
    """The numbers of the passages in a call."""
    return [passage.number for passage in passages_of(call)]


def prompts(llm: ScriptedLLM) -> list[str]:
    return [call.prompt for call in llm.calls]
