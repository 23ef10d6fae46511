"""The outcome of an answer in a conversation: an answer, the closest passages, or nothing about this; and what it shows.

Where the documents say it, the shares of the three outcomes, and of answers with all must-words: among what is shown as the
answer, and among what is shown as the answer or as the closest passages. What must be worked out is measured apart. Where they
do not say it, only the shares of the outcomes.
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
    """`found`: documents and places of the passages."""

    outcome: Outcome
    text: str
    passages: tuple[str, ...]


def reply_to(opened: OpenedIndex, ask: Ask, history: Sequence[ChatMessage]) -> Reply:
    """What a person is shown after these messages. RagErrors."""
    stream = opened.library.answer(ask, history)
    text = "".join(stream)
    passages = tuple(f"{hit.node.ref_doc_id} {hit.node.start_char_idx}-{hit.node.end_char_idx}" for hit in stream.source_nodes)
    return Reply(stream.outcome, text, passages)


def outcome_scores(trial: Trial, reply: Reply) -> dict[str, float]:
    """Those of one question, by the names of their shares."""
    kind = ", computed" if trial.computes else "" if trial.answerable else ", not there"
    scores = {f"{outcome}{kind}": float(reply.outcome == outcome) for outcome in get_args(Outcome)}
    if not trial.answerable:
        return scores
    shown = reply.outcome != "nothing" and has_must_words(reply.text, trial.must)
    return {
        f"must-words shown{kind}": float(shown),
        f"must-words as answer{kind}": float(shown and reply.outcome == "answer"),
        **scores,
    }


def has_must_words(text: str, must: Sequence[Sequence[str]]) -> bool:
    """Whether the text has a string of each group.

    >>> has_must_words("The rent is €1,240 a month.", [["1,240", "1240"], ["month"]])
    True
    """
    return all(any(each in text for each in group) for group in must)
