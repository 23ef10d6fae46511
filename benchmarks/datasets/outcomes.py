"""The outcome of an answer in a conversation: an answer, the closest passages, or nothing.

For questions that the documents answer, the shares of the three outcomes, and of texts with all must-words:
among answers, and among answers and closest passages. Answers that must be worked out are measured
separately. For the other questions, only the shares of the outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from benchmarks.datasets.data_set import Trial
from benchmarks.datasets.index import OpenedIndex
from lectern.schema import Ask
from ragcore.schema import ChatMessage, Outcome


@dataclass(frozen=True, slots=True)
class Reply:
    """`passages`: their documents and positions."""

    outcome: Outcome
    text: str
    passages: tuple[str, ...]


def reply_to(opened: OpenedIndex, ask: Ask, history: Sequence[ChatMessage]) -> Reply:
    """The reply after these messages. RagErrors."""
    stream = opened.library.answer(ask, history)
    text = "".join(stream)
    passages = tuple(
        f"{hit.node.ref_doc_id} {hit.node.start_char_idx}-{hit.node.end_char_idx}"
        for hit in stream.source_nodes
    )
    return Reply(stream.outcome, text, passages)


def outcome_scores(trial: Trial, reply: Reply) -> dict[str, float]:
    """Those of one question, by the names of their shares."""
    kind = ", computed" if trial.computes else "" if trial.answerable else ", not there"
    scores = {f"{outcome}{kind}": float(reply.outcome == outcome) for outcome in get_args(Outcome)}
    if not trial.answerable:
        return scores
    visible = reply.outcome != "nothing" and has_must_words(reply.text, trial.must)
    return {
        f"must-words shown{kind}": float(visible),
        f"must-words as answer{kind}": float(visible and reply.outcome == "answer"),
        **scores,
    }


def has_must_words(text: str, must: Sequence[Sequence[str]]) -> bool:
    """Whether the text has a string of each group.

    >>> has_must_words("The rent is €1,240 a month.", [["1,240", "1240"], ["month"]])
    True
    """
    return all(any(each in text for each in group) for group in must)
