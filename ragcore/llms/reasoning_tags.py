"""Reasoning models write their thoughts between <think> and </think> before they answer; a reader wants the answer."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class AnswerFilter:
    """Takes a text in pieces, cut anywhere, and gives back the same text without thoughts and without white space before it.

    A `<think>` that is never closed hides the rest when the text opens with it; further on it is part of the answer, and comes
    back at the end.
    """

    def __init__(self) -> None:
        self._held = ""  # not yet known to be answer or thought
        self._thinking = False  # `_held` begins with OPEN
        self._begun = False  # something of the answer was given back

    def feed(self, piece: str) -> str:
        """What of the answer is certain now, possibly ""."""
        self._held += piece
        answer = ""
        while True:
            if self._thinking:
                end = self._held.find(CLOSE)
                if end < 0:
                    return answer
                self._held = self._held[end + len(CLOSE) :]
                self._thinking = False
            if not self._begun:
                self._held = self._held.lstrip()
            start = self._held.find(OPEN)
            certain = start if start >= 0 else len(self._held) - _length_that_may_open(self._held)
            answer += self._held[:certain]
            self._begun = self._begun or certain > 0
            self._held = self._held[certain:]
            if start < 0:
                return answer
            self._thinking = True

    def end(self) -> str:
        """The text is over: what was held back and belongs to the answer."""
        rest, self._held = self._held, ""
        return "" if self._thinking and not self._begun else rest


def _length_that_may_open(text: str) -> int:
    """How many of the last characters could be the beginning of `<think>`."""
    return next((n for n in range(min(len(OPEN) - 1, len(text)), 0, -1) if text.endswith(OPEN[:n])), 0)
