"""What steps computed, so that it is not computed again: a SQLite file, or memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ragcore.errors import DamagedStoreError

MANY = 500  # keys looked up at a time; SQLite's limit of variables is above it everywhere
BUSY_SECONDS = 30.0


class IngestionCache:
    """Values by key, kept in the file `path`, or in memory without one. Threads and processes may share a file.

    A key says everything that a value depends on, so that a value never grows old and may always be forgotten.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        with _in_words(self.path):
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(
                self.path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._rows.execute("PRAGMA journal_mode = WAL").fetchall()  # a commit need not wait for the disk,
            self._rows.execute("PRAGMA synchronous = NORMAL")  # and what a power cut takes is computed again
            self._rows.execute("CREATE TABLE IF NOT EXISTS computed (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")

    @classmethod
    def from_persist_path(cls, path: Path | str) -> IngestionCache:
        """A copy in memory of what is in the file; an empty cache when there is none."""
        cache = cls()
        if Path(path).exists():
            with _in_words(Path(path)), closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as source:
                source.execute("SELECT value FROM computed LIMIT 1")  # a file of something else is no cache
                source.backup(cache._rows)
        return cache

    def persist(self, path: Path | str) -> None:
        """Write all of it into the file, whose contents are replaced."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if self.path is not None and Path(path).resolve() == self.path.resolve():
            return
        with self._lock, _in_words(Path(path)), closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as target:
            self._rows.backup(target)

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """The values of those keys that are there."""
        found: dict[str, str] = {}
        with self._lock, _in_words(self.path):
            for first in range(0, len(keys), MANY):
                some = keys[first : first + MANY]
                marks = ",".join("?" * len(some))
                found.update(self._rows.execute(f"SELECT key, value FROM computed WHERE key IN ({marks})", some).fetchall())
        return found

    def put(self, entries: Mapping[str, str]) -> None:
        with self._lock, _in_words(self.path):
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                self._rows.executemany("INSERT OR REPLACE INTO computed VALUES (?, ?)", entries.items())
                self._rows.execute("COMMIT")
            except BaseException:  # undone for any reason, which goes on
                if self._rows.in_transaction:
                    self._rows.execute("ROLLBACK")
                raise

    def clear(self) -> None:
        with self._lock, _in_words(self.path):
            self._rows.execute("DELETE FROM computed")

    def close(self) -> None:
        with self._lock:
            self._rows.close()

    def __len__(self) -> int:
        with self._lock, _in_words(self.path):
            count: int = self._rows.execute("SELECT count(*) FROM computed").fetchone()[0]
            return count


@contextmanager
def _in_words(path: Path | None) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise DamagedStoreError(
            f"The cache {path or 'in memory'} cannot be used: {error}.",
            hint="Delete the file: whatever it held is computed again.",
        ) from error
