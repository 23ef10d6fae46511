"""The library's SQLite file: how it is opened, and how a change is made whole or not at all.

Write-ahead logging lets several processes read while one writes. Each thread has its own connection. Tables belong to the
modules that use them; each gives its schema, written so that running it twice changes nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSY_SECONDS = 30.0  # how long a writer waits for another process's transaction


class Database:
    """A SQLite file, opened when first used. Safe to share between threads; `close` closes every thread's connection."""

    def __init__(self, path: Path, *schemas: str) -> None:
        self.path = path
        self._schemas = schemas
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[sqlite3.Connection] = []
        self._prepared = False

    def connection(self) -> sqlite3.Connection:
        """This thread's connection: autocommit, rows by name, foreign keys on."""
        opened: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if opened is None:
            opened = self._local.connection = self._open()
        return opened

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is committed together, or, on any error, nothing of it. Takes the write lock at once."""
        connection = self.connection()
        if connection.in_transaction:  # part of the transaction around it
            yield connection
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        with self._lock:
            if not self._prepared:
                for schema in self._schemas:
                    connection.executescript(schema)
                self._prepared = True
            self._connections.append(connection)
        return connection
