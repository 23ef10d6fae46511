"""Reading everything: a question put to all passages of the chosen documents.

The answer is one like any other, but that the passages it is given as sources are those it cites, numbered in its order;
that it says how far it has come; and that what the calls have said so far is kept when it is stopped.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from ragcore.extractive.fixed_replies import NOTHING_FOUND, best_replies, in_language_of, is_closest, is_refusal
from ragcore.observe import Span
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import ROW_SEPARATOR, ResponseMode
from ragcore.response_synthesizers.progress import latest_replies, packs, passages_read
from ragcore.schema import NodeWithScore
from ragcore.text.citations import CITATION, Citations

WAYS = (ResponseMode.TREE_SUMMARIZE, ResponseMode.REFINE, ResponseMode.ACCUMULATE)
"""The modes that can read everything, the one to begin with first."""

SHORT_REPLY = 300  # characters: a longer reply says more than that nothing was found

_NOTHING = re.compile(
    r"(?:could|can|did|do|does|is|was|are|were|has|have)(?: ?not|n[’']t)\b[^.]{0,60}"
    r"\b(?:find|found|mention|hold|contain|say|state|answer|provide|include|give|information|available)"
    r"|\bno (?:information|mention|answer)\b|nothing about this",
    re.IGNORECASE,
)


def says_nothing(reply: str) -> bool:
    """Whether a reply only says that the passages do not hold the answer: one of our own, or a short one of a model that cites
    none."""
    text = reply.strip()
    if not text or is_refusal(text):
        return not is_closest(text)
    return len(text) <= SHORT_REPLY and not CITATION.search(text) and _NOTHING.search(text) is not None


class ReadEverything(AnswerStream):
    """An answer from all passages, which are `passages`; `source_nodes` are those cited so far, [n] the n-th of them."""

    def __init__(self, answer: AnswerStream, mode: ResponseMode, question: str = "") -> None:
        """`answer` is from all passages, in one of WAYS, and not yet begun. That nothing was found is said in the language of
        `question`."""
        self.passages = answer.source_nodes
        self._citations = Citations()
        pieces = answer.pieces
        if mode is ResponseMode.ACCUMULATE:
            pieces = rows_that_answer(pieces, answer.trace, question)
        super().__init__(self._noting(self._citations.pieces(pieces, self.passages)), trace=answer.trace, extra=answer.extra)

    def _noting(self, pieces: Generator[str, None, None]) -> Generator[str, None, None]:
        with closing(pieces):
            for piece in pieces:
                self._take_over()
                yield piece

    def _take_over(self) -> None:
        if len(self._citations.cited) > len(self.source_nodes):
            self.source_nodes = tuple(self._citations.cited)

    def so_far(self) -> tuple[str, Sequence[NodeWithScore]]:
        """Where no word of the answer itself was said, what the calls that are over have: refine's last answer, or the
        summaries of parts."""
        if self.text or self.trace is None:
            return self.text, self.source_nodes
        kept = "\n\n".join(reply for reply in latest_replies(self.trace) if not says_nothing(reply))
        citations = Citations()
        return citations.anew(kept, self.passages), citations.cited

    def read(self) -> list[NodeWithScore]:
        """The passages that the calls which are over were shown."""
        numbers = passages_read(self.trace) if self.trace is not None else set()
        return [found for number, found in enumerate(self.passages, 1) if number in numbers]


def rows_that_answer(
    pieces: Generator[str, None, object], trace: Span | None = None, question: str = ""
) -> Generator[str, None, None]:
    """Of the rows of accumulate, those whose passage held an answer, below each other; where there are none, the closest
    passages, or that nothing was found, in the language of `question`.

    A row without a citation gets that of its passage, where the trace tells which it was.
    """
    shown: list[int] = []
    closest: list[str] = []
    said = False
    for number, row in _rows(pieces):
        if number == 0:
            yield ""
            continue
        if says_nothing(row):
            continue
        if not shown and trace is not None:
            shown = [step.facts["passages"][0] for step in packs(trace)]
        cited = row if CITATION.search(row) or number > len(shown) else f"{row} [{shown[number - 1]}]"
        if is_closest(cited):
            closest.append(cited)
            continue
        yield f"\n\n{cited}" if said else cited
        said = True
    if not said:
        yield "\n\n".join(best_replies(closest)) or in_language_of(question, NOTHING_FOUND)


def _rows(pieces: Generator[str, None, object]) -> Iterator[tuple[int, str]]:
    """(number, text) of each row once it is whole, and (0, "") for a piece that ends none."""
    number, held = 0, ""
    with closing(pieces):
        for piece in pieces:
            held += piece
            while (at := held.find(_head(number + 1))) >= 0:
                if number:
                    yield number, held[:at].strip()
                number, held = number + 1, held[at + len(_head(number + 1)) :]
            yield 0, ""
    if number:
        yield number, held.strip()


def _head(number: int) -> str:
    return f"{ROW_SEPARATOR if number > 1 else ''}Response {number}: "
