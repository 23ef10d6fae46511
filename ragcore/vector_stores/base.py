"""The contract of a store. A store owns a passage with its text, metadata, links, vector and hash; indexes
only refer to it.

All writing is by document and in one transaction: this process and any other see either all of it or nothing.
Several threads may use a store at once. A store copies its input and returns copies: changing a document or a
passage after `upsert` changes nothing that is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragcore.schema import Document, NodeWithScore, TextNode, Vector, Vectors
from ragcore.vector_stores.filters import Filter, MetadataFilters


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document in a store, without its text. `added` is seconds since the epoch."""

    id_: str
    name: str
    hash: str
    passages: int
    characters: int
    added: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The ids of passages, their vectors at length 1, shape (n, d), and the lengths before scaling, shape
    (n,)."""

    ids: list[str]
    rows: Vectors
    lengths: Vector


@dataclass(frozen=True, slots=True)
class Scope:
    """The passages to search: of these documents, with these ids, that pass these filters. None is no
    condition.

    An empty collection selects no passage. ValueError for filters of another type, such as a list.

    >>> from ragcore.vector_stores import MemoryStore
    >>> store = MemoryStore()
    >>> for id_ in ("d1", "d2"):
    ...     _ = store.upsert(Document("A boat.", id_), [TextNode("A boat.", embedding=[1.0])])
    >>> [hit.node.ref_doc_id for hit in store.keyword_search("boat", 2, Scope(document_ids=["d2"]))]
    ['d2']
    """

    document_ids: Collection[str] | None = None
    node_ids: Collection[str] | None = None
    filters: MetadataFilters | None = None

    def __post_init__(self) -> None:
        if self.filters is not None and not isinstance(self.filters, Filter):
            raise ValueError(
                f"a {type(self.filters).__name__} is no filter: MetadataFilters([...]) takes several filters"
            )


EVERYTHING = Scope()


class Store(Protocol):
    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        """Store a document with its passages and replace an earlier one with the same id; returns the number
        of passages.

        `nodes` are in reading order, each with an embedding. DimensionError for an embedding of another width
        than the store's; ValueError for a node without one. The first embedding determines the width of an
        empty store.
        """

    def delete(self, document_id: str) -> int:
        """Remove text, passages, links and vectors of a document; returns the number of passages.
        UnknownDocumentError."""

    def document(self, document_id: str) -> Document:
        """The document as it was stored. UnknownDocumentError."""

    def documents(self) -> list[StoredDocument]:
        """All documents, oldest first."""

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        """The passages with these ids, in that order, with links and embedding at its original length
        (float32).

        Unknown ids are skipped.
        """

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        """All passages, or those of one document: documents oldest first, reading order inside. Without
        embeddings."""

    def passage_ids(self, document_id: str) -> list[str]:
        """The ids of a document's passages in reading order, without reading them; none when there is no such
        document."""

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        """The `top_k` passages nearest to `query` by cosine, best first, ties in order of insertion; score -1
        to 1.

        Fewer when there are fewer; none for top_k <= 0. The query need not be normalised; a zero vector has
        cosine 0 with everything. DimensionError for another width.
        """

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        """The `top_k` passages that share words with `query`, by BM25, best first; score > 0, higher is
        better."""

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        """The vectors of all passages in this scope, in order of insertion: for rankings other than the
        nearest."""

    def __len__(self) -> int:
        """The number of passages."""

    def close(self) -> None: ...
