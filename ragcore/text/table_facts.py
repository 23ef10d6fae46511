"""Facts about a table: its number of rows, its columns, and the ranges of its dates and numbers.

The text has the lines of `readers/table_rows.py`: `Station: Cliff Top; Opened: 1871`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragcore.text.quotable_units import MAX_ROW_CHARS, is_row

MAX_COLUMNS = 12  # named in a description
MAX_RANGES = 4  # named in a description, dates first
MIN_ORDERED = 0.8  # least share of dates, or of numbers, among the values of a column with a range


class Range(NamedTuple):
    """The lowest and the highest value of a column, in the table's own spelling."""

    column: str
    low: str
    high: str


class Grid(NamedTuple):
    """The cells of a table; a row has no entry for an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


class Table(NamedTuple):
    rows: int
    columns: tuple[str, ...]
    ranges: tuple[Range, ...]  # dates first


class Wording(NamedTuple):
    """The words of a description in a language; `and_more` is for the names that are not listed."""

    row: str
    rows: str
    columns: str
    range: str
    divider: str
    comma: str
    and_more: str
    end: str


WORDINGS: Mapping[str, Wording] = {
    "en": Wording("1 row", "{} rows", "columns {}", "{} {} to {}", "; ", ", ", " and {} more", "."),
    "de": Wording("1 Zeile", "{} Zeilen", "Spalten {}", "{} {} bis {}", "; ", ", ", " und {} weitere", "."),
    "es": Wording("1 fila", "{} filas", "columnas {}", "{} de {} a {}", "; ", ", ", " y {} más", "."),
    "fr": Wording("1 ligne", "{} lignes", "colonnes {}", "{} de {} à {}", " ; ", ", ", " et {} de plus", "."),
    "zh": Wording("1 行", "{} 行", "列包括{}", "{}从 {} 到 {}", "；", "、", "等，另有 {} 个", "。"),
}


def tables_in(text: str) -> list[Table]:
    """The tables of a text that is mostly rows, such as a spreadsheet; [] for any other text.

    >>> describe(tables_in("Day | Km\\nDay: 2025-05-01; Km: 12\\nDay: 2025-05-02; Km: 8")[0], "en")
    '2 rows; columns Day, Km; Day 2025-05-01 to 2025-05-02; Km 8 to 12.'
    """
    return [Table(len(rows), columns, _ranges(columns, rows)) for columns, rows in grids_in(text)]


def grids_in(text: str) -> list[Grid]:
    """The cells of the same tables."""
    lines = [line for line in text.splitlines() if line.strip()]
    row_lines = list(filter(is_row, lines))
    if 2 * len(row_lines) < len(lines):
        return []
    tables: list[tuple[dict[str, None], list[dict[str, str]]]] = []  # (columns, rows)
    for row in _rows(row_lines):
        table = next((table for table in tables if next(iter(row)) in table[0]), None)
        if table is None:
            table = ({}, [])
            tables.append(table)
        table[0].update(dict.fromkeys(row))
        table[1].append(row)
    return [Grid(tuple(columns), tuple(rows)) for columns, rows in tables]


def describe(table: Table, language: str) -> str:
    """The facts in a language (ISO 639-1), or English: "16 rows; columns Date, Amount; Amount 2 to 9."."""
    wording = WORDINGS.get(language, WORDINGS["en"])
    parts = [
        wording.row if table.rows == 1 else wording.rows.format(table.rows),
        wording.columns.format(list_names(table.columns, MAX_COLUMNS, language)),
        *(wording.range.format(*each) for each in table.ranges[:MAX_RANGES]),
    ]
    return wording.divider.join(parts) + wording.end


def list_names(names: Sequence[str], most: int, language: str) -> str:
    """The first `most` of the names, and the number of the others: "a, b and 3 more"."""
    wording = WORDINGS.get(language, WORDINGS["en"])
    more = wording.and_more.format(len(names) - most) if len(names) > most else ""
    return wording.comma.join(names[:most]) + more


def _rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The cells of each row by column. A long row is several lines, which begin with the same cell."""
    row: dict[str, str] = {}
    above = ""
    for line in lines:
        cells = _cells(line)
        [key, *further] = cells.items()
        is_same = bool(row) and key == next(iter(row.items())) and not row.keys() & dict(further).keys()
        # Two rows may begin with the same cell, too.
        if is_same and further and len(above) + len(": ".join(further[0])) > MAX_ROW_CHARS:
            row |= cells
        else:
            if row:
                yield row
            row = cells
        above = line
    if row:
        yield row


def _cells(line: str) -> dict[str, str]:
    cells: dict[str, str] = {}
    last = ""
    for part in re.split(r"; | \| ", line):
        name, colon, value = part.partition(": ")
        if colon:
            last = name
            cells[name] = value
        elif last:
            cells[last] += f"; {part}"
        else:  # the first cell of a row whose first column has no name
            cells[""] = part
    return cells


def _ranges(columns: Iterable[str], rows: Sequence[Mapping[str, str]]) -> tuple[Range, ...]:
    ranges: dict[bool, list[Range]] = {True: [], False: []}  # by whether they are of dates
    for column in filter(None, columns):
        values = [row[column] for row in rows if row.get(column)]
        for parse in (dates_in, numbers_in):
            keys = parse(values)
            if len(set(keys.values())) > 1 and sum(value in keys for value in values) >= MIN_ORDERED * len(
                values
            ):
                low, high = (pick(keys, key=keys.__getitem__) for pick in (min, max))
                ranges[parse is dates_in].append(Range(column, low, high))
                break
    return (*ranges[True], *ranges[False])


_ISO = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?(?:[T ].*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})")
_NUMBER = re.compile(r"[^\w\s.,−-]*\s?([-−]?)\s?[^\w\s.,−-]*\s?(\d[\d.,'’\s]*)\W*[A-Za-z]{0,3}\W*")
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(r",\d{1,2}\D*$"), re.compile(r"\.\d{1,2}\D*$")
_MONTHS = 12


def dates_in(values: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """(year, month, day) of each date; {} if day and month may be in either order, as in 03/04/2025."""
    iso = {
        value: tuple(int(part or 0) for part in match.groups())
        for value in values
        if (match := _ISO.fullmatch(value))
    }
    if iso:
        return iso
    parts = {
        value: [int(part) for part in match.groups()]
        for value in values
        if (match := _DAY_FIRST.fullmatch(value))
    }
    day_first = any(first > _MONTHS for first, _, _ in parts.values()) or any("." in value for value in parts)
    month_first = any(second > _MONTHS for _, second, _ in parts.values())
    if day_first == month_first:
        return {}
    return {
        value: (year, second, first) if day_first else (year, first, second)
        for value, (first, second, year) in parts.items()
    }


def numbers_in(values: Sequence[str]) -> dict[str, float]:
    """The number of each value that has one. A comma is decimal if values end like 12,50."""
    comma = any(map(_DECIMAL_COMMA.search, values)) and not any(map(_DECIMAL_POINT.search, values))
    drop, point = (".", ",") if comma else (",", ".")
    numbers: dict[str, float] = {}
    for value in values:
        match = _NUMBER.fullmatch(value)
        digits = (
            re.sub(r"[\s'’]", "", match[2]).replace(drop, "").replace(point, ".").strip(".") if match else ""
        )
        if match and digits.count(".") <= 1:
            negative = match[1] in ("-", "−") or value.startswith("(")
            numbers[value] = -float(digits) if negative else float(digits)
    return numbers
