"""The library's SQLite file: how it is opened, and how a change is made whole or not at all.

Write-ahead logging lets several processes read while one writes. Each thread has its own connection, closed when the thread
ends. Tables belong to the modules that use them; each gives its schema, written so that running it twice changes nothing.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.sql.base import VERSION, BusyError, columns_in, columns_of, newer_version, other_version

BUSY_SECONDS = 30.0  # how long a writer waits for another process's transaction
WAL_LIMIT = 4 << 20  # bytes that the log may keep on disk once its contents are in the file
ROOM = 100_000  # bytes that SQLite may need to open a file which can be written
SHRINK_SECONDS = 0.5  # how long giving space back waits for others


class NoRoomError(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is not enough space on the disk to write {path}. Nothing was changed.",
            hint="Free some space and try again.",
        )


class _Opened:
    """A thread's connection. When the thread ends, this goes, and `closing` closes the connection.

    One that is `for_now` reads a file which nobody could write when it was opened, and which someone may write any time.
    """

    def __init__(self, connection: sqlite3.Connection, *, for_now: bool = False) -> None:
        self.connection = connection
        self.for_now = for_now
        self.before_commit: dict[object, Callable[[], None]] = {}
        self.closing = weakref.finalize(self, connection.close)
        self.at_work = False
        self.unwanted = False
        self._work = threading.RLock()

    @contextmanager
    def work(self) -> Iterator[None]:
        """Its thread's statements run inside. SQLite crashes when a connection is closed in the middle of one."""
        try:
            with self._work:
                self.at_work = True
                yield
        finally:
            self.at_work = False
            if self.unwanted:
                self.close()

    def close(self) -> None:
        """Close it, from any thread: now, or once its thread has ended the work that it is in the middle of."""
        self.unwanted = True  # before looking: whoever is at work looks after
        if self._work.acquire(blocking=False):
            self.closing()
            self._work.release()


class SQLiteDatabase:
    """A SQLite file, opened when first used. Safe to share between threads; `close` closes every thread's connection, that of
    a thread in the middle of a transaction once this has ended.

    A file that may not be written, or is on a disk that cannot be, or is full, is read all the same.
    """

    def __init__(self, path: Path, *schemas: str) -> None:
        self.path = path
        self._schemas = schemas
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: weakref.WeakSet[_Opened] = weakref.WeakSet()
        self._prepared = False

    def connection(self) -> sqlite3.Connection:
        """This thread's connection: autocommit, rows by name, foreign keys on. Only inside a transaction or snapshot may others
        call `close` meanwhile."""
        return self._own().connection

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is in the middle of one, or of a snapshot."""
        opened: _Opened | None = getattr(self._local, "opened", None)
        return opened is not None and opened.at_work

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is committed together, or, on any error, nothing of it. Takes the write lock at once."""
        with self._begin("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Everything read inside is of one moment, whatever others write meanwhile. Waits for nobody. Write nothing inside."""
        with self._begin("BEGIN") as connection:
            yield connection

    def revision(self) -> int:
        """See `Database.revision`. What this thread commits itself leaves it as it is."""
        opened = self._own()
        with self._in_words(), opened.work():
            return int(opened.connection.execute("PRAGMA data_version").fetchone()[0])

    def before_commit(self, key: object, work: Callable[[], None]) -> None:
        """Have `work` done when this thread's transaction is about to be committed; once, however often it is asked for."""
        self._own().before_commit.setdefault(key, work)

    def shrink(self) -> None:
        """Give the space of deleted rows back to the disk. Not in a transaction.

        While others read or write, it may be left for the next time.
        """
        opened = self._own()
        connection = opened.connection
        with self._in_words(), opened.work():
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * SHRINK_SECONDS)}").fetchall()
            try:
                connection.executescript("PRAGMA incremental_vacuum")  # execute() would give back one page
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
        """This thread's."""
        opened: _Opened | None = getattr(self._local, "opened", None)
        if opened is not None and (opened.for_now or opened.unwanted) and not opened.at_work:
            opened.close()
            opened = None
        if opened is None:
            opened = self._local.opened = self._open()
        return opened

    @contextmanager
    def _begin(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._in_words():
            opened = self._own()
            connection = opened.connection
            if connection.in_transaction:  # part of the transaction around it
                yield connection
                return
            with opened.work():
                connection.execute(begin)
                try:
                    yield connection
                    for work in opened.before_commit.values():
                        work()
                    connection.execute("COMMIT")
                except BaseException:  # undone for any reason, which goes on
                    if connection.in_transaction:  # SQLite has ended it already when, say, the disk was full
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    opened.before_commit.clear()

    def _open(self) -> _Opened:
        with self._in_words():
            if self._prepared and not self.path.exists():  # one made in its place would lack everything
                raise StoreError(
                    f"The library file {self.path} is no longer there.",
                    hint="It was deleted or moved while it was in use. Put it back, or start Lectern again.",
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            there, log = self.path.exists(), self.path.with_name(self.path.name + "-shm")
            for_now = there and not log.exists() and self._full()
            only_read = for_now or (there and not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)))
            place = self._to_be_read() if only_read else str(self.path)
            opened = _Opened(
                sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=only_read),
                for_now=for_now,
            )
            with self._lock:
                try:
                    self._prepare(opened.connection, only_read)
                except BaseException:  # undone for any reason, which goes on
                    opened.close()
                    raise
                self._opened.add(opened)
            return opened

    def _full(self) -> bool:
        """Whether its disk has no room. Not so where the folder is gone, which is another failure."""
        return self.path.parent.exists() and shutil.disk_usage(self.path.parent).free < ROOM

    def _to_be_read(self) -> str:
        """The address of the file where it cannot be written. Without a log nobody else writes it either."""
        log = self.path.with_name(self.path.name + "-wal")
        changing = log.exists() and log.stat().st_size
        return f"{self.path.absolute().as_uri()}?{'mode=ro' if changing else 'immutable=1'}"

    def _prepare(self, connection: sqlite3.Connection, only_read: bool) -> None:
        connection.row_factory = sqlite3.Row
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise newer_version(f"The library file {self.path}", version)
        if only_read:
            self._prepare_to_read(connection, version)
            return
        if not connection.execute("PRAGMA page_count").fetchone()[0]:  # an old file would not listen, and wait for writers
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        give_up = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                if not self._prepared:
                    self._add_new_columns(connection)
                    for schema in self._schemas:
                        connection.executescript(schema)
                if version < VERSION:
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                break
            except sqlite3.OperationalError as error:
                # Two processes making the same new file: SQLite does not wait by itself here.
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self._prepared = True
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}").fetchall()

    @cached_property
    def _wanted(self) -> dict[tuple[str, str], str]:
        return columns_of(self._schemas)

    def _prepare_to_read(self, connection: sqlite3.Connection, version: int) -> None:
        """Let the tables that a file of an earlier version lacks be read as empty ones. StoreError where it lacks a column."""
        wanted, present = self._wanted, columns_in(connection)
        tables = {table for table, _ in present}
        if version < VERSION or any(table in tables for table, _ in wanted.keys() - present.keys()):
            raise StoreError(
                f"The library file {self.path} was made by an earlier version of Lectern, and cannot be brought up to date"
                " because it cannot be written.",
                hint="Copy the library's folder to where you may write, and open the copy.",
            )
        connection.execute("PRAGMA temp_store = MEMORY")
        for lacking in {table for table, _ in wanted} - tables:
            columns = ", ".join(f'"{column}"' for table, column in wanted if table == lacking)
            connection.execute(f'CREATE TEMP TABLE "{lacking}" ({columns})')
        connection.execute("PRAGMA query_only = ON")  # or what is written to a temporary table would be lost in silence

    def _add_new_columns(self, connection: sqlite3.Connection) -> None:
        """Give a file of an earlier version the columns it lacks: those that may be empty or have a default."""
        tables = {table for table, _ in columns_in(connection)}
        if not tables:
            return
        wanted = {place: definition for place, definition in self._wanted.items() if place[0] in tables}
        if wanted.keys() <= columns_in(connection).keys():
            return
        connection.execute("BEGIN IMMEDIATE")  # another process may be at it too
        present = columns_in(connection)
        for (table, column), definition in wanted.items():
            if (table, column) in present:
                continue
            if not definition:
                raise other_version(f"The library file {self.path}", table, column)
            connection.execute(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {definition}')
        connection.execute("COMMIT")

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """SQLite's own failures as errors that a person can act on."""
        try:
            yield
        except sqlite3.OperationalError as error:
            said = str(error)
            if "locked" in said:
                raise BusyError(f"The library file {self.path}") from error
            refused = "readonly" in said or "disk I/O" in said
            if "full" in said or (refused and self._full()):
                raise NoRoomError(self.path) from error
            if "unable to open" in said or refused:
                raise StoreError(
                    f"The library file {self.path} cannot be opened or written: {said}.",
                    hint="Check that the folder exists, that you may write in it, and that its disk is connected.",
                ) from error
            raise
        except sqlite3.ProgrammingError as error:
            if "closed database" in str(error):  # by another thread, in the middle of this one's work
                raise StoreError(f"The library file {self.path} was closed.", hint="Open the library again.") from error
            raise
        except (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.DataError):
            raise  # a bug of ours
        except sqlite3.DatabaseError as error:
            raise DamagedStoreError(
                f"The library file {self.path} is damaged or is not a library: {error}.",
                hint="Restore the library's folder from a backup, or delete it and add the documents again.",
            ) from error
