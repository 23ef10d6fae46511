"""What a library needs of a database, whichever keeps it: a SQLite file (`ragcore.sql.sqlite`) or a PostgreSQL server.

Statements are written in what both understand, with `?` and `:name` for values. Schemas are written for SQLite, in INTEGER,
REAL, TEXT and BLOB, so that running one twice changes nothing; `ragcore.sql.postgres.translated` says them to PostgreSQL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol

from ragcore.errors import StoreError

VERSION = 1  # of the tables: a higher one with a change that a program from before it must not write to


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

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is in a transaction or a snapshot."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Everything inside is committed together, or, on any error, nothing of it. Inside another it is a part of that one.

        Nobody else writes meanwhile: what was read inside is still true when it is committed. The price is that writers wait
        for each other, in every process and on every machine, heartbeats among them; so a transaction is short. What takes
        long (reading, embedding, making a vector index) is done before or after it, and rows are sent in bulk: a thousand
        passages take a fraction of a second. SQLite has one lock for the file; PostgreSQL is given one for the schema, since
        its own row locks would let two workers claim one file. It is taken no later than the first statement, so do not rely
        on it before. A writer that is gone loses its lock with its connection.

        After a statement has failed, end the transaction: PostgreSQL takes no other one in it.
        """

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Everything read inside is of one moment, whatever others write meanwhile. Waits for nobody. Write nothing inside."""

    def revision(self) -> object:
        """Another value than before whenever another connection has committed a change in between, and sometimes when none has.
        Costs next to nothing: who waits for a change compares it, and looks into tables when it is another. Not in a
        transaction."""

    def close(self) -> None: ...


def writable(text: str) -> str:
    """The text as it can be stored: two halves of one character that stand together made whole, a lone half replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class BusyError(StoreError):
    """Another writer's transaction lasted longer than one waits for it."""

    retryable = True

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is being written by another program, which has not finished.",
            hint="Wait for it, or close the other program, and try again.",
        )


def newer_version(what: str, version: int) -> StoreError:
    """The refusal of a database whose tables are of a version above VERSION; `what` is its name."""
    return StoreError(
        f"{what} was made by a newer version of Lectern: its tables have version {version}, but this one only "
        f"knows versions up to {VERSION}. Nothing was changed in it.",
        hint="Update Lectern, or name another library, such as another folder in LECTERN_HOME.",
    )


def other_version(what: str, table: str, column: str) -> StoreError:
    """The refusal of a database whose table cannot be given a column it lacks; `what` is its name."""
    return StoreError(
        f"{what} was made by another version of Lectern: its table {table} has no {column}.",
        hint="Open it with the version that made it, or name another library, such as another folder in LECTERN_HOME.",
    )


def columns_of(schemas: Iterable[str]) -> dict[tuple[str, str], str]:
    """By table and column, what adds the column to a table with rows; "" where nothing can."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for schema in schemas:
            fresh.executescript(schema)
        return columns_in(fresh)


def columns_in(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """As `columns_of`, of a SQLite file as it is."""
    found: dict[tuple[str, str], str] = {}
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'").fetchall()
    for (table,) in tables:
        for _, column, kind, required, default, key in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
            if key or (required and default is None):
                found[table, column] = ""
            else:
                given = "" if default is None else f" DEFAULT {default}"
                found[table, column] = f"{kind or 'ANY'}{' NOT NULL' if required else ''}{given}"
    return found
