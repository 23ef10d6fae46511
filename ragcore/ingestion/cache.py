"""A cache of the results of transformations, in a SQLite file or in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ragcore.errors import DamagedStoreError

KEYS_PER_STATEMENT = 500  # below SQLite's limit of variables on every system
BUSY_SECONDS = 30.0


class IngestionCache:
    """Values by key in the file `path`, or in memory. Threads and processes may share a file.

    A key contains everything that its value depends on: a value is valid forever, and may be deleted at any
    time.

    >>> cache = IngestionCache()
    >>> cache.put({"key": "value"})
    >>> cache.get(["key", "other"])
    {'key': 'value'}
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path).absolute()
        self._lock = threading.RLock()
        with _translate_errors(self.path):
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(
                self.path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._rows.execute("PRAGMA journal_mode = WAL").fetchall()  # a commit does not wait for the disk;
            self._rows.execute("PRAGMA synchronous = NORMAL")  # values lost by a power cut are computed again
            self._rows.execute(
                "CREATE TABLE IF NOT EXISTS computed (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
            )

    @classmethod
    def from_persist_path(cls, path: Path | str) -> IngestionCache:
        """A copy of the file in memory; an empty cache if there is no file."""
        cache = cls()
        if Path(path).exists():
            with (
                _translate_errors(Path(path)),
                closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as source,
            ):
                source.execute("SELECT value FROM computed LIMIT 1")  # fails if the file is not a cache
                source.backup(cache._rows)
        return cache

    def persist(self, path: Path | str) -> None:
        """Replace the contents of the file by those of this cache."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if self.path is not None and Path(path).resolve() == self.path.resolve():
            return
        with (
            self._lock,
            _translate_errors(Path(path)),
            closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as target,
        ):
            self._rows.backup(target)

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """The values of the existing keys."""
        values: dict[str, str] = {}
        with self._lock, _translate_errors(self.path):
            for first in range(0, len(keys), KEYS_PER_STATEMENT):
                some = keys[first : first + KEYS_PER_STATEMENT]
                marks = ",".join("?" * len(some))
                values.update(
                    self._rows.execute(
                        f"SELECT key, value FROM computed WHERE key IN ({marks})", some
                    ).fetchall()
                )
        return values

    def put(self, entries: Mapping[str, str]) -> None:
        with self._lock, _translate_errors(self.path):
            self._rows.execute("BEGIN IMMEDIATE")
            with self._rows:  # commits, or rolls back after an error
                self._rows.executemany("INSERT OR REPLACE INTO computed VALUES (?, ?)", entries.items())

    def clear(self) -> None:
        with self._lock, _translate_errors(self.path):
            self._rows.execute("DELETE FROM computed")

    def close(self) -> None:
        with self._lock:
            self._rows.close()

    def __len__(self) -> int:
        with self._lock, _translate_errors(self.path):
            count: int = self._rows.execute("SELECT count(*) FROM computed").fetchone()[0]
            return count


@contextmanager
def _translate_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise DamagedStoreError(
            f"The cache {path or 'in memory'} cannot be used: {error}.",
            hint="Delete the file: whatever it held is computed again.",
        ) from error
