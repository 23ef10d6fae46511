"""Rows of tables in an answer, `Day: Monday; From: 10:00 [1]`, as tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from lectern.explain.laid_out_text import MAX_COLUMNS, choose_columns
from lectern.explain.text_blocks import cells_of_line
from lectern.schema import AnswerPart
from lectern.ui.i18n import _
from ragcore.text.code_fences import mark_fenced
from ragcore.text.quotable_units import is_row

MAX_ACROSS = 4  # columns side by side
MAX_STANDING = 3  # rows side by side, in a table with the names of its columns on the left

_ROW = re.compile(r"(?:- )?(?P<row>.*?)(?P<marks>(?:\s*\[\d+(?:, ?\d+)*\])*)\s*")
_BLANK_LINES = re.compile(r"\n{3,}")


def parts_with_tables(
    text: str, parts: Sequence[AnswerPart], question: str
) -> tuple[str, tuple[AnswerPart, ...]]:
    """`rows_as_tables` of an answer, or of each of its parts, and where the parts are then."""
    if not parts:
        return rows_as_tables(text, question), ()
    written = text[: parts[0].start]
    moved: list[AnswerPart] = []
    ends = [*(part.start for part in parts[1:]), len(text)]
    for part, end in zip(parts, ends, strict=True):
        start = len(written)
        # The first line continues the words before the part.
        written += rows_as_tables(text[part.start : end], question, begins_line=False)
        moved.append(replace(part, start=start, end=len(written)))
    return written, tuple(moved)


def rows_as_tables(text: str, question: str, *, begins_line: bool = True) -> str:
    """Rows with the same columns in consecutive lines become one table, with at most eight columns: those of
    the question first, if there are more. A table that would be too wide for a phone stands: the names of its
    columns are on the left. `begins_line`: whether the first line may be a row."""
    lines = text.split("\n")
    rows = [{} if is_code else _cells(line) for line, is_code in zip(lines, mark_fenced(lines), strict=True)]
    if not begins_line:
        rows[0] = {}
    if not any(rows):
        return text
    parts: list[str] = []
    for names, numbers in groupby(range(len(lines)), key=lambda number: tuple(rows[number])):
        group = [lines[number] for number in numbers]
        parts += ["", *_table(names, group, question), ""] if names else group
    return _BLANK_LINES.sub("\n\n", "\n".join(parts)).strip("\n")


def _cells(line: str) -> dict[str, str]:
    """The cells of a row by the names of their columns; {} for any other line."""
    match = _ROW.fullmatch(line)
    row = match["row"] if match else ""
    if not is_row(row):
        return {}
    named = cells_of_line(row, 0, len(row))
    cells = {name: row[start:end] for name, (start, end) in named}
    return cells if len(cells) == len(named) else {}  # two cells with one name stay text


def _table(names: tuple[str, ...], lines: list[str], question: str) -> list[str]:
    rows = [_cells(line) for line in lines]
    stands = len(names) > MAX_ACROSS and len(rows) <= MAX_STANDING
    most = MAX_COLUMNS if stands else MAX_ACROSS
    shown = list(names)
    if len(names) > most:
        columns = [(name, " ".join(row[name] for row in rows)) for name in names]
        chosen = choose_columns(columns, question)
        shown = [names[number] for number in chosen[:most]] or shown[:most]  # if all cells are blank
    cited = shown[0] if stands else shown[-1]
    for row, line in zip(rows, lines, strict=True):
        if match := _ROW.fullmatch(line):
            row[cited] += f" {match['marks'].strip()}"
    if stands:
        grid = [[name, *(row[name] for row in rows)] for name in shown]
    else:
        grid = [shown, *([row[name] for name in shown] for row in rows)]
    out = [_line(grid[0]), _line(["---"] * len(grid[0])), *map(_line, grid[1:])]
    if len(shown) < len(names):
        note = _("{shown} of {all} columns. The whole sheet has the others.")
        out += ["", f"*{note.format(shown=len(shown), all=len(names))}*"]
    return out


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").strip() or " " for cell in cells) + " |"
