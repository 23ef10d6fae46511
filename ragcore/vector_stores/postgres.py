"""The store on a PostgreSQL server with pgvector: documents, passages, words and vectors in tables that many machines share.

Each index has a table of vectors of its own, which is given up with the last passage. New vectors stand outside of its HNSW
index (Malkov and Yashunin 2018, https://arxiv.org/abs/1603.09320), where putting them costs a bulk copy and nothing else, and
are compared one by one; once there are many, every put is followed by taking some of them in, a few hundred at a time, while
everybody goes on. What the index finds is ranked anew by the exact cosines, so only what it misses is lost.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import numpy as np

from ragcore.errors import DimensionError, StoreError, UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.sql.postgres import PostgresConnection, PostgresDatabase
from ragcore.sql.postgres_errors import MissingTableError
from ragcore.sql.postgres_values import Row
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope
from ragcore.vector_stores.bm25_index import Postings
from ragcore.vector_stores.postgres_schema import SCHEMA
from ragcore.vector_stores.postings_codec import gathered
from ragcore.vector_stores.search import ROUNDING, nearest, passage_terms, terms_version, unit_query
from ragcore.vector_stores.sql_rows import length_of, passages_at
from ragcore.vector_stores.sql_store import DOCUMENT, Incoming, TableStore, passing

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors


T = TypeVar("T")

BATCH = 500  # passages read, or taken into the HNSW index, at a time
EXACT = 20_000  # passages up to which all are compared one by one
TAKEN_IN = 2  # passages that the HNSW index takes in for every one that is put, so that none waits forever
SPARE = 32  # candidates beyond those asked for, among which ties are looked for
HNSW_CANDIDATES = 200  # hnsw.ef_search, and the least number whose exact cosines are taken
MOST_INDEXED = 4000  # dimensions that pgvector can index as half-precision numbers; wider vectors are compared one by one
WIDEST = 16_000  # numbers of a vector that pgvector takes
MOST_INLINE = 1900  # dimensions of a vector that fits a page of a table

OURS = "pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"  # the tables of a library

HNSW = (  # the tables with vectors in an HNSW index: an empty one is two pages
    "SELECT indrelid FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = i.relam"
    " WHERE amname = 'hnsw' AND pg_relation_size(i.oid) > 2 * current_setting('block_size')::int"
)

# A row in the binary form of COPY, whose numbers have the highest byte first.
COPY_HEAD, COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


@dataclass(frozen=True, slots=True)
class _Index:
    """A row of `indexes`."""

    id_: int
    terms: str
    dimension: int | None
    vectors: str | None
    passages: int


class PostgresStore(TableStore):
    """One index of a library on a server. See `ragcore.vector_stores.base.Store` for what every method promises.

    Up to 20,000 passages a search is exact. Beyond, and beyond 20,000 passages in a scope, it may miss some of the nearest: of
    50,000 embeddings of real text 0.996 of the ten nearest were found (`python -m benchmarks.postgres`). `database` must have
    been given `SCHEMA`; it is the caller's to close.
    """

    _database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, *, index: str = "documents") -> None:
        self._database = database
        self._name = index
        self._postings = Postings()
        self._renewed = False  # its words were found made by this machine's rules, or made so
        self._renewing = threading.Lock()
        self._owned = False

    @classmethod
    def from_params(
        cls,
        *,
        user: str,
        password: str,
        database: str,
        host: str = "localhost",
        port: int | str = 5432,
        table_name: str = "documents",
    ) -> PostgresStore:
        """A store with a connection of its own, which `close` ends. `table_name` is the name of the index."""
        address = f"postgresql://{quote(user, '')}:{quote(password, '')}@/{quote(database, '')}?host={quote(host)}&port={port}"
        store = cls(PostgresDatabase(address, SCHEMA), index=table_name)
        store._owned = True
        return store

    def put(self, document: Document, nodes: Sequence[TextNode]) -> int:
        return self.prepared(document, nodes)()

    def prepared(self, document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        """What does `put`, with all that can be done before it, so that other writers need not wait for that."""
        given = Incoming.of(document, nodes)
        given.prepare()
        return partial(self._put, given)

    def _put(self, given: Incoming) -> int:
        document, nodes, rows = given.document, given.nodes, given.rows
        with self._database.transaction() as db:
            index = self._index(db) or self._new_index(db)
            if len(rows) and index.dimension not in (None, rows.shape[1]):
                raise DimensionError(rows.shape[1], index.dimension)
            self._remove(db, index, document.id_)
            self._refuse_foreign(db, index, document, nodes)
            index = self._index_now(db)
            first_row = self._insert(db, index, given)
            if len(rows):
                table = index.vectors or self._new_table(db, index, rows.shape[1])
                db.copy(f"{table} (row, vector)", _copied(first_row, rows))
            db.execute("UPDATE indexes SET passages = passages + ? WHERE id = ?", (len(nodes), index.id_))
            self._database.after_commit(partial(self._take_in, TAKEN_IN * len(nodes)))
        return len(nodes)

    def delete(self, document_id: str) -> int:
        with self._database.transaction() as db:
            index = self._index(db)
            passages = None if index is None else self._remove(db, index, document_id)
            if passages is None:
                raise UnknownDocumentError(document_id)
        return passages

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        def read(db: PostgresConnection) -> list[TextNode]:
            index = self._index(db)
            if index is None or index.vectors is None or not ids:
                return []
            rows = db.execute(
                "SELECT p.id, p.row, p.length FROM passages p JOIN documents d ON d.seq = p.document"
                " WHERE p.id = ANY(?) AND d.index_id = ?",
                (list(set(ids)), index.id_),
            )
            found = {row["id"]: row for row in rows}
            places = sorted(row["row"] for row in found.values())
            nodes = passages_at(db, places)
            vectors = dict(zip(places, self._vectors(db, index, places), strict=True))
            there = [found[id_] for id_ in ids if id_ in found]
            return [nodes[row["row"]].with_embedding(vectors[row["row"]] * np.float32(length_of(row))) for row in there]

        return self._at_one_moment(read)

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        def found(db: PostgresConnection) -> list[NodeWithScore]:
            index = self._index(db)
            if index is None or index.dimension is None:
                return []
            vector = unit_query(query, index.dimension)
            if top_k <= 0:
                return []
            among = None if scope == EVERYTHING else self._rows_within(db, scope)
            places = self._near(db, index, vector, top_k, among)
            best, scores = nearest(self._vectors(db, index, places), vector, top_k)
            return self._scored(db, [places[place] for place in best.tolist()], scores)

        return self._at_one_moment(found)

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        def found(db: PostgresConnection) -> Candidates:
            index = self._index(db)
            rows = [] if index is None else self._within(db, index, scope)
            if index is None or index.vectors is None:
                return Candidates([], np.empty((0, 0), np.float32), np.empty(0, np.float32))
            return Candidates(
                ids=[row["id"] for row in rows],
                rows=self._vectors(db, index, [row["row"] for row in rows]),
                lengths=np.array([length_of(row) for row in rows], np.float32),
            )

        return self._at_one_moment(found)

    def close(self) -> None:
        """A database that was given is its owner's to close."""
        if self._owned:
            self._database.close()

    def compact(self) -> None:
        """Take all vectors into the HNSW index, and leave removed passages out of the keyword index. Not in a transaction."""
        with self._database.transaction() as db:
            index = self._index(db)
            if index is not None:
                self._postings.compact(db, index.id_)
        self._take_in(len(self))

    def drop(self) -> None:
        """Delete the index: its documents, passages, words and vectors. Putting something makes a new one of its name."""
        with self._database.transaction() as db:
            index = self._index(db)
            if index is None:
                return
            self._drop_table(db, index)
            self._postings.clear(db, index.id_)
            db.execute("DELETE FROM documents WHERE index_id = ?", (index.id_,))  # and with them what refers to them
            db.execute("DELETE FROM indexes WHERE id = ?", (index.id_,))

    def reclaim(self) -> None:
        """Have the server use the space of deleted rows again, and give back what is at the ends of its files.

        It does so by itself within minutes, and alone with vectors in an HNSW index, which take it long, and with a table that
        it is at just now. Not in a transaction.
        """
        with self._database.snapshot() as db:
            tables = [f'"{row["relname"]}"' for row in db.execute(f"SELECT relname FROM {OURS} AND oid NOT IN ({HNSW})")]
        with contextlib.suppress(MissingTableError):  # given up meanwhile, with all of its space
            self._database.connection().execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}")

    def bytes_on_disk(self) -> int:
        """The library's tables on the server, with their indexes."""
        with self._database.snapshot() as db:
            rows = db.execute(f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM {OURS}")
            return int(rows.fetchall()[0][0])

    # --- rows -----------------------------------------------------------------------------------------------------------

    def _index(self, db: PostgresConnection) -> _Index | None:
        row = db.execute("SELECT id, terms, dimension, vectors, passages FROM indexes WHERE name = ?", (self._name,)).fetchone()
        return _Index(*row) if row else None

    def _index_now(self, db: PostgresConnection) -> _Index:
        index = self._index(db)
        assert index is not None  # made in this transaction
        return index

    def _new_index(self, db: PostgresConnection) -> _Index:
        db.execute("INSERT INTO indexes (name, terms) VALUES (?, ?)", (self._name, terms_version()))
        return self._index_now(db)

    def _refuse_foreign(self, db: PostgresConnection, index: _Index, document: Document, nodes: Sequence[TextNode]) -> None:
        row = db.execute(
            "SELECT p.id, d.id AS document_id FROM passages p JOIN documents d ON d.seq = p.document"
            " WHERE p.id = ANY(?) AND d.index_id = ? LIMIT 1",
            ([node.id_ for node in nodes], index.id_),
        ).fetchone()
        if row is not None:
            raise ValueError(f"node {row['id']!r} of {document.id_!r} is already a node of {row['document_id']!r}")

    def _insert(self, db: PostgresConnection, index: _Index, given: Incoming) -> int:
        """Gives the row of the first passage; the others follow."""
        (first_row,) = db.execute("SELECT coalesce(max(row), 0) + 1 FROM passages").fetchall()[0]
        (seq,) = db.execute(
            f"INSERT INTO documents (index_id, first_row, {DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
            (index.id_, first_row, *given.columns),
        ).fetchall()[0]
        db.executemany("INSERT INTO texts (document, block, data) VALUES (?, ?, ?)", ((seq, *each) for each in given.blocks))
        db.executemany(
            "INSERT INTO passages (row, document, id, first_char, end_char, text, metadata, hidden, links, length)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((first_row + i, seq, *fields) for i, fields in enumerate(given.passages)),
        )
        for contents in given.words:
            self._postings.put(db, index.id_, contents, first_row)
        return int(first_row)

    def _remove(self, db: PostgresConnection, index: _Index, document_id: str) -> int | None:
        """Take a document out; gives its passages, None when there is no such document."""
        row = db.execute(
            "DELETE FROM documents WHERE index_id = ? AND id = ? RETURNING first_row, passages", (index.id_, document_id)
        ).fetchone()
        if row is None:
            return None
        first_row, passages = row
        if passages == index.passages:
            self._postings.clear(db, index.id_)
            self._drop_table(db, index)
        elif passages:
            self._postings.remove(db, index.id_, range(first_row, first_row + passages))
            db.execute(f"DELETE FROM {index.vectors} WHERE row >= ? AND row < ?", (first_row, first_row + passages))
        db.execute("UPDATE indexes SET passages = passages - ? WHERE id = ?", (passages, index.id_))
        return int(passages)

    def _within(self, db: PostgresConnection, index: _Index, scope: Scope) -> list[Row]:
        """The passages that may be found, in order of insertion, as row, id and length; their texts are not read."""
        conditions, values = ["d.index_id = ?"], [index.id_]
        for column, ids in (("d.id", scope.document_ids), ("p.id", scope.node_ids)):
            if ids is not None:
                conditions.append(f"{column} = ANY(?)")
                values.append(list(ids))  # type: ignore[arg-type]
        metadata = "NULL" if scope.filters is None else "coalesce(p.metadata, d.metadata)"
        rows = db.execute(
            f"SELECT p.row, p.id, p.length, {metadata} AS metadata FROM documents d JOIN passages p ON p.document = d.seq"
            f" WHERE {' AND '.join(conditions)} ORDER BY p.row",
            values,
        ).fetchall()
        return passing(rows, scope)

    def _rows_within(self, db: PostgresConnection, scope: Scope) -> list[int]:
        return [row["row"] for row in self._within(db, self._index_now(db), scope)]

    def _at_one_moment(self, work: Callable[[PostgresConnection], T]) -> T:
        """`work` in a snapshot, and in a newer one when the table of vectors was given up before it could be read."""
        missing = ""
        while True:
            try:
                with self._database.snapshot() as db:
                    return work(db)
            except MissingTableError as error:
                if error.what == missing or self._database.connection().in_transaction:
                    raise
                missing = error.what

    # --- keywords -------------------------------------------------------------------------------------------------------

    def _renew_terms(self) -> None:
        """Make the keyword index anew where an earlier version's rules made it: at the first search alone, as a machine with
        other rules, such as an earlier Python's, does the same. Others write meanwhile: what takes long is done before the
        transaction. That takes 2 KB of memory for each passage."""
        with self._renewing:
            if not self._renewed:
                self._renewed = self._has_our_terms()

    def _has_our_terms(self) -> bool:
        """Whether the keyword index is there, and then it is made by these rules."""
        with self._database.snapshot() as db:
            index = self._index(db)
        if index is None or index.terms == terms_version():
            return index is not None
        with self._database.snapshot() as db:
            before = self._rows_of_documents(db, index)
            words = list(gathered((row, passage_terms(node)) for row, node in self._all_passages(db, index.id_)))
        with self._database.transaction() as db:
            index = self._index(db)
            if index is None or index.terms == terms_version():
                return index is not None  # another process was quicker, or has given it up
            now = self._rows_of_documents(db, index)
            self._postings.clear(db, index.id_)
            for contents in words:
                self._postings.put(db, index.id_, contents)
            for document in before.keys() - now.keys():
                self._postings.remove(db, index.id_, before[document])
            new = passages_at(db, sorted(row for document in now.keys() - before.keys() for row in now[document]))
            self._postings.add(db, index.id_, ((row, passage_terms(node)) for row, node in new.items()))
            db.execute("UPDATE indexes SET terms = ? WHERE id = ?", (terms_version(), index.id_))
        return True

    def _rows_of_documents(self, db: PostgresConnection, index: _Index) -> dict[int, range]:
        """By the documents' `seq`, which is never given twice, as rows are."""
        rows = db.execute("SELECT seq, first_row, passages FROM documents WHERE index_id = ?", (index.id_,))
        return {seq: range(first, first + passages) for seq, first, passages in rows}

    # --- vectors --------------------------------------------------------------------------------------------------------

    def _new_table(self, db: PostgresConnection, index: _Index, dimension: int) -> str:
        if dimension > WIDEST:
            raise StoreError(
                f"The server has room for vectors of {WIDEST:,} numbers, but was given {dimension:,}.",
                hint="Choose an embedding model that gives fewer, or a library in a folder, which takes vectors of any width.",
            )
        self._drop_unused(db)
        # Another name each time: whoever still reads the old table must not take this one for it.
        table = f"vectors_{index.id_}_{secrets.token_hex(4)}"
        db.execute(
            f"CREATE TABLE {table} (row BIGINT PRIMARY KEY, vector vector({dimension}) NOT NULL,"
            " indexed BOOLEAN NOT NULL DEFAULT false);"
            f" CREATE INDEX ON {table} (row) WHERE NOT indexed"
        )
        if dimension <= MOST_INLINE:
            db.execute(f"ALTER TABLE {table} ALTER vector SET STORAGE PLAIN")
        if dimension <= MOST_INDEXED:
            db.execute(f"CREATE INDEX ON {table} USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) WHERE indexed")
        db.execute("UPDATE indexes SET dimension = ?, vectors = ? WHERE id = ?", (dimension, table, index.id_))
        return table

    def _drop_table(self, db: PostgresConnection, index: _Index) -> None:
        if index.vectors is not None:
            db.execute("UPDATE indexes SET dimension = NULL, vectors = NULL WHERE id = ?", (index.id_,))
            self._drop_unused(db)

    def _drop_unused(self, db: PostgresConnection) -> None:
        """Drop the tables of vectors that no index has. One that someone still reads, who may be copying the library, goes when
        the next is made or given up: to wait for it would make every writer wait."""
        unused = db.execute(
            f"SELECT relname FROM {OURS} AND relname ~ '^vectors_[0-9]+_[0-9a-f]+$' AND relname NOT IN"
            " (SELECT vectors FROM indexes WHERE vectors IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM pg_locks"
            " WHERE relation = pg_class.oid AND mode = 'AccessShareLock' AND pid != pg_backend_pid())"
        )
        for row in unused.fetchall():
            db.execute(f"DROP TABLE {row['relname']}")

    def _vectors(self, db: PostgresConnection, index: _Index, rows: Sequence[int]) -> Vectors:
        """The unit vectors of these rows, which ascend, shape (len(rows), d)."""
        dimension = index.dimension or 0
        if not rows:
            return np.empty((0, dimension), np.float32)
        chosen = ",".join(map(str, rows))
        query = f"SELECT row, vector FROM {index.vectors} WHERE row = ANY('{{{chosen}}}') ORDER BY row"
        data = db.copy_out(query)[len(COPY_HEAD) : -len(COPY_END)]
        return np.frombuffer(data, _record(dimension))["vector"].astype(np.float32)

    def _near(self, db: PostgresConnection, index: _Index, query: Vector, k: int, among: list[int] | None) -> list[int]:
        """Rows among which are the `k` nearest of all, or of these, ascending."""
        if not query.any():  # everything is as near
            return [row for row, _ in self._first(db, index, "row", (), k, [], among)]
        searched = index.passages if among is None else len(among)
        if searched <= EXACT or (index.dimension or 0) > MOST_INDEXED:
            return sorted(self._closest(db, index, query, k, [], among))
        waiting, taken_in = self._closest(db, index, query, k, ["NOT indexed"], among), self._likely(db, index, query, k, among)
        return sorted([*waiting, *taken_in])

    def _closest(
        self, db: PostgresConnection, index: _Index, query: Vector, k: int, conditions: list[str], among: list[int] | None
    ) -> list[int]:
        """The `k` nearest, and all that may be as near as the last of them."""
        limit = k + SPARE
        while True:
            found = self._first(db, index, "vector <#> ?", (_written(query),), limit, conditions, among)
            if len(found) < limit or found[-1][1] > found[k - 1][1] + 2 * ROUNDING:
                return [row for row, _ in found]
            limit *= 4

    def _likely(self, db: PostgresConnection, index: _Index, query: Vector, k: int, among: list[int] | None) -> list[int]:
        """Those that the HNSW index finds."""
        db.execute(f"SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {HNSW_CANDIDATES}")
        distance = f"vector::halfvec({index.dimension}) <#> ?"
        found = self._first(db, index, distance, (_written(query),), max(HNSW_CANDIDATES, 2 * k), ["indexed"], among)
        return self._closest(db, index, query, k, [], [row for row, _ in found])

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
        """The rows that come first in this order, of those that meet the conditions, each with what it is ordered by."""
        if among is not None:
            conditions, values = [*conditions, "row = ANY(?)"], (*values, among)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        found = db.execute(f"SELECT row, {order} AS rank FROM {index.vectors}{where} ORDER BY rank LIMIT ?", (*values, limit))
        return [(row, rank) for row, rank in found]

    def _take_in(self, least: int) -> None:
        """Take so many vectors, or the next BATCH above it, into the HNSW index, if it is used. Others go on meanwhile."""
        with self._database.snapshot() as db:
            index = self._index(db)
        if index is None or index.vectors is None or index.passages <= EXACT or (index.dimension or 0) > MOST_INDEXED:
            return
        # Each a transaction of its own, and without the lock of writers, who change no vector that is there.
        some = f"SELECT row FROM {index.vectors} WHERE NOT indexed ORDER BY row LIMIT {BATCH} FOR UPDATE SKIP LOCKED"
        with contextlib.suppress(StoreError):  # what is left is compared one by one, and the next put comes back to it
            for _ in range(0, least, BATCH):
                if (
                    not self._database.connection()
                    .execute(f"UPDATE {index.vectors} SET indexed = true WHERE row IN ({some})")
                    .rowcount
                ):
                    return


PGVectorStore = PostgresStore


def _record(dimension: int) -> np.dtype[Any]:
    """A row of a table of vectors as COPY has it: how many fields, and each field's bytes after their number."""
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


def _copied(first_row: int, rows: Vectors) -> bytes:
    """The vectors as COPY takes them, numbered from `first_row` on."""
    count, dimension = rows.shape
    records = np.zeros(count, _record(dimension))
    records["fields"], records["row_size"], records["vector_size"] = 2, 8, 4 + 4 * dimension
    records["row"], records["dimension"], records["vector"] = np.arange(first_row, first_row + count), dimension, rows
    return COPY_HEAD + records.tobytes() + COPY_END


def _written(vector: Vector) -> str:
    return "[" + ",".join(map(str, vector.tolist())) + "]"
