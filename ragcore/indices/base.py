"""The base of all indexes: it splits documents, lets a subclass call the models, and then stores everything
in one step.

A subclass makes its passages searchable (`_prepare`), removes them (`_remove`), and builds their retriever
(`as_retriever`).
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from ragcore.concurrency import awaitable
from ragcore.embeddings.base import Embedder
from ragcore.errors import StoreError, UnknownDocumentError
from ragcore.indices.options import (
    ChatOptions,
    ChatPrompts,
    QueryEngineOptions,
    RetrievalOptions,
    ServiceOptions,
)
from ragcore.ingestion.document_splits import (
    Split,
    check_items,
    group_by_document,
    join_nodes,
    leaves,
    rebuilt,
)
from ragcore.ingestion.transformations import as_step
from ragcore.observe import span
from ragcore.schema import ChatMessage, Document, TextNode
from ragcore.settings import Transformation, services
from ragcore.storage.docstore import DocumentStore, RefDocInfo
from ragcore.storage.index_store import IndexRecord
from ragcore.storage.storage_context import StorageContext

if TYPE_CHECKING:
    from ragcore.chat_engine.base import ChatEngine
    from ragcore.llms.base import LLM
    from ragcore.memory import ChatMemoryBuffer
    from ragcore.query_engine.retriever import NodePostprocessor, RetrieverQueryEngine
    from ragcore.retrievers.base import BaseRetriever, Retriever

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexStruct:
    """The content of an index: the ids of its passages, its summary, and for a keyword table the ids of each
    keyword.

    >>> IndexStruct("notes", ["n1", "n2"]).nodes_dict
    {'n1': 'n1', 'n2': 'n2'}
    """

    index_id: str
    nodes: list[str]
    summary: str = ""
    table: dict[str, set[str]] = field(default_factory=dict)

    @property
    def node_ids(self) -> set[str]:
        return set(self.nodes)

    @property
    def nodes_dict(self) -> dict[str, str]:
        return dict(zip(self.nodes, self.nodes, strict=True))


class BaseIndex(ABC):
    """Built from documents, which are split, and from nodes, which are stored unchanged; or opened by an
    index's record.

    Nodes belong to their source document; a node without one is a document of its own. A document replaces
    the one with the same id. A failing call changes nothing.

    >>> from ragcore.indices import SummaryIndex
    >>> index = SummaryIndex.from_documents([Document("Ada wrote notes.", "d1")])
    >>> index.insert(Document("Bob built a boat.", "d2"))
    1
    >>> list(index.ref_doc_info)
    ['d1', 'd2']
    """

    kind: ClassVar[str]  # the kind in the index's record
    whole: ClassVar[bool] = False  # whether each change depends on everything in the index

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        objects: Sequence[TextNode] | None = None,
        record: IndexRecord | None = None,
        storage_context: StorageContext | None = None,
        transformations: Sequence[Transformation | Embedder] | None = None,
        embed_model: Embedder | None = None,
        llm: LLM | None = None,
        show_progress: bool = False,
        use_async: bool = False,
    ) -> None:
        """`objects` are IndexNodes. ValueError for nodes together with a `record`, and for neither.

        `use_async` has no effect: calls of models always run in parallel.
        """
        if (record is None) == (nodes is None and objects is None):
            raise ValueError(
                "an index is made of nodes (of [] while there are none) or of a record, and not of both"
            )
        self._given_llm = llm
        chosen = services(llm, embed_model, transformations)
        self.embed_model, self.transformations = chosen.embed_model, chosen.transformations
        self.storage_context = storage_context or StorageContext.from_defaults()
        self._show_progress = show_progress
        self._record = self._of_this_kind(record) if record else IndexRecord(self.kind, data=self._new_data())
        self._open()
        if record is None:
            self._store(nodes or (), objects or (), new=True)

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        storage_context: StorageContext | None = None,
        *,
        show_progress: bool = False,
        **services: Unpack[ServiceOptions],
    ) -> Self:
        """Without a `storage_context`, one in memory."""
        return cls(documents, storage_context=storage_context, show_progress=show_progress, **services)

    @property
    def llm(self) -> LLM:
        """The constructor's model; without one, the current model of `Settings`, which may have changed
        since."""
        return services(self._given_llm, self.embed_model, self.transformations).llm

    # --- what an index is -----------------------------------------------------------------------------------

    @property
    def index_id(self) -> str:
        return self._record.index_id

    def set_index_id(self, index_id: str) -> None:
        """Set the id by which the index is loaded. ValueError if another index of the context has it."""
        if index_id == self.index_id:
            return
        if self.storage_context.index_store.get(index_id) is not None:
            raise ValueError(f"another index of this storage has the id {index_id!r}")
        with self.storage_context.transaction():
            self.storage_context.index_store.delete(self.index_id)
            self._record = self.storage_context.add_index(replace(self._record, index_id=index_id))

    @property
    def summary(self) -> str:
        """A description of the index, which its user writes."""
        return self._record.summary

    @summary.setter
    def summary(self, text: str) -> None:
        self._record = self.storage_context.add_index(replace(self._record, summary=text))

    @property
    @abstractmethod
    def docstore(self) -> DocumentStore:
        """The passages of this index by id."""

    @property
    @abstractmethod
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """The documents of this index by id."""

    @property
    def index_struct(self) -> IndexStruct:
        """The ids of the passages in the order of their documents, which is the order of insertion."""
        ids = [id_ for info in self.ref_doc_info.values() for id_ in info.node_ids]
        return IndexStruct(self.index_id, ids, self.summary)

    # --- documents ------------------------------------------------------------------------------------------

    def insert(self, document: Document) -> int:
        """Add a document or replace the one with its id. Returns the number of its passages."""
        return self.insert_documents([document])

    def insert_documents(self, documents: Sequence[Document]) -> int:
        """Add or replace many documents at once, which is faster. Returns the number of passages."""
        return self._store(documents)

    def insert_nodes(self, nodes: Sequence[TextNode | Document]) -> int:
        """Add nodes to their documents; they replace nodes with the same ids. A document among them is split.

        Returns the number of passages that these documents now have.
        """
        return self._store(nodes, joined=True)

    def update_ref_doc(self, document: Document) -> int:
        """Same as `insert`."""
        return self.insert(document)

    def refresh_ref_docs(self, documents: Sequence[Document]) -> list[bool]:
        """Insert documents that are new or have another hash; the result has True at their places.

        Of several documents with one id, the last one is used.
        """
        check_items(documents)
        last = {document.id_: document for document in documents}
        hashes = self._hashes()
        changed = {id_: document for id_, document in last.items() if hashes.get(id_) != document.hash}
        self.insert_documents(list(changed.values()))
        return [document.id_ in changed for document in documents]

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = True) -> int:
        """Remove a document. Returns the number of its passages. UnknownDocumentError.

        The document is also removed from the shared docstore unless `delete_from_docstore` is False.
        """
        with self.storage_context.transaction():
            self.storage_context.mark_changed(self._record)
            passages = self._remove(ref_doc_id)
            if delete_from_docstore:
                self.storage_context.docstore.delete_ref_doc(ref_doc_id, raise_error=False)
        return passages

    ainsert = awaitable(insert)
    ainsert_nodes = awaitable(insert_nodes)
    aupdate_ref_doc = awaitable(update_ref_doc)
    arefresh_ref_docs = awaitable(refresh_ref_docs)
    adelete_ref_doc = awaitable(delete_ref_doc)

    # --- answers --------------------------------------------------------------------------------------------

    @abstractmethod
    def as_retriever(self, *args: Any, **options: Any) -> BaseRetriever:
        """The options depend on the kind of index."""

    def as_query_engine(
        self,
        llm: LLM | None = None,
        response_mode: str = "compact",
        *,
        retriever: Retriever | None = None,
        **options: Unpack[RetrievalOptions],
    ) -> RetrieverQueryEngine:
        """`options` are those of the engine and of `as_retriever`, which `retriever` replaces. TypeError for
        other options. Without any model the answers are exact quotations."""
        from ragcore.query_engine.retriever import RetrieverQueryEngine

        engine_options: dict[str, Any] = dict(options)
        retriever = self._pop_retriever(retriever, engine_options, QueryEngineOptions)
        return RetrieverQueryEngine.from_args(retriever, llm or self.llm, response_mode, **engine_options)

    def as_chat_engine(
        self,
        chat_mode: str = "best",
        *,
        llm: LLM | None = None,
        retriever: Retriever | None = None,
        memory: ChatMemoryBuffer | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        system_prompt: str = "",
        node_postprocessors: Sequence[NodePostprocessor] = (),
        streaming: bool = False,
        verbose: bool = False,
        **options: Unpack[ChatOptions],
    ) -> ChatEngine:
        """`memory` and `chat_history` as in `chat_engine`; `retriever` and `llm` as in `as_query_engine`.
        `options` are options of `as_retriever`, and prompts by their names in the engine's `get_prompts`.
        Every engine can stream."""
        from ragcore.chat_modes import chat_engine

        prompts: dict[str, Any] = dict(options)
        engine = chat_engine(
            chat_mode,
            llm=llm or self.llm,
            retriever=self._pop_retriever(retriever, prompts, ChatPrompts),
            memory=memory,
            chat_history=chat_history,
            system_prompt=system_prompt,
            postprocessors=node_postprocessors,
        )
        engine.verbose = verbose
        engine.update_prompts(prompts)
        return engine

    def _pop_retriever(
        self, retriever: Retriever | None, options: dict[str, Any], engine: type[Any]
    ) -> Retriever:
        """The retriever, or the index's own, built with the options that the engine lacks and removed from
        `options`."""
        names = options.keys() - engine.__annotations__.keys()
        if retriever is not None and names:
            raise ValueError(
                f"{sorted(names)} are for the index's own retriever; give them to the retriever instead"
            )
        return retriever or self.as_retriever(**{name: options.pop(name) for name in names})

    # --- for subclasses -------------------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self, splits: Sequence[Split]) -> Callable[[], int]:
        """Call the models, change nothing, and return a function that stores these documents.

        The function runs in a transaction of the storage. It replaces documents with the same ids and returns
        the number of passages.
        """

    @abstractmethod
    def _remove(self, ref_doc_id: str) -> int:
        """Remove a document in a transaction. Returns the number of its passages. UnknownDocumentError."""

    @abstractmethod
    def _read_document(self, ref_doc_id: str) -> tuple[Document | None, Sequence[TextNode]] | None:
        """The document, None if the index does not store documents, and its passages; None for an unknown
        id."""

    @abstractmethod
    def _passage_ids(self, ref_doc_id: str) -> Sequence[str]:
        """The ids in reading order; empty for an unknown document."""

    @abstractmethod
    def _hashes(self) -> Mapping[str, str]:
        """The hash of each document by its id."""

    @classmethod
    def _of_this_kind(cls, record: IndexRecord) -> IndexRecord:
        """Returns the record. StoreError if it is of another kind."""
        if record.kind != cls.kind:
            raise StoreError(
                f"The index {record.index_id!r} is of the kind {record.kind!r}; {cls.__name__} opens "
                f"{cls.kind!r} alone.",
                hint="Open it with load_index_from_storage(context, index_id), which knows every kind.",
            )
        return record

    def _new_data(self) -> Mapping[str, Any]:
        """The `data` of a new index's record."""
        return {}

    def _open(self) -> None:  # noqa: B027 - most kinds have nothing to open
        """Open the stores that the record names. Called once; raises an error if the index does not fit the
        record."""

    def _share(self, split: Split, before: Sequence[str]) -> None:
        """Store the parents of the passages in the shared docstore, where an AutoMergingRetriever reads them.
        `before` are the ids of the document's former passages."""
        shared = self.storage_context.docstore
        if split.inner:
            shared.delete_ref_doc(split.document.id_, raise_error=False)
            shared.add_documents(split.inner)
        self._share_passages(split, () if split.inner else before)

    def _share_passages(self, split: Split, before: Sequence[str]) -> None:
        """Update the passages in the shared docstore: all of them in an external docstore; in the context's
        own docstore only those that it already has."""
        shared, id_ = self.storage_context.docstore, split.document.id_
        info = shared.get_ref_doc_info(id_)
        stored = set(info.node_ids) if info else set()
        passages = {node.id_ for node in split.nodes}
        updated = passages if self.storage_context.docstore_is_external else passages & stored
        shared.add_documents(
            [replace(node, ref_doc_id=id_, embedding=None) for node in split.nodes if node.id_ in updated]
        )
        for gone in stored.intersection(before) - passages:
            shared.delete_document(gone)

    def _change(self, compute: Callable[[], Callable[[], int]], *, needs_current: bool) -> int:
        """Call `compute` and run its result in a transaction. If `needs_current` and another context of the
        same folder has changed the index meanwhile, `compute` is called again.
        """
        context = self.storage_context
        with context.change() if needs_current else nullcontext():
            while True:
                version = context.version(self._record)
                try:
                    store = compute()
                except (KeyError, UnknownDocumentError):  # another context has deleted data meanwhile
                    if not needs_current or context.version(self._record) == version:
                        raise
                    continue
                with context.transaction():
                    if not needs_current or context.version(self._record) == version:
                        context.mark_changed(self._record)
                        return store()

    def _store(
        self,
        items: Sequence[TextNode | Document],
        objects: Sequence[TextNode] = (),
        *,
        joined: bool = False,
        new: bool = False,
    ) -> int:
        check_items([*items, *objects])

        def compute() -> Callable[[], int]:
            splits = self._split(items, objects, joined=joined)
            write = self._prepare(splits)

            def store() -> int:
                before = [self._passage_ids(split.document.id_) for split in splits]
                passages = write()
                for split, ids in zip(splits, before, strict=True):
                    self._share(split, ids)
                if new:
                    self._record = self.storage_context.add_index(self._record)
                return passages

            return store

        with span("index", kind=self.kind) as step:
            passages = self._change(compute, needs_current=not new and (joined or self.whole))
            step.note(passages=passages)
        return passages

    def _split(
        self, items: Sequence[TextNode | Document], objects: Sequence[TextNode] = (), *, joined: bool = False
    ) -> list[Split]:
        """Splits documents and groups nodes by document. Of several documents with one id, the last one is
        used.

        The passages of a tree of nodes (an object with `leaves()`) are its leaves. Nodes without content are
        dropped. With `joined`, nodes come after the passages that the index already has of their documents.
        """
        with span("split", given=len(items)) as step:
            nodes, inner = leaves(items)
            documents = {item.id_: item for item in items if isinstance(item, Document)}
            splits = {id_: self._cut(document) for id_, document in documents.items()}
            for split in group_by_document([*nodes, *objects], inner):
                id_ = split.document.id_
                before = splits.get(id_) or (self._before(split) if joined else None)
                splits[id_] = split if before is None else join_nodes(before, split)
            full = [split.without_empty_nodes() for split in splits.values()]
            passages, empty = _count(full), _count(splits.values()) - _count(full)
            step.note(documents=len(full), passages=passages, empty=empty)
        if empty:
            logger.info("skipped %d passages without content", empty)
        return full

    def _before(self, split: Split) -> Split | None:
        """The stored document and passages of `split`, with their parents if `split` adds some."""
        stored = self._read_document(split.document.id_)
        if stored is None:
            return None
        document, nodes = stored
        shared = self.storage_context.docstore
        info = shared.get_ref_doc_info(split.document.id_) if split.inner else None
        above = shared.get_nodes(info.node_ids) if info else ()
        return Split(document or rebuilt(split.document.id_, nodes), tuple(nodes), tuple(above))

    def _cut(self, document: Document) -> Split:
        items: Sequence[Document | TextNode] = [document.copy()]  # a transformation may edit its argument
        for transformation in self.transformations:
            items = as_step(transformation)(items)
        passages, inner = leaves(items)
        if any(isinstance(item, Document) for item in items):
            raise ValueError("the transformations gave back a document: there must be a splitter among them")
        return Split(document, tuple(passages), tuple(inner))


def _count(splits: Iterable[Split]) -> int:
    return sum(len(split.nodes) for split in splits)
