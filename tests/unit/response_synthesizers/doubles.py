"""A language model whose answers follow a rule, counting words as tokens, and a retriever of given passages."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream
from ragcore.observe import span
from ragcore.prompts import RenderedMessage
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, as_bundle


class RuleLLM(LLM):
    """Answers `rule(call)`, a word a piece; `calls` are the calls in the order in which they began."""

    def __init__(self, rule: Callable[[LLMCall], str] | None = None, window: int = 100_000, num_output: int = 64) -> None:
        self._metadata = LLMMetadata("rule", context_window=window, num_output=num_output)
        self._rule = rule or (lambda call: f"answer {len(self.calls)}")
        self._lock = threading.Lock()
        self.calls: list[LLMCall] = []
        self.closed = 0

    @property
    def metadata(self) -> LLMMetadata:
        return self._metadata

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        with self._lock:
            self.calls.append(call)
        text = self._rule(call)
        return Generation(text, self.usage(messages, text))

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        generation = self._generate(call, messages)
        try:
            yield from re.findall(r"\S+\s*|^\s+", generation.text)
        except GeneratorExit:
            self.closed += 1
            raise
        return generation

    @property
    def prompts(self) -> list[str]:
        return [call.prompt.name for call in self.calls]


class ListRetriever:
    """Finds the same passages whatever is asked; `asked` are the questions."""

    def __init__(self, nodes: Sequence[NodeWithScore]) -> None:
        self.nodes = list(nodes)
        self.asked: list[str] = []

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        with span("retrieve"):
            self.asked.append(as_bundle(query).query_str)
            return list(self.nodes)


def nodes(*texts: str) -> list[NodeWithScore]:
    return [
        NodeWithScore(TextNode(text, metadata={"file_name": "book.pdf", "page_label": str(page)}), 1.0 / page)
        for page, text in enumerate(texts, 1)
    ]
