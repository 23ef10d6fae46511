"""Raised and lowered letters, fractions and drop caps of a PDF page, which differ from others by size and
position only."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragcore.readers import typography
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners, rotate

MAX_SIZE = 0.9  # of the size of the letters before; smaller letters may be raised or lowered
RAISED_BY = (0.12, 1.0)  # height of raised letters above the line, as a share of that size
LOWERED_BY = (-0.6, -0.05)
ADJOINING_GAP = (-0.3, 0.35)  # gap from the letter before, as a share of that size
WORD_SPACE = 0.22  # gap between words, as a share of that size
SAME_LINE = 0.1  # maximum difference of the heights of letters on one line, as a share of that size
MAX_LETTERS = 30  # letters that are raised or lowered together
MAX_INK = 1.3  # times the height of the ink before; shifted letters are not taller
DASH_HEIGHT = 0.25  # of the height of the ink before; a dash is lower
DASH_ON_LINE = (0.25, 0.65)  # of that height; the middle of a dash that is not shifted is in this range
WORDS_RATIO = (
    4  # ratio of width to height; ink with a larger one has words, and is not itself a shifted letter
)
SEARCHED_LETTERS = 2  # characters to search backwards for the first one of a piece of text
CAP_SIZE = 1.7  # times the size of the text; a drop cap is larger

_SLASHES = "/\u2044\u2215"
_ALONE = re.compile("[AEIOUYÀÁÈÉÍÓ]")  # letters that are a word in one of the languages
_CHARGE = re.compile("[+±−–-]+")
_REST = re.compile(r"\w+")


class _Glyph(NamedTuple):
    """The measures of a character in points, rotated by the direction of the page's text."""

    size: float
    baseline: float
    x0: float
    x1: float


class ShiftedLetters:
    """Finds shifted letters among the `characters` of a page. Most of its text has the direction `main`."""

    def __init__(self, text: pdfium.PdfTextPage, characters: str, main: int) -> None:
        self._text = text
        self._characters = characters
        self._main = main
        self._shifted: set[int] = set()
        self._glyphs: dict[int, _Glyph] = {}  # by index
        self._readings: dict[int, str] = {}

    def read(self, pieces: Iterable[Corners]) -> dict[int, str]:
        """The replacements of characters, by index: a shifted one with marks of `typography`; "" or " " for
        an end of line that PDFium inserted after shifted letters. `pieces` are the rectangles of text that
        may be shifted or stand next to a drop cap."""
        for piece in pieces:
            x0, bottom, x1, top = rotate(piece, self._main)
            inside = min(x1 - x0, top - bottom) / 3
            x, y, *_ = rotate(
                (x0 + inside, (bottom + top) / 2, x0 + inside, (bottom + top) / 2), -self._main % 4
            )
            index = pdfium.FPDFText_GetCharIndexAtPos(self._text, x, y, inside, inside)
            if index > 0 and index not in self._shifted:
                for _ in range(SEARCHED_LETTERS):
                    index -= self._continues(index - 1, index)
                self._compare(index)
        return self._readings

    def _continues(self, before: int, index: int) -> bool:
        """Whether two characters have the same size and baseline, and no blank between."""
        if before < 0 or before in self._shifted or self._characters[before].isspace():
            return False
        one, other = self._glyph(before), self._glyph(index)
        return (
            abs(one.size - other.size) < 0.05 * one.size
            and abs(one.baseline - other.baseline) < 0.05 * one.size
        )

    def _compare(self, index: int) -> None:
        """Mark the letters from `index` if they are higher or lower than the letter before them."""
        before = index - 1
        while before >= 0 and (before in self._shifted or self._is_generated(before)):
            before -= 1
        apart = before >= 0 and self._characters[before].isspace()
        while before >= 0 and (self._characters[before].isspace() or self._is_generated(before)):
            before -= 1
        if before < 0:
            return
        base, glyph = self._glyph(before), self._glyph(index)
        may_be_cap = base.size > CAP_SIZE * glyph.size and self._characters[before].isupper()
        if may_be_cap and self._is_cap(before, base, glyph):
            self._join_cap(before, index)
            return
        near = self._glyph(max((at for at in self._shifted if before < at < index), default=before))
        if not glyph.size or glyph.size > MAX_SIZE * base.size:
            return
        if not ADJOINING_GAP[0] < (glyph.x0 - near.x1) / base.size < ADJOINING_GAP[1] + apart:
            return
        rise = (glyph.baseline - base.baseline) / base.size
        is_raised = RAISED_BY[0] < rise < RAISED_BY[1]
        if (is_raised or LOWERED_BY[0] < rise < LOWERED_BY[1]) and (not apart or self._is_numerator(index)):
            self._mark(typography.RAISED if is_raised else typography.LOWERED, index, base)

    def _is_numerator(self, index: int) -> bool:
        after = self._next(self._last_of(index))
        return after is not None and self._characters[after] in _SLASHES

    def _last_of(self, index: int) -> int:
        """The last of the letters with the same size and baseline."""
        while (
            (after := index + 1) < len(self._characters)
            and after not in self._shifted
            and not self._characters[after].isspace()
            and self._continues(index, after)
        ):
            index = after
        return index

    def _mark(self, kind: str, index: int, base: _Glyph) -> None:
        last = self._last_of(index)
        if last - index >= MAX_LETTERS:
            return
        before = next(at for at in range(index - 1, -1, -1) if not self._is_generated(at))
        after = self._mark_letters(kind, before, index, last, base)
        if after is None or kind != typography.RAISED or self._characters[after] not in _SLASHES:
            return
        below = self._next(after)  # the denominator
        if below is None or not self._characters[below].isdigit():
            return
        if self._glyph(below).size <= MAX_SIZE * base.size:
            self._mark_letters(typography.LOWERED, after, below, self._last_of(below), base)

    def _mark_letters(self, kind: str, before: int, first: int, last: int, base: _Glyph) -> int | None:
        """Mark the letters, and join them to those before and after. Returns the letter after them."""
        self._shifted.update(range(first, last + 1))
        text = self._characters[first : last + 1]
        if any(map(str.isalnum, text)) or _CHARGE.fullmatch(text):  # not the star of a footnote
            begin, end = typography.around(kind)
            self._readings[first] = begin + self._characters[first]
            self._readings[last] = self._readings.get(last, self._characters[last]) + end
        self._join(before, first, base)
        after = self._next(last)
        if after is not None:
            self._join(last, after, base)
        return after

    def _join(self, before: int, after: int, base: _Glyph) -> None:
        """Remove the characters that PDFium inserted between two others on one line, or replace them by a
        space."""
        between = range(before + 1, after)
        if not between or not all(map(self._is_generated, between)):
            return
        one, other = self._glyph(before), self._glyph(after)
        level = after in self._shifted or abs(other.baseline - base.baseline) < SAME_LINE * base.size
        gap = (other.x0 - one.x1) / base.size
        if level and gap > ADJOINING_GAP[0]:
            self._readings.update(dict.fromkeys(between, ""))
            if gap > WORD_SPACE and not self._characters[after].isspace():
                self._readings[after - 1] = " "

    def _next(self, index: int) -> int | None:
        """The next character that PDFium did not insert."""
        following = range(index + 1, min(index + 5, len(self._characters)))
        return next((at for at in following if not self._is_generated(at)), None)

    def _is_cap(self, cap: int, base: _Glyph, glyph: _Glyph) -> bool:
        alone = cap == 0 or self._characters[cap - 1].isspace()
        adjoins = -0.3 < (glyph.x0 - base.x1) / glyph.size < 1.2
        return (
            alone
            and adjoins
            and base.baseline - 0.2 * glyph.size < glyph.baseline < base.baseline + base.size
        )

    def _join_cap(self, cap: int, index: int) -> None:
        between = range(cap + 1, index)
        if not all(map(self._is_generated, between)):
            return
        word = _REST.match(self._characters, index)
        text = self._characters[:cap] + self._characters[index + len(word[0] if word else "") :]
        alone = (
            word is not None
            and _ALONE.match(self._characters[cap])
            and re.search(rf"(?i)\b{word[0]}\b", text)
            and not re.search(rf"(?i)\b{self._characters[cap]}{word[0]}\b", text)
        )
        self._readings.update(dict.fromkeys(between, ""))
        if alone and between:
            self._readings[between[-1]] = " "

    def _is_generated(self, index: int) -> bool:
        return bool(pdfium.FPDFText_IsGenerated(self._text, index) == 1)

    def _glyph(self, index: int) -> _Glyph:
        if index in self._glyphs:
            return self._glyphs[index]
        matrix, box = pdfium.FS_MATRIX(), pdfium.FS_RECTF()
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetMatrix(self._text, index, matrix)
        pdfium.FPDFText_GetCharOrigin(self._text, index, x, y)
        pdfium.FPDFText_GetLooseCharBox(self._text, index, box)
        x0, _, x1, _ = rotate((box.left, box.bottom, box.right, box.top), self._main)
        _, baseline, _, _ = rotate((x.value, y.value, x.value, y.value), self._main)
        size = abs(pdfium.FPDFText_GetFontSize(self._text, index)) * (matrix.c**2 + matrix.d**2) ** 0.5
        self._glyphs[index] = _Glyph(size, baseline, x0, x1)
        return self._glyphs[index]


def candidates(pieces: Sequence[Corners], upright: Sequence[Corners]) -> Iterator[Corners]:
    """The pieces of text that begin close to the previous one, and higher or lower than most letters.
    `upright` are the same pieces, rotated by the direction of the page's text."""
    for (one, other), piece in zip(pairwise(upright), pieces[1:], strict=True):
        height = max(one[3] - one[1], other[3] - other[1])
        # such as text after a bullet
        if other[3] - other[1] > MAX_INK * (one[3] - one[1]) or _is_dash(one, other):
            continue
        gap = other[0] - one[2]
        if -0.3 * height < gap < 0.4 * height and min(one[3], other[3]) > max(one[1], other[1]) - height:
            raised = other[1] - one[1] > 0.33 * height  # more than descenders
            lower, below = one[3] - other[3], one[1] - other[1]
            if raised or lower > 0.45 * height or (lower > 0.25 * height and below > 0.08 * height):
                yield piece


def _is_dash(before: Corners, piece: Corners) -> bool:
    """Whether the piece is a hyphen or dash after words, which some programs draw separately."""
    x0, bottom, x1, top = before
    ink = top - bottom
    if piece[3] - piece[1] >= DASH_HEIGHT * ink or x1 - x0 < WORDS_RATIO * ink:
        return False
    return DASH_ON_LINE[0] < ((piece[1] + piece[3]) / 2 - bottom) / ink < DASH_ON_LINE[1]
