"""What several texts say together, in a few sentences, by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragcore.observe import span
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import SUMMARY, SUMMARY_ASKED_FOR

if TYPE_CHECKING:
    from ragcore.llms.base import LLM

ASKED = "Summarize this."  # what a reader that quotes is asked; the prompt's wording says it to others


def summary_of(llm: LLM, texts: Sequence[str], query: str = "") -> str:
    """One call where the texts fit the model's window, else as many as it takes. "" without texts, and no call. LLMErrors.

    `query` says what the summary is to tell.
    """
    from ragcore.response_synthesizers.modes import Prompts, SynthesisJob, tree_summarize

    passages = tuple(Passage(text) for text in texts if text.strip())
    if not passages:
        return ""
    with span("summarize", texts=len(passages)):
        prompts = Prompts(summary=SUMMARY_ASKED_FOR if query else SUMMARY)
        pieces = tree_summarize(SynthesisJob(llm, passages, {"query_str": query or ASKED}, prompts=prompts))
        while True:
            try:
                next(pieces)
            except StopIteration as stop:
                return str(stop.value).strip()
