"""A store that lives as long as the process: for tests, tries, and documents that need not be kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode
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
from ragcore.vector_stores.validation import lengths, metadata_json, shown_name, unit_rows

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

LEAST_ROWS = 64


@dataclass(frozen=True, slots=True)
class _Held:
    """A document, and its passages' row in the matrix: passage i is row `first + i`."""

    document: Document
    nodes: tuple[TextNode, ...]
    first: int
    added: float

    @property
    def places(self) -> range:
        return range(self.first, self.first + len(self.nodes))


class MemoryStore(LlamaIndexMethods):
    """Also called SimpleVectorStore. See `ragcore.vector_stores.base.Store` for what every method promises."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._held: dict[str, _Held] = {}
        self._place: dict[str, int] = {}  # node id -> row
        self._nodes: dict[int, TextNode] = {}  # row -> passage
        self._lengths: dict[int, float] = {}  # row -> length that the embedding had, where it is not 1
        self._words = KeywordIndex()
        self._rows: Vectors = np.empty((0, 0), np.float32)  # what is beyond _used is room to grow
        self._used = 0

    def put(self, document: Document, nodes: Sequence[TextNode]) -> int:
        with self._lock:
            rows = unit_rows(document, nodes, self._rows.shape[1] if self._nodes else None)
            metadata_json(document.metadata)
            for node in nodes:
                metadata_json(node.metadata)
                owner = self._nodes[self._place[node.id_]].ref_doc_id if node.id_ in self._place else document.id_
                if owner != document.id_:
                    raise ValueError(f"node {node.id_!r} of {document.id_!r} is already a node of {owner!r}")
            if document.id_ in self._held:
                self._remove(document.id_)
            kept = tuple(_kept(node, document.id_) for node in nodes)
            self._hold(_Held(document.copy(), kept, self._append(rows), time.time()), lengths(nodes))
            return len(kept)

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
            return [
                StoredDocument(
                    id_=held.document.id_,
                    name=shown_name(held.document),
                    hash=held.document.hash,
                    passages=len(held.nodes),
                    characters=len(held.document.text),
                    added=held.added,
                )
                for held in self._held.values()
            ]

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        with self._lock:
            places = [self._place[id_] for id_ in ids if id_ in self._place]
            nodes = [self._nodes[place].copy() for place in places]
            for node, place in zip(nodes, places, strict=True):
                node.embedding = self._rows[place] * np.float32(self._lengths.get(place, 1.0))
            return nodes

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        with self._lock:
            held = list(self._held.values()) if document_id is None else [self._get(document_id)]
        return (node.copy() for document in held for node in document.nodes)

    def passage_ids(self, document_id: str) -> list[str]:
        with self._lock:
            held = self._held.get(document_id)
            return [node.id_ for node in held.nodes] if held else []

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        with self._lock:
            if not self._nodes:
                return []
            vector = unit_query(query, self._rows.shape[1])
            rows = self._rows[: self._used]
            if scope == EVERYTHING and len(self._nodes) == self._used:
                places, scores = nearest(rows, vector, top_k)
            else:
                places, scores = nearest(rows, vector, top_k, self._mask(scope))
            return [
                NodeWithScore(self._nodes[int(place)].copy(), float(score)) for place, score in zip(places, scores, strict=True)
            ]

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        with self._lock:
            among = None
            if scope != EVERYTHING:
                among = set(np.flatnonzero(self._mask(scope)).tolist())
            found = self._words.search(query_terms(query), top_k, among)
            return [NodeWithScore(self._nodes[place].copy(), score) for place, score in found]

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        with self._lock:
            places = np.flatnonzero(self._mask(scope))
            return Candidates(
                ids=[self._nodes[place].id_ for place in places.tolist()],
                rows=self._rows[places],
                lengths=np.array([self._lengths.get(place, 1.0) for place in places.tolist()], np.float32),
            )

    def __len__(self) -> int:
        with self._lock:
            return len(self._nodes)

    def close(self) -> None:
        """Nothing to close; the store can be used on."""

    def _get(self, document_id: str) -> _Held:
        try:
            return self._held[document_id]
        except KeyError:
            raise UnknownDocumentError(document_id) from None

    def _mask(self, scope: Scope) -> Array:
        """A mask of the rows in use that may be found."""
        documents = self._held if scope.document_ids is None else set(scope.document_ids) & self._held.keys()
        mask = mask_of([(self._held[id_].first, len(self._held[id_].nodes)) for id_ in documents], self._used)
        if scope.node_ids is not None:
            mask &= mask_of([(self._place[id_], 1) for id_ in scope.node_ids if id_ in self._place], self._used)
        if scope.filters is not None:
            for place in np.flatnonzero(mask).tolist():
                mask[place] = scope.filters.match(self._nodes[place].metadata)
        return mask

    def _remove(self, document_id: str) -> int:
        held = self._get(document_id)
        for place in held.places:
            node = self._nodes.pop(place)
            del self._place[node.id_]
            self._lengths.pop(place, None)
            self._words.remove(place, passage_terms(node))
        del self._held[document_id]
        return len(held.nodes)

    def _hold(self, held: _Held, sizes: Sequence[float]) -> None:
        """Keep a document the rows of which stand in the matrix; `sizes` are the lengths that its embeddings had."""
        self._held[held.document.id_] = held
        for place, node, length in zip(held.places, held.nodes, sizes, strict=True):
            self._nodes[place] = node
            self._place[node.id_] = place
            self._words.add(place, passage_terms(node))
            if length != 1.0:
                self._lengths[place] = length

    def _append(self, rows: Vectors) -> int:
        """The place of the first of `rows`."""
        if not self._nodes:
            self._rows, self._used = np.empty((0, rows.shape[1]), np.float32), 0
        elif not len(rows):
            return self._used
        first, needed = self._used, self._used + len(rows)
        if needed > len(self._rows):
            grown = np.empty((max(needed, 2 * first, LEAST_ROWS), rows.shape[1]), np.float32)
            grown[:first] = self._rows[:first]
            self._rows = grown
        self._rows[first:needed] = rows
        self._used = needed
        return first

    def _compact(self) -> None:
        """Move the live rows together, in the order they are in."""
        rows, sizes, live = self._rows, self._lengths, list(self._held.values())
        self._clear()
        for held in live:
            first = self._append(rows[held.first : held.first + len(held.nodes)])
            self._hold(replace(held, first=first), [sizes.get(place, 1.0) for place in held.places])


def _kept(node: TextNode, document_id: str) -> TextNode:
    """A copy that no edit of the node reaches; the vector is in the matrix."""
    copy = node.copy()
    copy.ref_doc_id, copy.embedding = document_id, None
    return copy


SimpleVectorStore = MemoryStore
