"""Removes the thoughts that reasoning models write between <think> and </think> before their answer."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class AnswerFilter:
    """Takes a text in pieces, cut anywhere, and returns it without thoughts and leading white space.

    A `<think>` without end at the beginning of the text hides the rest; later in the text it is part of the
    answer, and is returned at the end.
    """

    def __init__(self) -> None:
        self._buffer = ""  # either answer or thought
        self._thinking = False  # `_buffer` begins with OPEN
        self._begun = False  # a part of the answer was returned

    def feed(self, piece: str) -> str:
        """The next certain part of the answer, possibly ""."""
        self._buffer += piece
        answer = ""
        while True:
            if self._thinking:
                end = self._buffer.find(CLOSE)
                if end < 0:
                    return answer
                self._buffer = self._buffer[end + len(CLOSE) :]
                self._thinking = False
            if not self._begun:
                self._buffer = self._buffer.lstrip()
            start = self._buffer.find(OPEN)
            certain = start if start >= 0 else len(self._buffer) - _length_that_may_open(self._buffer)
            answer += self._buffer[:certain]
            self._begun = self._begun or certain > 0
            self._buffer = self._buffer[certain:]
            if start < 0:
                return answer
            self._thinking = True

    def end(self) -> str:
        """After the last piece: the rest of the answer."""
        rest, self._buffer = self._buffer, ""
        return "" if self._thinking and not self._begun else rest


def _length_that_may_open(text: str) -> int:
    """The number of last characters that may be the beginning of `<think>`."""
    return next((n for n in range(min(len(OPEN) - 1, len(text)), 0, -1) if text.endswith(OPEN[:n])), 0)
