"""Reading everything: an answer from all passages of the chosen documents.

Unlike other answers, its sources are only the passages that it cites, numbered in its order. If it is
stopped, the replies of its finished calls are its text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing

from lectern.ask.citation_numbers import Citations
from ragcore.extractive.fixed_replies import NOTHING_FOUND, in_language_of, merge_closest
from ragcore.observe import Span
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.progress import (
    PartialAnswer,
    finished_parts,
    latest_replies,
    passages_read,
)
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import NodeWithScore, Outcome
from ragcore.text.citations import CITATION

MODES = sorted(
    (mode for mode in ResponseMode if mode.traits.reads_everything),
    key=lambda mode: mode.traits.reads_everything,
)
"""The modes that can read everything, the default first."""

SHORT_REPLY = 300  # characters of the longest refusal

_NOTHING = re.compile(
    r"(?:could|can|did|do|does|is|was|are|were|has|have)(?: ?not|n[’']t)\b[^.]{0,60}"
    r"\b(?:find|found|mention|hold|contain|say|state|answer|provide|include|give|information|available)"
    r"|\bno (?:information|mention|answer)\b|nothing about this",
    re.IGNORECASE,
)


def judge_reply(reply: PartialAnswer) -> Outcome:
    """The outcome of a reply, as the engine that quotes reports it. A language model reports none: its words
    are read, because a short reply without citations may say that nothing is there."""
    if reply.outcome is not None:
        return reply.outcome
    text = reply.text.strip()
    if not text or text.startswith(tuple(NOTHING_FOUND.values())):
        return "nothing"
    may_refuse = len(text) <= SHORT_REPLY and not CITATION.search(text)
    return "nothing" if may_refuse and _NOTHING.search(text) else "answer"


class ReadEverything(AnswerStream):
    """An answer from all `passages`; `source_nodes` are those cited so far, [n] the n-th of them."""

    def __init__(self, answer: AnswerStream, mode: ResponseMode, question: str = "") -> None:
        """`answer` is in one of MODES, and not yet begun. A refusal is in the language of `question`."""
        self.passages = answer.source_nodes
        self._citations = Citations()
        pieces = answer.pieces
        if mode is ResponseMode.ACCUMULATE and answer.trace is not None:
            pieces = answering_parts(pieces, answer.trace, question)
        super().__init__(self._cite(pieces), trace=answer.trace, extra=answer.extra)

    def _cite(self, pieces: Generator[str, None, object]) -> Generator[str, None, None]:
        """The pieces with new numbers; keeps `source_nodes` up to date."""
        with closing(self._citations.stream(pieces, self.passages)) as renumbered:
            for piece in renumbered:
                self.source_nodes = tuple(self._citations.cited)
                yield piece

    def so_far(self) -> tuple[str, Sequence[NodeWithScore]]:
        """The text and its sources; before there is any text, the replies of the finished calls: the last
        answer of refine, or the summaries of parts."""
        if self.text or self.trace is None:
            return self.text, self.source_nodes
        replies = latest_replies(self.trace)
        texts = [reply.text for reply in replies if judge_reply(reply) != "nothing"]
        citations = Citations()
        return citations.renumber("\n\n".join(texts), self.passages), citations.cited

    def read(self) -> list[NodeWithScore]:
        """The passages in the prompts of the finished calls."""
        numbers = passages_read(self.trace) if self.trace is not None else set()
        return [passage for number, passage in enumerate(self.passages, 1) if number in numbers]


def answering_parts(
    pieces: Generator[str, None, object], trace: Span, question: str = ""
) -> Generator[str, None, None]:
    """The parts of accumulate that answer, or else the closest passages, or the refusal in the question's
    language. A part without a citation gets the one of its passage."""
    closest: list[str] = []
    divider = ""
    with closing(finished_parts(pieces, trace)) as parts:
        for part in parts:
            if part is None:  # a sign of life
                yield ""
                continue
            text, outcome = part.text.strip(), judge_reply(part)
            if not CITATION.search(text):
                text = f"{text} [{part.passages[0]}]"
            if outcome == "closest":
                closest.append(text)
            elif outcome == "answer":
                yield divider + text
                divider = "\n\n"
    if not divider:
        if not closest:
            trace.note(outcome="nothing")
        yield merge_closest(closest, question) or in_language_of(question, NOTHING_FOUND)
