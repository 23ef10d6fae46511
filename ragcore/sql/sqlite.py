"""The library's SQLite file: opening it, and transactions.

With write-ahead logging several processes read while one writes. Each thread has its own connection, which is
closed when the thread ends. Every module that uses tables has their schema, which may run twice without
effect.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.sql import row_checksums
from ragcore.sql.base import VERSION, BusyError, columns_in, columns_of, missing_columns, newer_version

BUSY_SECONDS = 30.0  # a writer's maximum wait for another process's transaction
WAL_LIMIT = 4 << 20  # bytes of the log on disk after its contents are in the file
ROOM = 100_000  # bytes that SQLite may need to open a file for writing
SHRINK_SECONDS = 0.5  # `shrink`'s maximum wait for others


class NoRoomError(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is not enough space on the disk to write {path}. Nothing was changed.",
            hint="Free some space and try again.",
        )


class _Opened:
    """A thread's connection. It is closed when the thread or the process ends.

    A connection `for_now` reads a file that could not be written when it was opened. This may change at any
    time.
    """

    def __init__(self, connection: sqlite3.Connection, *, for_now: bool = False) -> None:
        self.connection = connection
        self.for_now = for_now
        self.before_commit: dict[object, Callable[[], None]] = {}
        self.at_work = False
        self.unwanted = False
        self.computes_checksums = False
        self._work = threading.RLock()
        self._closing = weakref.finalize(self, _close_unless_at_work, connection, self._work)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Surrounds the statements of its thread. SQLite crashes when a connection is closed during a
        statement."""
        try:
            with self._work:
                self.at_work = True
                yield
        finally:
            self.at_work = False
            if self.unwanted:
                self.close()

    def close(self) -> None:
        """Close it from any thread: now, or after the current work of its thread."""
        self.unwanted = True  # set first: a thread at work checks it afterwards
        if self._work.acquire(blocking=False):
            self._closing()
            self._work.release()


def _close_unless_at_work(connection: sqlite3.Connection, work: threading.RLock) -> None:
    """Closes a connection that no other thread uses now. At the end of the process, other threads may still
    be at work."""
    if work.acquire(blocking=False):
        connection.close()
        work.release()


class SQLiteDatabase:
    """A SQLite file, opened at the first use. Threads may share it; `close` closes the connections of all
    threads, that of a thread in a transaction after the transaction.

    A file without write permission, or on a read-only or full disk, can still be read. Rows get checksums
    (`ragcore.sql.row_checksums`), except those of the tables in `without_checksums`: None for all tables.
    """

    def __init__(self, path: Path, *schemas: str, without_checksums: Collection[str] | None = None) -> None:
        self.path = path.absolute()  # each thread opens it later, perhaps after a change of the folder
        self._schemas = schemas if without_checksums is None else (*schemas, row_checksums.SCHEMA)
        self._without_checksums = without_checksums
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: weakref.WeakSet[_Opened] = weakref.WeakSet()
        self._prepared = False

    def connection(self) -> sqlite3.Connection:
        """This thread's connection: autocommit, rows by name, foreign keys on.

        Other threads may call `close` meanwhile only if this one is inside a transaction or snapshot.
        """
        return self._own().connection

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is in a transaction or a snapshot."""
        opened: _Opened | None = getattr(self._local, "opened", None)
        return opened is not None and opened.at_work

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """See `Database.transaction`. Acquires the write lock at once."""
        return self._begin("BEGIN IMMEDIATE", writes=True)

    def snapshot(self) -> AbstractContextManager[sqlite3.Connection]:
        """See `Database.snapshot`."""
        return self._begin("BEGIN")

    def revision(self) -> int:
        """See `Database.revision`. Commits of this thread do not change it."""
        opened = self._own()
        with self._translate_errors(), opened.work():
            return int(opened.connection.execute("PRAGMA data_version").fetchone()[0])

    def before_commit(self, key: object, work: Callable[[], None]) -> None:
        """Call `work` just before this thread's transaction is committed, once for each `key`."""
        self._own().before_commit.setdefault(key, work)

    def shrink(self) -> None:
        """Return the space of deleted rows to the disk. Not in a transaction.

        While others read or write, this may do nothing.
        """
        opened = self._own()
        connection = opened.connection
        with self._translate_errors(), opened.work():
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * SHRINK_SECONDS)}").fetchall()
            try:
                connection.executescript("PRAGMA incremental_vacuum")  # execute() would free only one page
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}").fetchall()

    def close(self) -> None:
        with self._lock:
            for opened in self._opened:
                opened.close()
            self._opened.clear()

    def _own(self) -> _Opened:
        opened: _Opened | None = getattr(self._local, "opened", None)
        if opened is not None and (opened.for_now or opened.unwanted) and not opened.at_work:
            opened.close()
            opened = None
        if opened is None:
            opened = self._local.opened = self._open()
        return opened

    @contextmanager
    def _begin(self, begin: str, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        with self._translate_errors():
            opened = self._own()
            connection = opened.connection
            if connection.in_transaction:  # part of the outer transaction
                yield connection
                return
            with opened.work():
                if writes and not opened.computes_checksums:
                    row_checksums.compute_checksums(connection, self.tables_with_checksums)
                    opened.computes_checksums = True
                connection.execute(begin)
                try:
                    with connection:  # commits, or rolls back after an error
                        yield connection
                        for work in opened.before_commit.values():
                            work()
                finally:
                    opened.before_commit.clear()

    def _open(self) -> _Opened:
        with self._translate_errors(preparing=True):
            if self._prepared and not self.path.exists():  # a new file would be an empty library
                raise StoreError(
                    f"The library file {self.path} is no longer there.",
                    hint="It was deleted or moved while it was in use. Put it back, or start Lectern again.",
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            there, log = self.path.exists(), self.path.with_name(self.path.name + "-shm")
            for_now = there and not log.exists() and self._full()
            only_read = for_now or (
                there and not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
            )
            place = self._to_be_read() if only_read else str(self.path)
            opened = _Opened(
                sqlite3.connect(
                    place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=only_read
                ),
                for_now=for_now,
            )
            with self._lock:
                try:
                    with opened.work():
                        self._prepare(opened.connection, only_read)
                except BaseException:  # a connection must not stay open, whatever ended this
                    opened.close()
                    raise
                self._opened.add(opened)
            return opened

    def _full(self) -> bool:
        """Whether its disk is full. False if the folder is missing, which is another failure."""
        return self.path.parent.exists() and shutil.disk_usage(self.path.parent).free < ROOM

    def _to_be_read(self) -> str:
        """The address of a file that cannot be written. If it has no log, nobody else writes it either."""
        log = self.path.with_name(self.path.name + "-wal")
        changing = log.exists() and log.stat().st_size
        return f"{self.path.as_uri()}?{'mode=ro' if changing else 'immutable=1'}"

    def _prepare(self, connection: sqlite3.Connection, only_read: bool) -> None:
        connection.row_factory = sqlite3.Row
        # A text that a disk has damaged is read, and compared with its checksum.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise newer_version(f"The library file {self.path}", version)
        if only_read:
            self._prepare_to_read(connection, version)
            return
        # no effect on an old file, where it waits for writers
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                if not self._prepared:
                    changed = self._add_new_columns(connection)
                    for schema in self._schemas:
                        connection.executescript(schema)
                    if self.tables_with_checksums:
                        row_checksums.forget_changed_rows(connection, self.tables_with_checksums)
                        row_checksums.keep_definitions(connection, changed)
                if version < VERSION:
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                break
            except sqlite3.OperationalError as error:
                # Two processes create the same file: SQLite does not wait here.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._prepared = True
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}").fetchall()

    @cached_property
    def tables_with_checksums(self) -> tuple[str, ...]:
        if self._without_checksums is None:
            return ()
        tables = dict.fromkeys(table for table, _ in self._expected_columns)
        return tuple(set(tables) - {"row_checksums", *self._without_checksums})

    @cached_property
    def _expected_columns(self) -> dict[tuple[str, str], str]:
        return columns_of(self._schemas)

    def _prepare_to_read(self, connection: sqlite3.Connection, version: int) -> None:
        """Add empty temporary tables for those that a file of an earlier version lacks. StoreError for a
        missing column."""
        expected, present = self._expected_columns, columns_in(connection)
        tables = {table for table, _ in present}
        if version < VERSION or any(table in tables for table, _ in expected.keys() - present.keys()):
            raise StoreError(
                f"The library file {self.path} was made by an earlier version of Lectern, and cannot be "
                "brought up to date because it cannot be written.",
                hint="Copy the library's folder to where you may write, and open the copy.",
            )
        connection.execute("PRAGMA temp_store = MEMORY")
        for missing in {table for table, _ in expected} - tables:
            columns = ", ".join(f'"{column}"' for table, column in expected if table == missing)
            connection.execute(f'CREATE TEMP TABLE "{missing}" ({columns})')
        # so that nothing is written to a temporary table and silently lost
        connection.execute("PRAGMA query_only = ON")

    def _add_new_columns(self, connection: sqlite3.Connection) -> set[str]:
        """Add the columns that a file of an earlier version lacks, and return the names of their tables. The
        columns must allow NULL or have a default. DamagedStoreError if a table has lost one that it had."""
        name = f"The library file {self.path}"
        changed = set[str]()
        present = columns_in(connection)
        if missing_columns(name, self._expected_columns, present):
            has_checksums = ("row_checksums", "checksum") in present
            if has_checksums and (table := row_checksums.find_changed_definition(connection)):
                raise self._damaged(f"the definition of {table} has changed")
            connection.execute("BEGIN IMMEDIATE")  # another process may add them at the same time
            for table, column, definition in missing_columns(
                name, self._expected_columns, columns_in(connection)
            ):
                connection.execute(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {definition}')
                changed.add(table)
            connection.execute("COMMIT")
        return changed

    @contextmanager
    def _translate_errors(self, *, preparing: bool = False) -> Iterator[None]:
        """SQLite's failures as errors that a person can act on. While `preparing` the tables, an unknown one
        comes from damaged tables."""
        try:
            yield
        except sqlite3.OperationalError as error:
            detail = str(error)
            if "locked" in detail:
                raise BusyError(f"The library file {self.path}") from error
            refused = "readonly" in detail or "disk I/O" in detail
            if "full" in detail or (refused and self._full()):
                raise NoRoomError(self.path) from error
            if "unable to open" in detail or refused:
                raise StoreError(
                    f"The library file {self.path} cannot be opened or written: {detail}.",
                    hint=(
                        "Check that the folder exists, that you may write in it, and that its disk is "
                        "connected."
                    ),
                ) from error
            if preparing:
                raise self._damaged(detail) from error
            raise
        except sqlite3.ProgrammingError as error:
            if "closed database" in str(error):  # by another thread during this one's work
                raise StoreError(
                    f"The library file {self.path} was closed.", hint="Open the library again."
                ) from error
            raise
        except (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.DataError):
            raise  # a bug of ours
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error
        except UnicodeDecodeError as error:
            # sqlite3 cannot decode its own message about a damaged name.
            if b"malformed" not in error.object:
                raise
            raise self._damaged(error.object.decode("utf-8", "replace")) from error

    def _damaged(self, detail: str) -> DamagedStoreError:
        return DamagedStoreError(
            f"The library file {self.path} is damaged or is not a library: {detail}.",
            hint="Restore the library's folder from a backup, or delete it and add the documents again.",
        )
