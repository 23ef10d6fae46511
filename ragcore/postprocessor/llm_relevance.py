"""What a language model says of how much numbered passages help."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.llms.base import LLM
from ragcore.llms.context_window import opinion
from ragcore.observe import span
from ragcore.prompts.prompt import Prompt
from ragcore.schema import NodeWithScore
from ragcore.text.rank_replies import named_in, ranked_in

_ORDER = re.compile(r"\[\d+\](?:\s*>\s*\[\d+\])+")


def judged(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> dict[int, float] | None:
    """By place in `nodes`, how much each passage that helps does, 0 to 10, in the order of the reply. None when it names no
    passage in any form; an empty reply is that nothing helps."""
    reply = _reply(llm, prompt, nodes, question)
    found = dict(ranked_in(reply, len(nodes)))
    return None if reply.strip() and not found else found


def in_order_of(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> list[int]:
    """The places in `nodes` that the model names, the most helpful first: "[2] > [1]", or lines as `judged` reads them."""
    reply = _reply(llm, prompt, nodes, question)
    if order := _ORDER.search(reply):
        places = dict.fromkeys(int(number) - 1 for number in re.findall(r"\d+", order.group()))
        return [place for place in places if 0 <= place < len(nodes)]
    return [place for place, _ in sorted(named_in(reply, len(nodes)), key=lambda pair: -pair[1])]


def _reply(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> str:
    with span("choose", texts=len(nodes)) as step:
        return opinion(llm, prompt, question, [hit.text for hit in nodes], step)
