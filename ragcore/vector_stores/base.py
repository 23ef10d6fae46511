"""What every store promises. One store owns a passage: its text, metadata, links, vector and hash; indexes are views on it.

All writing is by document and in one transaction: either everything of it is visible, to this process and any other, or
nothing is. A store may be used by several threads at once. It holds copies and gives copies back: what is done to a document
or a passage after `put` changes nothing that is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.vector_stores.filters import Filter, MetadataFilters

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors


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
    """Passages' ids, their vectors at length 1, shape (n, d), and the lengths that these had, shape (n,)."""

    ids: list[str]
    rows: Vectors
    lengths: Vector


@dataclass(frozen=True, slots=True)
class Scope:
    """Which passages may be found: those of these documents, with these ids, that pass these filters, where given.

    An empty collection is none. ValueError for filters that are none, such as a list.
    """

    document_ids: Collection[str] | None = None
    node_ids: Collection[str] | None = None
    filters: MetadataFilters | None = None

    def __post_init__(self) -> None:
        if self.filters is not None and not isinstance(self.filters, Filter):
            raise ValueError(f"a {type(self.filters).__name__} is no filter: MetadataFilters([...]) takes several filters")


EVERYTHING = Scope()


class Store(Protocol):
    def put(self, document: Document, nodes: Sequence[TextNode]) -> int:
        """Store a document with its passages, replacing what was there under the same id; gives the number of passages.

        `nodes` stand in reading order, each with an embedding. An embedding of another width than the store's is a
        DimensionError; a node without one is a ValueError. The width of an empty store is that of its first embedding.
        """

    def delete(self, document_id: str) -> int:
        """Remove text, passages, links and vectors of a document; gives the number of passages. UnknownDocumentError."""

    def document(self, document_id: str) -> Document:
        """The document as it was put. UnknownDocumentError."""

    def documents(self) -> list[StoredDocument]:
        """All documents, oldest first."""

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        """The passages with these ids, in that order, with links and embedding, as long as it was put (float32).

        Ids that are gone are left out.
        """

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        """All passages, or those of one document: documents oldest first, reading order inside. Without embeddings."""

    def passage_ids(self, document_id: str) -> list[str]:
        """The ids of a document's passages in reading order, without reading them; none when there is no such document."""

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        """The `top_k` passages nearest to `query` by cosine, best first, ties in order of insertion; score -1 to 1.

        Fewer when there are fewer; none for top_k <= 0. The query need not be normalised; a zero vector has cosine 0 with
        everything. DimensionError for another width.
        """

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        """The `top_k` passages that share words with `query`, by BM25, best first; score > 0, higher is better."""

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        """The vectors of all passages in this scope, in order of insertion: for rankings other than the nearest."""

    def __len__(self) -> int:
        """The number of passages."""

    def close(self) -> None: ...
