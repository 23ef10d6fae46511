"""The files that hold an index's vectors: raw float32 rows, mapped to be read, and only ever appended to.

Which file is an index's, and how many of its rows count, stands in the database. Whatever lies beyond them was never committed
and is written over. A file without gaps takes the place of another under a name of its own.
"""

from __future__ import annotations

import mmap
import os
import secrets
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.vector_stores.binary_quantization import CHUNK, Signs, packed, words_of
from ragcore.vector_stores.validation import are_unit

if TYPE_CHECKING:
    from ragcore.schema import Vectors

SUFFIX = ".f32"
SIGNS_SUFFIX = ".signs"
READ = 1 << 20  # bytes read at a time
HINT = (
    "Keyword search still works. The vectors are computed again from the stored passages, or come from a backup of the folder."
)


class MissingFileError(DamagedStoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The file {path}, which holds the vectors of this library, is missing.",
            hint=HINT,
        )
        self.path = path


class MappedRows:
    """The rows of a vector file, shape (n, d), read as they are touched."""

    def __init__(self, pages: mmap.mmap, rows: Vectors) -> None:
        self.rows = rows
        self._pages = pages

    def release(self, start: int, stop: int) -> None:
        """Let the rows [start, stop) leave this process's memory. The system still knows what the file says."""
        if hasattr(mmap, "MADV_DONTNEED"):
            width = 4 * self.rows.shape[1]
            first = start * width // mmap.PAGESIZE * mmap.PAGESIZE
            self._pages.madvise(mmap.MADV_DONTNEED, first, stop * width - first)


class VectorFolder:
    """The folder of the vector files of one library, made when the first is written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_name(self, index_id: int) -> str:
        return f"{index_id}-{secrets.token_hex(8)}{SUFFIX}"

    def mapped(self, name: str, slots: int, dimension: int) -> MappedRows:
        """The first `slots` rows of a file. MissingFileError; DamagedStoreError for a file that is shorter."""
        path, size = self.path / name, 4 * slots * dimension
        pages = _pages(path, size)
        if pages is None:
            raise DamagedStoreError(
                f"The file {path} holds {path.stat().st_size} bytes, but {size} bytes of vectors were written to it.", hint=HINT
            )
        return MappedRows(pages, np.frombuffer(pages, np.float32, slots * dimension).reshape(slots, dimension))

    def signs(self, name: str, rows: int, dimension: int) -> Signs | None:
        """The signs of the first `rows` rows, whole chunks; None where their file is missing or too short."""
        words, header = words_of(dimension), _header(dimension)
        try:
            pages = _pages(self._beside(name), header + 8 * rows * words)
        except MissingFileError:
            return None
        if pages is None:
            return None
        chunks = np.frombuffer(pages, np.uint64, rows * words, header).reshape(-1, words, CHUNK)
        return Signs(np.frombuffer(pages, np.float32, dimension).copy(), chunks)

    def write_signs(self, name: str, done: int, slots: int, dimension: int) -> int:
        """Write the signs of the whole chunks behind the first `done` rows; gives how many rows have theirs now.

        They can be made anew from the vectors at any time, so that nothing hangs on their file.
        """
        mapped, path, whole = self.mapped(name, slots, dimension), self._beside(name), slots // CHUNK * CHUNK
        known = self.signs(name, done, dimension) if done else None
        first = done if known else 0
        mean = known.mean if known else mapped.rows[: whole : whole // CHUNK].mean(axis=0)
        path.touch()
        with self._writing(path, new=False) as out:
            out.write(mean.tobytes())
            out.seek(_header(dimension) + 8 * first * words_of(dimension))
            for start in range(first, whole, CHUNK):
                out.write(packed(mapped.rows[start : start + CHUNK], mean).tobytes())
                mapped.release(start, start + CHUNK)
            out.truncate()
        return whole

    def signs_are_sound(self, name: str, rows: int, slots: int, dimension: int) -> bool:
        """Whether the signs of the first `rows` of `slots` rows are those of the vectors, and no more are due."""
        known, mapped = self.signs(name, rows, dimension), self.mapped(name, slots, dimension)
        if known is None or slots - rows >= CHUNK:
            return False
        for number, chunk in enumerate(known.chunks):
            start, stop = number * CHUNK, (number + 1) * CHUNK
            if not np.array_equal(chunk, packed(mapped.rows[start:stop], known.mean)):
                return False
            mapped.release(start, stop)
        return True

    def _beside(self, name: str) -> Path:
        return (self.path / name).with_suffix(SIGNS_SUFFIX)

    def append(self, name: str, slots: int, rows: Vectors) -> None:
        """Write `rows` behind the first `slots` of a file; at 0 slots it is a new one. Not yet safe on disk: see `sync`."""
        path = self.path / name
        with self._writing(path, new=slots == 0, safe=False) as out:
            start = 4 * slots * rows.shape[1]
            if out.seek(0, os.SEEK_END) < start:
                raise DamagedStoreError(f"The file {path} is shorter than what was written to it.", hint=HINT)
            out.seek(start)
            out.write(np.ascontiguousarray(rows).data)
            out.truncate()

    def sync(self, name: str, *, new: bool) -> None:
        """Make what was written to a file, and the name of a new one, safe on disk."""
        with self._writing(self.path / name, new=False):
            if new:
                _sync_folder(self.path)

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
        """The checksum of the rows of every (first slot, count); None where they are not all there, or one is no unit vector:
        not finite, or of another length."""
        try:
            file = (self.path / name).open("rb", buffering=READ)
        except FileNotFoundError:
            yield from (None for _ in spans)
            return
        with file:
            for first, count in spans:
                file.seek(4 * first * dimension)
                yield _checksum_of(file, count, dimension)

    def others(self, named: Collection[str]) -> list[Path]:
        """All files but these, and the signs beside them."""
        kept = {self.path / name for name in named} | {self._beside(name) for name in named}
        return [path for suffix in (SUFFIX, SIGNS_SUFFIX) for path in self.path.glob(f"*{suffix}") if path not in kept]

    def size(self) -> int:
        """The bytes of all files."""
        return bytes_of(self.path.glob("*"))

    @contextmanager
    def _writing(self, path: Path, *, new: bool, safe: bool = True) -> Iterator[BinaryIO]:
        try:
            if new:
                self.path.mkdir(parents=True, exist_ok=True)
            with path.open("xb" if new else "r+b") as out:
                yield out
                if safe:
                    out.flush()
                    os.fsync(out.fileno())
            if new and safe:
                _sync_folder(self.path)
        except FileNotFoundError as error:
            raise MissingFileError(path) from error
        except OSError as error:
            raise StoreError(
                f"The vectors cannot be written to {path}: {error.strerror}. Nothing was changed.",
                hint="Check that the disk has space and that you can write to this folder.",
            ) from error


def bytes_of(paths: Iterable[Path]) -> int:
    """Of those of these files that there are."""
    size = 0
    for path in paths:
        with suppress(FileNotFoundError):  # not there, or replaced meanwhile
            size += path.stat().st_size
    return size


def _pages(path: Path, size: int) -> mmap.mmap | None:
    """The first `size` bytes of a file, mapped; None where it is shorter. MissingFileError."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < size:
                return None
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise MissingFileError(path) from None


def _header(dimension: int) -> int:
    """Bytes before the signs: the mean, filled up to whole words."""
    return -(-4 * dimension // 8) * 8


def checksum(rows: Vectors) -> int:
    """CRC-32 of the rows' bytes as they stand in a file."""
    return zlib.crc32(np.ascontiguousarray(rows).data)


def _checksum_of(file: BinaryIO, count: int, dimension: int) -> int | None:
    found, at_once = 0, max(READ // (4 * dimension), 1)  # rows
    for first in range(0, count, at_once):
        size = 4 * dimension * min(at_once, count - first)
        piece = file.read(size)
        if len(piece) < size or not are_unit(np.frombuffer(piece, np.float32).reshape(-1, dimension)).all():
            return None
        found = zlib.crc32(piece, found)
    return found


def _sync_folder(folder: Path) -> None:
    """Make a new file's name safe on disk too, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
