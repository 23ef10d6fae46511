"""Converts tables with bars in a text, `| Adult | £2.50 |`, to lines of ragcore.readers.table_rows.

These are tables of Markdown (GitHub Flavored Markdown 0.29, section 4.10), and rows with bars at both ends
without a line below the names of columns. Fenced code is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragcore.readers import table_rows
from ragcore.text.code_fences import mark_fenced

_BETWEEN = re.compile(r"[ \t]*\|.*\|[ \t]*")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:[|+][ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_BAR = re.compile(r"(?<!\\)\|")
_HAS_BAR = re.compile(rf".*{_BAR.pattern}.*")
_BREAK = re.compile(r"<br ?/?>", re.I)
MIN_CELLS = 2  # rows, and cells of each


def with_tables_as_lines(text: str) -> str:
    """The text with its tables converted."""
    if not _BAR.search(text):
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: Sequence[str]) -> Iterator[str]:
    in_code, at = list(mark_fenced(lines)), 0
    while at < len(lines):
        end = _end_of_table(lines, in_code, at)
        if end > at:
            yield from _table(lines[at:end])
        else:
            yield lines[at]
        at = max(end, at + 1)


def _end_of_table(lines: Sequence[str], in_code: Sequence[bool], start: int) -> int:
    """The end of the table that begins with this line; `start` if no table begins."""
    if start + 1 == len(lines) or not _BAR.search(lines[start]):
        return start
    ruled = "|" in lines[start + 1] and _RULE.fullmatch(lines[start + 1])
    row = _HAS_BAR if ruled else _BETWEEN
    end = start
    while end < len(lines) and row.fullmatch(lines[end]) and not in_code[end]:
        end += 1
    return end if end > start + 1 else start


def _table(lines: Sequence[str]) -> Iterator[str]:
    rule = next((at for at, line in enumerate(lines) if _RULE.fullmatch(line)), 0)
    rows = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    if sum(len(row) >= MIN_CELLS for row in rows) < MIN_CELLS:
        yield from lines
        return
    named = any(any(row) for row in rows[:rule])
    yield from table_rows.lines(rows, name_rows=rule if named else None)


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|")
    inside = inside if inside.endswith("\\|") else inside.removesuffix("|")
    return [_BREAK.sub(" ", cell.replace("\\|", "|")).strip() for cell in _BAR.split(inside)]
