"""The store on disk: rows, text and keyword index in the library's SQLite file, vectors in one raw float32
file per index.

The database decides what exists. The vector file only grows, and is flushed to disk before the transaction
that records its new length; rows beyond the recorded length were never committed and are overwritten. The
passages of a document are consecutive in the file (`first_slot`) and in the table (`first_row`), so that no
table from slot to passage is needed, and opening a store takes the same time whatever its size. Deleted slots
are gaps until they are more than half of the file; then the file is written again under another name, which
the same transaction records.

Every change gives the index a new stamp. Every search compares it, so that it sees changes by other threads
and processes.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from ragcore.errors import DimensionError
from ragcore.schema import NodeWithScore, Vector, Vectors
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.base import EVERYTHING, Scope, Store
from ragcore.vector_stores.bm25_index import SCHEMA as POSTINGS_SCHEMA
from ragcore.vector_stores.bm25_index import Postings
from ragcore.vector_stores.disk_schema import TABLES, DiskIndex, new_stamp
from ragcore.vector_stores.disk_vectors import SIGNS_FROM, IndexVectors, sweep
from ragcore.vector_stores.postings_codec import Contents, contents_of
from ragcore.vector_stores.search import (
    Array,
    mask_of,
    nearest,
    nearest_by_signs,
    passage_terms,
    terms_version,
    unit_query,
)
from ragcore.vector_stores.sql_rows import NOT_AS_STORED
from ragcore.vector_stores.sql_store import DamagedWordsError, Incoming, TableStore, copies_from, words_of
from ragcore.vector_stores.validation import are_unit
from ragcore.vector_stores.vector_file import MissingFileError, VectorFolder, bytes_of, checksum

logger = logging.getLogger(__name__)

SCHEMA = TABLES + POSTINGS_SCHEMA

LATER = ""  # instead of the version of the rules: the words are not collected yet
COPIED = 200  # documents of another store copied in one transaction
COMPACT_SHARE = 0.5  # share of gaps among the slots above which the file is rewritten


class DiskStore(TableStore[DiskIndex]):
    """One index of a library. See `ragcore.vector_stores.base.Store` for what every method promises.

    `vectors` is the folder for vector files. `database` must have `SCHEMA`; the caller closes it. Several
    stores of one library may be used at the same time, in one process or several. With `words_when_asked` the
    first keyword search builds the keyword index of a new index: that search takes longer, and `upsert` is
    several times faster.

    >>> from ragcore.schema import Document, TextNode
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     database = SQLiteDatabase(Path(folder, "library.sqlite"), SCHEMA)
    ...     store = DiskStore(database, vectors=Path(folder))
    ...     _ = store.upsert(Document("A boat."), [TextNode("A boat.", embedding=[1.0])])
    ...     len(store), database.close()
    (1, None)
    """

    _database: SQLiteDatabase
    _row_type = DiskIndex
    _missing = MissingFileError
    _extra_columns = "d.first_slot + p.row - d.first_row AS slot, d.damaged,"

    def __init__(
        self,
        database: SQLiteDatabase,
        *,
        index: str = "documents",
        vectors: Path,
        words_when_asked: bool = False,
    ) -> None:
        self._database = database
        self._name = index
        self._words_when_asked = words_when_asked
        self._vectors = IndexVectors(database, VectorFolder(vectors))
        self._postings = Postings()

    def copy(self, source: Store) -> None:
        """Store copies of all documents of another store. ValueError for a passage without an embedding."""
        every = source.documents()
        for start in range(0, len(every), COPIED):
            self._put_all(copies_from(source, every[start : start + COPIED]))

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        try:
            return super().keyword_search(query, top_k, scope)
        except DamagedWordsError:
            with self._database.transaction() as db:
                self._drop_damaged_terms(db, self._index_now(db))
            return super().keyword_search(query, top_k, scope)

    def delete(self, document_id: str) -> int:
        outermost = not self._database.in_transaction
        passages = super().delete(document_id)
        if outermost:
            self.reclaim()
        return passages

    def close(self) -> None:
        """Release the mapped file. The caller closes the database."""
        self._vectors.release()

    def compact(self) -> None:
        """Rewrite the vector file without gaps, and return the space of deleted rows to the disk.

        Other readers use the old file until their next search. Not inside a transaction.
        """
        with self._database.transaction() as db:
            index = self._index(db)
            if index is not None:
                self._rewrite(db, index)
        self._vectors.release()  # the disk cannot free the old file while it is mapped
        sweep(self._database, self._vectors.files)
        self._database.shrink()

    def drop(self) -> None:
        """Delete the index: its documents, passages, words and vectors. The next `upsert` creates it again.

        Inside a transaction the space is only freed by a later `reclaim`.
        """
        outermost = not self._database.in_transaction
        with self._database.transaction() as db:
            index = self._index(db)
            if index is None:
                return
            self._drop_terms(db, index)
            for table in ("documents", "gaps"):  # texts and passages are deleted with their documents
                db.execute(f"DELETE FROM {table} WHERE index_id = ?", (index.id_,))
            db.execute("DELETE FROM indexes WHERE id = ?", (index.id_,))
        if outermost:
            self.reclaim()

    def reclaim(self) -> None:
        """Free the space of deleted rows, of gaps if they are most of the file, and of vector files without
        an index.

        Not inside a transaction.
        """
        with self._database.snapshot() as db:
            needs_compacting = self._index(db) is not None and self._needs_compacting(db)
        if needs_compacting:
            self.compact()
            return
        sweep(self._database, self._vectors.files)
        self._database.shrink()

    def verify(self) -> list[str]:
        """Compare the vectors of all documents with their checksums; returns the ids of damaged documents,
        oldest first.

        Until `replace_vectors`, `search` and `candidates` skip these documents, and `nodes` returns their
        passages without embedding. This reads the whole file; writers wait only if something is damaged. If
        the file is missing or too short, every search before this call is a DamagedStoreError.
        """
        with self._database.snapshot() as db:
            index = self._index(db)
            unsound = [] if index is None else [row[0] for row in self._vectors.unsound(db, index)]
        if unsound:
            with self._database.transaction() as db:
                self._vectors.mark_damaged(db, self._index_now(db), unsound)
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT d.id FROM documents d JOIN indexes i ON i.id = d.index_id WHERE i.name = ? AND "
                "d.damaged = 1 ORDER BY d.seq",
                (self._name,),
            )
            damaged = [row["id"] for row in rows]
        if not damaged:
            self._renew_signs()
        return damaged

    def replace_vectors(self, document_id: str, vectors: Vectors) -> None:
        """Repair a damaged document: one vector for each of its passages in reading order, shape (n, d).

        A document that is not damaged, because another process repaired it, is not changed.
        UnknownDocumentError; DimensionError; ValueError for another number of vectors, or NaN or infinity in
        one.
        """
        with self._database.transaction() as db:
            document = self._document_row(db, document_id)
            index = self._index_now(db)
            if not document["damaged"] or index.file is None or index.dimension is None:
                return
            if len(vectors) != document["passages"]:
                raise ValueError(
                    f"{document_id!r} has {document['passages']} passages, but was given {len(vectors)} "
                    "vectors"
                )
            rows = np.stack([unit_query(vector, index.dimension) for vector in vectors])
            self._vectors.files.overwrite(index.file, document["first_slot"], rows)
            db.execute(
                "UPDATE documents SET checksum = ?, damaged = 0 WHERE seq = ?",
                (checksum(rows), document["seq"]),
            )
            db.execute("UPDATE indexes SET stamp = ? WHERE id = ?", (new_stamp(), index.id_))

    def bytes_on_disk(self) -> int:
        """The size of the library's database with its log, and of the vectors of all its indexes."""
        database = self._database.path
        return bytes_of((database, database.with_name(database.name + "-wal"))) + self._vectors.files.size()

    # --- rows -----------------------------------------------------------------------------------------------

    def _new_index(self, db: sqlite3.Connection) -> DiskIndex:
        terms = LATER if self._words_when_asked else terms_version()
        db.execute(
            "INSERT INTO indexes (name, terms, stamp) VALUES (?, ?, ?)", (self._name, terms, new_stamp())
        )
        return self._index_now(db)

    def _upsert(self, incoming: Incoming) -> int:
        return self._put_all([incoming])

    def _put_all(self, incoming: Sequence[Incoming]) -> int:
        """Store different documents in one transaction. Returns the number of passages."""
        database, outermost = self._database, not self._database.in_transaction
        with database.transaction() as db:
            before = self._index(db) or self._new_index(db)
            rows = _stack([each.rows for each in incoming if len(each.rows)], before.dimension)
            replaced = self._remove_all(db, before, [each.document.id_ for each in incoming])
            index = self._index_now(db)
            self._refuse_foreign(db, index, incoming)
            file, first_slot = self._vectors.append(index, rows)
            self._insert_all(db, index, incoming, first_slot)
            slots, dimension = first_slot + len(rows), index.dimension or rows.shape[1] or None
            signs = self._vectors.write_signs(file, index.signs, slots, dimension)
            db.execute(
                "UPDATE indexes SET stamp = ?, dimension = ?, file = ?, slots = ?, passages = passages "
                "+ ?, signs = ? WHERE id = ?",
                (new_stamp(), dimension, file, slots, len(rows), signs, index.id_),
            )
            needs_compacting = replaced and self._needs_compacting(db)
        if outermost and needs_compacting:
            self.compact()
        elif outermost and file != before.file:
            sweep(self._database, self._vectors.files)
        return len(rows)

    def _remove_all(self, db: sqlite3.Connection, index: DiskIndex, document_ids: Sequence[str]) -> bool:
        """Remove these documents if they exist; returns whether there were any."""
        condition, value = self._is_among("id", document_ids)
        existing = db.execute(
            f"SELECT id FROM documents WHERE index_id = ? AND {condition}", (index.id_, value)
        ).fetchall()
        for (id_,) in existing:
            self._remove(db, self._index_now(db), id_)
        return bool(existing)

    def _insert_all(
        self, db: sqlite3.Connection, index: DiskIndex, incoming: Sequence[Incoming], first_slot: int
    ) -> None:
        slot, first_rows = first_slot, []
        for each in incoming:
            first_rows.append(
                self._insert(db, index, each, {"first_slot": slot, "checksum": checksum(each.rows)})
            )
            slot += len(each.nodes)
        if index.terms != LATER:
            words = (
                incoming[0].words
                if len(incoming) == 1
                else words_of(node for each in incoming for node in each.nodes)
            )
            self._change_terms(db, index, lambda: self._add_terms(db, index, words, first_rows[0]))

    def _remove(self, db: sqlite3.Connection, index: DiskIndex, document_id: str) -> int | None:
        """Remove a document, which leaves a gap among the vectors; returns its number of passages, None for
        an unknown id."""
        rows = db.execute(
            "DELETE FROM documents WHERE index_id = ? AND id = ? RETURNING first_row, first_slot, passages",
            (index.id_, document_id),
        ).fetchall()
        if not rows:
            return None
        first_row, first_slot, passages = rows[0]
        removed = range(first_row, first_row + passages)
        self._change_terms(db, index, lambda: self._postings.remove(db, index.id_, removed))
        if passages == index.passages:
            db.execute("DELETE FROM gaps WHERE index_id = ?", (index.id_,))
            db.execute(
                "UPDATE indexes SET dimension = NULL, file = NULL, slots = 0, signs = 0 WHERE id = ?",
                (index.id_,),
            )
        elif passages:
            db.execute("INSERT INTO gaps VALUES (?, ?, ?)", (index.id_, first_slot, passages))
        db.execute(
            "UPDATE indexes SET stamp = ?, passages = passages - ? WHERE id = ?",
            (new_stamp(), passages, index.id_),
        )
        return int(passages)

    def _rows_of_documents(
        self, db: sqlite3.Connection, index: DiskIndex, document_ids: Collection[str]
    ) -> list[sqlite3.Row]:
        """The rows of these documents; ids without a document are skipped."""
        query = "SELECT seq, first_row, first_slot, passages FROM documents WHERE index_id = ? AND id = ?"
        rows = (db.execute(query, (index.id_, id_)).fetchone() for id_ in document_ids)
        return [row for row in rows if row is not None]

    def _is_among(self, column: str, ids: Iterable[str]) -> tuple[str, str]:
        ids = list(ids)
        if any("\0" in id_ for id_ in ids):  # json_each ends a text there
            column, ids = f"hex({column})", [id_.encode().hex().upper() for id_ in ids]
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(ids)

    def _rows_within(self, db: sqlite3.Connection, index: DiskIndex, scope: Scope) -> list[int]:
        if scope.node_ids is not None or scope.filters is not None:
            return [row["row"] for row in self._within(db, index, scope)]
        documents = self._rows_of_documents(db, index, scope.document_ids or ())
        return [row["first_row"] + i for row in documents for i in range(row["passages"])]

    def _spans(self, db: sqlite3.Connection, index: DiskIndex, scope: Scope) -> list[tuple[int, int]]:
        """The (first slot, count) of the passages in this scope."""
        if scope.node_ids is None and scope.filters is None:
            documents = self._rows_of_documents(db, index, scope.document_ids or ())
            return [(row["first_slot"], row["passages"]) for row in documents]
        return [(row["slot"], 1) for row in self._within(db, index, scope)]

    def _rows_at(self, db: sqlite3.Connection, index: DiskIndex, slots: Array) -> list[int]:
        """The rows of the passages at these slots."""
        rows = db.execute(
            "SELECT slot.value + (SELECT first_row - first_slot FROM documents WHERE index_id = ? AND "
            "first_slot <= slot.value"
            " AND passages > 0 ORDER BY first_slot DESC LIMIT 1) FROM json_each(?) slot ORDER BY slot.key",
            (index.id_, json.dumps(slots.tolist())),
        )
        return [row for (row,) in rows.fetchall()]

    # --- keywords -------------------------------------------------------------------------------------------

    def _add_terms(
        self, db: sqlite3.Connection, index: DiskIndex, words: Iterable[Contents], first_row: int = 0
    ) -> None:
        for contents in words:
            self._postings.insert(db, index.id_, contents, first_row)

    def _change_terms(self, db: sqlite3.Connection, index: DiskIndex, change: Callable[[], None]) -> None:
        """`change` the words. Damaged ones are dropped instead, so that the next search collects them
        again."""
        try:
            change()
        except NOT_AS_STORED:
            self._drop_damaged_terms(db, index)

    def _drop_damaged_terms(self, db: sqlite3.Connection, index: DiskIndex) -> None:
        logger.warning("the words of %s are damaged, and are collected again", self._name)
        self._drop_terms(db, index)
        db.execute("UPDATE indexes SET terms = ?, stamp = ? WHERE id = ?", (LATER, new_stamp(), index.id_))

    def _drop_terms(self, db: sqlite3.Connection, index: DiskIndex) -> None:
        db.execute(f"DROP TABLE IF EXISTS keywords_{index.id_}")  # the FTS5 table of earlier versions
        self._postings.clear(db, index.id_)

    def _renew_terms(self) -> None:
        """Build the keyword index if that is still to be done, and rebuild it if it has an earlier version's
        rules."""
        with self._database.snapshot() as db:
            index = self._index(db)
        if index is None or index.terms == terms_version():
            return
        with self._database.transaction() as db:
            index = self._index(db)
            # another process has deleted it, or was faster
            if index is None or index.terms == terms_version():
                return
            self._drop_terms(db, index)
            passages = ((row, passage_terms(node)) for row, node in self._all_passages(db, index.id_))
            self._add_terms(db, index, contents_of(passages))
            db.execute(
                "UPDATE indexes SET terms = ?, stamp = ? WHERE id = ?",
                (terms_version(), new_stamp(), index.id_),
            )

    # --- vectors --------------------------------------------------------------------------------------------

    def _nearest(
        self, db: sqlite3.Connection, index: DiskIndex, query: Vector, top_k: int, scope: Scope
    ) -> tuple[list[int], Iterable[float]]:
        matrix = self._vectors.map_rows(db, index)
        if scope != EVERYTHING:
            chosen = mask_of(self._spans(db, index, scope), len(matrix.rows))
            if matrix.sound is not None:
                chosen &= matrix.sound
            slots, scores = nearest(matrix.rows, query, top_k, chosen)
        elif matrix.signs is None:
            slots, scores = nearest(matrix.rows, query, top_k, matrix.sound)
        else:
            slots, scores = nearest_by_signs(matrix.rows, matrix.signs, query, top_k, matrix.sound)
        return self._rows_at(db, index, slots), scores

    def _vectors_of(
        self, db: sqlite3.Connection, index: DiskIndex, passages: list[sqlite3.Row]
    ) -> tuple[list[sqlite3.Row], Vectors]:
        passages = [passage for passage in passages if not passage["damaged"]]
        vectors = self._vectors.map_rows(db, index).rows[[passage["slot"] for passage in passages]]
        sound = are_unit(vectors)
        return [
            passage for passage, is_sound in zip(passages, sound.tolist(), strict=True) if is_sound
        ], vectors[sound]

    def _renew_signs(self) -> None:
        """Compute all signs again if some do not match the vectors."""
        with self._database.snapshot() as db:
            index = self._index(db)
            if index is None or index.file is None or index.dimension is None or index.slots < SIGNS_FROM:
                return
            if self._vectors.files.signs_are_sound(index.file, index.signs, index.slots, index.dimension):
                return
        with self._database.transaction() as db:
            index = self._index_now(db)
            signs = self._vectors.write_signs(index.file, 0, index.slots, index.dimension)
            db.execute(
                "UPDATE indexes SET stamp = ?, signs = ? WHERE id = ?", (new_stamp(), signs, index.id_)
            )

    def _needs_compacting(self, db: sqlite3.Connection) -> bool:
        index = self._index_now(db)
        return index.slots - index.passages > COMPACT_SHARE * index.slots or index.passages == 0

    def _rewrite(self, db: sqlite3.Connection, index: DiskIndex) -> None:
        file = self._vectors.pack(db, index)
        signs = self._vectors.write_signs(file, 0, index.passages, index.dimension)
        db.execute("DELETE FROM gaps WHERE index_id = ?", (index.id_,))
        db.execute(
            "UPDATE indexes SET stamp = ?, file = ?, slots = passages, dimension = ?, signs = ? WHERE id = ?",
            (new_stamp(), file, index.dimension if index.passages else None, signs, index.id_),
        )
        if index.passages:
            self._change_terms(db, index, lambda: self._postings.compact(db, index.id_))


def _stack(parts: Sequence[Vectors], dimension: int | None) -> Vectors:
    """All rows, shape (n, d), also for no parts. DimensionError for a part of another width."""
    for part in parts:
        if part.shape[1] != (dimension or parts[0].shape[1]):
            raise DimensionError(part.shape[1], dimension or parts[0].shape[1])
    return np.concatenate(parts) if parts else np.empty((0, dimension or 0), np.float32)
