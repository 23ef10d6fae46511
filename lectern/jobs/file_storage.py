"""Where the bytes of a library's files are: in a folder of this machine, or in the database server that holds the library.

A file goes by its path in the library, `files/<id>/<version>.<suffix>`. It is received before the transaction that adds its
row, which may be long, and placed in it, which is quick.
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

CHUNK_BYTES = 1 << 20  # of a file, in one row of the server
UNCLAIMED_SECONDS = 24 * 3600.0  # before bytes that were received and never placed are deleted
UNUSED_SECONDS = 24 * 3600.0  # before a copy that nobody reads leaves this machine
LOOK_SECONDS = 3600.0  # between two looks for such copies: there may be as many as the library has files

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
        """Give the bytes their path. Inside the transaction that adds the row."""


class FileBytes(Protocol):
    def receiving(self, source: Path) -> contextlib.AbstractContextManager[Received]:
        """Take the bytes of the file at `source`, which goes when they are placed; what is not placed inside is dropped."""

    def copy(self, path: str, to: str) -> bool:
        """Give the bytes at `path` this path, too, inside the transaction that adds its row; False where there are none."""

    def incoming(self) -> Path:
        """A folder of this machine for what is on its way in; what is left there is deleted after a day."""

    def scratch(self) -> Path:
        """A folder of this machine on the file system of `local`, for the processes that read files."""

    def local(self, path: str) -> Path:
        """Where a program of this machine can read the bytes; nothing is there when they have been deleted."""

    def drop(self, file_id: str) -> None:
        """Delete all bytes of a file."""

    def drop_versions_before(self, path: str) -> None:
        """Delete the bytes that this file had under other paths."""

    def sweep(self, known: Mapping[str, float]) -> None:
        """Delete what a crash between two steps left: bytes under none of the `known` paths (with seconds since the epoch)."""


class FolderBytes:
    """In the folder of a library on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def receiving(self, source: Path) -> Iterator[Received]:
        moving = _Moving(source, self._folder)
        try:
            yield moving
        except BaseException:  # undone for any reason, which goes on
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
            raise unwritten(target, error) from error
        return True

    def incoming(self) -> Path:
        folder = self._folder / "incoming"
        folder.mkdir(exist_ok=True)
        return folder

    def scratch(self) -> Path:
        folder = self._folder / "reading"
        with contextlib.suppress(OSError):  # a library that may only be read
            folder.mkdir(exist_ok=True)
        return folder

    def local(self, path: str) -> Path:
        return self._folder / path

    def drop(self, file_id: str) -> None:
        shutil.rmtree(self._folder / "files" / file_id, ignore_errors=True)

    def drop_versions_before(self, path: str) -> None:
        """In the transaction that finishes the file, so that no version that is just arriving is taken for an old one."""
        current = self._folder / path
        for other in current.parent.glob("*"):
            if other != current:
                with contextlib.suppress(OSError):  # Windows keeps a file that is being read; it goes next time
                    other.unlink()

    def sweep(self, known: Mapping[str, float]) -> None:
        """What is newer than every known file stays: the database may be an older copy that was put back."""
        newest = max(known.values(), default=0.0)
        files = {_file_of(path) for path in known if path}
        for folder in (self._folder / "files").glob("*"):
            with contextlib.suppress(FileNotFoundError):  # another process is just deleting it
                if folder.stat().st_mtime >= newest:
                    continue
                if folder.name not in files:
                    shutil.rmtree(folder, ignore_errors=True)
                    continue
                for version in folder.iterdir():
                    if version.is_file() and str(PurePosixPath("files", folder.name, version.name)) not in known:
                        with contextlib.suppress(OSError):  # Windows keeps a file that is being read; it goes next time
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
            self._placed = None if target.exists() else target  # the same bytes again, of a file that could not be read
            shutil.move(self._source, target)
        except OSError as error:
            raise unwritten(target, error) from error

    def undo(self) -> None:
        """The transaction was undone: the file is back where it came from."""
        if self._placed is not None and self._placed.exists():
            shutil.move(self._placed, self._source)
            with contextlib.suppress(OSError):  # other versions are in it
                self._placed.parent.rmdir()


class ServerBytes:
    """In the database, in chunks. `cache` is a folder of this machine for copies, as readers need a path."""

    def __init__(self, database: Database, cache: Path) -> None:
        self._database = database
        self._cache = FolderBytes(cache)
        self._looked: float | None = None  # when it was last looked for copies that nobody reads

    @contextlib.contextmanager
    def receiving(self, source: Path) -> Iterator[Received]:
        coming = f"incoming/{new_id()}"
        try:
            with source.open("rb") as file:
                place = 0
                while data := file.read(CHUNK_BYTES):
                    with self._database.transaction() as db:  # short, as nobody else writes meanwhile
                        db.execute("INSERT INTO file_chunks VALUES (?, '', ?, ?, ?)", (coming, place, data, time.time()))
                    place += 1
            received = _Renaming(self._database, coming)
            yield received
            if received.placed:
                source.unlink()
        finally:
            with contextlib.suppress(StoreError), self._database.transaction() as db:  # the server is gone: `sweep` will do it
                db.execute("DELETE FROM file_chunks WHERE path = ?", (coming,))

    def copy(self, path: str, to: str) -> bool:
        chunks = "INSERT INTO file_chunks SELECT ?, ?, place, data, added FROM file_chunks WHERE path = ?"
        with self._database.transaction() as db:
            return db.execute(chunks, (to, _file_of(to), path)).rowcount > 0

    def incoming(self) -> Path:
        drafts = self._cache.local("drafts")
        drafts.mkdir(parents=True, exist_ok=True)
        return drafts

    def scratch(self) -> Path:
        self.incoming()
        return self._cache.scratch()

    def local(self, path: str) -> Path:
        copy = self._cache.local(path)
        with contextlib.suppress(FileNotFoundError):  # it was never here, or is forgotten just now
            os.utime(copy)  # in use
            return copy
        if self._looked is None or time.monotonic() - self._looked > LOOK_SECONDS:
            self._forget_unread()
        draft = self.incoming() / new_id()
        try:
            if self._fetch(path, draft):
                copy.parent.mkdir(parents=True, exist_ok=True)
                draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
        return copy

    def drop(self, file_id: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = ?", (file_id,))
        self._cache.drop(file_id)

    def drop_versions_before(self, path: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = ? AND path != ?", (_file_of(path), path))
        self._cache.drop_versions_before(path)

    def sweep(self, known: Mapping[str, float]) -> None:
        """Copies that nobody reads go too."""
        long_ago = time.time() - UNCLAIMED_SECONDS
        with self._database.transaction() as db:
            db.execute("DELETE FROM file_chunks WHERE file_id = '' AND added < ?", (long_ago,))
            kept = {row[0] for row in db.execute("SELECT DISTINCT path FROM file_chunks WHERE file_id != ''")}
            for path in kept - known.keys():
                db.execute("DELETE FROM file_chunks WHERE path = ?", (path,))
        self._forget_unread()

    def _forget_unread(self) -> None:
        self._looked = time.monotonic()
        for copy in (*self._cache.local("files").glob("*/*"), *self._cache.local("drafts").glob("*")):
            with contextlib.suppress(OSError):  # gone meanwhile, or being read
                if copy.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    copy.unlink()

    def _fetch(self, path: str, into: Path) -> bool:
        """Whether there are such bytes."""
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
            db.execute("DELETE FROM file_chunks WHERE path = ?", (path,))  # the same bytes given again
            db.execute("UPDATE file_chunks SET path = ?, file_id = ? WHERE path = ?", (path, _file_of(path), self._coming))
        self.placed = True


def _file_of(path: str) -> str:
    """The id in `files/<id>/<version>.<suffix>`."""
    return PurePosixPath(path).parts[1]


def unwritten(target: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The file cannot be written to {target.parent}: {error.strerror}. Nothing was changed.",
        hint="Check that the disk has space and that you can write to this folder.",
    )
