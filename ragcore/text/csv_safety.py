"""Tables for spreadsheets, in which no cell runs: https://owasp.org/www-community/attacks/CSV_Injection."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet would run."""


def as_csv(rows: Sequence[Sequence[str]]) -> bytes:
    """A table that spreadsheets open as it is: UTF-8 with its mark, and no cell that they would run as a formula."""
    written = io.StringIO(newline="")
    csv.writer(written).writerows([harmless(cell) for cell in row] for row in rows)
    return written.getvalue().encode("utf-8-sig")


def harmless(cell: str) -> str:
    """The text with an apostrophe before what a spreadsheet would take for a formula; it hides the apostrophe."""
    return f"'{cell}" if _may_run(cell) else cell


def as_meant(cell: str) -> str:
    """The text that `harmless` was given."""
    return cell[1:] if cell.startswith("'") and _may_run(cell[1:]) else cell


def _may_run(cell: str) -> bool:
    """Also behind apostrophes that were there before, so that none is taken for ours."""
    return cell.lstrip(" '").startswith(FORMULA)
