"""Reading everything: an answer from all passages of the chosen documents.

Unlike other answers, its sources are only the passages that it cites, numbered in its order. If it is
stopped, the replies of its finished calls are its text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from ragcore.extractive.fixed_replies import (
    NOTHING_FOUND,
    best_replies,
    in_language_of,
    is_closest,
    is_refusal,
)
from ragcore.observe import Span
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import ROW_SEPARATOR, ResponseMode
from ragcore.response_synthesizers.progress import latest_replies, packs, passages_read
from ragcore.schema import NodeWithScore
from ragcore.text.citations import CITATION, Citations

MODES = (ResponseMode.TREE_SUMMARIZE, ResponseMode.REFINE, ResponseMode.ACCUMULATE)
"""The modes that can read everything, the default first."""

SHORT_REPLY = 300  # characters of the longest refusal

_NOTHING = re.compile(
    r"(?:could|can|did|do|does|is|was|are|were|has|have)(?: ?not|n[’']t)\b[^.]{0,60}"
    r"\b(?:find|found|mention|hold|contain|say|state|answer|provide|include|give|information|available)"
    r"|\bno (?:information|mention|answer)\b|nothing about this",
    re.IGNORECASE,
)


def says_nothing(reply: str) -> bool:
    """Whether a reply is a refusal: a fixed one, or a short one of a model without citations."""
    text = reply.strip()
    if not text or is_refusal(text):
        return not is_closest(text)
    return len(text) <= SHORT_REPLY and not CITATION.search(text) and _NOTHING.search(text) is not None


class ReadEverything(AnswerStream):
    """An answer from all `passages`; `source_nodes` are those cited so far, [n] the n-th of them."""

    def __init__(self, answer: AnswerStream, mode: ResponseMode, question: str = "") -> None:
        """`answer` is in one of MODES, and not yet begun. A refusal is in the language of `question`."""
        self.passages = answer.source_nodes
        self._citations = Citations()
        pieces = answer.pieces
        if mode is ResponseMode.ACCUMULATE:
            pieces = rows_that_answer(pieces, answer.trace, question)
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
        replies = "\n\n".join(reply for reply in latest_replies(self.trace) if not says_nothing(reply))
        citations = Citations()
        return citations.renumber(replies, self.passages), citations.cited

    def read(self) -> list[NodeWithScore]:
        """The passages in the prompts of the finished calls."""
        numbers = passages_read(self.trace) if self.trace is not None else set()
        return [passage for number, passage in enumerate(self.passages, 1) if number in numbers]


def rows_that_answer(
    pieces: Generator[str, None, object], trace: Span | None = None, question: str = ""
) -> Generator[str, None, None]:
    """The rows of accumulate that answer, or else the closest passages, or the refusal in the question's
    language.

    A row without a citation gets the one of its passage if the trace has it.
    """
    passages: list[int] = []
    closest: list[str] = []
    divider = ""
    for number, row in _rows(pieces):
        if number == 0:
            yield ""
            continue
        if says_nothing(row):
            continue
        if not passages and trace is not None:
            passages = [step.facts["passages"][0] for step in packs(trace)]
        cited = row if CITATION.search(row) or number > len(passages) else f"{row} [{passages[number - 1]}]"
        if is_closest(cited):
            closest.append(cited)
            continue
        yield divider + cited
        divider = "\n\n"
    if not divider:
        yield "\n\n".join(best_replies(closest, question)) or in_language_of(question, NOTHING_FOUND)


def _rows(pieces: Generator[str, None, object]) -> Iterator[tuple[int, str]]:
    """(number, text) of each complete row, and (0, "") after each piece."""
    number, text = 0, ""
    with closing(pieces):
        for piece in pieces:
            text += piece
            while (at := text.find(_head(number + 1))) >= 0:
                if number:
                    yield number, text[:at].strip()
                number, text = number + 1, text[at + len(_head(number + 1)) :]
            yield 0, ""
    if number:
        yield number, text.strip()


def _head(number: int) -> str:
    return f"{ROW_SEPARATOR if number > 1 else ''}Response {number}: "
