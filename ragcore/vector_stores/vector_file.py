"""The files with the vectors of an index: raw float32 rows, mapped for reading, and written only at the end.

The database has the name of an index's file and the number of its committed rows. Rows beyond that number
were never committed and are overwritten. A file without gaps replaces another under a new name.
"""

from __future__ import annotations

import mmap
import os
import secrets
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ragcore.errors import DamagedStoreError, StoreError
from ragcore.schema import Vectors
from ragcore.vector_stores.binary_quantization import CHUNK, Signs, sign_bits, words_of
from ragcore.vector_stores.validation import are_unit

SUFFIX = ".f32"
SIGNS_SUFFIX = ".signs"
READ = 1 << 20  # bytes read at a time
HINT = (
    "Keyword search still works. The vectors are computed again from the stored passages, or come from "
    "a backup of the folder."
)


class MissingFileError(DamagedStoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"The file {path}, which holds the vectors of this library, is missing.", hint=HINT)
        self.path = path.absolute()


class MappedRows:
    """The rows of a vector file, shape (n, d), read on access."""

    def __init__(self, pages: mmap.mmap, rows: Vectors) -> None:
        self.rows = rows
        self._pages = pages

    def release(self, start: int, stop: int) -> None:
        """Release the memory of the rows [start, stop). They are read again on access."""
        if hasattr(mmap, "MADV_DONTNEED"):
            width = 4 * self.rows.shape[1]
            first = start * width // mmap.PAGESIZE * mmap.PAGESIZE
            self._pages.madvise(mmap.MADV_DONTNEED, first, stop * width - first)


class VectorFolder:
    """The folder of the vector files of one library, created with the first file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_name(self, index_id: int) -> str:
        return f"{index_id}-{secrets.token_hex(8)}{SUFFIX}"

    def map_rows(self, name: str, slots: int, dimension: int) -> MappedRows:
        """The first `slots` rows of a file. MissingFileError; DamagedStoreError for a file that is
        shorter."""
        path, size = self.path / name, 4 * slots * dimension
        pages = _pages(path, size)
        if pages is None:
            raise DamagedStoreError(
                f"The file {path} holds {path.stat().st_size} bytes, but {size} bytes of vectors were "
                "written to it.",
                hint=HINT,
            )
        return MappedRows(
            pages, np.frombuffer(pages, np.float32, slots * dimension).reshape(slots, dimension)
        )

    def signs(self, name: str, rows: int, dimension: int) -> Signs | None:
        """The signs of the first `rows` rows, whole chunks; None where their file is missing or too short."""
        words, header = words_of(dimension), _header(dimension)
        try:
            pages = _pages(self._signs_path(name), header + 8 * rows * words)
        except MissingFileError:
            return None
        if pages is None:
            return None
        chunks = np.frombuffer(pages, np.uint64, rows * words, header).reshape(-1, words, CHUNK)
        return Signs(np.frombuffer(pages, np.float32, dimension).copy(), chunks)

    def write_signs(self, name: str, done: int, slots: int, dimension: int) -> int:
        """Write the signs of the whole chunks after the first `done` rows; returns the number of rows with
        signs.

        They can be computed from the vectors again at any time, so losing their file is harmless.
        """
        mapped, path, whole = (
            self.map_rows(name, slots, dimension),
            self._signs_path(name),
            slots // CHUNK * CHUNK,
        )
        known = self.signs(name, done, dimension) if done else None
        first = done if known else 0
        mean = known.mean if known else mapped.rows[: whole : whole // CHUNK].mean(axis=0)
        path.touch()
        with self._open_for_writing(path, new=False) as out:
            out.write(mean.tobytes())
            out.seek(_header(dimension) + 8 * first * words_of(dimension))
            for start in range(first, whole, CHUNK):
                out.write(sign_bits(mapped.rows[start : start + CHUNK], mean).tobytes())
                mapped.release(start, start + CHUNK)
            out.truncate()
        return whole

    def signs_are_sound(self, name: str, rows: int, slots: int, dimension: int) -> bool:
        """Whether the signs of the first `rows` of `slots` rows match the vectors, and no further chunk is
        complete."""
        known, mapped = self.signs(name, rows, dimension), self.map_rows(name, slots, dimension)
        if known is None or slots - rows >= CHUNK:
            return False
        for number, chunk in enumerate(known.chunks):
            start, stop = number * CHUNK, (number + 1) * CHUNK
            if not np.array_equal(chunk, sign_bits(mapped.rows[start:stop], known.mean)):
                return False
            mapped.release(start, stop)
        return True

    def _signs_path(self, name: str) -> Path:
        return (self.path / name).with_suffix(SIGNS_SUFFIX)

    def append(self, name: str, slots: int, rows: Vectors) -> None:
        """Write `rows` after the first `slots` of a file, a new one at 0 slots. Not yet safe on disk: see
        `sync`."""
        path = self.path / name
        with self._open_for_writing(path, new=slots == 0, safe=False) as out:
            start = 4 * slots * rows.shape[1]
            if out.seek(0, os.SEEK_END) < start:
                raise DamagedStoreError(f"The file {path} is shorter than what was written to it.", hint=HINT)
            out.seek(start)
            out.write(np.ascontiguousarray(rows).data)
            out.truncate()

    def sync(self, name: str, *, new: bool) -> None:
        """Flush a file to disk, and the folder if the file is new."""
        with self._open_for_writing(self.path / name, new=False):
            if new:
                _sync_folder(self.path)

    def write(self, name: str, parts: Iterable[Vectors]) -> None:
        """Write a new file with the rows of all parts in order, and flush it to disk."""
        with self._open_for_writing(self.path / name, new=True) as out:
            for rows in parts:
                out.write(rows.tobytes())

    def overwrite(self, name: str, first_slot: int, rows: Vectors) -> None:
        """Replace as many rows from `first_slot` on, and flush the file to disk."""
        with self._open_for_writing(self.path / name, new=False) as out:
            out.seek(4 * first_slot * rows.shape[1])
            out.write(rows.tobytes())

    def make_whole(self, name: str, slots: int, dimension: int) -> None:
        """Extend a file that is missing or too short to its former length, so that it can be mapped and
        written again."""
        path, size = self.path / name, 4 * slots * dimension
        if not path.exists() or path.stat().st_size < size:
            with self._open_for_writing(path, new=not path.exists()) as out:
                out.truncate(size)

    def checksums(self, name: str, spans: Iterable[tuple[int, int]], dimension: int) -> Iterator[int | None]:
        """The checksum of the rows of every (first slot, count); None where some are missing or are not unit
        vectors."""
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
        """All files except these and the files of their signs."""
        known = {self.path / name for name in named} | {self._signs_path(name) for name in named}
        return [
            path
            for suffix in (SUFFIX, SIGNS_SUFFIX)
            for path in self.path.glob(f"*{suffix}")
            if path not in known
        ]

    def size(self) -> int:
        """The bytes of all files."""
        return bytes_of(self.path.glob("*"))

    @contextmanager
    def _open_for_writing(self, path: Path, *, new: bool, safe: bool = True) -> Iterator[BinaryIO]:
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
    """The sizes of these files together; missing ones count as 0."""
    size = 0
    for path in paths:
        with suppress(FileNotFoundError):  # or replaced meanwhile
            size += path.stat().st_size
    return size


def _pages(path: Path, size: int) -> mmap.mmap | None:
    """The first `size` bytes of a file, mapped; None for a shorter file. MissingFileError."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < size:
                return None
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise MissingFileError(path) from None


def _header(dimension: int) -> int:
    """The bytes before the signs: the mean, padded to whole words."""
    return -(-4 * dimension // 8) * 8


def checksum(rows: Vectors) -> int:
    """CRC-32 of the bytes of these rows in a file."""
    return zlib.crc32(np.ascontiguousarray(rows).data)


def _checksum_of(file: BinaryIO, count: int, dimension: int) -> int | None:
    total, at_once = 0, max(READ // (4 * dimension), 1)  # rows
    for first in range(0, count, at_once):
        size = 4 * dimension * min(at_once, count - first)
        piece = file.read(size)
        if len(piece) < size or not are_unit(np.frombuffer(piece, np.float32).reshape(-1, dimension)).all():
            return None
        total = zlib.crc32(piece, total)
    return total


def _sync_folder(folder: Path) -> None:
    """Flush the name of a new file to disk, if the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
