"""The contract of a library's database: a SQLite file (`ragcore.sql.sqlite`) or a PostgreSQL server
(`ragcore.sql.postgres`).

Statements use SQL that both understand, with `?` and `:name` for values. Schemas are written for SQLite with
the types INTEGER, REAL, TEXT and BLOB, and may run twice without effect;
`ragcore.sql.postgres.translate_schema` converts them for PostgreSQL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol

from ragcore.errors import StoreError

VERSION = 1  # of the tables; increase it with a change that earlier programs must not write to


class Rows(Protocol):
    """The result of a statement. A row has its values by place and by name."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""

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
        """Everything inside is committed together, or nothing after an error. Inside another transaction it
        is a part of that.

        Nobody else writes meanwhile: results of reading are still true at the commit. All writers in all
        processes and on all machines wait for each other, including heartbeats, so a transaction must be
        short. Slow work (reading, embedding, building a vector index) belongs before or after it, and rows
        are sent in bulk: a thousand passages take a fraction of a second. SQLite locks the file; for
        PostgreSQL we lock the schema, because with its row locks two workers could claim one file. The lock
        is certain only after the first statement. A writer that dies loses its lock with its connection.

        End the transaction after a failed statement: PostgreSQL refuses any further one in it.
        """

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Reads inside see the state of one moment, whatever others write meanwhile. Never waits. Do not
        write inside."""

    def revision(self) -> object:
        """A value that changes after every commit of another connection, and sometimes without one. Not in a
        transaction.

        It is cheap: to wait for a change, compare it, and read the tables only when it differs.
        """

    def close(self) -> None: ...


def writable(text: str) -> str:
    """The text in a form that can be stored: surrogate pairs become characters, lone surrogates are
    replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class BusyError(StoreError):
    """Another writer's transaction took longer than the waiting time."""

    retryable = True

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is being written by another program, which has not finished.",
            hint="Wait for it, or close the other program, and try again.",
        )


def newer_version(what: str, version: int) -> StoreError:
    """The error for a database named `what` whose tables have a version above VERSION."""
    return StoreError(
        f"{what} was made by a newer version of Lectern: its tables have version {version}, but this "
        "one only "
        f"knows versions up to {VERSION}. Nothing was changed in it.",
        hint="Update Lectern, or name another library, such as another folder in LECTERN_HOME.",
    )


def missing_columns(
    what: str, expected: Mapping[tuple[str, str], str], present: Collection[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """(table, column, definition) of the expected columns that existing tables of the database named `what`
    lack.

    StoreError for a column that must neither be NULL nor has a default, so that it cannot be added.
    """
    tables = {table for table, _ in present}
    missing = [(*place, expected[place]) for place in expected if place[0] in tables and place not in present]
    for table, column, definition in missing:
        if not definition:
            raise StoreError(
                f"{what} was made by another version of Lectern: its table {table} has no {column}.",
                hint=(
                    "Open it with the version that made it, or name another library, such as another "
                    "folder in LECTERN_HOME."
                ),
            )
    return missing


def columns_of(schemas: Iterable[str]) -> dict[tuple[str, str], str]:
    """By table and column, the definition to add the column to a table with rows; "" if it cannot be
    added."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for schema in schemas:
            fresh.executescript(schema)
        return columns_in(fresh)


def columns_in(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """As `columns_of`, for an existing SQLite file."""
    columns: dict[tuple[str, str], str] = {}
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    ).fetchall()
    for (table,) in tables:
        for _, column, kind, required, default, key in connection.execute(
            f'PRAGMA table_info("{table}")'
        ).fetchall():
            if key or (required and default is None):
                columns[table, column] = ""
            else:
                suffix = "" if default is None else f" DEFAULT {default}"
                columns[table, column] = f"{kind or 'ANY'}{' NOT NULL' if required else ''}{suffix}"
    return columns
