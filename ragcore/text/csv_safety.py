"""Tables for spreadsheets without CSV injection: https://owasp.org/www-community/attacks/CSV_Injection."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""The beginnings of a cell that a spreadsheet runs as a formula."""

_NEGATIVE = re.compile(r"- ?[€$£¥]? ?\d[\d.,'’ \xa0\u202f]*[€$£¥%]?")  # a number, also of money


def as_csv(rows: Sequence[Sequence[str]]) -> bytes:
    """A table for spreadsheets, in UTF-8 with a byte order mark, without formulas."""
    table = io.StringIO(newline="")
    csv.writer(table).writerows([escape_formula(cell) for cell in row] for row in rows)
    return table.getvalue().encode("utf-8-sig")


def escape_formula(cell: str) -> str:
    """The cell with an apostrophe before it if it looks like a formula and is no negative number. A
    spreadsheet hides the apostrophe.

    >>> escape_formula("=1+1"), escape_formula("-12.5")
    ("'=1+1", '-12.5')
    """
    return f"'{cell}" if _may_run(cell) else cell


def unescape_formula(cell: str) -> str:
    """The inverse of `escape_formula`."""
    return cell[1:] if cell.startswith("'") and _may_run(cell[1:]) else cell


def _may_run(cell: str) -> bool:
    # A cell with its own apostrophe gets another one, so that `unescape_formula` does not remove it.
    shown = cell.lstrip(" '")
    return shown.startswith(FORMULA) and not _NEGATIVE.fullmatch(shown)
