"""Rows of tables in an answer, `Day: Monday; From: 10:00 [1]`, as tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from lectern.explain.laid_out_text import MAX_COLUMNS, choose_columns
from lectern.explain.text_blocks import cells_of_line
from lectern.ui.i18n import _
from ragcore.text.code_fences import mark_fenced
from ragcore.text.quotable_units import is_row

MAX_ACROSS = 4  # columns side by side
MAX_STANDING = 3  # rows side by side, in a table with the names of its columns on the left

_ROW = re.compile(r"(?:- )?(?P<row>.*?)(?P<marks>(?:\s*\[\d+(?:, ?\d+)*\])*)\s*")
_NUMBERED_ANSWER = re.compile(r"Response \d+: ")  # of a passage, see mark_unsure_rows


def rows_as_tables(text: str, question: str) -> str:
    """Rows with the same columns in consecutive lines become one table, with at most eight columns: those of
    the question first, if there are more. A table that would be too wide for a phone stands: the names of its
    columns are on the left."""
    lines = text.split("\n")
    if not any(map(_cells, lines)):
        return text
    parts: list[str] = []
    fenced = list(mark_fenced(lines))
    keys = [() if is_code else tuple(_cells(line)) for line, is_code in zip(lines, fenced, strict=True)]
    for names, group in groupby(zip(keys, lines, strict=True), key=lambda pair: pair[0]):
        same = [line for _names, line in group]
        if names:
            parts += ["", *_table(names, same, question), ""]
        else:
            parts += same
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip("\n")


def _cells(line: str) -> dict[str, str]:
    """The cells of a row by the names of their columns; {} for any other line."""
    match = _ROW.fullmatch(line)
    row = match["row"] if match else ""
    if not is_row(row) or _NUMBERED_ANSWER.match(row):
        return {}
    return {name: row[start:end] for name, (start, end) in cells_of_line(row, 0, len(row))}


def _table(names: tuple[str, ...], lines: list[str], question: str) -> list[str]:
    rows = [_cells(line) for line in lines]
    stands = len(names) > MAX_ACROSS and len(rows) <= MAX_STANDING
    most = MAX_COLUMNS if stands else MAX_ACROSS
    shown = list(names)
    if len(names) > most:
        columns = [(name, " ".join(row[name] for row in rows)) for name in names]
        shown = [names[number] for number in choose_columns(columns, question)[:most]]
    cited = shown[0] if stands else shown[-1]
    for row, line in zip(rows, lines, strict=True):
        match = _ROW.fullmatch(line)
        row[cited] += f" {match['marks'].strip()}" if match else ""
    grid = [[name, *(row[name] for row in rows)] for name in shown]
    if not stands:
        grid = [list(across) for across in zip(*grid, strict=True)]
    out = [_line(grid[0]), _line("---" for _cell in grid[0]), *map(_line, grid[1:])]
    if len(shown) < len(names):
        note = _("{shown} of {all} columns. The whole sheet has the others.")
        out += ["", f"*{note.format(shown=len(shown), all=len(names))}*"]
    return out


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").strip() or " " for cell in cells) + " |"
