"""The parts of an answer that stand below each other, and where they are in its text."""

from __future__ import annotations

from lectern.schema import AnswerPart
from ragcore.observe import Span
from ragcore.response_synthesizers.modes import part_heading
from ragcore.response_synthesizers.progress import parts_of


def find_parts(trace: Span | None, text: str) -> tuple[AnswerPart, ...]:
    """The finished parts of an answer of accumulate, by its trace; none for any other answer. Of an answer
    that was stopped, `text` may lack the last ones."""
    parts: list[AnswerPart] = []
    end = 0
    for number, reply in enumerate(parts_of(trace) if trace is not None else (), 1):
        start = end + len(part_heading(number))
        end = start + len(reply.text)
        if end > len(text):
            break
        parts.append(AnswerPart(start, end, reply.outcome or "answer"))
    return tuple(parts)
