"""The store on a PostgreSQL server with pgvector: documents, passages, words and vectors in tables that many
machines share.

Each index has its own table of vectors, which is dropped with the last passage. New vectors are not yet in
its HNSW index (Malkov and Yashunin 2018, https://arxiv.org/abs/1603.09320), so that adding them is only a
bulk copy; a search compares them one by one. Once there are many, every `upsert` adds a few hundred of them
to the HNSW index, while others read and write. The results of the index are ranked again by their exact
cosines, so that only passages it misses are lost.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import numpy as np

from ragcore.errors import DimensionError, StoreError
from ragcore.schema import Vector, Vectors
from ragcore.sql.postgres import PostgresConnection, PostgresDatabase
from ragcore.sql.postgres_errors import MissingTableError
from ragcore.sql.postgres_values import Row
from ragcore.vector_stores.base import EVERYTHING, Scope
from ragcore.vector_stores.bm25_index import Postings
from ragcore.vector_stores.postgres_schema import SCHEMA
from ragcore.vector_stores.postings_codec import contents_of
from ragcore.vector_stores.search import ROUNDING, nearest, passage_terms, terms_version
from ragcore.vector_stores.sql_rows import passages_at
from ragcore.vector_stores.sql_store import Incoming, IndexRow, TableStore

BATCH = 500  # passages added to the HNSW index in one transaction
EXACT = 20_000  # passages; a smaller index is compared completely
HNSW_STEPS = 2  # passages added to the HNSW index for each new passage, so that none waits forever
SPARE = 32  # candidates beyond the requested number, to find ties
HNSW_CANDIDATES = 200  # hnsw.ef_search, and the minimum number of results to rank by exact cosines
MOST_INDEXED = 4000  # dimensions that pgvector can index in half precision; wider vectors are all compared
WIDEST = 16_000  # numbers in a vector of pgvector
MOST_INLINE = 1900  # dimensions of a vector that fits a page of a table

# the tables of a library
OURS = "pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"

HNSW = (  # the tables with vectors in an HNSW index: an empty one is two pages
    "SELECT indrelid FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = i.relam"
    " WHERE amname = 'hnsw' AND pg_relation_size(i.oid) > 2 * current_setting('block_size')::int"
)

# A row in the binary form of COPY, whose numbers have the highest byte first.
COPY_HEAD, COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


@dataclass(frozen=True, slots=True)
class _Index(IndexRow):
    vectors: str | None


class PostgresStore(TableStore[_Index]):
    """One index of a library on a server. See `ragcore.vector_stores.base.Store` for what every method
    promises.

    A search is exact up to 20,000 passages. Beyond that, and in a scope of more than 20,000 passages, it may
    miss some of the nearest: in 50,000 embeddings of real text it had 0.996 of the ten nearest (`python -m
    benchmarks.postgres`). `database` must have `SCHEMA`. The caller closes it.

        store = PostgresStore.from_params(host="db.example", user="ada", password="...", database="library")
        index = VectorStoreIndex.from_documents(documents, StorageContext.from_defaults(vector_store=store))
    """

    _database: PostgresDatabase
    _row_type = _Index
    _missing = MissingTableError

    def __init__(self, database: PostgresDatabase, *, index: str = "documents") -> None:
        self._database = database
        self._name = index
        self._postings = Postings()
        self._terms_checked = False
        self._terms_lock = threading.Lock()
        self._owned = False

    @classmethod
    def from_params(
        cls,
        *,
        user: str,
        password: str,
        database: str,
        host: str = "127.0.0.1",
        port: int | str = 5432,
        table_name: str = "documents",
    ) -> PostgresStore:
        """A store with a connection of its own, which `close` ends. `table_name` is the name of the index."""
        account = f"{quote(user, '')}:{quote(password, '')}"
        address = f"postgresql://{account}@/{quote(database, '')}?host={quote(host)}&port={port}"
        store = cls(PostgresDatabase(address, SCHEMA), index=table_name)
        store._owned = True
        return store

    def _upsert(self, incoming: Incoming) -> int:
        document, rows = incoming.document, incoming.rows
        with self._database.transaction() as db:
            index = self._index(db) or self._new_index(db)
            if len(rows) and index.dimension not in (None, rows.shape[1]):
                raise DimensionError(rows.shape[1], index.dimension)
            self._remove(db, index, document.id_)
            index = self._index_now(db)
            self._refuse_foreign(db, index, [incoming])
            first_row = self._insert(db, index, incoming, {})
            for contents in incoming.words:
                self._postings.insert(db, index.id_, contents, first_row)
            if len(rows):
                table = index.vectors or self._new_table(db, index, rows.shape[1])
                db.copy(f"{table} (row, vector)", _as_records(first_row, rows))
            db.execute("UPDATE indexes SET passages = passages + ? WHERE id = ?", (len(rows), index.id_))
            self._database.after_commit(partial(self._add_to_hnsw, HNSW_STEPS * len(rows)))
        return len(rows)

    def close(self) -> None:
        """Closes the connection of `from_params`; another database is closed by its owner."""
        if self._owned:
            self._database.close()

    def compact(self) -> None:
        """Add all vectors to the HNSW index, and drop removed passages from the keyword index. Not in a
        transaction."""
        with self._database.transaction() as db:
            index = self._index(db)
            if index is not None:
                self._postings.compact(db, index.id_)
        self._add_to_hnsw(len(self))

    def drop(self) -> None:
        """Delete the index: its documents, passages, words and vectors. The next `upsert` creates it
        again."""
        with self._database.transaction() as db:
            index = self._index(db)
            if index is None:
                return
            self._drop_table(db, index)
            self._postings.clear(db, index.id_)
            # and with them their texts and passages
            db.execute("DELETE FROM documents WHERE index_id = ?", (index.id_,))
            db.execute("DELETE FROM indexes WHERE id = ?", (index.id_,))

    def reclaim(self) -> None:
        """Let the server reuse the space of deleted rows, and free the space at the ends of its files.

        The server does so itself within minutes. Skipped are vectors in an HNSW index, which take long, and
        tables that the server is working on. Not in a transaction.
        """
        with self._database.snapshot() as db:
            tables = [
                f'"{row["relname"]}"'
                for row in db.execute(f"SELECT relname FROM {OURS} AND oid NOT IN ({HNSW})")
            ]
        with contextlib.suppress(MissingTableError):  # dropped meanwhile, with all of its space
            self._database.connection().execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}")

    def bytes_on_disk(self) -> int:
        """The size of the library's tables on the server, with their indexes."""
        with self._database.snapshot() as db:
            rows = db.execute(f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM {OURS}")
            return int(rows.fetchall()[0][0])

    # --- rows -----------------------------------------------------------------------------------------------

    def _new_index(self, db: PostgresConnection) -> _Index:
        db.execute("INSERT INTO indexes (name, terms) VALUES (?, ?)", (self._name, terms_version()))
        return self._index_now(db)

    def _remove(self, db: PostgresConnection, index: _Index, document_id: str) -> int | None:
        """Remove a document; returns its number of passages, None for an unknown id."""
        row = db.execute(
            "DELETE FROM documents WHERE index_id = ? AND id = ? RETURNING first_row, passages",
            (index.id_, document_id),
        ).fetchone()
        if row is None:
            return None
        first_row, passages = row
        if passages == index.passages:
            self._postings.clear(db, index.id_)
            self._drop_table(db, index)
        elif passages:
            self._postings.remove(db, index.id_, range(first_row, first_row + passages))
            db.execute(
                f"DELETE FROM {index.vectors} WHERE row >= ? AND row < ?", (first_row, first_row + passages)
            )
        db.execute("UPDATE indexes SET passages = passages - ? WHERE id = ?", (passages, index.id_))
        return int(passages)

    def _is_among(self, column: str, ids: Iterable[str]) -> tuple[str, list[str]]:
        return f"{column} = ANY(?)", list(ids)

    def _rows_within(self, db: PostgresConnection, index: _Index, scope: Scope) -> list[int]:
        return [row["row"] for row in self._within(db, index, scope)]

    # --- keywords -------------------------------------------------------------------------------------------

    def _renew_terms(self) -> None:
        """Rebuild the keyword index if it follows the rules of an earlier version.

        This is checked at the first search only: a machine with other rules, such as those of an earlier
        Python, would rebuild it too. The slow part runs before the transaction, so that others can write. It
        takes 2 KB of memory for each passage.
        """
        with self._terms_lock:
            self._terms_checked = self._terms_checked or self._has_our_terms()

    def _has_our_terms(self) -> bool:
        """Whether there is an index; its keyword index then has the rules of this version."""
        with self._database.snapshot() as db:
            index = self._index(db)
        if index is None or index.terms == terms_version():
            return index is not None
        with self._database.snapshot() as db:
            before = self._rows_of_documents(db, index)
            words = list(
                contents_of((row, passage_terms(node)) for row, node in self._all_passages(db, index.id_))
            )
        with self._database.transaction() as db:
            index = self._index(db)
            if index is None or index.terms == terms_version():
                return index is not None  # another process was faster, or has deleted the index
            now = self._rows_of_documents(db, index)
            self._postings.clear(db, index.id_)
            for contents in words:
                self._postings.insert(db, index.id_, contents)
            for document in before.keys() - now.keys():
                self._postings.remove(db, index.id_, before[document])
            new = passages_at(
                db, sorted(row for document in now.keys() - before.keys() for row in now[document])
            )
            self._postings.add(db, index.id_, ((row, passage_terms(node)) for row, node in new.items()))
            db.execute("UPDATE indexes SET terms = ? WHERE id = ?", (terms_version(), index.id_))
        return True

    def _rows_of_documents(self, db: PostgresConnection, index: _Index) -> dict[int, range]:
        """By `seq`, which is never used twice, unlike rows."""
        rows = db.execute("SELECT seq, first_row, passages FROM documents WHERE index_id = ?", (index.id_,))
        return {seq: range(first, first + passages) for seq, first, passages in rows}

    # --- vectors --------------------------------------------------------------------------------------------

    def _new_table(self, db: PostgresConnection, index: _Index, dimension: int) -> str:
        if dimension > WIDEST:
            raise StoreError(
                f"The server has room for vectors of {WIDEST:,} numbers, but was given {dimension:,}.",
                hint=(
                    "Choose an embedding model that gives fewer, or a library in a folder, which takes "
                    "vectors of any width."
                ),
            )
        self._drop_unused(db)
        # A new name each time, so that a reader of the old table never reads this one.
        table = f"vectors_{index.id_}_{secrets.token_hex(4)}"
        db.execute(
            f"CREATE TABLE {table} (row BIGINT PRIMARY KEY, vector vector({dimension}) NOT NULL,"
            " indexed BOOLEAN NOT NULL DEFAULT false);"
            f" CREATE INDEX ON {table} (row) WHERE NOT indexed"
        )
        if dimension <= MOST_INLINE:
            db.execute(f"ALTER TABLE {table} ALTER vector SET STORAGE PLAIN")
        if dimension <= MOST_INDEXED:
            db.execute(
                f"CREATE INDEX ON {table} USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) "
                "WHERE indexed"
            )
        db.execute(
            "UPDATE indexes SET dimension = ?, vectors = ? WHERE id = ?", (dimension, table, index.id_)
        )
        return table

    def _drop_table(self, db: PostgresConnection, index: _Index) -> None:
        if index.vectors is not None:
            db.execute("UPDATE indexes SET dimension = NULL, vectors = NULL WHERE id = ?", (index.id_,))
            self._drop_unused(db)

    def _drop_unused(self, db: PostgresConnection) -> None:
        """Drop the tables of vectors without an index.

        A table that somebody still reads, perhaps to copy the library, is dropped later: waiting would block
        all writers.
        """
        unused = db.execute(
            f"SELECT relname FROM {OURS} AND relname ~ '^vectors_[0-9]+_[0-9a-f]+$' AND relname NOT IN"
            " (SELECT vectors FROM indexes WHERE vectors IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM pg_locks"
            " WHERE relation = pg_class.oid AND mode = 'AccessShareLock' AND pid != pg_backend_pid())"
        )
        for row in unused.fetchall():
            db.execute(f"DROP TABLE {row['relname']}")

    def _vectors(self, db: PostgresConnection, index: _Index, rows: Sequence[int]) -> Vectors:
        """The unit vectors of these ascending rows, shape (len(rows), d)."""
        dimension = index.dimension or 0
        if not rows:
            return np.empty((0, dimension), np.float32)
        chosen = ",".join(map(str, rows))
        query = f"SELECT row, vector FROM {index.vectors} WHERE row = ANY('{{{chosen}}}') ORDER BY row"
        data = db.copy_out(query)[len(COPY_HEAD) : -len(COPY_END)]
        return np.frombuffer(data, _record(dimension))["vector"].astype(np.float32)

    def _vectors_of(
        self, db: PostgresConnection, index: _Index, passages: list[Row]
    ) -> tuple[list[Row], Vectors]:
        return passages, self._vectors(db, index, [passage["row"] for passage in passages])

    def _nearest(
        self, db: PostgresConnection, index: _Index, query: Vector, top_k: int, scope: Scope
    ) -> tuple[list[int], Iterable[float]]:
        among = None if scope == EVERYTHING else self._rows_within(db, index, scope)
        if not query.any():  # every passage is equally near
            rows = [row for row, _ in self._first(db, index, "row", (), top_k, [], among)]
        elif (index.passages if among is None else len(among)) <= EXACT or (
            index.dimension or 0
        ) > MOST_INDEXED:
            rows = self._closest(db, index, query, top_k, [], among)
        else:
            waiting = self._closest(db, index, query, top_k, ["NOT indexed"], among)
            rows = [*waiting, *self._closest_by_hnsw(db, index, query, top_k, among)]
        rows.sort()
        best, scores = nearest(self._vectors(db, index, rows), query, top_k)
        return [rows[position] for position in best.tolist()], scores

    def _closest(
        self,
        db: PostgresConnection,
        index: _Index,
        query: Vector,
        k: int,
        conditions: list[str],
        among: list[int] | None,
    ) -> list[int]:
        """The rows of the `k` nearest, and of all that may be as near as the last of them."""
        limit = k + SPARE
        while True:
            rows = self._first(db, index, "vector <#> ?", (_vector_text(query),), limit, conditions, among)
            if len(rows) < limit or rows[-1][1] > rows[k - 1][1] + 2 * ROUNDING:
                return [row for row, _ in rows]
            limit *= 4

    def _closest_by_hnsw(
        self, db: PostgresConnection, index: _Index, query: Vector, k: int, among: list[int] | None
    ) -> list[int]:
        """Those that the HNSW index finds."""
        db.execute(
            f"SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {HNSW_CANDIDATES}"
        )
        distance = f"vector::halfvec({index.dimension}) <#> ?"
        rows = self._first(
            db, index, distance, (_vector_text(query),), max(HNSW_CANDIDATES, 2 * k), ["indexed"], among
        )
        return self._closest(db, index, query, k, [], [row for row, _ in rows])

    def _first(
        self,
        db: PostgresConnection,
        index: _Index,
        order: str,
        values: tuple[object, ...],
        limit: int,
        conditions: list[str],
        among: list[int] | None,
    ) -> list[tuple[int, float]]:
        """The first rows in this order that meet the conditions, each with its value in the order."""
        if among is not None:
            conditions, values = [*conditions, "row = ANY(?)"], (*values, among)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = db.execute(
            f"SELECT row, {order} AS rank FROM {index.vectors}{where} ORDER BY rank LIMIT ?", (*values, limit)
        )
        return [(row, rank) for row, rank in rows]

    def _add_to_hnsw(self, least: int) -> None:
        """Add so many vectors, rounded up to whole batches, to the HNSW index if it is in use. Others may
        work meanwhile."""
        with self._database.snapshot() as db:
            index = self._index(db)
        if (
            index is None
            or index.vectors is None
            or index.passages <= EXACT
            or (index.dimension or 0) > MOST_INDEXED
        ):
            return
        # Each statement is its own transaction without the write lock: writers do not change existing
        # vectors.
        some = (
            f"SELECT row FROM {index.vectors} WHERE NOT indexed ORDER BY row LIMIT {BATCH} FOR UPDATE "
            "SKIP LOCKED"
        )
        # the rest is compared one by one until a later `upsert` adds it
        with contextlib.suppress(StoreError):
            for _ in range(0, least, BATCH):
                if not db.execute(
                    f"UPDATE {index.vectors} SET indexed = true WHERE row IN ({some})"
                ).rowcount:
                    return


PGVectorStore = PostgresStore


def _record(dimension: int) -> np.dtype[Any]:
    """A row of a table of vectors in the form of COPY: the number of fields, then the size and the bytes of
    each."""
    return np.dtype(
        [
            ("fields", ">i2"),
            ("row_size", ">i4"),
            ("row", ">i8"),
            ("vector_size", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f4", (dimension,)),
        ]
    )


def _as_records(first_row: int, rows: Vectors) -> bytes:
    """The vectors in the form of COPY, with rows from `first_row` on."""
    count, dimension = rows.shape
    records = np.zeros(count, _record(dimension))
    records["fields"], records["row_size"], records["vector_size"] = 2, 8, 4 + 4 * dimension
    records["row"], records["dimension"], records["vector"] = (
        np.arange(first_row, first_row + count),
        dimension,
        rows,
    )
    return COPY_HEAD + records.tobytes() + COPY_END


def _vector_text(vector: Vector) -> str:
    return "[" + ",".join(map(str, vector.tolist())) + "]"
