"""Checks a library's SQLite database once, in the background. Without this, a damaged page might not be read
for months, and all copies until then would have the damage."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection

from ragcore.errors import DamagedStoreError, Problem, StoreError
from ragcore.sql import row_checksums
from ragcore.sql.base import Database
from ragcore.sql.sqlite import SQLiteDatabase

logger = logging.getLogger(__name__)

CHECK_SECONDS = 60.0  # Maximum time for a very large database.
LOOK_SECONDS = 5.0
CLOCK_STEPS = 100_000  # of SQLite's virtual machine between two checks of the clock


class IntegrityCheck:
    """`problem` is None until damage is discovered. A database on a server is not checked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self.problem: StoreError | None = None

    def start(self) -> None:
        """Starts the check in a thread, once."""
        if self._thread is None and isinstance(self._database, SQLiteDatabase):
            self._thread = threading.Thread(
                target=self._check, args=(self._database,), name="check-database", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop before the database is closed."""
        self._stopped.set()
        self.wait()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the end of a check that has begun."""
        if self._thread is not None:
            self._thread.join(timeout)

    def look(self) -> StoreError | None:
        """Check now, for LOOK_SECONDS at most, because something failed that damage would explain."""
        if self.problem is None:
            self.problem = damage_of(self._database, LOOK_SECONDS, self._stopped.is_set)
        return self.problem

    def explain(self, problem: Problem) -> Problem:
        """The damage that `look` finds, or else the problem of an unexpected failure."""
        damage = self.look()
        return problem if damage is None else Problem.of(damage)

    def _check(self, database: SQLiteDatabase) -> None:
        self.problem = damage_of(database, CHECK_SECONDS, self._stopped.is_set) or self.problem


def damage_of(
    database: Database, seconds: float, stopped: Callable[[], bool] = lambda: False
) -> StoreError | None:
    """The error of a damaged database; None for an undamaged one, one on a server, or if it cannot be
    checked."""
    if not isinstance(database, SQLiteDatabase):
        return None
    try:
        damage = find_damage(database, seconds, stopped)
    except StoreError as error:
        if not isinstance(error, DamagedStoreError):
            logger.warning("the database could not be checked: %s", error.what)
            return None
        damage = str(error.__cause__ or error)
    if not damage:
        return None
    logger.error("%s is damaged: %s", database.path, damage)
    return DamagedStoreError(
        f"A part of the library file {database.path} is damaged, and what was stored there may be missing or "
        "wrong.",
        hint=(
            "Close Lectern and restore the library's folder from a backup. If there is none, "
            "use Download a copy in Settings while the rest can still be read, and check the disk."
        ),
    )


def find_damage(database: SQLiteDatabase, seconds: float, stopped: Callable[[], bool] = lambda: False) -> str:
    """What is damaged: pages, rows with another checksum, or the indexes of tables; "" without damage, after
    so many seconds, or if it is stopped. StoreError."""
    end = time.monotonic() + seconds

    def ends() -> bool:
        return time.monotonic() > end or stopped()

    try:
        with database.snapshot() as connection:
            connection.set_progress_handler(ends, CLOCK_STEPS)
            try:
                return _check_all(connection, database.tables_with_checksums, ends)
            finally:
                connection.set_progress_handler(None, 0)
    except sqlite3.OperationalError as error:
        # A disk that is full, locked or away is another error, which may pass.
        if "interrupted" not in str(error):
            raise DamagedStoreError(str(error), hint="") from error
        logger.info("the database was not checked to its end")
        return ""


def _check_all(connection: sqlite3.Connection, tables: Collection[str], ends: Callable[[], bool]) -> str:
    message = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if message != "ok":
        return message
    if tables and (table := row_checksums.find_changed_definition(connection)):
        return f"the definition of {table} has changed"
    if table := row_checksums.find_changed_table(connection, tables, ends):
        return f"a row of {table} has changed"
    message = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return "" if message == "ok" else message
