"""Stores the bytes of a library's files: in a folder of this machine, or in the database of a library on a
server.

The path of a file in the library is `files/<id>/<version>.<suffix>`. Its bytes are received before the
transaction that adds its row, because that may take long, and placed inside the transaction, which is quick.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Protocol

from ragcore.errors import StoreError
from ragcore.schema import new_id
from ragcore.sql.base import Database

CHUNK_BYTES = 1 << 20  # in one row of the server
UNCLAIMED_SECONDS = 24 * 3600.0  # before bytes that were never placed are deleted
UNUSED_SECONDS = 24 * 3600.0  # before an unread local copy is deleted
POLL_SECONDS = 3600.0  # between two searches for such copies, of which there may be many

SCHEMA = """
CREATE TABLE IF NOT EXISTS file_chunks (
    path TEXT NOT NULL,
    file_id TEXT NOT NULL,           -- '' until they are placed
    place INTEGER NOT NULL,          -- 0, 1, 2 ... in the order of the bytes
    data BLOB NOT NULL,
    added REAL NOT NULL,             -- seconds since the epoch
    PRIMARY KEY (path, place)
);
CREATE INDEX IF NOT EXISTS file_chunks_by_file ON file_chunks (file_id);
"""


class Received(Protocol):
    def place(self, path: str) -> None:
        """Store the bytes under this path, inside the transaction that adds the row."""


class FileBytes(Protocol):
    def receiving(self, source: Path) -> contextlib.AbstractContextManager[Received]:
        """Receive the bytes of the file at `source`, which is removed when they are placed. Unplaced bytes
        are dropped."""

    def copy(self, path: str, to: str) -> bool:
        """Copy bytes to another path, inside the transaction that adds its row; False if there are none."""

    def incoming(self) -> Path:
        """A local folder for files that are being added. Files stay there for a day at most."""

    def scratch(self) -> Path:
        """A local folder for the processes that read files, on the file system of `local`."""

    def local(self, path: str) -> Path:
        """A local path with the bytes. It does not exist if the bytes were deleted."""

    def drop_copy(self, path: str) -> bool:
        """Delete a damaged local copy, so that `local` makes another; False if `local` gives no copies."""

    def drop(self, file_id: str) -> None:
        """Delete all bytes of a file."""

    def drop_versions_before(self, path: str) -> None:
        """Delete the bytes that this file had under other paths."""

    def sweep(self, known: Mapping[str, float]) -> None:
        """Delete the remains of a crash: bytes under none of the `known` paths (with seconds since the
        epoch)."""


class FolderBytes:
    """Bytes in the library's folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def receiving(self, source: Path) -> Iterator[Received]:
        moving = _Moving(source, self._folder)
        try:
            yield moving
        except BaseException:  # also an interrupt must not lose the person's file
            moving.undo()
            raise

    def copy(self, path: str, to: str) -> bool:
        source, target = self._folder / path, self._folder / to
        if not source.exists():
            return False
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:  # not every file system has links
                shutil.copyfile(source, target)
        except OSError as error:
            raise write_error(target, error) from error
        return True

    def incoming(self) -> Path:
        folder = self._folder / "incoming"
        folder.mkdir(exist_ok=True)
        return folder

    def scratch(self) -> Path:
        folder = self._folder / "reading"
        with contextlib.suppress(OSError):  # a read-only library
            folder.mkdir(exist_ok=True)
        return folder

    def local(self, path: str) -> Path:
        return self._folder / path

    def drop_copy(self, path: str) -> bool:
        return False

    def drop(self, file_id: str) -> None:
        shutil.rmtree(self._folder / "files" / file_id, ignore_errors=True)

    def drop_versions_before(self, path: str) -> None:
        """Call it in the transaction that finishes the file: outside, a version that is just arriving could
        be deleted."""
        current = self._folder / path
        for other in current.parent.glob("*"):
            if other != current:
                # Windows does not delete a file that is being read; the next call does
                with contextlib.suppress(OSError):
                    other.unlink()

    def sweep(self, known: Mapping[str, float]) -> None:
        """Bytes newer than every known file stay: the database may be an older copy that was restored."""
        newest = max(known.values(), default=0.0)
        files = {_file_of(path) for path in known if path}
        for folder in (self._folder / "files").glob("*"):
            with contextlib.suppress(FileNotFoundError):  # deleted by another process meanwhile
                if folder.stat().st_mtime >= newest:
                    continue
                if folder.name not in files:
                    shutil.rmtree(folder, ignore_errors=True)
                    continue
                for version in folder.iterdir():
                    if (
                        version.is_file()
                        and str(PurePosixPath("files", folder.name, version.name)) not in known
                    ):
                        with contextlib.suppress(OSError):  # as above
                            version.unlink()


class _Moving:
    def __init__(self, source: Path, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._placed: Path | None = None

    def place(self, path: str) -> None:
        target = self._folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # It exists if the same bytes could not be read before.
            self._placed = None if target.exists() else target
            shutil.move(self._source, target)
        except OSError as error:
            raise write_error(target, error) from error

    def undo(self) -> None:
        """Move the file back to its source."""
        if self._placed is not None and self._placed.exists():
            shutil.move(self._placed, self._source)
            with contextlib.suppress(OSError):  # the folder has other versions
                self._placed.parent.rmdir()


class ServerBytes:
    """Bytes in the database, in chunks. `cache` is a folder for local copies, because readers need a path."""

    def __init__(self, database: Database, cache: Path) -> None:
        self._database = database
        self._cache = FolderBytes(cache)
        self._looked: float | None = None  # time of the last search for unread copies

    @contextlib.contextmanager
    def receiving(self, source: Path) -> Iterator[Received]:
        coming = f"incoming/{new_id()}"
        try:
            with source.open("rb") as file:
                place = 0
                while data := file.read(CHUNK_BYTES):
                    # one per chunk, because a transaction blocks other writers
                    with self._database.transaction() as db:
                        db.execute(
                            "INSERT INTO file_chunks VALUES (?, '', ?, ?, ?)",
                            (coming, place, data, time.time()),
                        )
                    place += 1
            received = _Renaming(self._database, coming)
            yield received
            if received.placed:
                source.unlink()
        finally:
            # else `sweep` deletes them
            with contextlib.suppress(StoreError), self._database.transaction() as db:
                db.execute("DELETE FROM file_chunks WHERE path = ?", (coming,))

    def copy(self, path: str, to: str) -> bool:
        chunks = "INSERT INTO file_chunks SELECT ?, ?, place, data, added FROM file_chunks WHERE path = ?"
        with self._database.transaction() as db:
            return db.execute(chunks, (to, _file_of(to), path)).rowcount > 0

    def incoming(self) -> Path:
        folder = self._cache.local("drafts")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def scratch(self) -> Path:
        self.incoming()
        return self._cache.scratch()

    def local(self, path: str) -> Path:
        copy = self._cache.local(path)
        with contextlib.suppress(FileNotFoundError):
            # The time of access marks it as in use; that of its change tells that it is the same.
            os.utime(copy, ns=(time.time_ns(), copy.stat().st_mtime_ns))
            return copy
        if self._looked is None or time.monotonic() - self._looked > POLL_SECONDS:
            self._delete_unread()
        draft = self.incoming() / new_id()
        try:
            if self._fetch(path, draft):
                copy.parent.mkdir(parents=True, exist_ok=True)
                draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
        return copy

    def drop_copy(self, path: str) -> bool:
        with contextlib.suppress(OSError):  # Windows does not delete a file that is being read
            self._cache.local(path).unlink()
        return True

    def drop(self, file_id: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = ?", (file_id,))
        self._cache.drop(file_id)

    def drop_versions_before(self, path: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = ? AND path != ?", (_file_of(path), path))
        self._cache.drop_versions_before(path)

    def sweep(self, known: Mapping[str, float]) -> None:
        """Also deletes unread local copies."""
        long_ago = time.time() - UNCLAIMED_SECONDS
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = '' AND added < ?", (long_ago,))
            paths = {
                row[0] for row in db.execute("SELECT DISTINCT path FROM file_chunks WHERE file_id != ''")
            }
            for path in paths - known.keys():
                db.execute("DELETE FROM file_chunks WHERE path = ?", (path,))
        self._delete_unread()

    def _delete_unread(self) -> None:
        self._looked = time.monotonic()
        for copy in (*self._cache.local("files").glob("*/*"), *self._cache.local("drafts").glob("*")):
            with contextlib.suppress(OSError):  # deleted meanwhile, or being read
                if copy.stat().st_atime < time.time() - UNUSED_SECONDS:
                    copy.unlink()

    def _fetch(self, path: str, into: Path) -> bool:
        """False if there are no such bytes."""
        chunk = "SELECT data FROM file_chunks WHERE path = ? AND place = ?"
        place = 0
        with self._database.snapshot() as db, into.open("wb") as file:
            while row := db.execute(chunk, (path, place)).fetchone():
                file.write(row[0])
                place += 1
        return place > 0


class _Renaming:
    def __init__(self, database: Database, coming: str) -> None:
        self._database = database
        self._coming = coming
        self.placed = False

    def place(self, path: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE path = ?", (path,))  # the same bytes, added before
            db.execute(
                "UPDATE file_chunks SET path = ?, file_id = ? WHERE path = ?",
                (path, _file_of(path), self._coming),
            )
        self.placed = True


def _file_of(path: str) -> str:
    """The id in `files/<id>/<version>.<suffix>`."""
    return PurePosixPath(path).parts[1]


def write_error(target: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The file cannot be written to {target.parent}: {error.strerror}. Nothing was changed.",
        hint="Check that the disk has space and that you can write to this folder.",
    )
