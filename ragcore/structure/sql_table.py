"""A table of a document in SQL: named, described to a language model, and queried without any way to write.

The rows are in an SQLite database in memory, which is open as long as one question is answered.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Container, Mapping

from ragcore.structure.column_names import MONEY
from ragcore.structure.tables import Column, Table

LISTED = 25  # values of a column that are all described
DESCRIBED_CHARS = 600  # of the values of a column
SOME = 3  # values of a column that has more
SECONDS = 2.0  # of a query
MAX_RESULT = 5000  # rows of a result
MAX_VALUE = 1_000_000  # bytes of a value that a query makes
_TYPES = {"number": "REAL", "date": "DATE", "flag": "TEXT", "text": "TEXT"}
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION))
_WORD = re.compile(r"[^\W_]+")


class SQLTable:
    """`columns` are those of the table by their names in SQL: snake_case, without need of quotes. Signed
    amounts of money beside a date, `signed`, have two more, which are `derived`: `spent` and `received`, both
    positive.

    >>> from ragcore.structure.tables import tables_of
    >>> text = "Room | Price a day\\nRoom: Aspen; Price a day: 90\\nRoom: Birch; Price a day: 75"
    >>> table = SQLTable(tables_of(text)[0], "rooms 2025.csv")
    >>> print(table.describe())
    rooms_2025_csv, 2 rows:
    - room TEXT: 'Aspen', 'Birch'
    - price_a_day REAL from 75 to 90
    >>> table.rows("SELECT room FROM rooms_2025_csv WHERE price_a_day < 80")
    [('Birch',)]
    >>> table.close()
    """

    def __init__(self, table: Table, name: str) -> None:
        self.table = table
        self._database = sqlite3.connect(":memory:")
        self.name = self._identifier(name, ())
        self.columns: dict[str, Column] = {}
        for column in table.columns.values():
            self.columns[self._identifier(column.name, self.columns)] = column
        self.signed = self._signed_amount()
        self.derived = self._spent_and_received()
        self.columns |= self.derived
        self._fill()

    def close(self) -> None:
        self._database.close()

    def describe(self) -> str:
        """The columns with their types, and all values or their range."""
        lines = [f"{self.name}, {len(self.table.rows)} rows:"]
        lines += [f"- {name} {_TYPES[column.kind]}{_range(column)}" for name, column in self.columns.items()]
        return "\n".join(lines)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The first MAX_RESULT rows of the result. sqlite3.Error for what is no query, and for one that
        takes longer than SECONDS."""
        deadline = time.monotonic() + SECONDS
        self._database.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        return self._database.execute(sql).fetchmany(MAX_RESULT)

    def _signed_amount(self) -> str:
        """The only column of amounts that are positive and negative, beside dates, as in a bank statement; ""
        if there is none."""
        has_dates = any(column.kind == "date" for column in self.columns.values())
        signed = [
            name
            for name, column in self.columns.items()
            if column.kind == "number" and MONEY.fullmatch(column.head) and _has_both_signs(column)
        ]
        return signed[0] if has_dates and len(signed) == 1 else ""

    def _spent_and_received(self) -> dict[str, Column]:
        if not self.signed:
            return {}
        column = self.columns[self.signed]
        values: Mapping[int, float] = column.values  # type: ignore[assignment]
        spent = {at: -value for at, value in values.items() if value < 0}
        received = {at: value for at, value in values.items() if value > 0}
        return {
            "spent": Column(f"{column.name} spent", "number", spent, column.unit),
            "received": Column(f"{column.name} received", "number", received, column.unit),
        }

    def _fill(self) -> None:
        """Creates the rows, with the number of the row as rowid, and then forbids everything but reading."""
        columns = ", ".join(
            f"{name} {'REAL' if column.kind == 'number' else 'TEXT'} COLLATE NOCASE"
            for name, column in self.columns.items()
        )
        self._database.execute(f"CREATE TABLE {self.name} ({columns})")
        marks = ", ".join("?" for _ in range(len(self.columns) + 1))
        self._database.executemany(
            f"INSERT INTO {self.name} (rowid, {', '.join(self.columns)}) VALUES ({marks})",
            (
                [at, *(sql_value(column.values.get(at)) for column in self.columns.values())]
                for at in range(len(self.table.rows))
            ),
        )
        self._database.create_function("YEAR", 1, _part_of_date(0, 4), deterministic=True)
        self._database.create_function("MONTH", 1, _part_of_date(5, 7), deterministic=True)
        self._database.create_function("DAY", 1, _part_of_date(8, 10), deterministic=True)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._database.set_authorizer(_only_reading)

    def _identifier(self, text: str, taken: Container[str]) -> str:
        """The words of the text, none that SQL keeps for itself. Numbers at the beginning go to the end."""
        words = _WORD.findall(text.casefold())
        numbers = 0
        while numbers < len(words) and words[numbers][0].isdigit():
            numbers += 1
        name = "_".join(words[numbers:] + words[:numbers]) or "column"
        if name[0].isdigit():
            name = f"y{name}"
        try:
            self._database.execute(f"SELECT {name} FROM (SELECT 1 AS {name})")
        except sqlite3.Error:
            name = f"{name}_"
        while name in taken:
            name = f"{name}_2"
        return name


def sql_value(value: object) -> object:
    """A value of a column as SQLite has it: dates as 2025-03-31, flags as yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "-".join(f"{part:02}" for part in value)
    return value


def _range(column: Column) -> str:
    values = list(dict.fromkeys(sql_value(value) for value in column.values.values()))
    if column.kind in ("number", "date") and values:
        low, high = min(values), max(values)  # type: ignore[type-var]
        return f" from {_shown(low)} to {_shown(high)}"
    shown = [_shown(value) for value in values]
    if len(shown) <= LISTED and len(", ".join(shown)) <= DESCRIBED_CHARS:
        return f": {', '.join(shown)}"
    return f", {len(shown)} values such as {', '.join(shown[:SOME])}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.15g}"
    text = str(value).replace("'", "''")
    return text if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else f"'{text}'"


def _has_both_signs(column: Column) -> bool:
    return len({value > 0 for value in column.values.values() if value}) == 2  # type: ignore[operator]


def _part_of_date(start: int, end: int) -> Callable[[object], int | None]:
    def part(date: object) -> int | None:
        digits = str(date)[start:end]
        return int(digits) if digits.isdigit() else None

    return part


def _only_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
