"""The folder of a process that reads files, with the file that it reads and the files that it writes.

If the file system can, the file is a hard link, so that nothing is copied. The folder of a killed process is
deleted when the next folder is created.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragcore.errors import StoreError

PREFIX = "lectern-reader-"
NEW_SECONDS = 60.0  # A folder this new may not be locked yet.


class Scratch:
    """`parent`: a folder on the file system of the files that are read."""

    def __init__(self, parent: Path | None) -> None:
        self.folder = _make_folder(parent).absolute()  # for a process in another folder
        self.inputs, self.work = self.folder / "in", self.folder / "out"
        self.inputs.mkdir()
        self.work.mkdir()
        self._lock = _lock(self.folder)

    @contextmanager
    def link(self, path: Path) -> Iterator[Path]:
        """The path of the file for the process. Afterwards it is deleted, and all files written meanwhile."""
        try:
            yield _link_or_copy(path.resolve(strict=True), self.inputs / path.name)
        finally:
            empty(self.inputs)
            empty(self.work)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _link_or_copy(path: Path, place: Path) -> Path:
    try:
        try:
            os.link(path, place)
        except OSError:  # another file system, or one without links
            shutil.copyfile(path, place)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"{path.name} could not be copied for reading: {error.strerror}.",
            hint="Free some space and try again.",
        ) from error
    return place


def empty(folder: Path) -> None:
    """Delete all files of a folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _make_folder(parent: Path | None) -> Path:
    if parent is not None:
        _sweep(parent)
        with suppress(OSError):  # a read-only library
            return Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    _sweep(Path(tempfile.gettempdir()))
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def _sweep(folder: Path) -> None:
    """Delete the folders whose process has ended."""
    for old in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - NEW_SECONDS and (lock := _lock(old)) is not None:
                shutil.rmtree(old, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """A lock that ends with this process; None if another process has it."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
