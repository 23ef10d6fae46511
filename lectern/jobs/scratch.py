"""The folder of a process that reads files: the file it reads lies there for as long as it is read, and what it writes.

Where the file system can, the file is there by a second name, so that nothing is copied. A folder that a killed process
left is deleted when the next one is made.
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
NEW_SECONDS = 60.0  # in which a folder may not have been locked yet


class Scratch:
    """`beside`: a folder on the file system of the files that are read."""

    def __init__(self, beside: Path | None) -> None:
        self.folder = _make_folder(beside)
        self.inputs, self.work = self.folder / "in", self.folder / "out"
        self.inputs.mkdir()
        self.work.mkdir()
        self._lock = _locked(self.folder)

    @contextmanager
    def holding(self, path: Path) -> Iterator[Path]:
        """Where the process finds the file. Afterwards nothing of it is left, nor of what was written meanwhile."""
        try:
            yield _second_name(path.resolve(strict=True), self.inputs / path.name)
        finally:
            empty(self.inputs)
            empty(self.work)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _second_name(path: Path, place: Path) -> Path:
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
    """Delete what is in a folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _make_folder(beside: Path | None) -> Path:
    if beside is not None:
        _sweep(beside)
        with suppress(OSError):  # a library that may only be read
            return Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
    _sweep(Path(tempfile.gettempdir()))
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def _sweep(folder: Path) -> None:
    """Delete the folders here whose process has ended."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - NEW_SECONDS and (lock := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """A lock that ends with this process; None where another one holds it."""
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
