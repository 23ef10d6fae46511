"""The result of text recognition on the picture of a page: its lines, and the position of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

UNREAD = 0.4  # confidence below which a line has no letters, or letters that the engine does not know
TRUSTED = 0.7  # confidence of a page from which no other engine and no other turn is tried
FEWEST_UNREAD = 15  # letters of unread lines, from which they are reported
UNREAD_SHARE = 0.2  # of the letters of a page, from which its unread lines are reported
SHORTEST = 3  # letters of a word that an engine hardly ever reads in a picture of something else
WIDE = "\u2e80"  # the first of the scripts without spaces between words
LIKE_TEXT = 0.5  # of all letters that are in such words, from which there is text


class Word(NamedTuple):
    """A word and its box in pixels of the picture; y grows downwards. `confidence`: 0 to 1, comparable between engines.

    `joined`: there is no space between it and the word before it, as in Chinese.
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
    """The words of a line in reading order. `starts_paragraph`: there is space above it.

    `capacity`: about how many characters fit into its box; only of engines that find lines before they read them.
    """

    words: tuple[Word, ...]
    starts_paragraph: bool = False
    capacity: int = 0

    @property
    def text(self) -> str:
        return "".join(("" if word.joined else " ") + word.text for word in self.words).strip()

    @cached_property
    def letters(self) -> int:
        return sum(word.letters for word in self.words)

    @cached_property
    def confidence(self) -> float:
        """The mean of its words, weighted by their letters; 0 where there are none."""
        return sum(word.letters * word.confidence for word in self.words) / self.letters if self.letters else 0.0

    @property
    def lies(self) -> bool:
        """Whether it is horizontal, as on an upright page."""
        if len(self.text) < 3:
            return True
        width = max(word.x1 for word in self.words) - min(word.x0 for word in self.words)
        height = max(word.bottom for word in self.words) - min(word.top for word in self.words)
        return height <= 1.5 * width


@dataclass(frozen=True)
class RecognisedPage:
    """The lines on a picture that is `width` by `height` pixels after it was turned `turn` degrees clockwise."""

    candidates: Sequence[Line]
    width: int
    height: int
    turn: int = 0  # 0, 90, 180, 270

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines that were read. Lines without letters stay, such as the rules of a table."""
        return tuple(line for line in self.candidates if line.confidence >= UNREAD or (not line.letters and line.words))

    @cached_property
    def text(self) -> str:
        """Its lines, with an empty line between paragraphs; "" where no word was read."""
        if not any(line.letters for line in self.lines):
            return ""
        return "\n".join(("\n" if line.starts_paragraph and place else "") + line.text for place, line in enumerate(self.lines))

    @property
    def evidence(self) -> float:
        """The letters in horizontal lines, weighted by their confidence. It is greatest when the page is upright."""
        return sum(line.letters * line.confidence for line in self.candidates if line.lies)

    @property
    def confidence(self) -> float:
        """`evidence` for each letter, 0 to 1; 0 where there are no letters."""
        letters = sum(line.letters for line in self.candidates)
        return self.evidence / letters if letters else 0.0

    @property
    def unread(self) -> bool:
        """Whether it has more unread text than an engine sees in specks and pictures."""
        unread = sum(
            max(line.capacity, sum(word.letters for word in line.words if word.letters >= 3))
            for line in self.candidates
            if line.confidence < UNREAD and (line.letters or line.capacity)
        )
        return unread >= max(FEWEST_UNREAD, UNREAD_SHARE * sum(line.letters for line in self.candidates))

    @property
    def is_like_text(self) -> bool:
        """Whether most of the letters, read or not, are in words that are sure or next to each other."""
        letters = of_words = 0
        for line in self.candidates:
            words = [word for word in line.text.split() if _is_word(word)]
            unread = line.capacity if line.confidence < UNREAD else 0
            sure = len(words) > 1 or line.confidence >= TRUSTED
            letters += max(line.letters, unread)
            of_words += max(sum(map(len, words)) if sure else 0, unread)
        return of_words >= max(FEWEST_UNREAD, LIKE_TEXT * letters)


def _is_word(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= SHORTEST or text >= WIDE
