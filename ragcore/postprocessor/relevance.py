"""What a language model says of how much numbered passages help."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts import Passage, Prompt
from ragcore.schema import NodeWithScore

# "Doc: 2, Relevance: 7", and what models make of it: "**Doc 2** - relevance score: 7.5/10"
_LINE = re.compile(r"\bdoc(?:ument)?\b\W*(\d+)\W+relevance\b[^\d\n]{0,15}(\d+(?:\.\d+)?)", re.IGNORECASE)
_ORDER = re.compile(r"\[\d+\](?:\s*>\s*\[\d+\])+")


def judged(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> dict[int, float] | None:
    """By place in `nodes`, how much each passage that helps does, in the order of the reply. None when it cannot be read.

    An empty reply is that nothing helps. A number that no passage has is left out, as is a second line of the same passage.
    """
    return _judged_in(_reply(llm, prompt, nodes, question), len(nodes))


def in_order_of(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> list[int]:
    """The places in `nodes` that the model names, the most helpful first: "[2] > [1]", or lines as `judged` reads them."""
    reply = _reply(llm, prompt, nodes, question)
    if order := _ORDER.search(reply):
        places = dict.fromkeys(int(number) - 1 for number in re.findall(r"\d+", order.group()))
        return [place for place in places if 0 <= place < len(nodes)]
    scores = _judged_in(reply, len(nodes)) or {}
    return sorted(scores, key=lambda place: -scores[place])


def _reply(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> str:
    passages = tuple(Passage(hit.text, number) for number, hit in enumerate(nodes, 1))
    return llm.generate(LLMCall(prompt, {"context_str": passages, "query_str": question})).text


def _judged_in(reply: str, count: int) -> dict[int, float] | None:
    lines = _LINE.findall(reply)
    if not lines:
        return None if reply.strip() else {}
    said = {int(number) - 1: float(score) for number, score in reversed(lines)}
    return {place: said[place] for place in dict.fromkeys(int(number) - 1 for number, _ in lines) if 0 <= place < count}
