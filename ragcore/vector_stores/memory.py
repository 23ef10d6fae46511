"""A store in the memory of this process: for tests, experiments, and documents that need not be saved."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode, Vector, Vectors
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, StoredDocument
from ragcore.vector_stores.search import (
    Array,
    KeywordIndex,
    mask_of,
    nearest,
    passage_terms,
    query_terms,
    unit_query,
)
from ragcore.vector_stores.types import LlamaIndexMethods
from ragcore.vector_stores.validation import describe, lengths, metadata_json, unit_rows

LEAST_ROWS = 64


@dataclass(frozen=True, slots=True)
class _Entry:
    """A document and the position of its passages in the matrix: passage i is row `first + i`."""

    document: Document
    stored: StoredDocument
    nodes: tuple[TextNode, ...]
    first: int

    @property
    def positions(self) -> range:
        return range(self.first, self.first + len(self.nodes))


class MemoryStore(LlamaIndexMethods):
    """Also called SimpleVectorStore. See `ragcore.vector_stores.base.Store` for what every method promises.

    >>> store = MemoryStore()
    >>> store.upsert(Document("A boat. A gull.", "d1"), [TextNode("A boat.", "n1", embedding=[1.0, 0.0])])
    1
    >>> [(hit.node.text, hit.score) for hit in store.search(np.array([0.6, 0.8]), top_k=1)]
    [('A boat.', 0.6)]
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._positions: dict[str, int] = {}  # node id -> row
        self._nodes: dict[int, TextNode] = {}  # row -> passage
        # row -> length of the embedding before scaling, where it is not 1
        self._lengths: dict[int, float] = {}
        self._words = KeywordIndex()
        self._rows: Vectors = np.empty((0, 0), np.float32)  # what is beyond _used is room to grow
        self._used = 0

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        with self._lock:
            rows = unit_rows(document, nodes, self._rows.shape[1] if self._nodes else None)
            metadata_json(document.metadata)
            for node in nodes:
                metadata_json(node.metadata)
                owner = (
                    self._nodes[self._positions[node.id_]].ref_doc_id
                    if node.id_ in self._positions
                    else document.id_
                )
                if owner != document.id_:
                    raise ValueError(f"node {node.id_!r} of {document.id_!r} is already a node of {owner!r}")
            if document.id_ in self._entries:
                self._remove(document.id_)
            copies = tuple(_copy_without_vector(node, document.id_) for node in nodes)
            stored = describe(document, len(copies))
            self._enter(_Entry(document.copy(), stored, copies, self._append(rows)), lengths(nodes))
            return len(copies)

    def delete(self, document_id: str) -> int:
        with self._lock:
            count = self._remove(document_id)
            if 2 * len(self._nodes) < self._used:
                self._compact()
            return count

    def document(self, document_id: str) -> Document:
        with self._lock:
            return self._get(document_id).document.copy()

    def documents(self) -> list[StoredDocument]:
        with self._lock:
            return [entry.stored for entry in self._entries.values()]

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        with self._lock:
            positions = [self._positions[id_] for id_ in ids if id_ in self._positions]
            nodes = [self._nodes[position].copy() for position in positions]
            for node, position in zip(nodes, positions, strict=True):
                node.embedding = self._rows[position] * np.float32(self._lengths.get(position, 1.0))
            return nodes

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        with self._lock:
            entries = list(self._entries.values()) if document_id is None else [self._get(document_id)]
        return (node.copy() for entry in entries for node in entry.nodes)

    def passage_ids(self, document_id: str) -> list[str]:
        with self._lock:
            entry = self._entries.get(document_id)
            return [node.id_ for node in entry.nodes] if entry else []

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        with self._lock:
            if not self._nodes:
                return []
            vector = unit_query(query, self._rows.shape[1])
            everything = scope == EVERYTHING and len(self._nodes) == self._used
            mask = None if everything else self._mask(scope)
            positions, scores = nearest(self._rows[: self._used], vector, top_k, mask)
            return self._with_scores(zip(positions.tolist(), scores.tolist(), strict=True))

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        with self._lock:
            among = None if scope == EVERYTHING else set(np.flatnonzero(self._mask(scope)).tolist())
            return self._with_scores(self._words.search(query_terms(query), top_k, among))

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        with self._lock:
            positions = np.flatnonzero(self._mask(scope)).tolist()
            sizes = np.array([self._lengths.get(position, 1.0) for position in positions], np.float32)
            return Candidates(
                [self._nodes[position].id_ for position in positions], self._rows[positions], sizes
            )

    def __len__(self) -> int:
        with self._lock:
            return len(self._nodes)

    def close(self) -> None:
        """Nothing to close; the store can be used on."""

    def _with_scores(self, hits: Iterable[tuple[int, float]]) -> list[NodeWithScore]:
        return [NodeWithScore(self._nodes[position].copy(), score) for position, score in hits]

    def _get(self, document_id: str) -> _Entry:
        try:
            return self._entries[document_id]
        except KeyError:
            raise UnknownDocumentError(document_id) from None

    def _mask(self, scope: Scope) -> Array:
        """True for the rows of the passages in this scope."""
        ids = self._entries if scope.document_ids is None else set(scope.document_ids) & self._entries.keys()
        mask = mask_of([(self._entries[id_].first, len(self._entries[id_].nodes)) for id_ in ids], self._used)
        if scope.node_ids is not None:
            mask &= mask_of(
                [(self._positions[id_], 1) for id_ in scope.node_ids if id_ in self._positions], self._used
            )
        if scope.filters is not None:
            for position in np.flatnonzero(mask).tolist():
                mask[position] = scope.filters.match(self._nodes[position].metadata)
        return mask

    def _remove(self, document_id: str) -> int:
        entry = self._get(document_id)
        for position in entry.positions:
            node = self._nodes.pop(position)
            del self._positions[node.id_]
            self._lengths.pop(position, None)
            self._words.remove(position, passage_terms(node))
        del self._entries[document_id]
        return len(entry.nodes)

    def _enter(self, entry: _Entry, sizes: Sequence[float]) -> None:
        """Add a document whose rows are in the matrix. `sizes` are the lengths of its embeddings before
        scaling."""
        self._entries[entry.stored.id_] = entry
        for position, node, length in zip(entry.positions, entry.nodes, sizes, strict=True):
            self._nodes[position] = node
            self._positions[node.id_] = position
            self._words.add(position, passage_terms(node))
            if length != 1.0:
                self._lengths[position] = length

    def _append(self, rows: Vectors) -> int:
        """The position of the first of `rows`."""
        if not self._nodes:
            self._rows, self._used = np.empty((0, rows.shape[1]), np.float32), 0
        elif not len(rows):
            return self._used
        first, needed = self._used, self._used + len(rows)
        if needed > len(self._rows):
            larger = np.empty((max(needed, 2 * first, LEAST_ROWS), rows.shape[1]), np.float32)
            larger[:first] = self._rows[:first]
            self._rows = larger
        self._rows[first:needed] = rows
        self._used = needed
        return first

    def _compact(self) -> None:
        """Close the gaps between the rows in use; their order stays."""
        rows, sizes, entries = self._rows, self._lengths, list(self._entries.values())
        self._clear()
        for entry in entries:
            first = self._append(rows[entry.first : entry.first + len(entry.nodes)])
            self._enter(
                replace(entry, first=first), [sizes.get(position, 1.0) for position in entry.positions]
            )


def _copy_without_vector(node: TextNode, document_id: str) -> TextNode:
    copy = node.copy()
    copy.ref_doc_id, copy.embedding = document_id, None
    return copy


SimpleVectorStore = MemoryStore
