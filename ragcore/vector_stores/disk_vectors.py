"""The vectors of one index of a store on disk: mapping, appending to, checking and compacting its vector
file."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ragcore.schema import Vectors
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.binary_quantization import CHUNK, Signs
from ragcore.vector_stores.disk_schema import DiskIndex, new_stamp
from ragcore.vector_stores.search import Array, mask_of
from ragcore.vector_stores.vector_file import VectorFolder

SIGNS_FROM = 4 * CHUNK  # rows; a smaller file is compared completely, which is fast enough


@dataclass(frozen=True, slots=True)
class Matrix:
    """The mapped rows of an index at `stamp`, and a mask of those that are in use and undamaged (None:
    all)."""

    stamp: int
    rows: Vectors
    sound: Array | None
    signs: Signs | None = None


class IndexVectors:
    """Call its methods in a transaction or a snapshot of the database, with the row of the index from
    there."""

    def __init__(self, database: SQLiteDatabase, files: VectorFolder) -> None:
        self.files = files
        self._database = database
        self._matrix: Matrix | None = None
        self._mapping = threading.Lock()

    def release(self) -> None:
        """Release the mapped file."""
        self._matrix = None

    def map_rows(self, db: sqlite3.Connection, index: DiskIndex) -> Matrix:
        matrix = self._matrix
        if matrix is not None and matrix.stamp == index.stamp:
            return matrix
        with self._mapping:
            if index.file is None or index.dimension is None or not index.slots:
                matrix = Matrix(index.stamp, np.empty((0, index.dimension or 0), np.float32), None)
            else:
                mapped = self.files.map_rows(index.file, index.slots, index.dimension)
                spans = db.execute(
                    "SELECT first_slot, slots FROM gaps WHERE index_id = ?"
                    " UNION ALL SELECT first_slot, passages FROM documents WHERE index_id = ? AND "
                    "damaged = 1",
                    (index.id_, index.id_),
                ).fetchall()
                sound = ~mask_of([(span[0], span[1]) for span in spans], index.slots) if spans else None
                signs = self.files.signs(index.file, index.signs, index.dimension) if index.signs else None
                matrix = Matrix(index.stamp, mapped.rows, sound, signs)
            self._matrix = matrix
            return matrix

    def append(self, index: DiskIndex, rows: Vectors) -> tuple[str | None, int]:
        """Write `rows` after the committed ones; returns the name of the file and the first slot."""
        if not len(rows):
            return index.file, index.slots
        file = index.file or self.files.new_name(index.id_)
        self.files.append(file, index.slots, rows)
        self._database.before_commit(
            (self.files.path, file), partial(self.files.sync, file, new=index.file is None)
        )
        return file, index.slots

    def write_signs(self, file: str | None, signs: int, slots: int, dimension: int | None) -> int:
        """Write the signs of chunks that are complete; returns the number of rows with signs."""
        if file is None or dimension is None or slots < SIGNS_FROM or slots - signs < CHUNK:
            return signs
        return self.files.write_signs(file, signs, slots, dimension)

    def unsound(
        self, db: sqlite3.Connection, index: DiskIndex, among: Collection[int] | None = None
    ) -> Iterator[tuple[int, int | None, int | None]]:
        """(seq, checksum in the table, checksum of the file) of the documents where these differ. The
        checksum of the file is None if vectors are missing or are not unit vectors."""
        if index.file is None or index.dimension is None:
            return
        documents = db.execute(
            "SELECT seq, first_slot, passages, checksum FROM documents WHERE index_id = ? AND damaged = "
            "0 AND passages > 0 ORDER BY first_slot",
            (index.id_,),
        ).fetchall()
        chosen = [row for row in documents if among is None or row["seq"] in among]
        checksums = self.files.checksums(
            index.file, [(row["first_slot"], row["passages"]) for row in chosen], index.dimension
        )
        for row, actual in zip(chosen, checksums, strict=True):
            if row["checksum"] is None or row["checksum"] != actual:
                yield row["seq"], row["checksum"], actual

    def mark_damaged(self, db: sqlite3.Connection, index: DiskIndex, suspects: Collection[int]) -> None:
        """Check these documents again in this transaction, and record which are damaged."""
        for seq, written, actual in list(self.unsound(db, index, suspects)):
            # an earlier version recorded no checksum: trust the first
            if written is None and actual is not None:
                db.execute("UPDATE documents SET checksum = ? WHERE seq = ?", (actual, seq))
            else:
                db.execute("UPDATE documents SET damaged = 1 WHERE seq = ?", (seq,))
        if index.file is not None and index.dimension is not None:
            self.files.make_whole(index.file, index.slots, index.dimension)
        db.execute("UPDATE indexes SET stamp = ? WHERE id = ?", (new_stamp(), index.id_))

    def pack(self, db: sqlite3.Connection, index: DiskIndex) -> str | None:
        """Write a new file with the rows in use, in order, and update the slots of the documents."""
        if not index.passages:
            return None
        rows = self.map_rows(db, index).rows
        documents = db.execute(
            "SELECT seq, first_slot, passages FROM documents WHERE index_id = ? ORDER BY first_slot, seq",
            (index.id_,),
        ).fetchall()
        slot = 0
        for seq, _, passages in documents:
            db.execute("UPDATE documents SET first_slot = ? WHERE seq = ?", (slot, seq))
            slot += passages
        file = self.files.new_name(index.id_)
        self.files.write(file, (rows[first : first + passages] for _, first, passages in documents))
        return file


def sweep(database: SQLiteDatabase, files: VectorFolder) -> None:
    """Remove vector files without an index: replaced files, and those of a killed writer."""
    with database.snapshot() as db:
        in_use = _files_in_use(db)
    if not files.others(in_use):
        return
    with database.transaction() as db:  # nobody creates a file during this transaction
        for path in files.others(_files_in_use(db)):
            with contextlib.suppress(OSError):  # Windows does not delete a mapped file; the next call does
                path.unlink()


def _files_in_use(db: sqlite3.Connection) -> set[str]:
    return {row["file"] for row in db.execute("SELECT file FROM indexes WHERE file IS NOT NULL")}
