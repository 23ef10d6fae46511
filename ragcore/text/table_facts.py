"""What a table holds: how many rows, which columns, and from where to where its dates and numbers go.

Reads the lines that the readers make of tables, see `readers/table_rows.py`: `Station: Cliff Top; Opened: 1871`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragcore.text.quotable_sentences import is_row

MAX_COLUMNS = 12  # that are named; of more, their number is added
MAX_RANGES = 4  # columns whose lowest and highest value are named: dates first
LEAST_ORDERED = 0.8  # of a column's values that are dates, or numbers, from which it has a range


class Range(NamedTuple):
    """The lowest and the highest value of a column, as they are written."""

    column: str
    low: str
    high: str


class Grid(NamedTuple):
    """A table as it stands: a row lacks the cells that are empty."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


class Table(NamedTuple):
    rows: int
    columns: tuple[str, ...]
    ranges: tuple[Range, ...]  # dates first


class Wording(NamedTuple):
    """How a table is described in a language; `and_more` stands behind names that are not all."""

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
    """The tables of a text that is mostly rows, as a spreadsheet is; [] of any other.

    >>> describe(tables_in("Day | Km\\nDay: 2025-05-01; Km: 12\\nDay: 2025-05-02; Km: 8")[0], "en")
    '2 rows; columns Day, Km; Day 2025-05-01 to 2025-05-02; Km 8 to 12.'
    """
    return [Table(len(rows), columns, _ranges(columns, rows)) for columns, rows in grids_in(text)]


def grids_in(text: str) -> list[Grid]:
    """The same tables with all their cells."""
    lines = [line for line in text.splitlines() if line.strip()]
    of_rows = list(filter(is_row, lines))
    if 2 * len(of_rows) < len(lines):
        return []
    tables: list[tuple[dict[str, None], list[dict[str, str]]]] = []  # columns and rows of each
    for row in _rows(of_rows):
        known = next((table for table in tables if next(iter(row)) in table[0]), None)
        if known is None:
            known = ({}, [])
            tables.append(known)
        known[0].update(dict.fromkeys(row))
        known[1].append(row)
    return [Grid(tuple(columns), tuple(rows)) for columns, rows in tables]


def describe(table: Table, language: str) -> str:
    """A sentence without a verb: "16 rows; columns Date, Amount; Date 2025-01-02 to 2025-03-31.", in English where there are no
    words of the language (ISO 639-1)."""
    said = WORDINGS.get(language, WORDINGS["en"])
    parts = [
        said.row if table.rows == 1 else said.rows.format(table.rows),
        said.columns.format(listed(table.columns, MAX_COLUMNS, language)),
        *(said.range.format(*each) for each in table.ranges[:MAX_RANGES]),
    ]
    return said.divider.join(parts) + said.end


def listed(names: Sequence[str], most: int, language: str) -> str:
    """ "a, b and 3 more": the first `most` of the names, and how many more there are."""
    said = WORDINGS.get(language, WORDINGS["en"])
    more = said.and_more.format(len(names) - most) if len(names) > most else ""
    return said.comma.join(names[:most]) + more


def _rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The cells of each row by the names of their columns. A long row is several lines, which begin with the same cell."""
    row: dict[str, str] = {}
    for line in lines:
        cells = _cells(line)
        key = next(iter(cells.items()))
        if row and key == next(iter(row.items())) and not row.keys() & (cells.keys() - {key[0]}):
            row |= cells
            continue
        if row:
            yield row
        row = cells
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
    found: list[tuple[bool, Range]] = []
    for column in filter(None, columns):
        values = [row[column] for row in rows if row.get(column)]
        for ordered in (_dates, _numbers):
            keys = ordered(values)
            if len(set(keys.values())) > 1 and sum(value in keys for value in values) >= LEAST_ORDERED * len(values):
                low, high = (pick(keys, key=keys.__getitem__) for pick in (min, max))
                found.append((ordered is _numbers, Range(column, low, high)))
                break
    return tuple(each for _, each in sorted(found, key=lambda item: item[0]))


_ISO = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:[T ].*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})")
_NUMBER = re.compile(r"[^\w\s.,−-]*\s?([-−]?)\s?[^\w\s.,−-]*\s?(\d[\d.,'’\s]*)\W*[A-Za-z]{0,3}\W*")
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(r",\d{1,2}\D*$"), re.compile(r"\.\d{1,2}\D*$")
_MONTHS = 12


def _dates(values: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """(year, month, day) of each value that is a date; none of dates that may be of either order, such as 03/04/2025."""
    iso = {value: tuple(int(part or 0) for part in match.groups()) for value in values if (match := _ISO.fullmatch(value))}
    if iso:
        return iso
    parts = {value: [int(part) for part in match.groups()] for value in values if (match := _DAY_FIRST.fullmatch(value))}
    day_first = any(first > _MONTHS for first, _, _ in parts.values()) or any("." in value for value in parts)
    month_first = any(second > _MONTHS for _, second, _ in parts.values())
    if day_first == month_first:
        return {}
    return {
        value: (year, second, first) if day_first else (year, first, second) for value, (first, second, year) in parts.items()
    }


def _numbers(values: Sequence[str]) -> dict[str, float]:
    """The number of each value that is one, with a currency or unit; a comma is decimal where values end like 12,50."""
    comma = any(map(_DECIMAL_COMMA.search, values)) and not any(map(_DECIMAL_POINT.search, values))
    drop, point = (".", ",") if comma else (",", ".")
    found: dict[str, float] = {}
    for value in values:
        match = _NUMBER.fullmatch(value)
        digits = re.sub(r"[\s'’]", "", match[2]).replace(drop, "").replace(point, ".").strip(".") if match else ""
        if match and digits.count(".") <= 1:
            negative = match[1] in ("-", "−") or value.startswith("(")
            found[value] = -float(digits) if negative else float(digits)
    return found
