"""What the stores in a database share: the documents and passages of an index in tables. Vectors and words are their own."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.sql.base import Connection, Database
from ragcore.vector_stores.base import EVERYTHING, Scope, Store, StoredDocument
from ragcore.vector_stores.bm25_index import Postings
from ragcore.vector_stores.postings_codec import Contents, gathered
from ragcore.vector_stores.search import passage_terms, query_terms
from ragcore.vector_stores.sql_rows import blocks_of, document_at, layout_of, passage_fields, passages_at
from ragcore.vector_stores.types import Queried
from ragcore.vector_stores.validation import lengths, metadata_json, shown_name, unit_rows

if TYPE_CHECKING:
    from ragcore.schema import Vectors

BATCH = 500  # passages read at a time
DOCUMENT = "id, name, hash, metadata, layout, characters, added, passages"  # the columns that `Incoming.columns` gives


@dataclass(frozen=True)
class Incoming:
    """A document on its way into tables: with its hash and passages, their vectors at length 1, shape (n, d), and the lengths
    that these had. What its rows hold is made when first asked for, or by `prepare`, before anybody is made to wait.
    """

    document: Document
    hash: str
    nodes: Sequence[TextNode]
    rows: Vectors
    lengths: Sequence[float]

    @classmethod
    def of(cls, document: Document, nodes: Sequence[TextNode]) -> Incoming:
        """Checked: DimensionError, ValueError as `unit_rows`."""
        return cls(document, document.hash, nodes, unit_rows(document, nodes, None), lengths(nodes))

    def prepare(self, *, words: bool = True) -> None:
        _ = self.columns, self.blocks, self.passages, self.words if words else None

    @cached_property
    def columns(self) -> tuple[object, ...]:
        """See DOCUMENT."""
        return (
            self.document.id_,
            shown_name(self.document),
            self.hash,
            metadata_json(self.document.metadata),
            layout_of(self.document),
            len(self.document.text),
            time.time(),
            len(self.nodes),
        )

    @cached_property
    def blocks(self) -> list[tuple[int, bytes]]:
        return list(blocks_of(self.document.text))

    @cached_property
    def passages(self) -> list[tuple[object, ...]]:
        """From the column `id` on."""
        return list(passage_fields(self.document, self.nodes, self.lengths))

    @cached_property
    def words(self) -> list[Contents]:
        """With the first passage as row 0."""
        return words_of(self.nodes)


def copied_from(source: Store, documents: Sequence[StoredDocument]) -> list[Incoming]:
    """These documents as another store holds them. ValueError where a passage there has no embedding."""
    found, held, at = source.candidates(Scope([stored.id_ for stored in documents])), [], 0
    for stored in documents:
        nodes = list(source.passages(stored.id_))
        span = slice(at, at + len(nodes))  # both are in order of insertion
        if found.ids[span] != [node.id_ for node in nodes]:
            raise ValueError(f"passages of {stored.id_!r} have no embedding")
        lengths = found.lengths[span].tolist()
        held.append(Incoming(source.document(stored.id_), stored.hash, nodes, found.rows[span], lengths))
        at = span.stop
    return held


def words_of(nodes: Iterable[TextNode]) -> list[Contents]:
    return list(gathered(enumerate(passage_terms(node) for node in nodes)))


def passing(rows: list[Any], scope: Scope) -> list[Any]:
    """Those of these rows whose `metadata`, JSON, passes the filters. Passages of a document mostly share it."""
    if scope.filters is None:
        return rows
    verdicts = {text: scope.filters.match(json.loads(text)) for text in {row["metadata"] for row in rows}}
    return [row for row in rows if verdicts[row["metadata"]]]


class TableStore(Queried, ABC):
    """See `ragcore.vector_stores.base.Store` for what every method promises."""

    _database: Database
    _name: str  # of the index
    _postings: Postings

    @abstractmethod
    def _renew_terms(self) -> None:
        """Make the keyword index anew where an earlier version's rules made it."""

    @abstractmethod
    def _rows_within(self, db: Any, scope: Scope) -> list[int]:
        """The rows of the passages that may be found, where not all may, ascending."""

    def document(self, document_id: str) -> Document:
        with self._database.snapshot() as db:
            return document_at(db, self._document_row(db, document_id))

    def documents(self) -> list[StoredDocument]:
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT d.id, d.name, d.hash, d.passages, d.characters, d.added FROM documents d"
                " JOIN indexes i ON i.id = d.index_id WHERE i.name = ? ORDER BY d.seq",
                (self._name,),
            )
            return [StoredDocument(*row) for row in rows]

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        with self._database.snapshot() as db:
            if document_id is not None:
                chosen = [self._document_row(db, document_id)["seq"]]
            else:
                rows = db.execute(
                    "SELECT d.seq FROM documents d JOIN indexes i ON i.id = d.index_id WHERE i.name = ? ORDER BY d.seq",
                    (self._name,),
                )
                chosen = [row["seq"] for row in rows]
        return self._passages_of(chosen)

    def passage_ids(self, document_id: str) -> list[str]:
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT p.id FROM passages p JOIN documents d ON d.seq = p.document JOIN indexes i ON i.id = d.index_id"
                " WHERE i.name = ? AND d.id = ? ORDER BY p.row",
                (self._name, document_id),
            )
            return [row["id"] for row in rows]

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        terms = query_terms(query)
        if top_k <= 0 or not terms:
            return []
        self._renew_terms()
        with self._database.snapshot() as db:
            index = db.execute("SELECT id FROM indexes WHERE name = ?", (self._name,)).fetchone()
            if index is None:
                return []
            among = None if scope == EVERYTHING else self._rows_within(db, scope)
            found = self._postings.search(db, index["id"], terms, top_k, among)
            return self._scored(db, [row for row, _ in found], [score for _, score in found])

    def __len__(self) -> int:
        with self._database.snapshot() as db:
            row = db.execute("SELECT passages FROM indexes WHERE name = ?", (self._name,)).fetchone()
            return int(row["passages"]) if row else 0

    def _document_row(self, db: Connection, document_id: str) -> Any:
        row = db.execute(
            "SELECT d.* FROM documents d JOIN indexes i ON i.id = d.index_id WHERE i.name = ? AND d.id = ?",
            (self._name, document_id),
        ).fetchone()
        if row is None:
            raise UnknownDocumentError(document_id)
        return row

    def _passages_of(self, documents: Sequence[int]) -> Iterator[TextNode]:
        for seq in documents:
            with self._database.snapshot() as db:  # not held while the reader of these does its work
                row = db.execute("SELECT first_row, passages FROM documents WHERE seq = ?", (seq,)).fetchone()
                nodes = passages_at(db, range(row["first_row"], row["first_row"] + row["passages"])) if row else {}
            yield from nodes.values()

    def _all_passages(self, db: Connection, index_id: int) -> Iterator[tuple[int, TextNode]]:
        """By row, in order."""
        documents = db.execute("SELECT first_row, passages FROM documents WHERE index_id = ? ORDER BY first_row", (index_id,))
        for first_row, passages in documents.fetchall():
            for start in range(first_row, first_row + passages, BATCH):
                yield from passages_at(db, range(start, min(start + BATCH, first_row + passages))).items()

    def _scored(self, db: Connection, rows: Sequence[int], scores: Iterable[float]) -> list[NodeWithScore]:
        nodes = passages_at(db, rows)
        return [NodeWithScore(nodes[row], float(score)) for row, score in zip(rows, scores, strict=True)]
