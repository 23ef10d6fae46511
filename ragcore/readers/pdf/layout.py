"""The lines of a PDF page in reading order: tables row by row, columns one after the other, headlines apart
from the text.

PDFium returns a page's text in the order in which it was drawn, which is nearly always the reading order.
Then only the size of each line's letters is added. If lines have wide gaps, or rules are drawn, the position
of every letter is examined: letters in the cells of a grid, or in columns that three rows share, are a table;
lines side by side that are both full of words are columns of text.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from ragcore.readers import typography
from ragcore.readers.encodings import clean
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import (
    NO_DIRECTION,
    BoxOf,
    Corners,
    character_boxes,
    find_directions,
    rotate_all,
)
from ragcore.readers.pdf.line_joining import BROKEN, Line, fills, widths_near
from ragcore.readers.pdf.ruled_tables import Grid, grids
from ragcore.readers.pdf.runs import LEVEL, Run, Span, runs_of
from ragcore.readers.pdf.shifted import ShiftedLetters, candidates
from ragcore.readers.pdf.table_detection import (
    MIN_ROWS,
    find_aligned,
    in_grids,
    is_list,
    is_running_text,
    runs_in,
    table_lines,
)
from ragcore.readers.pdf.table_headers import Rows

WIDE_GAP = 1.1  # of the height of a piece of text; a gap is then certainly wider than `runs.GAP`

_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_NUMBER = re.compile(r"(?<!\S)[^\w\s]{0,2}\d[\d.,]*[^\w\s]{0,2}(?!\S)")
_ILLEGIBLE = re.compile("[\x00-\x1f\x7f\ufb00-\ufb06\ufeff\ufffe\ud800-\udfff]")
_DIGIT = re.compile(r"\d")
_BOLD = re.compile(rb"bold|black|heavy", re.I)
_HYPHEN = str.maketrans({2: BROKEN})  # PDFium has two characters for a hyphen that ends a line
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_RIGHT_TO_LEFT_WORDS = re.compile(f"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT} ]*[{_RIGHT_TO_LEFT}]")


@dataclass(frozen=True, slots=True)
class _Letters:
    """The `characters` of a page as PDFium returns them, their `readings` with corrections and their
    `directions`. `box_of` returns the rectangle of the character at an index, rotated by its direction."""

    text: pdfium.PdfTextPage
    characters: str
    readings: Sequence[str]
    directions: Sequence[int]
    box_of: BoxOf

    def spell(self, first: int, last: int) -> str:
        return self.join(range(first, last + 1))

    def join(self, indexes: Iterable[int]) -> str:
        return _make_legible(typography.plain("".join(self.readings[index] for index in indexes)))

    def line(self, indexes: Sequence[int], first: int, last: int) -> Line:
        """The line of these characters. Its first and last letter determine the style."""
        return Line(self.join(indexes), *_style(self.text, self.box_of, first, last), indexes=indexes)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """A table, or columns side by side: its runs, and its lines in reading order."""

    runs: Sequence[Run]
    lines: Sequence[Line]


def page_lines(
    paths: Sequence[Any], text: pdfium.PdfTextPage, main: int, *, with_indexes: bool = False
) -> list[Line]:
    """The lines of a page in reading order. `main` is the direction of most of its text, `paths` may be rules
    of tables. `with_indexes`: each line has the indexes of its characters on the page."""
    page_text = text.get_text_range()
    pieces = text_pieces(text)
    directions = find_directions(text, main, pieces)
    main_first = sorted({main, *directions} - {NO_DIRECTION}, key=lambda direction: direction != main)
    rotated = {direction: rotate_all(pieces, direction) for direction in main_first}
    ruled = {
        direction: [grid for grid in grids(paths, direction) if _may_fill(grid, own_pieces)]
        for direction, own_pieces in rotated.items()
    }
    tabular = any(map(_has_gaps, rotated.values())) or any(ruled.values()) or _has_rows_of_numbers(page_text)
    box_of = character_boxes(text, main, directions)
    shifted = _read_shifted(text, page_text, main, pieces)
    if not (with_indexes or tabular or _RIGHT_TO_LEFT_WORDS.search(page_text)):
        return list(_drawn_lines(text, page_text, box_of, shifted))
    characters = _read_characters(text, page_text)
    readings = [shifted.get(index, character) for index, character in enumerate(characters)]
    letters = _Letters(text, characters, readings, directions or [main] * len(characters), box_of)
    return list(_placed_lines(letters, ruled, with_indexes))


def _read_shifted(
    text: pdfium.PdfTextPage, page_text: str, main: int, pieces: list[Corners]
) -> dict[int, str]:
    """The readings of characters that are raised, lowered, or next to a drop cap."""
    possible = list(candidates(pieces, rotate_all(pieces, main)))
    return ShiftedLetters(text, _read_characters(text, page_text), main).read(possible) if possible else {}


def _drawn_lines(
    text: pdfium.PdfTextPage, page_text: str, box_of: BoxOf, shifted: dict[int, str]
) -> Iterator[Line]:
    """PDFium's lines. Only lines that `_near_headlines` selects get a style, because looking it up takes
    long."""
    raw_lines = page_text.split("\n")
    firsts: list[int] = []  # the index of each line's first character, if letters are shifted
    if shifted:
        characters = _read_characters(text, page_text)
        readings = [shifted.get(index, character) for index, character in enumerate(characters)]
        firsts = [0, *(index + 1 for index, character in enumerate(readings) if character == "\n")]
        raw_lines = typography.plain("".join(readings)).split("\n")
    lines = [line.rstrip() for line in raw_lines]
    with_style = _near_headlines(lines)
    start = 0
    for number, line in enumerate(lines):
        if number in with_style:
            first = firsts[number] if firsts else pdfium.FPDFText_GetCharIndexFromTextIndex(text, start)
            yield Line(_make_legible(line), *_style(text, box_of, first, first + len(line) - 1))
        else:
            yield Line(_make_legible(line))
        start += len(raw_lines[number]) + 1


def _near_headlines(lines: Sequence[str]) -> set[int]:
    """The numbers of full lines that may end a headline, and of the lines below them."""
    widths = widths_near([len(line) for line in lines])
    out: set[int] = set()
    for number, line in enumerate(lines):
        if fills(len(line), widths[number]):
            below = next(
                (later for later in range(number + 1, min(number + 3, len(lines))) if lines[later]), None
            )
            if below and not lines[below][0].islower():
                out |= {number, below}
    return out


def _style(text: pdfium.PdfTextPage, box_of: BoxOf, first: int, last: int) -> tuple[float, bool]:
    """The height of a line's first letter, and whether its first and its last are bold."""
    box = box_of(first)
    return (box[3] - box[1] if box else 0.0), _is_bold(text, first) and _is_bold(text, last)


def _is_bold(text: pdfium.PdfTextPage, index: int) -> bool:
    name = ctypes.create_string_buffer(100)
    pdfium.FPDFText_GetFontInfo(text, index, name, len(name), None)
    return bool(_BOLD.search(name.value))


def _make_legible(line: str) -> str:
    if not _ILLEGIBLE.search(line):
        return line
    return clean(line.translate(_HYPHEN)).translate(_LIGATURES).replace("\n", " ")


def text_pieces(text: pdfium.PdfTextPage) -> list[Corners]:
    """The rectangle around each piece of text that was drawn at once. PDFium returns them faster than those
    of all letters."""
    x0, top, x1, bottom = (ctypes.c_double() for _ in range(4))
    pieces = []
    raw = text.raw
    for number in range(pdfium.FPDFText_CountRects(raw, 0, -1)):
        pdfium.FPDFText_GetRect(raw, number, x0, top, x1, bottom)
        pieces.append((x0.value, bottom.value, x1.value, top.value))
    return pieces


def _may_fill(grid: Grid, pieces: list[Corners]) -> bool:
    """Whether at least two rows have text in at least two cells."""
    cells = {cell for x0, bottom, _, top in pieces if (cell := grid.cell(x0 + 1, (bottom + top) / 2))}
    return sum(count > 1 for count in Counter(row for row, _ in cells).values()) > 1


def _has_gaps(pieces: list[Corners]) -> bool:
    """Whether consecutive lines have wide gaps at the same position."""
    gaps: list[Span] = []  # of the current line
    gaps_above: list[Span] = []  # of the last line with gaps
    low = high = end = 0.0  # of the previous piece
    rows = 0
    for x0, bottom, x1, top in pieces:
        if min(high, top) - max(low, bottom) > LEVEL * min(high - low, top - bottom):
            if x0 - end > WIDE_GAP * max(high - low, top - bottom):
                if not gaps:
                    rows = rows + 1 if any(start < x0 and end < stop for start, stop in gaps_above) else 1
                gaps.append((end, x0))
                if rows >= MIN_ROWS:
                    return True
        else:
            gaps_above, gaps = gaps or gaps_above, []
        low, high, end = bottom, top, x1
    return False


def _has_rows_of_numbers(page_text: str) -> bool:
    """Whether consecutive lines have several numbers each, as rows of a table that are drawn at once."""
    rows = 0
    for line in page_text.split("\n"):
        rows = rows + 1 if _DIGIT.search(line) and len(_NUMBER.findall(line)) > 1 else 0
        if rows >= MIN_ROWS:
            return True
    return False


def _placed_lines(letters: _Letters, ruled: dict[int, list[Grid]], with_indexes: bool) -> Iterator[Line]:
    """The lines in reading order, from the position of every letter. `ruled`: the grids by direction."""
    characters, directions = letters.characters, letters.directions
    directed_runs = list(runs_of(characters, letters.box_of, letters.spell, directions, ruled))
    block_of: dict[int, _Block] = {}  # by the first character of a run
    for direction, tables in ruled.items():
        free = [(own, run) for own, run in directed_runs if own != NO_DIRECTION and run.first not in block_of]
        runs = [run.rotate(own, direction) for own, run in free]
        found_tables = list(in_grids(runs, tables))
        in_tables = {run.first for rows in found_tables for run in runs_in(rows)}
        columns: list[_Block] = []
        for rows in find_aligned([run for run in runs if run.first not in in_tables]):
            if is_running_text(rows):
                columns.append(_column_block(letters, rows))
            elif not is_list(rows):
                found_tables.append(rows)
        table_blocks = [_Block(runs_in(rows), table_lines(rows, with_indexes)) for rows in found_tables]
        block_of.update((run.first, block) for block in [*table_blocks, *columns] for run in block.runs)
    yield from _in_order(letters, [run for _, run in directed_runs], block_of)


def _column_block(letters: _Letters, rows: Rows) -> _Block:
    runs = runs_in(zip(*rows, strict=True))  # column by column
    return _Block(runs, [letters.line(range(run.first, run.last + 1), run.first, run.last) for run in runs])


def _in_order(letters: _Letters, runs: list[Run], block_of: dict[int, _Block]) -> Iterator[Line]:
    """The lines of running text, with each block where its first letter is."""
    finished: set[_Block] = set()  # blocks whose lines were yielded
    end = 0  # of the last run
    outside: list[int] = []  # indexes of characters outside all blocks, since the last block
    for run in runs:
        outside.extend(range(end, run.first))
        block = block_of.get(run.first)
        if block is None:
            outside.extend(range(run.first, run.last + 1))
        elif block not in finished:
            finished.add(block)
            yield from _running_text(letters, outside)
            outside = []
            yield Line("")
            yield from block.lines
            yield Line("")
        end = run.last + 1
    outside.extend(range(end, len(letters.characters)))
    yield from _running_text(letters, outside)


def _running_text(letters: _Letters, indexes: list[int]) -> Iterator[Line]:
    """The lines of the characters with these indexes, in the order in which PDFium returns them."""
    for is_line_break, group in groupby(indexes, key=lambda index: letters.readings[index] in ("\r", "\n")):
        if is_line_break:
            continue
        line = list(group)
        visible = [index for index in line if not letters.characters[index].isspace()]
        yield letters.line(_in_logical_order(letters, line), visible[0], visible[-1]) if visible else Line("")


def _in_logical_order(letters: _Letters, line: list[int]) -> list[int]:
    """The line with the words of right-to-left scripts in reading order. PDFium reverses such words, as most
    programs draw them from left to right. This is wrong for words that were drawn from right to left, and for
    glyphs of several letters that are not ligatures of Unicode."""
    out = list(line)
    for match in _RIGHT_TO_LEFT_WORDS.finditer("".join(letters.characters[index] for index in line)):
        word = line[match.start() : match.end()]
        boxes = {index: letters.box_of(index) for index in word}
        first, last = boxes[word[0]], boxes[word[-1]]
        if first and last and first[0] < last[0]:  # the first character is left of the last
            word.reverse()
        else:
            glyphs = [list(glyph) for _, glyph in groupby(word, key=boxes.__getitem__)]
            word = [index for glyph in glyphs for index in _order_glyph(glyph, letters.text)]
        out[match.start() : match.end()] = word
    return out


def _order_glyph(glyph: list[int], text: pdfium.PdfTextPage) -> list[int]:
    """The characters of one glyph in reading order."""
    letters = "".join(chr(pdfium.FPDFText_GetUnicode(text, index)) for index in glyph)
    return glyph if len(glyph) == 1 or letters in _arabic_ligatures() else glyph[::-1]


@cache
def _arabic_ligatures() -> frozenset[str]:
    """The letters of each ligature in reading order."""
    return frozenset(
        unicodedata.normalize("NFKC", chr(point))
        for point in (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFEFF))
    )


def _read_characters(text: pdfium.PdfTextPage, page_text: str) -> str:
    """All characters of the page; `page_text` is without the invisible ones, so its indexes may differ."""
    if len(page_text) == text.count_chars():
        return page_text
    return "".join(chr(pdfium.FPDFText_GetUnicode(text, index)) for index in range(text.count_chars()))
