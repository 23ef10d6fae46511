"""Stores the positions of the words of a recognised page in few bytes, and finds the boxes of a quote."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragcore.readers.ocr.recognised_page import RecognisedPage
from ragcore.readers.pdf.directions import Corners
from ragcore.readers.pdf.page_images import Box, letters_of, lines_of, marked_letters, quote_runs

STEPS = 10_000  # per width and height of a page; positions are rounded to steps


@dataclass(frozen=True, slots=True)
class PageWords:
    """`words`: text, x0, top, x1 and bottom, in STEPS of the page after it was turned `turn` degrees
    clockwise."""

    turn: int
    words: Sequence[tuple[str, int, int, int, int]]

    @classmethod
    def of(cls, page: RecognisedPage) -> PageWords:
        """The words of the lines that were read."""
        x, y = STEPS / max(page.width, 1), STEPS / max(page.height, 1)
        words = [
            (word.text, round(word.x0 * x), round(word.top * y), round(word.x1 * x), round(word.bottom * y))
            for line in page.lines
            for word in line.words
        ]
        return cls(page.turn, words)

    def as_json(self) -> list[object]:
        return [self.turn, self.words]

    @classmethod
    def of_json(cls, data: Any) -> PageWords:
        """The inverse of `as_json`. ValueError, TypeError for other data."""
        turn, words = data
        if turn not in (0, 90, 180, 270):
            raise ValueError(f"a page cannot be turned by {turn!r} degrees")
        return cls(
            turn,
            [(str(text), int(x0), int(top), int(x1), int(bottom)) for text, x0, top, x1, bottom in words],
        )

    def to_bytes(self) -> bytes:
        """Compressed: about 5 KB for a full page."""
        return zlib.compress(
            json.dumps(self.as_json(), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> PageWords:
        return cls.of_json(json.loads(zlib.decompress(data)))

    def highlight_boxes(self, quote: str, parts: Sequence[tuple[int, int]] | None = None) -> list[Box]:
        """Like `ragcore.readers.pdf.page_images.highlight_boxes`, on the turned page."""
        letters = [
            (letter, place) for place, word in enumerate(self.words) for letter, _ in letters_of(word[0])
        ]
        boxes: list[Box] = []
        for places in quote_runs(letters, *marked_letters(quote, parts)):
            boxes += map(_percent, lines_of([self.words[place][1:] for place in places]))
        return boxes


def _percent(corners: Corners) -> Box:
    x0, top, x1, bottom = (round(min(max(100 * side / STEPS, 0.0), 100.0), 2) for side in corners)
    return Box(x0, top, round(x1 - x0, 2), round(bottom - top, 2))
