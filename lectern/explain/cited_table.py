"""The table that a cited passage is from, ready to be sorted and filtered, with the rows that the answer
quotes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from lectern.ask.computed_answer import CACHED_DOCUMENTS, read_tables
from lectern.ask.table_readings import find_computed
from lectern.explain.source_view import find_document, locate_passage
from lectern.library import Library
from lectern.schema import Message, Source
from ragcore.errors import InputError
from ragcore.structure.tables import Column, Table
from ragcore.text.csv_safety import as_csv
from ragcore.text.quote_places import quoted_places

if TYPE_CHECKING:
    import pandas

NO_NAME = " "  # of a column without a name
_TEXTS = {"number": re.compile(r"\D*0\d"), "date": re.compile(r"\d{4}-")}  # cells of columns that stay text
_NUMBER = re.compile(r"(\d(?:[\d.,'’\s]*\d)?)")
_LAST_DIGITS = re.compile(r"[.,](\d+)\D*$")
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")


class GridTable:
    """All rows of a table in the order of the document, those of totals too."""

    def __init__(self, table: Table) -> None:
        rows = sorted((*table.rows, *table.totals), key=lambda row: row.start)
        self._table = replace(table, rows=tuple(rows), totals=())
        self.rows = self._table.rows
        self.names = self._table.names
        self._starts = [row.start for row in rows]

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """The cells, by columns that sort as a person expects: numbers and dates as such."""
        from pandas import DataFrame

        cells: dict[str, list[object]] = {}
        for name in self.names:
            column = self._typed.get(name)
            if column is None:
                cells[name or NO_NAME] = [row.cells.get(name, "") for row in self.rows]
            else:
                values = [column.values.get(number) for number in range(len(self.rows))]
                cells[name] = values if column.kind == "number" else list(map(_date, values))
        return DataFrame(cells)

    @cached_property
    def formats(self) -> dict[str, str]:
        """How the numbers of a column are shown, for printf: with unit and decimals."""
        return {
            name: _format(column, self._cells(name))
            for name, column in self._typed.items()
            if column.kind == "number"
        }

    def filter(self, words: str, numbers: Sequence[int]) -> list[int]:
        """Those of these rows that have all the words in their cells, in any order and case.

        >>> from ragcore.structure.tables import tables_of
        >>> lines = ["Room | Floor", "Room: Elm; Floor: upper", "Room: Fir; Floor: lower"]
        >>> GridTable(tables_of("\\n".join(lines))[0]).filter("UPPER elm", [0, 1])
        [0]
        """
        searched = words.casefold().split()
        texts = self._searchable
        return [number for number in numbers if all(word in texts[number] for word in searched)]

    def to_csv(self, numbers: Sequence[int]) -> bytes:
        """These rows, with the cells as in the document, for spreadsheets."""
        cells = [[self.rows[number].cells.get(name, "") for name in self.names] for number in numbers]
        return as_csv([self.names, *cells])

    def rows_at(self, start: int, end: int) -> range:
        """The numbers of the rows that have some of these characters of the document."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._starts[first] + len(self.rows[first].text) <= start:
            first += 1
        return range(first, max(first, bisect_left(self._starts, end)))

    @cached_property
    def _searchable(self) -> list[str]:
        return [" ".join(row.cells.values()).casefold() for row in self.rows]

    @cached_property
    def _typed(self) -> dict[str, Column]:
        """The columns of numbers or dates. One with another cell, or with codes such as 0042, is text, and so
        are dates that begin with the year: they are in order as they are, and may have times."""
        typed: dict[str, Column] = {}
        for name, column in self._table.columns.items():
            cells = self._cells(name)
            is_text = _TEXTS.get(column.kind)
            if is_text and len(column.values) == len(cells) and not any(map(is_text.match, cells.values())):
                typed[name] = column
        return typed

    def _cells(self, name: str) -> dict[int, str]:
        """Those that are not empty, by row."""
        cells = {number: row.cells.get(name, "") for number, row in enumerate(self.rows)}
        return {number: cell for number, cell in cells.items() if cell}


@dataclass(frozen=True, slots=True)
class CitedTable:
    """`marked`: the numbers of the rows that the answer quotes. `page_label`: of its sheet or page, or None.
    `is_quoted`: whether the answer quotes rows, and nothing else, from this passage."""

    table: GridTable
    marked: tuple[int, ...]
    page_label: str | None
    is_quoted: bool


def find_cited_table(library: Library, source: Source, message: Message) -> CitedTable | None:
    """The table that the answer quotes from this passage, or else the first one in it. None if there is none,
    or if the document has changed."""
    try:
        _file, document = find_document(library, source)
        start, end = locate_passage(source, document)
    except InputError:
        return None
    tables = grid_tables(document.text)
    quotes = [(start + first, start + last) for first, last in _quoted(source, message.text)]
    table = next((table for table in tables if any(table.rows_at(*quote) for quote in quotes)), None)
    table = table or next((table for table in tables if table.rows_at(start, end)), None)
    if table is None:
        return None
    marked: set[int] = set()
    for other in message.sources:
        if other.file_id == source.file_id and document.text[other.start : other.end] == other.text:
            for first, last in _quoted(other, message.text):
                marked.update(table.rows_at(other.start + first, other.start + last))
    question = message.ask.question if message.ask is not None else ""
    if computed := find_computed(question, document, library.store, message.text):
        marked.update(
            number for row in computed.all_rows for number in table.rows_at(row.start, row.start + 1)
        )
    page = document.page_at(table.rows[0].start)
    is_quoted = bool(quotes) and all(table.rows_at(*quote) for quote in quotes)
    return CitedTable(table, tuple(sorted(marked)), page.label if page else None, is_quoted)


@lru_cache(maxsize=CACHED_DOCUMENTS)
def grid_tables(text: str) -> tuple[GridTable, ...]:
    """The tables of a document's text, in order."""
    return tuple(map(GridTable, read_tables(text)))


def _quoted(source: Source, answer: str) -> list[tuple[int, int]]:
    return quoted_places(answer, source.number, source.text)


def _format(column: Column, cells: Mapping[int, str]) -> str:
    """Decimals if all cells have as many, and commas only for thousands: 1.240,50 is shown as 1240.50."""
    values = {cell: float(str(column.values[number])) for number, cell in cells.items()}
    decimals = {_decimals(cell, value) for cell, value in values.items()}
    shown = f".{decimals.pop()}f" if len(decimals) == 1 else "s"
    if shown != "s" and any(_THOUSANDS.search(cell) and abs(values[cell]) >= 1000 for cell in values):
        shown = f",{shown}"
    before, _digits, after = _NUMBER.split(next(iter(values)).replace("%", "%%"), maxsplit=1)
    return f"{before.lstrip('-−( ')}%{shown}{after}"


def _decimals(cell: str, value: float) -> int:
    """Of 1,240 none: it is more than a thousand."""
    match = _LAST_DIGITS.search(cell)
    digits = len(match[1]) if match else 0
    return 0 if digits == 3 and value.is_integer() else digits


def _date(value: object) -> date | None:
    """None for a day that does not exist."""
    try:
        return date(*value)  # type: ignore[misc]
    except (TypeError, ValueError):
        return None
