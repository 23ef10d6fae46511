"""Whether SQLite finds a library's database whole, looked at once in the background: a page that a disk has damaged may not be
read for months, and every copy that is made meanwhile has the damage."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.sql.base import Database
from ragcore.sql.sqlite import SQLiteDatabase

logger = logging.getLogger(__name__)

CHECK_SECONDS = 60.0  # after which a very large database is left as it is
LOOK_STEPS = 100_000  # of SQLite's machine between two looks at the clock


class IntegrityCheck:
    """`problem` is None until something is found. A database on a server is that server's to check."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self.problem: StoreError | None = None

    def start(self) -> None:
        """Look, in a thread of its own, unless that has been done."""
        if self._thread is None and isinstance(self._database, SQLiteDatabase):
            self._thread = threading.Thread(target=self._look, args=(self._database,), name="check-database", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Look no further, as the database is to be closed."""
        self._stopped.set()
        self.wait()

    def wait(self, timeout: float | None = None) -> None:
        """Until it has been looked at, where that has begun."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _look(self, database: SQLiteDatabase) -> None:
        try:
            damage = find_damage(database, CHECK_SECONDS, self._stopped.is_set)
        except StoreError as error:
            if not isinstance(error, DamagedStoreError):
                logger.warning("the database could not be checked: %s", error.what)
                return
            damage = str(error.__cause__ or error)
        if damage:
            logger.error("%s is damaged: %s", database.path, damage)
            self.problem = DamagedStoreError(
                f"A part of the library file {database.path} is damaged, and what was stored there may be missing.",
                hint=(
                    "Close Lectern and restore the library's folder from a backup. If there is none, use Download a "
                    "copy in Settings while the rest can still be read, and check the disk."
                ),
            )


def find_damage(database: SQLiteDatabase, seconds: float, stopped: Callable[[], bool] = lambda: False) -> str:
    """What `PRAGMA quick_check` says first; "" where it finds nothing, or not within so many seconds or before it is stopped.
    StoreError."""
    end = time.monotonic() + seconds
    with database.snapshot() as connection:
        connection.set_progress_handler(lambda: time.monotonic() > end or stopped(), LOOK_STEPS)
        try:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            logger.info("the database was not checked to its end")
            return ""
        finally:
            connection.set_progress_handler(None, 0)
    return "" if found == "ok" else found
