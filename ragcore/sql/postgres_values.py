"""Statements and values as the driver takes them, and rows as it gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

_TOKENS = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|::|\?|:[A-Za-z_]\w*")


class Row(Sequence[Any]):
    """A row's values, by place and by name."""

    __slots__ = ("_places", "_values")

    def __init__(self, values: list[Any], places: Mapping[str, int]) -> None:
        self._values = values
        self._places = places

    @overload
    def __getitem__(self, key: int | str) -> Any: ...

    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...

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
    """What a statement gave: all of it is here already."""

    def __init__(self, rows: Iterable[Row], rowcount: int) -> None:
        self.rows_of = iter(rows)
        self.rowcount = rowcount

    def fetchone(self) -> Row | None:
        return next(self.rows_of, None)

    def fetchall(self) -> list[Row]:
        return list(self.rows_of)

    def __iter__(self) -> Iterator[Row]:
        return self.rows_of


@lru_cache(1024)
def number_placeholders(sql: str) -> tuple[str, list[str] | None]:
    """The statement with $1, $2... for its placeholders; of :name placeholders also the names, in that order."""
    names: list[str] = []
    asked = 0

    def number(found: re.Match[str]) -> str:
        nonlocal asked
        token = found[0]
        if token == "?":
            asked += 1
            return f"${asked}"
        if token.startswith(":") and token != "::":
            if token[1:] not in names:
                names.append(token[1:])
            return f"${names.index(token[1:]) + 1}"
        return token

    return _TOKENS.sub(number, sql), names or None


def encode(values: Iterable[Any]) -> list[str | None]:
    """Values as PostgreSQL reads them: https://www.postgresql.org/docs/current/datatype.html."""
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _escaped(str.__str__(value))  # an enum's own text
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return "\\x" + value.hex()
    if isinstance(value, list):
        return "{" + ",".join(map(_element, value)) + "}"
    return str(value)


def _element(value: Any) -> str:
    """A value in the text of an array."""
    return str(value) if isinstance(value, int) else '"' + _text(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


# PostgreSQL stores every character but NUL. One that Unicode leaves to programs for their own ends stands for it, and,
# before a 1, for itself.
_NUL, _ESCAPE = "\0", "\uffff"


def _escaped(text: str) -> str:
    return text.replace(_ESCAPE, _ESCAPE + "1").replace(_NUL, _ESCAPE + "0")


def unescape(text: str) -> str:
    return text.replace(_ESCAPE + "0", _NUL).replace(_ESCAPE + "1", _ESCAPE) if _ESCAPE in text else text


def rows_of(context: Any) -> Rows:
    places = {column["name"]: place for place, column in enumerate(context.columns or ())}
    return Rows((Row(values, places) for values in context.rows or ()), context.row_count)
