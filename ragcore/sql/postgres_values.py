"""Statements and values in the form of the driver, and rows of its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any


class Row:
    """A row's values, by place and by name, as sqlite3.Row has them."""

    __slots__ = ("_places", "_values")

    def __init__(self, values: list[Any], places: Mapping[str, int]) -> None:
        self._values = values
        self._places = places

    def __getitem__(self, key: int | str | slice) -> Any:
        return self._values[self._places[key] if isinstance(key, str) else key]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __repr__(self) -> str:
        return f"Row({dict(zip(self._places, self._values, strict=True))})"

    def keys(self) -> list[str]:
        return list(self._places)


class Rows:
    """The result of a statement, completely in memory."""

    def __init__(self, rows: Iterable[Row], rowcount: int) -> None:
        self._rows = iter(rows)
        self.rowcount = rowcount

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return self._rows


class _Names(dict[str, str]):
    """Every name is its own value."""

    def __missing__(self, name: str) -> str:
        return name


@lru_cache(1024)
def number_placeholders(sql: str, *, named: bool) -> tuple[str, Iterable[str]]:
    """The statement with $1, $2... as placeholders, and the names of its :name placeholders in that order."""
    from pg8000.dbapi import convert_paramstyle

    statement, names = convert_paramstyle("named" if named else "qmark", sql, _Names())
    return statement, names


def encode(values: Iterable[Any]) -> list[str | None]:
    """Values in PostgreSQL's text format: https://www.postgresql.org/docs/current/datatype.html."""
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, str):
        text = str.__str__(value)  # str() of an enum would be its name
        return text.replace(_ESCAPE, _ESCAPE + "1").replace(_NUL, _ESCAPE + "0")
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return "\\x" + value.hex()
    if isinstance(value, list):
        return "{" + ",".join(map(_element, value)) + "}"
    return str(value)


def _element(value: Any) -> str:
    """A value inside the text of an array."""
    return (
        str(value)
        if isinstance(value, int)
        else '"' + _text(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


# PostgreSQL cannot store NUL. A character that Unicode reserves for internal use replaces it, followed by 0;
# followed by 1, it stands for itself.
_NUL, _ESCAPE = "\0", "\uffff"


def unescape(text: str) -> str:
    return text.replace(_ESCAPE + "0", _NUL).replace(_ESCAPE + "1", _ESCAPE) if _ESCAPE in text else text


def rows_of(context: Any) -> Rows:
    places = {column["name"]: place for place, column in enumerate(context.columns or ())}
    return Rows((Row(values, places) for values in context.rows or ()), context.row_count)
