"""What a language model says of how much numbered passages help."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts import Passage, Prompt
from ragcore.schema import NodeWithScore

# "Doc: 2, Relevance: 7", and what models make of it: "**Doc 2** - relevance score: 7.5/10"
_LINE = re.compile(r"\bdoc(?:ument)?\b\W*(\d+)\W+relevance\b[^\d\n]{0,15}(\d+(?:\.\d+)?)", re.IGNORECASE)


def judged(llm: LLM, prompt: Prompt, nodes: Sequence[NodeWithScore], question: str) -> dict[int, float] | None:
    """By place in `nodes`, how much each passage that helps does, in the order of the reply. None when it cannot be read.

    An empty reply is that nothing helps. A number that no passage has is left out, as is a second line of the same passage.
    """
    passages = tuple(Passage(hit.text, number) for number, hit in enumerate(nodes, 1))
    reply = llm.generate(LLMCall(prompt, {"context_str": passages, "query_str": question})).text
    lines = _LINE.findall(reply)
    if not lines:
        return None if reply.strip() else {}
    said = {int(number) - 1: float(score) for number, score in reversed(lines)}
    return {place: said[place] for place in dict.fromkeys(int(number) - 1 for number, _ in lines) if 0 <= place < len(nodes)}
