"""Summarizes several texts together in a few sentences, with a language model."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.llms.base import LLM, Pieces
from ragcore.observe import span
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import SUMMARY, SUMMARY_ASKED_FOR

DEFAULT_REQUEST = (
    "Summarize this."  # for a model that only quotes; for other models the prompt itself asks for a summary
)


def summary_of(llm: LLM, texts: Sequence[str], query: str = "") -> str:
    """One call if the texts fit the model's window, else several. Without texts the result is "" and there is
    no call. LLMErrors. `query` is the question that the summary answers."""
    from ragcore.response_synthesizers.modes import Prompts, SynthesisJob, tree_summarize

    passages = tuple(Passage(text) for text in texts if text.strip())
    if not passages:
        return ""
    with span("summarize", texts=len(passages)):
        prompts = Prompts(summary=SUMMARY_ASKED_FOR if query else SUMMARY)
        job = SynthesisJob(llm, passages, {"query_str": query or DEFAULT_REQUEST}, prompts=prompts)
        pieces = Pieces(tree_summarize(job))
        for _ in pieces:
            continue
        return pieces.result.strip()
