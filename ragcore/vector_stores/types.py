"""Queries, and the base of a script author's own vector store, under LlamaIndex's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ragcore.concurrency import awaitable
from ragcore.schema import Document, Fields, TextNode, Vector
from ragcore.vector_stores.base import Scope, Store
from ragcore.vector_stores.filters import ExactMatchFilter as ExactMatchFilter
from ragcore.vector_stores.filters import FilterCondition as FilterCondition
from ragcore.vector_stores.filters import FilterOperator as FilterOperator
from ragcore.vector_stores.filters import MetadataFilter as MetadataFilter
from ragcore.vector_stores.filters import MetadataFilters
from ragcore.vector_stores.query_modes import VectorStoreQueryMode

HERE = "_ragcore_store"  # the attribute of a foreign store with its OwnStore, which all indexes share
WORDS = (VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH)


@dataclass(frozen=True, slots=True)
class MetadataInfo:
    """One key of the metadata: its name, type and description.

    >>> MetadataInfo(name="year", type="integer", description="When it was written.").name
    'year'
    """

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class VectorStoreInfo:
    """A description of the passages of an index and of their metadata.

    >>> VectorStoreInfo(content_info="Letters", metadata_info=[]).content_info
    'Letters'
    """

    metadata_info: Sequence[MetadataInfo]
    content_info: str


@dataclass(slots=True)
class VectorStoreQuery:
    """A search for the `similarity_top_k` passages nearest to a vector, among the documents and passages
    named.

    >>> VectorStoreQuery(query_embedding=[0.6, 0.8], similarity_top_k=2).mode.value
    'default'
    """

    query_embedding: Vector | Sequence[float] | None = None
    similarity_top_k: int = 1
    doc_ids: Collection[str] | None = None
    node_ids: Collection[str] | None = None
    query_str: str | None = None
    mode: VectorStoreQueryMode | str = VectorStoreQueryMode.DEFAULT
    alpha: float | None = None
    filters: MetadataFilters | None = None
    mmr_threshold: float | None = None
    sparse_top_k: int | None = None


@dataclass(slots=True)
class VectorStoreQueryResult:
    """The passages of an answer, or their ids, best first, with their scores.

    >>> VectorStoreQueryResult(ids=["n1"], similarities=[0.9]).ids
    ['n1']
    """

    nodes: Sequence[TextNode] | None = None
    similarities: Sequence[float] | None = None
    ids: Sequence[str] | None = None


class BasePydanticVectorStore(Fields, ABC):
    """The base of your own store. Annotated names are arguments, as in `Fields`.

    >>> class Newest(BasePydanticVectorStore):
    ...     stores_text: bool = True
    ...     nodes: dict = {}
    ...
    ...     def add(self, nodes, **kwargs):
    ...         self.nodes.update({node.node_id: node for node in nodes})
    ...         return [node.node_id for node in nodes]
    ...
    ...     def delete(self, ref_doc_id, **kwargs):
    ...         self.nodes = {id_: node for id_, node in self.nodes.items() if node.ref_doc_id != ref_doc_id}
    ...
    ...     def query(self, query, **kwargs):
    ...         newest = list(self.nodes.values())[-query.similarity_top_k :]
    ...         return VectorStoreQueryResult(nodes=newest, similarities=[1.0 for _ in newest])
    >>> from ragcore import VectorStoreIndex
    >>> index = VectorStoreIndex.from_vector_store(Newest())
    >>> _ = index.insert(Document("A boat is red."))
    >>> index.as_retriever().retrieve("What is red?")[0].text
    'A boat is red.'
    """

    stores_text: bool = True
    is_embedding_query: bool = True

    @property
    def client(self) -> Any:
        """The client of the service, if the store uses one."""
        return None

    @abstractmethod
    def add(self, nodes: list[TextNode], **kwargs: Any) -> list[str]:
        """Store passages with their vectors; returns their ids."""

    @abstractmethod
    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Remove the passages of a document."""

    @abstractmethod
    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The passages that are nearest."""

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Write the store to a file, unless it saves itself."""


class LlamaIndexMethods:
    """The methods of a store under LlamaIndex's names.

    >>> from ragcore.vector_stores import SimpleVectorStore
    >>> store = SimpleVectorStore()
    >>> store.add(
    ...     [TextNode("A boat.", "n1", embedding=[1.0, 0.0]), TextNode("A gull.", "n2", embedding=[0.0, 1.0])]
    ... )
    ['n1', 'n2']
    >>> store.query(VectorStoreQuery(query_embedding=[0.0, 2.0])).ids
    ['n2']
    """

    def add(self, nodes: Sequence[TextNode]) -> list[str]:
        """Add passages with vectors to their documents; a passage replaces that with the same id. Returns
        their ids."""
        store, by_document = cast(Store, self), dict[str, list[TextNode]]()
        for node in nodes:
            by_document.setdefault(node.ref_doc_id or node.id_, []).append(node)
        for id_, new in by_document.items():
            before = store.nodes(store.passage_ids(id_))
            all_nodes = list({node.id_: node for node in [*before, *new]}.values())
            store.upsert(
                Document("\n\n".join(node.text for node in all_nodes), id_, new[0].metadata), all_nodes
            )
        return [node.id_ for node in nodes]

    def query(self, query: VectorStoreQuery) -> VectorStoreQueryResult:
        """The nearest passages; in the modes "sparse" and "text_search" those that share words with
        `query_str`.

        ValueError for the other modes, which a retriever has, and for a missing vector or missing words.
        """
        mode, scope = VectorStoreQueryMode(query.mode), Scope(query.doc_ids, query.node_ids, query.filters)
        store = cast(Store, self)
        if mode in WORDS and query.query_str is not None:
            hits = store.keyword_search(query.query_str, query.sparse_top_k or query.similarity_top_k, scope)
        elif mode is VectorStoreQueryMode.DEFAULT and query.query_embedding is not None:
            import numpy as np

            hits = store.search(np.asarray(query.query_embedding, np.float32), query.similarity_top_k, scope)
        else:
            raise ValueError(
                f'a store does not answer this "{mode.value}" query: "default" needs a query_embedding, '
                '"text_search"'
                " a query_str; other modes are VectorIndexRetriever's"
            )
        return VectorStoreQueryResult(
            [hit.node for hit in hits], [hit.get_score() for hit in hits], [hit.id_ for hit in hits]
        )

    def clear(self) -> None:
        """Delete all documents."""
        for document in list(cast(Store, self).documents()):
            cast(Store, self).delete(document.id_)

    async_add = awaitable(add)
    aquery = awaitable(query)


def as_store(store: Any) -> Store:
    """A store of ragcore unchanged; an OwnStore around one that has `add`, `query` and `delete`. TypeError
    for others."""
    if hasattr(store, "upsert"):
        return cast(Store, store)
    if not all(hasattr(store, name) for name in ("add", "query", "delete")):
        raise TypeError(f"a {type(store).__name__} is no vector store: it needs add, query and delete")
    from ragcore.vector_stores.own import OwnStore

    return cast(Store, vars(store).setdefault(HERE, OwnStore(store)))


def own_store(store: Any) -> Any:
    """The reverse of `as_store`."""
    return store.own if hasattr(store, "own") else store
