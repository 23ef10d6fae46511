"""The vector index: splits, embeds and stores documents, and builds retrievers and engines over them.

A store owns the passages and their vectors. The index is a view on the store with the same embedding model,
so two indexes with one store have the same content.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from ragcore.embeddings.base import Embedder, embed_nodes
from ragcore.errors import StoreError, UnknownDocumentError
from ragcore.indices.base import BaseIndex
from ragcore.indices.options import IndexOptions, VectorOptions
from ragcore.ingestion.document_splits import Split
from ragcore.schema import Document, TextNode, Vector
from ragcore.settings import Transformation
from ragcore.storage.docstore import DocumentStore, RefDocInfo
from ragcore.storage.storage_context import StorageContext
from ragcore.storage.stored_passages import StoredPassages
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.query_modes import VectorStoreQueryMode
from ragcore.vector_stores.types import as_store, own_store

if TYPE_CHECKING:
    from ragcore.llms.base import LLM
    from ragcore.retrievers.vector import VectorIndexRetriever

logger = logging.getLogger(__name__)


class VectorStoreIndex(BaseIndex):
    """Retrieves passages by the similarity of their vectors. Nodes that have a vector are not embedded again.

    The retrieval replaces an IndexNode by the result of its object as long as the process lives. A persisted
    index returns the IndexNode itself, which a RecursiveRetriever follows by its `index_id`.

    >>> from ragcore.embeddings import HashEmbedding
    >>> nodes = [TextNode("The valve is bronze."), TextNode("The rope is steel.")]
    >>> index = VectorStoreIndex(nodes, embed_model=HashEmbedding())
    >>> index.as_retriever(similarity_top_k=1).retrieve("the bronze valve")[0].text
    'The valve is bronze.'
    """

    kind = "vector_store"

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        store: Store | None = None,
        insert_batch_size: int = 2048,
        **options: Unpack[IndexOptions],
    ) -> None:
        """`store` stores the vectors instead of the context's store. Texts are embedded in batches of
        `insert_batch_size`.

        ValueError for an `insert_batch_size` below 1.
        """
        if insert_batch_size < 1:
            raise ValueError(f"insert_batch_size is {insert_batch_size}; it must be at least 1.")
        self._external_store = None if store is None else as_store(store)
        self._batch = insert_batch_size
        super().__init__(nodes, **options)

    @classmethod
    def from_vector_store(
        cls,
        vector_store: Store,
        embed_model: Embedder | None = None,
        *,
        storage_context: StorageContext | None = None,
        transformations: Sequence[Transformation | Embedder] | None = None,
        llm: LLM | None = None,
    ) -> VectorStoreIndex:
        """An index over the content of a store. `embed_model` must be the model that computed the stored
        vectors.

        If the context has an index with its vectors in this store, that index is returned. ValueError if the
        context has another store.
        """
        context = storage_context or StorageContext.from_defaults()
        vector_store = as_store(vector_store)
        if context.vector_store not in (None, vector_store):
            raise ValueError("the storage context was given another vector store than this one")
        record = context.index_in(vector_store, cls.kind)
        return cls(
            () if record is None else None,
            record=record,
            store=vector_store,
            storage_context=context,
            embed_model=embed_model,
            transformations=transformations,
            llm=llm,
        )

    @property
    def vector_store(self) -> Any:
        """The store; if a script defined it, the script's object."""
        return own_store(self.store)

    @property
    def docstore(self) -> DocumentStore:
        """The passages of this index and their parents, by id. Items added here are shared with the context's
        other indexes."""
        return StoredPassages(self.store, self.storage_context.docstore)

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        return {
            stored.id_: RefDocInfo(
                tuple(self.store.passage_ids(stored.id_)), self.store.document(stored.id_).metadata
            )
            for stored in self.store.documents()
        }

    def as_retriever(
        self,
        similarity_top_k: int = 2,
        *,
        vector_store_query_mode: VectorStoreQueryMode | str = "default",
        **options: Unpack[VectorOptions],
    ) -> VectorIndexRetriever:
        """The options are those of VectorIndexRetriever; the embedder is the index's."""
        from ragcore.retrievers.vector import VectorIndexRetriever

        return VectorIndexRetriever(
            self,
            similarity_top_k=similarity_top_k,
            vector_store_query_mode=vector_store_query_mode,
            **options,
        )

    def _new_data(self) -> Mapping[str, Any]:
        return {"embedder": self.embed_model.name}

    def _open(self) -> None:
        built_with = self._record.data["embedder"]
        if built_with != self.embed_model.name:
            raise StoreError(
                f"This index was built with the embedding model {built_with}, but "
                f"{self.embed_model.name} was given.",
                hint="Give the model it was built with as embed_model, or build the index again.",
            )
        if self._external_store is not None:
            self.storage_context.keep_in(self._external_store, self._record)
        self.store: Store = self.storage_context.store_of(self._record)

    def _prepare(self, splits: Sequence[Split]) -> Callable[[], int]:
        embedded = self._embed(splits)

        def write() -> int:
            if self.storage_context.undoes(self.store):
                for split in embedded:
                    self.store.upsert(split.document, split.nodes)
            else:
                store_all(self.store, embedded)
            return sum(len(split.nodes) for split in embedded)

        return write

    def _remove(self, ref_doc_id: str) -> int:
        return self.store.delete(ref_doc_id)

    def _read_document(self, ref_doc_id: str) -> tuple[Document | None, Sequence[TextNode]] | None:
        return read_document(self.store, ref_doc_id)

    def _passage_ids(self, ref_doc_id: str) -> Sequence[str]:
        return self.store.passage_ids(ref_doc_id)

    def _hashes(self) -> Mapping[str, str]:
        return {stored.id_: stored.hash for stored in self.store.documents()}

    def _embed(self, splits: Sequence[Split]) -> list[Split]:
        bare = [node for split in splits for node in split.nodes if node.embedding is None]
        vectors: dict[str, Vector] = {}
        for start in range(0, len(bare), self._batch):
            vectors |= embed_nodes(bare[start : start + self._batch], self.embed_model)
            if self._show_progress:
                logger.info("embedded %d of %d passages", len(vectors), len(bare))

        def with_vector(node: TextNode) -> TextNode:
            return node if node.embedding is not None else node.with_embedding(vectors[node.id_])

        return [replace(split, nodes=tuple(map(with_vector, split.nodes))) for split in splits]


def store_all(store: Store, splits: Sequence[Split]) -> None:
    """Store documents in a store without transactions. If one fails, the changes before it are undone.

    A restored document comes last in the order of the store, as if it were new.
    """
    undo: list[Callable[[], object]] = []
    try:
        for split in splits:
            before = read_document(store, split.document.id_)
            store.upsert(split.document, split.nodes)
            undo.append(
                partial(store.delete, split.document.id_)
                if before is None
                else partial(store.upsert, *before)
            )
    except BaseException:  # an interruption must be undone too
        for step in reversed(undo):
            step()
        raise


def read_document(store: Store, document_id: str) -> tuple[Document, Sequence[TextNode]] | None:
    """A document, and its passages with their vectors; None for an unknown id."""
    try:
        return store.document(document_id), store.nodes(store.passage_ids(document_id))
    except UnknownDocumentError:
        return None


GPTVectorStoreIndex = VectorStoreIndex  # its former name in LlamaIndex
