"""What a library needs of a database, whichever keeps it: a SQLite file (`ragcore.sqlite`) or a PostgreSQL server.

Statements are written in what both understand, with `?` and `:name` for values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Rows(Protocol):
    """What a statement gave. A row gives its values by place and by name."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows: ...


class Database(Protocol):
    """Safe to share between threads. Opened when first used."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Everything inside is committed together, or, on any error, nothing of it. Inside another it is a part of that one.

        Nobody else writes meanwhile.
        """

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Everything read inside is of one moment, whatever others write meanwhile. Waits for nobody. Write nothing inside."""

    def close(self) -> None: ...


def writable(text: str) -> str:
    """The text as it can be stored: two halves of one character that stand together made whole, a lone half replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
