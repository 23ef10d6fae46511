"""Documents in, answers out: splits, embeds and stores, and offers the retrievers and engines over what is stored.

The store owns everything; the index is a view on it with the embedder that made its vectors. Two indexes on one store are one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from ragcore.defaults import Transformation
from ragcore.embeddings.base import Embedder
from ragcore.schema import Document, MetadataMode, TextNode
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.memory import MemoryStore

if TYPE_CHECKING:
    from ragcore.chat_engine.base import ChatEngine
    from ragcore.llms.base import LLM
    from ragcore.query_engine.retriever import NodePostprocessor, RetrieverQueryEngine
    from ragcore.retrievers.vector import VectorIndexRetriever

logger = logging.getLogger(__name__)


class VectorStoreIndex:
    """Made of documents, which are split, or of nodes, which are taken as they are; nodes that have a vector keep it.

    Nodes of one source document are stored as that document, a node without one as a document of its own. What is already
    stored under a document's id is replaced. Nothing is stored unless everything could be embedded.
    """

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] = (),
        *,
        embed_model: Embedder | None = None,
        transformations: Sequence[Transformation] | None = None,
        store: Store | None = None,
        show_progress: bool = False,
    ) -> None:
        self.store: Store = MemoryStore() if store is None else store
        self._given_embedder = embed_model
        self._given_transformations = transformations
        self._show_progress = show_progress
        documents = [item for item in nodes if isinstance(item, Document)]
        passages = [item for item in nodes if isinstance(item, TextNode)]
        self._store_all([*self._split(documents), *_by_source(passages)])

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        embed_model: Embedder | None = None,
        transformations: Sequence[Transformation] | None = None,
        store: Store | None = None,
        *,
        show_progress: bool = False,
    ) -> VectorStoreIndex:
        """Where not given: the bundled embedder, a SentenceSplitter, and a store in memory."""
        return cls(
            documents, embed_model=embed_model, transformations=transformations, store=store, show_progress=show_progress
        )

    @cached_property
    def embed_model(self) -> Embedder:
        if self._given_embedder is not None:
            return self._given_embedder
        from ragcore.embeddings.huggingface import HuggingFaceEmbedding

        return HuggingFaceEmbedding()

    @cached_property
    def transformations(self) -> Sequence[Transformation]:
        if self._given_transformations is not None:
            return self._given_transformations
        from ragcore.node_parser.sentence import SentenceSplitter

        return [SentenceSplitter()]

    def insert(self, document: Document) -> int:
        """Add a document, or replace the one with its id; gives the number of its passages."""
        return self.insert_documents([document])

    def insert_documents(self, documents: Sequence[Document]) -> int:
        """Add or replace many at once, which is faster; gives the number of passages."""
        return self._store_all(self._split(documents))

    def refresh_ref_docs(self, documents: Sequence[Document]) -> list[bool]:
        """Add what is new and replace what has changed, by hash; True at the places of those."""
        hashes = {stored.id_: stored.hash for stored in self.store.documents()}
        changed = [hashes.get(document.id_) != document.hash for document in documents]
        self.insert_documents([document for document, is_new in zip(documents, changed, strict=True) if is_new])
        return changed

    def delete_ref_doc(self, ref_doc_id: str) -> int:
        """Remove a document for good; gives the number of its passages. UnknownDocumentError."""
        return self.store.delete(ref_doc_id)

    def as_retriever(self, similarity_top_k: int = 2, *, document_ids: Collection[str] | None = None) -> VectorIndexRetriever:
        from ragcore.retrievers.vector import VectorIndexRetriever

        return VectorIndexRetriever(self.store, self.embed_model, similarity_top_k, document_ids)

    def as_query_engine(
        self,
        llm: LLM | None = None,
        response_mode: str = "compact",
        *,
        similarity_top_k: int = 2,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> RetrieverQueryEngine:
        """Without `llm` the answers are exact quotations."""
        from ragcore.query_engine.retriever import RetrieverQueryEngine

        return RetrieverQueryEngine.from_args(
            self.as_retriever(similarity_top_k),
            llm or self._extractive(),
            response_mode,
            node_postprocessors=node_postprocessors,
        )

    def as_chat_engine(
        self,
        chat_mode: str = "condense_plus_context",
        *,
        llm: LLM | None = None,
        similarity_top_k: int = 2,
        system_prompt: str = "",
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> ChatEngine:
        """A conversation of its own. Without `llm` the answers are exact quotations."""
        from ragcore.chat_engine.registry import chat_engine
        from ragcore.memory import ChatMemoryBuffer

        chosen = llm or self._extractive()
        return chat_engine(
            chat_mode,
            llm=chosen,
            retriever=self.as_retriever(similarity_top_k),
            memory=ChatMemoryBuffer(token_limit=chosen.metadata.context_window * 3 // 4),
            system_prompt=system_prompt,
            postprocessors=node_postprocessors,
        )

    def _extractive(self) -> LLM:
        from ragcore.llms.extractive import ExtractiveLLM

        return ExtractiveLLM(self.embed_model)

    def _split(self, documents: Sequence[Document]) -> list[tuple[Document, Sequence[TextNode]]]:
        split: list[tuple[Document, Sequence[TextNode]]] = []
        for document in documents:
            items: Sequence[Document | TextNode] = [document]
            for transformation in self.transformations:
                items = transformation(items)
            nodes = [item for item in items if isinstance(item, TextNode)]
            if len(nodes) != len(items):
                raise ValueError("the transformations gave back a document: there must be a splitter among them")
            split.append((document, nodes))
        return split

    def _store_all(self, split: Sequence[tuple[Document, Sequence[TextNode]]]) -> int:
        bare = [node for _, nodes in split for node in nodes if node.embedding is None]
        vectors = iter(self.embed_model.embed_passages([node.get_content(MetadataMode.EMBED) for node in bare]) if bare else ())
        stored = 0
        for number, (document, nodes) in enumerate(split, 1):
            embedded = [node if node.embedding is not None else node.with_embedding(next(vectors)) for node in nodes]
            stored += self.store.put(document, embedded)
            if self._show_progress:
                logger.info("stored %d of %d documents, %d passages", number, len(split), stored)
        return stored


def _by_source(nodes: Sequence[TextNode]) -> list[tuple[Document, Sequence[TextNode]]]:
    """The nodes with the documents they were cut from, as far as these can be told from them."""
    order = {source: place for place, source in reversed(list(enumerate(_source(node) for node in nodes)))}
    ranked = sorted(nodes, key=lambda node: order[_source(node)])  # stable: reading order inside
    grouped: list[tuple[Document, Sequence[TextNode]]] = []
    for source, group in groupby(ranked, key=_source):
        members = list(group)
        first = members[0]
        document = Document(
            _text_of(members),
            source,
            first.metadata,
            excluded_embed_metadata_keys=first.excluded_embed_metadata_keys,
            excluded_llm_metadata_keys=first.excluded_llm_metadata_keys,
        )
        grouped.append((document, members))
    return grouped


def _source(node: TextNode) -> str:
    return node.id_ if node.ref_doc_id is None else node.ref_doc_id


def _text_of(nodes: Sequence[TextNode]) -> str:
    """Each node's text where it stood, spaces where nothing is known; one below the other where places are not known."""
    placed = [(node.start_char_idx, node.text) for node in nodes if node.start_char_idx is not None]
    if len(placed) < len(nodes):
        return "\n\n".join(node.text for node in nodes)
    text = ""
    for start, piece in sorted(placed, key=lambda item: item[0]):
        text = text[:start].ljust(start) + piece + text[start + len(piece) :]
    return text
