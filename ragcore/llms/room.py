"""Making texts that a model is to choose from fit its window: each keeps its beginning, the longest lose most."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.prompts import Prompt, Variables

PER_TEXT = 12  # tokens that a text's number and the space around it may take
LEAST = 16  # tokens that are left of a text in any case


def shortened(llm: LLM, prompt: Prompt, variables: Variables, texts: Sequence[str], step: Span) -> list[str]:
    """`texts`, cut so that they fit together with the rest of the prompt, whose `variables` are given without them.

    How many were cut is noted in `step` as `shortened`.
    """
    rest = sum(llm.count_tokens(message.content) for message in prompt.render(variables))
    room = llm.metadata.context_window - llm.metadata.num_output - rest - PER_TEXT * len(texts)
    sizes = [llm.count_tokens(text) for text in texts]
    if sum(sizes) <= room:
        return list(texts)
    most = _fair_share(sizes, room)
    step.note(shortened=sum(size > most for size in sizes))
    return [text if size <= most else _beginning(llm, text, most) for text, size in zip(texts, sizes, strict=True)]


def _fair_share(sizes: Sequence[int], room: int) -> int:
    """The size to which the longest must be cut, so that all fit."""
    left = room
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return max(share, LEAST)
        left -= size
    return max(sizes)


def _beginning(llm: LLM, text: str, tokens: int) -> str:
    end = len(text)
    while end and (size := llm.count_tokens(text[:end])) > tokens:
        end = min(end - 1, end * tokens // size)
    return text[:end]
