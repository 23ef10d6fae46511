"""What all indexes share: documents are split once, what can fail is done first, and then everything is stored together.

A subclass says how its passages become searchable (`_prepared`), how they go (`_removed`), and which retriever finds them.
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
from ragcore.indices.options import ChatOptions, ChatPrompts, QueryEngineOptions, RetrievalOptions, ServiceOptions
from ragcore.ingestion.document_splits import Split, check_items, group_by_document, join_nodes, leaves, rebuilt
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
    from ragcore.query_engine.retriever import NodePostprocessor, Retriever, RetrieverQueryEngine
    from ragcore.retrievers.base import BaseRetriever

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexStruct:
    """The content of an index: the ids of its passages, its summary, and for a keyword table the ids of each keyword."""

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
    """Made of documents, which are split, and of nodes, which are taken as they are; or of the record of an existing index.

    Nodes of one source document belong to that document, a node without one is a document of its own. What is already
    there under a document's id is replaced. Nothing is changed unless everything succeeds.
    """

    kind: ClassVar[str]  # as records name it
    whole: ClassVar[bool] = False  # whether each change is worked out from all that is there

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        objects: Sequence[TextNode] | None = None,
        record: IndexRecord | None = None,
        storage_context: StorageContext | None = None,
        transformations: Sequence[Transformation] | None = None,
        embed_model: Embedder | None = None,
        llm: LLM | None = None,
        show_progress: bool = False,
        use_async: bool = False,
    ) -> None:
        """`objects` are nodes that stand for something else. ValueError for nodes and a `record`, and for neither.

        `use_async` changes nothing: models are always asked at the same time.
        """
        if (record is None) == (nodes is None and objects is None):
            raise ValueError("an index is made of nodes (of [] while there are none) or of a record, and not of both")
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
        """The model that was given; else what `Settings` names now, which may be later than when the index was made."""
        return services(self._given_llm, self.embed_model, self.transformations).llm

    # --- what an index is -----------------------------------------------------------------------------------------------

    @property
    def index_id(self) -> str:
        return self._record.index_id

    def set_index_id(self, index_id: str) -> None:
        """The id to load it by. ValueError when another index of the context has it."""
        if index_id == self.index_id:
            return
        if self.storage_context.index_store.get(index_id) is not None:
            raise ValueError(f"another index of this storage has the id {index_id!r}")
        with self.storage_context.transaction():
            self.storage_context.index_store.delete(self.index_id)
            self._record = self.storage_context.add_index(replace(self._record, index_id=index_id))

    @property
    def summary(self) -> str:
        """What the index is about, in the words of whoever made it."""
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
        """The passages by document, in the order in which the documents came."""
        ids = [id_ for info in self.ref_doc_info.values() for id_ in info.node_ids]
        return IndexStruct(self.index_id, ids, self.summary)

    # --- documents ------------------------------------------------------------------------------------------------------

    def insert(self, document: Document) -> int:
        """Add a document, or replace the one with its id; gives the number of its passages."""
        return self.insert_documents([document])

    def insert_documents(self, documents: Sequence[Document]) -> int:
        """Add or replace many at once, which is faster; gives the number of passages."""
        return self._store(documents)

    def insert_nodes(self, nodes: Sequence[TextNode | Document]) -> int:
        """Add nodes to what their documents have, replacing those with the same ids; a document among them is split.

        Gives the number of passages that these documents now have.
        """
        return self._store(nodes, joined=True)

    def update_ref_doc(self, document: Document) -> int:
        """The same as `insert`."""
        return self.insert(document)

    def refresh_ref_docs(self, documents: Sequence[Document]) -> list[bool]:
        """Add what is new and replace what has changed, by hash; True at the places of those.

        The last of several documents with one id is the one that counts.
        """
        check_items(documents)
        last = {document.id_: document for document in documents}
        hashes = self._hashes()
        changed = {id_: document for id_, document in last.items() if hashes.get(id_) != document.hash}
        self.insert_documents(list(changed.values()))
        return [document.id_ in changed for document in documents]

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = True) -> int:
        """Remove a document for good; gives the number of its passages. UnknownDocumentError.

        What the shared docstore has of it goes too, unless `delete_from_docstore` is False.
        """
        with self.storage_context.transaction():
            self.storage_context.mark_changed(self._record)
            passages = self._removed(ref_doc_id)
            if delete_from_docstore:
                self.storage_context.docstore.delete_ref_doc(ref_doc_id, raise_error=False)
        return passages

    ainsert = awaitable(insert)
    ainsert_nodes = awaitable(insert_nodes)
    aupdate_ref_doc = awaitable(update_ref_doc)
    arefresh_ref_docs = awaitable(refresh_ref_docs)
    adelete_ref_doc = awaitable(delete_ref_doc)

    # --- answers --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def as_retriever(self, *args: Any, **options: Any) -> BaseRetriever:
        """What it takes is said by each kind of index."""

    def as_query_engine(
        self,
        llm: LLM | None = None,
        response_mode: str = "compact",
        *,
        retriever: Retriever | None = None,
        **options: Unpack[RetrievalOptions],
    ) -> RetrieverQueryEngine:
        """`retriever` takes the place of `as_retriever()`, of which the options are too; TypeError for one that neither takes.
        Where no model was named anywhere, answers are exact quotations."""
        from ragcore.query_engine.retriever import RetrieverQueryEngine

        given: dict[str, Any] = dict(options)
        retriever = self._take_retriever(retriever, given, QueryEngineOptions)
        return RetrieverQueryEngine.from_args(retriever, llm or self.llm, response_mode, **given)

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
        """`memory` and `chat_history` as in `chat_engine`; `retriever` and `llm` as in `as_query_engine`. An option of
        `as_retriever` is for it; any other is a prompt by its name in `get_prompts` of the engine. Every engine can stream."""
        from ragcore.chat_modes import chat_engine

        prompts: dict[str, Any] = dict(options)
        engine = chat_engine(
            chat_mode,
            llm=llm or self.llm,
            retriever=self._take_retriever(retriever, prompts, ChatPrompts),
            memory=memory,
            chat_history=chat_history,
            system_prompt=system_prompt,
            postprocessors=node_postprocessors,
        )
        engine.verbose = verbose
        engine.update_prompts(prompts)
        return engine

    def _take_retriever(self, retriever: Retriever | None, options: dict[str, Any], engine: type[Any]) -> Retriever:
        """The retriever, or the index's own with the options that are not the engine's; these are taken out of `options`."""
        names = options.keys() - engine.__annotations__.keys()
        if retriever is not None and names:
            raise ValueError(f"{sorted(names)} are for the index's own retriever; give them to the retriever instead")
        return retriever or self.as_retriever(**{name: options.pop(name) for name in names})

    # --- for subclasses -------------------------------------------------------------------------------------------------

    @abstractmethod
    def _prepared(self, splits: Sequence[Split]) -> Callable[[], int]:
        """Do all that takes long or can fail (calls to models), change nothing, and give what then stores these documents.

        That runs in a transaction of the storage, replaces documents with the same ids, and gives the number of passages.
        """

    @abstractmethod
    def _removed(self, ref_doc_id: str) -> int:
        """Take a document out, in a transaction; gives the number of its passages. UnknownDocumentError."""

    @abstractmethod
    def _held(self, ref_doc_id: str) -> tuple[Document | None, Sequence[TextNode]] | None:
        """The passages of a document, with the document itself where the index keeps it; None when it is not there."""

    @abstractmethod
    def _passage_ids(self, ref_doc_id: str) -> Sequence[str]:
        """In reading order; none when the document is not there."""

    @abstractmethod
    def _hashes(self) -> Mapping[str, str]:
        """The hash of each document by its id."""

    @classmethod
    def _of_this_kind(cls, record: IndexRecord) -> IndexRecord:
        """The record as it is. StoreError where it is another kind's."""
        if record.kind != cls.kind:
            raise StoreError(
                f"The index {record.index_id!r} is of the kind {record.kind!r}; {cls.__name__} opens {cls.kind!r} alone.",
                hint="Open it with load_index_from_storage(context, index_id), which knows every kind.",
            )
        return record

    def _new_data(self) -> Mapping[str, Any]:
        """What the record of a new index says beside its kind."""
        return {}

    def _open(self) -> None:  # noqa: B027 - most kinds have nothing to open
        """Called once, with a new record or an old one: refuse what does not go with it, and open what it names."""

    def _share(self, split: Split, before: Sequence[str]) -> None:
        """Put what stands above the passages where an AutoMergingRetriever finds it; `before` has the ids of the passages that
        the document had in the index."""
        shared = self.storage_context.docstore
        if split.inner:
            shared.delete_ref_doc(split.document.id_, raise_error=False)
            shared.add_documents(split.inner)
        self._share_passages(split, () if split.inner else before)

    def _share_passages(self, split: Split, before: Sequence[str]) -> None:
        """Keep the passages that are shared as the index has them: all of them in a docstore that was given, else those that
        are there already."""
        shared, id_ = self.storage_context.docstore, split.document.id_
        info = shared.get_ref_doc_info(id_)
        there = set(info.node_ids) if info else set()
        passages = {node.id_ for node in split.nodes}
        taken = passages if self.storage_context.docstore_is_external else passages & there
        shared.add_documents([replace(node, ref_doc_id=id_, embedding=None) for node in split.nodes if node.id_ in taken])
        for gone in there.intersection(before) - passages:
            shared.delete_document(gone)

    def _change(self, work_out: Callable[[], Callable[[], int]], *, rests_on_old: bool) -> int:
        """Store what `work_out` gives, in a transaction. What `rests_on_old`, on what the index holds, is worked out again
        where another context of the same folder has changed the index meanwhile.
        """
        context = self.storage_context
        with context.change() if rests_on_old else nullcontext():
            while True:
                version = context.version(self._record)
                try:
                    store = work_out()
                except (KeyError, UnknownDocumentError):  # some of it was there no longer
                    if not rests_on_old or context.version(self._record) == version:
                        raise
                    continue
                with context.transaction():
                    if not rests_on_old or context.version(self._record) == version:
                        context.mark_changed(self._record)
                        return store()

    def _store(
        self,
        given: Sequence[TextNode | Document],
        objects: Sequence[TextNode] = (),
        *,
        joined: bool = False,
        new: bool = False,
    ) -> int:
        check_items([*given, *objects])

        def work_out() -> Callable[[], int]:
            splits = self._split(given, objects, joined=joined)
            write = self._prepared(splits)

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
            passages = self._change(work_out, rests_on_old=not new and (joined or self.whole))
            step.note(passages=passages)
        return passages

    def _split(
        self, given: Sequence[TextNode | Document], objects: Sequence[TextNode] = (), *, joined: bool = False
    ) -> list[Split]:
        """Documents split, and nodes gathered by document. The last of several documents with one id is the one that counts.

        A tree of nodes (anything with `leaves()`) gives its leaves as passages. Nodes without content are left out. With
        `joined` the nodes come after those that their documents have in the index already.
        """
        with span("split", given=len(given)) as step:
            nodes, inner = leaves(given)
            documents = {item.id_: item for item in given if isinstance(item, Document)}
            splits = {id_: self._cut(document) for id_, document in documents.items()}
            for split in group_by_document([*nodes, *objects], inner):
                id_ = split.document.id_
                before = splits.get(id_) or (self._before(split) if joined else None)
                splits[id_] = split if before is None else join_nodes(before, split)
            full = [split.without_empty_nodes() for split in splits.values()]
            passages, empty = _count(full), _count(splits.values()) - _count(full)
            step.note(documents=len(full), passages=passages, empty=empty)
        if empty:
            logger.info("left out %d passages without content", empty)
        return full

    def _before(self, split: Split) -> Split | None:
        """What there is already of the document of `split`; what stands above its passages only where `split` brings more."""
        held = self._held(split.document.id_)
        if held is None:
            return None
        document, nodes = held
        shared = self.storage_context.docstore
        info = shared.get_ref_doc_info(split.document.id_) if split.inner else None
        above = shared.get_nodes(info.node_ids) if info else ()
        return Split(document or rebuilt(split.document.id_, nodes), tuple(nodes), tuple(above))

    def _cut(self, document: Document) -> Split:
        items: Sequence[Document | TextNode] = [document.copy()]  # a transformation may edit what it is given
        for transformation in self.transformations:
            items = transformation(items)
        passages, inner = leaves(items)
        if any(isinstance(item, Document) for item in items):
            raise ValueError("the transformations gave back a document: there must be a splitter among them")
        return Split(document, tuple(passages), tuple(inner))


def _count(splits: Iterable[Split]) -> int:
    return sum(len(split.nodes) for split in splits)
