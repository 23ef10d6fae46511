"""Lets a language model choose the texts that help with a question."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.concurrency import in_order
from ragcore.llms.base import LLM
from ragcore.llms.context_window import rank_texts
from ragcore.observe import span
from ragcore.prompts.wording import CHOICE_SELECT
from ragcore.text.rank_replies import parse_ranking


def choose_texts(
    llm: LLM, question: str, texts: Sequence[str], batch_size: int, workers: int = 4
) -> list[tuple[int, float]]:
    """(place from 0, relevance 0 to 10) of the texts that help, best first, ties in their order.

    One call ranks `batch_size` texts; `workers` calls run in parallel. Each has a span "choose" with the
    number `chosen`, and `unreadable` if the reply names no text.
    """
    if batch_size < 1:
        raise ValueError(f"the batch size is {batch_size}; it must be at least 1")

    def ask(first: int) -> list[tuple[int, float]]:
        batch = texts[first : first + batch_size]
        with span("choose", texts=len(batch)) as step:
            reply = rank_texts(llm, CHOICE_SELECT, question, batch, step)
            chosen = [(first + place, relevance) for place, relevance in parse_ranking(reply, len(batch))]
            step.note(chosen=len(chosen), **({"unreadable": True} if reply.strip() and not chosen else {}))
        return chosen

    chosen = [
        pair for batch in in_order(ask, range(0, len(texts), batch_size), workers=workers) for pair in batch
    ]
    return sorted(chosen, key=lambda pair: (-pair[1], pair[0]))
