"""Short reads and changes of a library's database, for the classes that own its tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ragcore.sql.base import Database


class Tables:
    """Owns some tables of a database. Threads may share it."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock  # seconds since the epoch

    def _read(self, query: str, *values: object) -> list[Any]:
        """The rows of a query."""
        with self._database.snapshot() as db:
            return db.execute(query, values).fetchall()

    def _read_one(self, query: str, *values: object) -> Any:
        """The first row of a query, or None."""
        with self._database.snapshot() as db:
            return db.execute(query, values).fetchone()

    def _change(self, statement: str, *values: object) -> int:
        """Change rows in a transaction; returns how many."""
        with self._database.transaction() as db:
            return db.execute(statement, values).rowcount
