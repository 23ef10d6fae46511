"""The files that hold an index's vectors: raw float32 rows, mapped to be read, and only ever appended to.

Which file is an index's, and how many of its rows count, stands in the database. Whatever lies beyond them was never committed
and is written over. A file without gaps takes the place of another under a name of its own.
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ragcore.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from ragcore.schema import Vectors

SUFFIX = ".f32"
READ = 1 << 20  # bytes read at a time
HINT = "Search by words goes on. The vectors are made anew from the stored passages, or come from a backup of the folder."


class MissingFileError(DamagedStoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The file {path}, which holds the vectors of this library, is missing.",
            hint=HINT,
        )
        self.path = path


class VectorFolder:
    """The folder of the vector files of one library, made when the first is written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_name(self, index_id: int) -> str:
        return f"{index_id}-{secrets.token_hex(8)}{SUFFIX}"

    def mapped(self, name: str, slots: int, dimension: int) -> Vectors:
        """The first `slots` rows of a file, shape (slots, dimension), read as they are touched.

        MissingFileError; DamagedStoreError for a file that is shorter.
        """
        path = self.path / name
        try:
            size = path.stat().st_size
            if size < 4 * slots * dimension:
                raise DamagedStoreError(
                    f"The file {path} holds {size} bytes, but {4 * slots * dimension} bytes of vectors were written to it.",
                    hint=HINT,
                )
            return np.asarray(np.memmap(path, np.float32, "r", shape=(slots, dimension)))
        except FileNotFoundError:
            raise MissingFileError(path) from None

    def append(self, name: str, slots: int, rows: Vectors) -> None:
        """Write `rows` behind the first `slots` of a file, and make them safe on disk. At 0 slots the file is a new one."""
        path = self.path / name
        with self._writing(path, new=slots == 0) as out:
            start = 4 * slots * rows.shape[1]
            if out.seek(0, os.SEEK_END) < start:
                raise DamagedStoreError(
                    f"The file {path} is shorter than what was written to it.",
                    hint=HINT,
                )
            out.seek(start)
            out.write(rows.tobytes())
            out.truncate()

    def write(self, name: str, parts: Iterable[Vectors]) -> None:
        """A new file of these rows, one part behind the other, safe on disk."""
        with self._writing(self.path / name, new=True) as out:
            for rows in parts:
                out.write(rows.tobytes())

    def overwrite(self, name: str, first_slot: int, rows: Vectors) -> None:
        """Write `rows` in the place of others of the same number, and make them safe on disk."""
        with self._writing(self.path / name, new=False) as out:
            out.seek(4 * first_slot * rows.shape[1])
            out.write(rows.tobytes())

    def make_whole(self, name: str, slots: int, dimension: int) -> None:
        """Give a file that is missing or too short the length that it had, so that it can be mapped and written again."""
        path, size = self.path / name, 4 * slots * dimension
        if not path.exists() or path.stat().st_size < size:
            with self._writing(path, new=not path.exists()) as out:
                out.truncate(size)

    def checksums(self, name: str, spans: Iterable[tuple[int, int]], dimension: int) -> Iterator[int | None]:
        """The checksum of the rows of every (first slot, count); None where they are not all there."""
        try:
            file = (self.path / name).open("rb", buffering=READ)
        except FileNotFoundError:
            yield from (None for _ in spans)
            return
        with file:
            for first, count in spans:
                file.seek(4 * first * dimension)
                yield _checksum_of(file, 4 * count * dimension)

    def others(self, named: Collection[str]) -> list[Path]:
        """All files but these."""
        return [path for path in self.path.glob(f"*{SUFFIX}") if path.name not in named]

    @contextmanager
    def _writing(self, path: Path, *, new: bool) -> Iterator[BinaryIO]:
        try:
            if new:
                self.path.mkdir(parents=True, exist_ok=True)
            with path.open("xb" if new else "r+b") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            if new:
                _sync_folder(self.path)
        except FileNotFoundError as error:
            raise MissingFileError(path) from error
        except OSError as error:
            raise StoreError(
                f"The vectors cannot be written to {path}: {error.strerror}. Nothing was changed.",
                hint="Check that the disk has room and that you may write in this folder.",
            ) from error


def checksum(rows: Vectors) -> int:
    """CRC-32 of the rows' bytes as they stand in a file."""
    return zlib.crc32(rows.tobytes())


def _checksum_of(file: BinaryIO, size: int) -> int | None:
    found = 0
    while size:
        piece = file.read(min(size, READ))
        if not piece:
            return None
        found = zlib.crc32(piece, found)
        size -= len(piece)
    return found


def _sync_folder(folder: Path) -> None:
    """Make a new file's name safe on disk too, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
