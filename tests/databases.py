"""The databases that keep a library, for tests that promise the same of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ragcore.sql.base import Database
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.sqlite import SQLiteDatabase
from tests import postgres

KINDS = ["sqlite", "postgres"]


def opening(kind: str, folder: Path, *schemas: str) -> Iterator[Callable[[], Database]]:
    """For a fixture to yield from: what opens a new database, each time as another process would. All are
    closed after it."""
    address = postgres.fresh() if kind == "postgres" else ""
    opened: list[Database] = []

    def open_it() -> Database:
        opened.append(
            PostgresDatabase(address, *schemas)
            if address
            else SQLiteDatabase(folder / "library.db", *schemas)
        )
        return opened[-1]

    yield open_it
    for database in opened:
        database.close()
