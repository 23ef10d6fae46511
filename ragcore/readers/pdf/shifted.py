"""Raised and lowered letters, fractions and drop caps of a PDF page, which are known by their size and place only."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ragcore.readers import typography
from ragcore.readers.pdf.directions import Corners, turned

if TYPE_CHECKING:
    import pypdfium2

SMALLER = 0.9  # of the size of the letters before: raised and lowered ones are
RAISED = (0.12, 1.0)  # of that size: so far above their line
LOWERED = (-0.6, -0.05)
ADJOINS = (-0.3, 0.35)  # of that size: from the letter before
SPACE = 0.22  # of that size: a gap between words
SAME_LINE = 0.1  # of that size
LONGEST = 30  # letters
TALLER = 1.3  # times the ink before: no letters that are shifted have more
FLAT = 0.25  # of the height of the ink before, which a dash is lower than
ON_LINE = (0.25, 0.65)  # of that height: there its middle stands after words, where it is not shifted
WORDS = 4  # times as wide as high: the ink of words, and not of a letter that may itself be shifted
FIRST = 2  # letters of a piece of text, one of which is found first
CAP = 1.7  # times the size of the text beside a drop cap

_SLASHES = "/\u2044\u2215"
_ALONE = re.compile("[AEIOUYÀÁÈÉÍÓ]")  # letters that are a word in one of the languages
_CHARGE = re.compile("[+±−–-]+")
_REST = re.compile(r"\w+")
_USE = {"raised": typography.RAISED, "lowered": typography.LOWERED}


class _Glyph(NamedTuple):
    """In points, turned by the direction of the page's text."""

    size: float
    baseline: float
    left: float
    right: float


class ShiftedLetters:
    """Finds them on one page, whose text mostly runs in the direction `main`.

    `found` has what is to be read in the place of a character, by its place: the character with marks of
    `ragcore.readers.typography` around it; or "" and " " where PDFium put an end of line behind letters that are shifted.
    """

    def __init__(self, text: pypdfium2.PdfTextPage, signs: str, main: int) -> None:
        self._text = text
        self._signs = signs
        self._main = main
        self._shifted: set[int] = set()
        self._glyphs: dict[int, _Glyph] = {}  # by place
        self.found: dict[int, str] = {}

    def look_at(self, candidate: Corners) -> None:
        """`candidate`: the rectangle of a piece of text, as it was drawn, that may be shifted or stand beside a drop cap."""
        import pypdfium2.raw as pdfium

        left, bottom, right, top = turned(candidate, self._main)
        inside = min(right - left, top - bottom) / 3
        corners = turned((left + inside, (bottom + top) / 2, left + inside, (bottom + top) / 2), -self._main % 4)
        place = pdfium.FPDFText_GetCharIndexAtPos(self._text, corners[0], corners[1], inside, inside)
        if place > 0 and place not in self._shifted:
            for _ in range(FIRST):
                place -= self._joined(place - 1, place)
            self._compare(place)

    def _joined(self, before: int, place: int) -> bool:
        """Whether two characters have the same size and line, and no blank between."""
        if before < 0 or before in self._shifted or self._signs[before].isspace():
            return False
        one, other = self._glyph(before), self._glyph(place)
        return abs(one.size - other.size) < 0.05 * one.size and abs(one.baseline - other.baseline) < 0.05 * one.size

    def _compare(self, place: int) -> None:
        """With what stands before it."""
        before = place - 1
        while before >= 0 and (before in self._shifted or self._is_generated(before)):
            before -= 1
        apart = before >= 0 and self._signs[before].isspace()
        while before >= 0 and (self._signs[before].isspace() or self._is_generated(before)):
            before -= 1
        if before < 0:
            return
        base, glyph = self._glyph(before), self._glyph(place)
        if base.size > CAP * glyph.size and self._signs[before].isupper() and self._is_cap(before, place, base, glyph):
            self._join_cap(before, place)
            return
        near = self._glyph(max((at for at in self._shifted if before < at < place), default=before))
        if not glyph.size or glyph.size > SMALLER * base.size:
            return
        if not ADJOINS[0] < (glyph.left - near.right) / base.size < ADJOINS[1] + apart:
            return
        rise = (glyph.baseline - base.baseline) / base.size
        kind = "raised" if RAISED[0] < rise < RAISED[1] else "lowered" if LOWERED[0] < rise < LOWERED[1] else ""
        if kind and (not apart or self._is_numerator(place)):
            self._mark(kind, place, base)

    def _is_numerator(self, place: int) -> bool:
        while place + 1 < len(self._signs) and self._joined_after(place):
            place += 1
        after = self._next(place)
        return after is not None and self._signs[after] in _SLASHES

    def _mark(self, kind: str, place: int, base: _Glyph) -> None:
        last = place
        while last + 1 < len(self._signs) and last - place < LONGEST and self._joined_after(last):
            last += 1
        if last - place >= LONGEST:
            return
        self._shifted.update(range(place, last + 1))
        self._surround(kind, place, last)
        self._join(next(at for at in range(place - 1, -1, -1) if not self._is_generated(at)), place, base)
        after = self._next(last)
        if after is None:
            return
        self._join(last, after, base)
        if kind == "raised" and self._signs[after] in _SLASHES and (below := self._next(after)) is not None:
            self._mark_denominator(after, below, base)

    def _mark_denominator(self, slash: int, place: int, base: _Glyph) -> None:
        """The small figures after a slash."""
        if self._glyph(place).size > SMALLER * base.size or not self._signs[place].isdigit():
            return
        last = place
        while last + 1 < len(self._signs) and self._joined_after(last):
            last += 1
        self._shifted.update(range(place, last + 1))
        self._surround("lowered", place, last)
        self._join(slash, place, base)
        if (after := self._next(last)) is not None:
            self._join(last, after, base)

    def _surround(self, kind: str, first: int, last: int) -> None:
        text = self._signs[first : last + 1]
        if not (any(map(str.isalnum, text)) or _CHARGE.fullmatch(text)):
            return  # such as the star of a footnote
        begin, end = typography.around(_USE[kind])
        self.found[first] = begin + self._signs[first]
        self.found[last] = self.found.get(last, self._signs[last]) + end

    def _joined_after(self, place: int) -> bool:
        return (
            not self._signs[place + 1].isspace() and self._joined(place, place + 1) if place + 1 not in self._shifted else False
        )

    def _join(self, before: int, after: int, base: _Glyph) -> None:
        """Takes out what PDFium put between two characters that stand on one line, or leaves a space."""
        between = range(before + 1, after)
        if not between or not all(map(self._is_generated, between)):
            return
        one, other = self._glyph(before), self._glyph(after)
        level = after in self._shifted or abs(other.baseline - base.baseline) < SAME_LINE * base.size
        gap = (other.left - one.right) / base.size
        if level and gap > ADJOINS[0]:
            self.found.update(dict.fromkeys(between, ""))
            if gap > SPACE and not self._signs[after].isspace():
                self.found[after - 1] = " "

    def _next(self, place: int) -> int | None:
        """The next character that was drawn."""
        return next((at for at in range(place + 1, min(place + 5, len(self._signs))) if not self._is_generated(at)), None)

    def _is_cap(self, cap: int, place: int, base: _Glyph, glyph: _Glyph) -> bool:
        alone = cap == 0 or self._signs[cap - 1].isspace()
        beside = -0.3 < (glyph.left - base.right) / glyph.size < 1.2
        return alone and beside and base.baseline - 0.2 * glyph.size < glyph.baseline < base.baseline + base.size

    def _join_cap(self, cap: int, place: int) -> None:
        between = range(cap + 1, place)
        if not all(map(self._is_generated, between)):
            return
        word = _REST.match(self._signs, place)
        text = self._signs[:cap] + self._signs[place + len(word[0] if word else "") :]
        alone = (
            word is not None
            and _ALONE.match(self._signs[cap])
            and re.search(rf"(?i)\b{word[0]}\b", text)
            and not re.search(rf"(?i)\b{self._signs[cap]}{word[0]}\b", text)
        )
        self.found.update(dict.fromkeys(between, ""))
        if alone and between:
            self.found[between[-1]] = " "

    def _is_generated(self, place: int) -> bool:
        import pypdfium2.raw as pdfium

        return bool(pdfium.FPDFText_IsGenerated(self._text, place) == 1)

    def _glyph(self, place: int) -> _Glyph:
        if place not in self._glyphs:
            self._glyphs[place] = self._measured(place)
        return self._glyphs[place]

    def _measured(self, place: int) -> _Glyph:
        import pypdfium2.raw as pdfium

        matrix, box = pdfium.FS_MATRIX(), pdfium.FS_RECTF()
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetMatrix(self._text, place, matrix)
        pdfium.FPDFText_GetCharOrigin(self._text, place, x, y)
        pdfium.FPDFText_GetLooseCharBox(self._text, place, box)
        left, _, right, _ = turned((box.left, box.bottom, box.right, box.top), self._main)
        _, baseline, _, _ = turned((x.value, y.value, x.value, y.value), self._main)
        size = abs(pdfium.FPDFText_GetFontSize(self._text, place)) * (matrix.c**2 + matrix.d**2) ** 0.5
        return _Glyph(size, baseline, left, right)


def candidates(pieces: Sequence[Corners], upright: Sequence[Corners]) -> Iterator[Corners]:
    """The pieces of text that begin close beside the one before them, and higher or lower than most letters do.

    `upright`: the same pieces, turned by the direction of the page's text."""
    for (one, other), piece in zip(pairwise(upright), pieces[1:], strict=True):
        height = max(one[3] - one[1], other[3] - other[1])
        if other[3] - other[1] > TALLER * (one[3] - one[1]) or _is_dash(one, other):  # such as text after a bullet
            continue
        gap = other[0] - one[2]
        if -0.3 * height < gap < 0.4 * height and min(one[3], other[3]) > max(one[1], other[1]) - height:
            raised = other[1] - one[1] > 0.33 * height  # more than letters with a tail go below others
            lower, below = one[3] - other[3], one[1] - other[1]
            if raised or lower > 0.45 * height or (lower > 0.25 * height and below > 0.08 * height):
                yield piece


def _is_dash(before: Corners, piece: Corners) -> bool:
    """Whether it is a hyphen or a dash after words, which some programs draw by itself."""
    left, bottom, right, top = before
    ink = top - bottom
    if piece[3] - piece[1] >= FLAT * ink or right - left < WORDS * ink:
        return False
    return ON_LINE[0] < ((piece[1] + piece[3]) / 2 - bottom) / ink < ON_LINE[1]
