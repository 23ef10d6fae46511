"""The result of text recognition on the picture of a page: its lines, and the position of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ragcore.readers.ocr.reading_order import Box

MIN_CONFIDENCE = 0.4  # confidence; a line with less has no letters, or letters that the engine does not know
TRUSTED_CONFIDENCE = 0.7  # minimum confidence of a page; with less, other engines and turns are tried
MIN_UNREAD = 15  # minimum letters of unread lines that are reported
MIN_UNREAD_SHARE = 0.2  # minimum share of the letters of a page in unread lines that are reported
MIN_WORD = 3  # letters of a word; engines rarely read so many in a picture without text
FIRST_WIDE = "\u2e80"  # the first of the scripts without spaces between words
MIN_TEXT_SHARE = 0.5  # minimum share of the letters in such words in a picture with text


class Word(NamedTuple):
    """A word and its box in pixels of the picture; y grows downwards. `confidence`: 0 to 1, comparable
    between engines.

    A `joined` word has no space before it, as in Chinese.
    """

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    confidence: float
    joined: bool = False

    @property
    def letters(self) -> int:
        """How many letters and digits it has."""
        return sum(map(str.isalnum, self.text))


@dataclass(frozen=True)
class Line:
    """The words of a line in reading order. `starts_paragraph` is true if there is space above it.

    `capacity` is about the number of characters that fit into its box, from engines that find lines before
    they read them.
    """

    words: tuple[Word, ...]
    starts_paragraph: bool = False
    capacity: int = 0

    @property
    def text(self) -> str:
        return "".join(("" if word.joined else " ") + word.text for word in self.words).strip()

    @property
    def box(self) -> Box:
        """The rectangle around its words."""
        return Box(
            min(word.x0 for word in self.words),
            min(word.top for word in self.words),
            max(word.x1 for word in self.words),
            max(word.bottom for word in self.words),
        )

    @cached_property
    def letters(self) -> int:
        return sum(word.letters for word in self.words)

    @cached_property
    def confidence(self) -> float:
        """The mean of its words, weighted by their letters; 0 without words."""
        return (
            sum(word.letters * word.confidence for word in self.words) / self.letters if self.letters else 0.0
        )

    @property
    def lies(self) -> bool:
        """Whether the line is horizontal, as on an upright page."""
        if len(self.text) < 3:
            return True
        x0, _, x1, _, _ = box = self.box
        return box.height <= 1.5 * (x1 - x0)


@dataclass(frozen=True)
class RecognisedPage:
    """The lines on a picture that is `width` by `height` pixels after it was turned `turn` degrees
    clockwise."""

    candidates: Sequence[Line]
    width: int
    height: int
    turn: int = 0  # 0, 90, 180, 270

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines that were read. Lines without letters stay, such as the rules of a table."""
        return tuple(
            line
            for line in self.candidates
            if line.confidence >= MIN_CONFIDENCE or (not line.letters and line.words)
        )

    @cached_property
    def text(self) -> str:
        """The lines, with an empty line between paragraphs; "" if no word was read."""
        if not any(line.letters for line in self.lines):
            return ""
        return "\n".join(
            ("\n" if line.starts_paragraph and place else "") + line.text
            for place, line in enumerate(self.lines)
        )

    @property
    def evidence(self) -> float:
        """The letters in horizontal lines, weighted by their confidence. It is greatest when the page is
        upright."""
        return sum(line.letters * line.confidence for line in self.candidates if line.lies)

    @property
    def confidence(self) -> float:
        """`evidence` for each letter, 0 to 1; 0 without letters."""
        letters = sum(line.letters for line in self.candidates)
        return self.evidence / letters if letters else 0.0

    @property
    def unread(self) -> bool:
        """Whether the page has more unread text than an engine sees in specks and pictures."""
        unread = sum(
            max(line.capacity, sum(word.letters for word in line.words if word.letters >= 3))
            for line in self.candidates
            if line.confidence < MIN_CONFIDENCE and (line.letters or line.capacity)
        )
        return unread >= max(MIN_UNREAD, MIN_UNREAD_SHARE * sum(line.letters for line in self.candidates))

    @property
    def is_like_text(self) -> bool:
        """Whether most of the letters, read or not, are in certain words, or in words next to each other."""
        letters = of_words = 0
        for line in self.candidates:
            words = [word for word in line.text.split() if _is_word(word)]
            unread = line.capacity if line.confidence < MIN_CONFIDENCE else 0
            sure = len(words) > 1 or line.confidence >= TRUSTED_CONFIDENCE
            letters += max(line.letters, unread)
            of_words += max(sum(map(len, words)) if sure else 0, unread)
        return of_words >= max(MIN_UNREAD, MIN_TEXT_SHARE * letters)


def _is_word(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= MIN_WORD or text >= FIRST_WIDE
