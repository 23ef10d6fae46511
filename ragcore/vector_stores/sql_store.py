"""The base of stores in a database: tables of documents and passages, and searches. Each store has its own
vectors."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ragcore.errors import DamagedStoreError, DamagedTextError, UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode, Vector, Vectors
from ragcore.sql.base import Connection, Database
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, Store, StoredDocument
from ragcore.vector_stores.bm25_index import Postings
from ragcore.vector_stores.postings_codec import Contents, contents_of
from ragcore.vector_stores.search import passage_terms, query_terms, unit_query
from ragcore.vector_stores.sql_rows import (
    NOT_AS_STORED,
    blocks_of,
    checksum_of_document,
    document_at,
    layout_of,
    passage_fields,
    passages_at,
)
from ragcore.vector_stores.types import LlamaIndexMethods
from ragcore.vector_stores.validation import describe, lengths, metadata_json, unit_rows

BATCH = 500  # passages read at a time
PASSAGE = "row, document, id, first_char, end_char, text, metadata, hidden, links, length, checksum"
OF_INDEX = "index_id = (SELECT id FROM indexes WHERE name = ?)"

T = TypeVar("T")


class DamagedWordsError(DamagedStoreError):
    def __init__(self, index: str) -> None:
        super().__init__(
            f"The words of the index {index!r} are damaged.",
            hint="Build the index again from its documents, and check the disk.",
        )


@dataclass(frozen=True)
class Incoming:
    """A document with its passages on the way into tables: unit vectors, shape (n, d), and the lengths before
    scaling.

    The values of the rows are computed when first used, or by `prepare`, before the transaction that makes
    others wait.
    """

    document: Document
    stored: StoredDocument
    nodes: Sequence[TextNode]
    rows: Vectors
    lengths: Sequence[float]

    @classmethod
    def of(cls, document: Document, nodes: Sequence[TextNode]) -> Incoming:
        """DimensionError and ValueError as `unit_rows`."""
        return cls(
            document, describe(document, len(nodes)), nodes, unit_rows(document, nodes, None), lengths(nodes)
        )

    def prepare(self, *, words: bool = True) -> None:
        _ = self.columns, self.blocks, self.passages, self.words if words else None

    @cached_property
    def columns(self) -> dict[str, object]:
        """The row in `documents`, without its positions."""
        columns = {name.rstrip("_"): value for name, value in asdict(self.stored).items()}
        metadata, layout, document = (
            metadata_json(self.document.metadata),
            layout_of(self.document),
            self.document,
        )
        content = checksum_of_document(document.id_, self.stored.name, metadata, layout, document.text)
        return {**columns, "metadata": metadata, "layout": layout, "content": content}

    @cached_property
    def blocks(self) -> list[tuple[int, bytes]]:
        return list(blocks_of(self.document.text))

    @cached_property
    def passages(self) -> list[tuple[object, ...]]:
        """The rows in `passages` from the column `id` on."""
        return list(passage_fields(self.document, self.nodes, self.lengths))

    @cached_property
    def words(self) -> list[Contents]:
        """The first passage is row 0."""
        return words_of(self.nodes)


def copies_from(source: Store, documents: Sequence[StoredDocument]) -> list[Incoming]:
    """These documents of another store. ValueError for a passage without an embedding."""
    vectors, copies, at = source.candidates(Scope([stored.id_ for stored in documents])), [], 0
    for stored in documents:
        nodes = list(source.passages(stored.id_))
        span = slice(at, at + len(nodes))  # both are in order of insertion
        if vectors.ids[span] != [node.id_ for node in nodes]:
            raise ValueError(f"passages of {stored.id_!r} have no embedding")
        document = source.document(stored.id_)
        described = replace(describe(document, len(nodes)), hash=stored.hash)
        copies.append(
            Incoming(document, described, nodes, vectors.rows[span], vectors.lengths[span].tolist())
        )
        at = span.stop
    return copies


def words_of(nodes: Iterable[TextNode]) -> list[Contents]:
    return list(contents_of(enumerate(passage_terms(node) for node in nodes)))


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A row of `indexes`. The names of the fields are those of the columns. `dimension` is None while there
    is no passage."""

    id_: int
    terms: str
    dimension: int | None
    passages: int


Index = TypeVar("Index", bound=IndexRow)


class TableStore(LlamaIndexMethods, ABC, Generic[Index]):
    """See `ragcore.vector_stores.base.Store` for what every method promises."""

    _row_type: type[Index]
    # raised where the vectors were replaced while somebody looked for them
    _missing: ClassVar[type[DamagedStoreError]]
    _extra_columns: ClassVar[str] = ""  # more columns of a passage, of the tables p and d

    _database: Database
    _name: str  # of the index
    _postings: Postings
    _words_when_asked = False  # if True, the first search builds the keyword index

    @abstractmethod
    def _upsert(self, incoming: Incoming) -> int: ...

    @abstractmethod
    def _remove(self, db: Any, index: Index, document_id: str) -> int | None:
        """Remove a document; returns its number of passages, None for an unknown id."""

    @abstractmethod
    def _is_among(self, column: str, ids: Iterable[str]) -> tuple[str, Any]:
        """The condition that a column has one of these values, and its parameter."""

    @abstractmethod
    def _renew_terms(self) -> None:
        """Rebuild the keyword index if it follows the rules of an earlier version."""

    @abstractmethod
    def _rows_within(self, db: Any, index: Index, scope: Scope) -> list[int]:
        """The rows of the passages in a scope that is not everything, ascending."""

    @abstractmethod
    def _nearest(
        self, db: Any, index: Index, query: Vector, top_k: int, scope: Scope
    ) -> tuple[list[int], Iterable[float]]:
        """The rows of the passages nearest to a unit query, and their cosines, best first."""

    @abstractmethod
    def _vectors_of(self, db: Any, index: Index, passages: list[Any]) -> tuple[list[Any], Vectors]:
        """Those of these passages, as `_within` gives them, whose unit vectors are intact, and these vectors,
        shape (n, d)."""

    @cached_property
    def damaged_texts(self) -> set[str]:
        """The ids of documents in which damage was found since this was cleared. Searches leave damaged
        passages out."""
        return set()

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        return self.prepare_upsert(document, nodes)()

    def prepare_upsert(self, document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        """Does the slow part of `upsert` and returns a function that stores the result, so that other writers
        wait less."""
        incoming = Incoming.of(document, nodes)
        incoming.prepare(words=not self._words_when_asked)
        return partial(self._upsert, incoming)

    def delete(self, document_id: str) -> int:
        with self._database.transaction() as db:
            index = self._index(db)
            passages = None if index is None else self._remove(db, index, document_id)
            if passages is None:
                raise UnknownDocumentError(document_id)
        return passages

    def document(self, document_id: str) -> Document:
        with self._database.snapshot() as db:
            row = self._document_row(db, document_id)
            with self._note_damage():
                return document_at(db, row)

    def documents(self) -> list[StoredDocument]:
        with self._database.snapshot() as db:
            columns = "id, name, hash, passages, characters, added"
            rows = db.execute(f"SELECT {columns} FROM documents WHERE {OF_INDEX} ORDER BY seq", (self._name,))
            return [StoredDocument(*row) for row in rows]

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        def read(db: Connection) -> list[TextNode]:
            index = self._index(db)
            passages = self._within(db, index, Scope(node_ids=ids)) if index and ids else []
            if index is None or not passages:
                return []
            nodes = passages_at(db, [passage["row"] for passage in passages], self.damaged_texts)
            intact = [passage for passage in passages if passage["row"] in nodes]
            with_vector, vectors = self._vectors_of(db, index, intact)
            for passage, vector, length in zip(with_vector, vectors, _lengths_of(with_vector), strict=True):
                nodes[passage["row"]].embedding = vector * length
            by_id = {node.id_: node for node in nodes.values()}
            return [by_id[id_].copy() for id_ in ids if id_ in by_id]

        return self._retry_snapshot(read)

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        with self._database.snapshot() as db:
            if document_id is not None:
                documents = [self._document_row(db, document_id)["seq"]]
            else:
                rows = db.execute(f"SELECT seq FROM documents WHERE {OF_INDEX} ORDER BY seq", (self._name,))
                documents = [row["seq"] for row in rows]
        return self._passages_of(documents)

    def passage_ids(self, document_id: str) -> list[str]:
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT p.id FROM passages p JOIN documents d ON d.seq = p.document"
                f" WHERE d.{OF_INDEX} AND d.id = ? ORDER BY p.row",
                (self._name, document_id),
            )
            return [row["id"] for row in rows]

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        def read(db: Connection) -> list[NodeWithScore]:
            index = self._index(db)
            if index is None or index.dimension is None:
                return []
            vector = unit_query(query, index.dimension)
            return self._with_scores(db, *self._nearest(db, index, vector, top_k, scope)) if top_k > 0 else []

        return self._retry_snapshot(read)

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        terms = query_terms(query)
        if top_k <= 0 or not terms:
            return []
        self._renew_terms()
        with self._database.snapshot() as db:
            index = self._index(db)
            if index is None:
                return []
            among = None if scope == EVERYTHING else self._rows_within(db, index, scope)
            try:
                hits = self._postings.search(db, index.id_, terms, top_k, among)
            except NOT_AS_STORED as error:
                raise DamagedWordsError(self._name) from error
            return self._with_scores(db, [row for row, _ in hits], [score for _, score in hits])

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        def read(db: Connection) -> Candidates:
            index = self._index(db)
            if index is None or index.dimension is None:
                return Candidates([], np.empty((0, 0), np.float32), np.empty(0, np.float32))
            passages, rows = self._vectors_of(db, index, self._within(db, index, scope))
            return Candidates([passage["id"] for passage in passages], rows, _lengths_of(passages))

        return self._retry_snapshot(read)

    def __len__(self) -> int:
        with self._database.snapshot() as db:
            index = self._index(db)
            return index.passages if index else 0

    def _index(self, db: Connection) -> Index | None:
        columns = ", ".join(field.name.rstrip("_") for field in fields(self._row_type))
        row = db.execute(f"SELECT {columns} FROM indexes WHERE name = ?", (self._name,)).fetchone()
        return self._row_type(*row) if row else None

    def _index_now(self, db: Connection) -> Index:
        index = self._index(db)
        assert index is not None  # created in this transaction
        return index

    def _document_row(self, db: Connection, document_id: str) -> Any:
        row = db.execute(
            f"SELECT * FROM documents WHERE {OF_INDEX} AND id = ?", (self._name, document_id)
        ).fetchone()
        if row is None:
            raise UnknownDocumentError(document_id)
        return row

    def _refuse_foreign(self, db: Connection, index: Index, incoming: Sequence[Incoming]) -> None:
        """ValueError for a passage with the id of another document's passage."""
        owners = {node.id_: each.document.id_ for each in incoming for node in each.nodes}
        for row in self._within(db, index, Scope(node_ids=owners)) if index.passages and owners else ():
            raise ValueError(
                f"node {row['id']!r} of {owners[row['id']]!r} is already a node of {row['document_id']!r}"
            )

    def _insert(self, db: Connection, index: Index, incoming: Incoming, more: Mapping[str, object]) -> int:
        """Returns the row of the first passage; the others follow. `more` are further columns of the
        document."""
        self.damaged_texts.discard(incoming.document.id_)  # it is replaced
        (first_row,) = db.execute("SELECT coalesce(max(row), 0) + 1 FROM passages").fetchall()[0]
        columns = {"index_id": index.id_, "first_row": first_row, **incoming.columns, **more}
        (seq,) = db.execute(
            f"INSERT INTO documents ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            "RETURNING seq",
            tuple(columns.values()),
        ).fetchall()[0]
        db.executemany(
            "INSERT INTO texts (document, block, data) VALUES (?, ?, ?)",
            ((seq, *block) for block in incoming.blocks),
        )
        db.executemany(
            f"INSERT INTO passages ({PASSAGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((row, seq, *values) for row, values in enumerate(incoming.passages, first_row)),
        )
        return int(first_row)

    def _within(self, db: Connection, index: Index, scope: Scope) -> list[Any]:
        """The passages in this scope, in order of insertion: row, id, length, document_id and
        `_extra_columns`, without texts."""
        conditions, values = ["p.document = d.seq", "d.index_id = ?"], [index.id_]
        for column, ids in (("d.id", scope.document_ids), ("p.id", scope.node_ids)):
            if ids is not None:
                condition, value = self._is_among(column, ids)
                conditions.append(condition)
                values.append(value)
        # In SQLite CROSS JOIN fixes the order: from few passages to their documents, or from documents to all
        # their passages.
        tables = (
            "documents d CROSS JOIN passages p"
            if scope.node_ids is None
            else "passages p CROSS JOIN documents d"
        )
        metadata = "NULL" if scope.filters is None else "coalesce(p.metadata, d.metadata)"
        rows = db.execute(
            f"SELECT p.row, p.id, p.length, d.id AS document_id, {self._extra_columns} {metadata} AS metadata"
            f" FROM {tables} WHERE {' AND '.join(conditions)} ORDER BY p.row",
            values,
        ).fetchall()
        if scope.filters is None:
            return rows
        # Most passages of a document share its metadata.
        verdicts = {text: scope.filters.match(json.loads(text)) for text in {row["metadata"] for row in rows}}
        return [row for row in rows if verdicts[row["metadata"]]]

    def _retry_snapshot(self, read: Callable[[Any], T]) -> T:
        """Call `read` in a snapshot, and in a newer one when the vectors were replaced before it could open
        them."""
        missing = ""
        while True:
            try:
                with self._database.snapshot() as db:
                    return read(db)
            except self._missing as error:
                if error.what == missing or self._database.in_transaction:
                    raise
                missing = error.what

    def _passages_of(self, documents: Sequence[int]) -> Iterator[TextNode]:
        for seq in documents:
            with self._database.snapshot() as db:  # ended before the caller works on these passages
                row = db.execute("SELECT first_row, passages FROM documents WHERE seq = ?", (seq,)).fetchone()
                rows = range(row["first_row"], row["first_row"] + row["passages"]) if row else range(0)
                with self._note_damage():
                    nodes = passages_at(db, rows)
            yield from nodes.values()

    def _all_passages(self, db: Connection, index_id: int) -> Iterator[tuple[int, TextNode]]:
        """By row, in order."""
        documents = db.execute(
            "SELECT first_row, passages FROM documents WHERE index_id = ? ORDER BY first_row", (index_id,)
        )
        for first_row, passages in documents.fetchall():
            for start in range(first_row, first_row + passages, BATCH):
                rows = range(start, min(start + BATCH, first_row + passages))
                yield from passages_at(db, rows, self.damaged_texts).items()

    def _with_scores(
        self, db: Connection, rows: Sequence[int], scores: Iterable[float]
    ) -> list[NodeWithScore]:
        nodes = passages_at(db, rows, self.damaged_texts)
        return [
            NodeWithScore(nodes[row], float(score))
            for row, score in zip(rows, scores, strict=True)
            if row in nodes
        ]

    @contextmanager
    def _note_damage(self) -> Iterator[None]:
        try:
            yield
        except DamagedTextError as error:
            self.damaged_texts.add(error.document_id)
            raise


def _lengths_of(passages: Sequence[Any]) -> npt.NDArray[np.float32]:
    """(n,): the lengths of their vectors before these were made unit vectors."""
    lengths = [1.0 if passage["length"] is None else passage["length"] for passage in passages]
    return np.array(lengths, np.float32)
