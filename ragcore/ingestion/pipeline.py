"""Documents in, passages out, through the same steps each time, doing only what was not done before.

A run is whole or it has not happened: when a step fails, or the store refuses a passage, the document store and the vector
store hold what they held before, and the same documents can be given again. What had been written by then and was put back
comes last where there is an order, as newly added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Protocol

from ragcore.concurrency import awaitable
from ragcore.embeddings.base import Embedder
from ragcore.errors import StoreError
from ragcore.ingestion.cache import IngestionCache
from ragcore.ingestion.transformations import Item, run_transformations
from ragcore.observe import span
from ragcore.schema import Document, TextNode, content_hash
from ragcore.settings import Transformation, services
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.storage.disk import SCHEMA, DiskDocumentStore
from ragcore.storage.docstore import DocumentStore, SimpleDocumentStore, copy_documents
from ragcore.storage.storage_context import SHARED
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.types import as_store

CACHE_FILE = "cache.db"
DOCSTORE_FILE = "docstore.db"  # not the file of a storage context, which indexes may have in the same folder


class DocstoreStrategy(str, Enum):
    """What is done with a document, told by its id and by the hash of its text and metadata."""

    UPSERTS = "upserts"  # new: added; changed: replaced; the same: skipped
    DUPLICATES_ONLY = "duplicates_only"  # skipped where one with the same hash was seen, under whatever id
    UPSERTS_AND_DELETE = "upserts_and_delete"  # as upserts; and what is not among the documents of this run is removed


class Reader(Protocol):
    def load_data(self) -> Sequence[Document]: ...


@dataclass(frozen=True, slots=True)
class _Source:
    """A document, or all passages given of one."""

    id_: str
    items: tuple[Item, ...]
    hash: str

    @property
    def document(self) -> Document:
        first = self.items[0]
        if isinstance(first, Document):
            return first
        text = "\n\n".join(item.text for item in self.items)
        hidden = (first.excluded_embed_metadata_keys, first.excluded_llm_metadata_keys)
        return Document(text, self.id_, first.metadata, (), "page", *hidden)


class IngestionPipeline:
    """Runs `transformations` (an embedder is one) over documents; without any, a SentenceSplitter and the default embedder.

    With a `docstore` it knows what it has seen, and `docstore_strategy` says what follows from that; without one every run
    does everything. With a `vector_store` the passages that have a vector go there, in place of those that were there of
    the same document. `documents` and `readers` are read in every run besides what it is given. What steps compute is kept
    in `cache`, in memory where none is given, unless `disable_cache`.
    """

    def __init__(
        self,
        transformations: Sequence[Transformation | Embedder] | None = None,
        docstore: DocumentStore | None = None,
        docstore_strategy: DocstoreStrategy | str = DocstoreStrategy.UPSERTS,
        vector_store: Store | None = None,
        cache: IngestionCache | None = None,
        disable_cache: bool = False,
        documents: Sequence[Document] | None = None,
        readers: Sequence[Reader] | None = None,
        name: str = "default",
    ) -> None:
        if transformations is None:
            defaults = services()
            transformations = [*defaults.transformations, defaults.embed_model]
        self.name = name
        self.transformations: tuple[Transformation | Embedder, ...] = tuple(transformations)
        self.docstore = docstore
        self.docstore_strategy = DocstoreStrategy(docstore_strategy)
        self.vector_store = None if vector_store is None else as_store(vector_store)
        self.cache = IngestionCache() if cache is None else cache
        self.disable_cache = disable_cache
        self.documents = tuple(documents or ())
        self.readers = tuple(readers or ())

    def run(
        self,
        documents: Sequence[Document] | None = None,
        nodes: Sequence[TextNode] | None = None,
        show_progress: bool = False,
        num_workers: int | None = None,
        in_place: bool = True,
    ) -> list[Item]:
        """The passages of what was not skipped, those of a document together, documents in the order they were given.

        A document whose id is given twice counts as it was given last. `num_workers` documents, or shares of the passages, are
        worked on at once. A ValueError where there is a vector store, but no step cuts or embeds. What a step raises goes up.
        `in_place` is whether you still need what you give; it never changes.
        """
        with span("ingest", pipeline=self.name) as step:
            read = [document for reader in self.readers for document in reader.load_data()]
            sources = _sources([*(documents or ()), *(nodes or ()), *self.documents, *read])
            wanted, gone = self._plan(sources)
            step.note(documents=len(sources), skipped=len(sources) - len(wanted), deleted=len(gone))
            given = [item for source in wanted for item in source.items]
            cache = None if self.disable_cache else self.cache
            made = run_transformations(given, self.transformations, cache, num_workers or 1, show_progress)
            with ExitStack() as undo:
                if self.vector_store is not None:
                    self._store(self.vector_store, wanted, gone, made, undo)
                if self.docstore is not None:
                    self._remember(self.docstore, wanted, gone, undo)
                undo.pop_all()
            step.note(passages=len(made))
        return made

    arun = awaitable(run)

    def persist(self, persist_dir: str | Path = "./pipeline_storage") -> None:
        """Write the cache and the document store into a folder, in place of what a pipeline wrote there; without a document
        store an older one goes. Indexes may be persisted in the same folder. The vector store keeps itself.
        """
        folder = Path(persist_dir)
        self.cache.persist(folder / CACHE_FILE)
        if self.docstore is None:
            for ending in ("", "-wal", "-shm"):  # the last two where its process was killed
                (folder / f"{DOCSTORE_FILE}{ending}").unlink(missing_ok=True)
            return
        with _opened(folder) as (database, kept), database.transaction():
            kept.clear()
            copy_documents(self.docstore, kept)

    def load(self, persist_dir: str | Path = "./pipeline_storage") -> None:
        """Take copies of what was persisted there, in place of the cache and, where one was persisted, the document store.

        StoreError when nothing was persisted there.
        """
        folder = Path(persist_dir)
        if not (folder / CACHE_FILE).is_file():
            raise StoreError(
                f"There is no pipeline in the folder {folder}.", hint="Write it there first, with pipeline.persist()."
            )
        self.cache = IngestionCache.from_persist_path(folder / CACHE_FILE)
        if (folder / DOCSTORE_FILE).is_file():
            self.docstore = SimpleDocumentStore()
            with _opened(folder) as (_, kept):
                copy_documents(kept, self.docstore)

    def _plan(self, sources: Sequence[_Source]) -> tuple[list[_Source], list[str]]:
        """The documents to work on, and the ids of those to remove."""
        if self.docstore is None:
            return list(sources), []
        known = self.docstore.get_all_document_hashes()
        if self.docstore_strategy is DocstoreStrategy.DUPLICATES_ONLY:
            seen, first = set(known.values()), {source.hash: source for source in reversed(sources)}
            return [source for source in sources if source is first[source.hash] and source.hash not in seen], []
        wanted = [source for source in sources if known.get(source.id_) != source.hash]
        if self.docstore_strategy is DocstoreStrategy.UPSERTS:
            return wanted, []
        passages = {id_ for info in self.docstore.get_all_ref_doc_info().values() for id_ in info.node_ids}
        given = {source.id_ for source in sources}
        return wanted, [id_ for id_ in known if id_ not in given and id_ not in passages]

    def _store(
        self, store: Store, wanted: Sequence[_Source], gone: Sequence[str], made: Sequence[Item], undo: ExitStack
    ) -> None:
        passages = _by_source(made, [source.id_ for source in wanted])
        held = {stored.id_ for stored in store.documents()}
        for source in wanted:
            undo.callback(_restoring(store, source.id_, held))
            store.put(source.document, passages[source.id_])
        for id_ in gone:
            if id_ in held:
                undo.callback(_restoring(store, id_, held))
                store.delete(id_)

    def _remember(self, docstore: DocumentStore, wanted: Sequence[_Source], gone: Sequence[str], undo: ExitStack) -> None:
        for id_ in [*(source.id_ for source in wanted), *gone]:
            undo.callback(_recalling(docstore, id_))
            docstore.delete_ref_doc(id_, raise_error=False)
        for source in wanted:
            docstore.add_documents([item for item in source.items if isinstance(item, Document)])
            docstore.set_document_hash(source.id_, source.hash)


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[SQLiteDatabase, DiskDocumentStore]]:
    """The file of a pipeline's document store, in which all of it is in the shared place."""
    with closing(SQLiteDatabase(folder / DOCSTORE_FILE, SCHEMA)) as database:
        yield database, DiskDocumentStore(database, SHARED)


def _sources(items: Sequence[Item]) -> list[_Source]:
    """By document; a passage that names none is a document of its own."""
    grouped: dict[str, list[Item]] = {}
    for item in items:
        if isinstance(item, Document):
            grouped[item.id_] = [item]
        else:
            owned = item if item.ref_doc_id is not None else replace(item, ref_doc_id=item.id_)
            grouped.setdefault(owned.ref_doc_id or "", []).append(owned)
    return [_Source(id_, tuple(members), _hash(members)) for id_, members in grouped.items()]


def _hash(members: Sequence[Item]) -> str:
    if len(members) == 1:
        return members[0].hash
    return content_hash("\n".join(member.hash for member in members), {})


def _by_source(made: Sequence[Item], ids: Sequence[str]) -> dict[str, list[TextNode]]:
    """The passages that have a vector, by the document they belong to."""
    passages: dict[str, list[TextNode]] = {id_: [] for id_ in ids}
    for item in made:
        if isinstance(item, Document):
            raise ValueError("the transformations gave back a document: there must be a splitter among them")
        if item.ref_doc_id is None or item.ref_doc_id not in passages:
            raise ValueError(f"passage {item.id_!r} does not say which of the documents it was cut from (its ref_doc_id)")
        if item.embedding is not None:
            passages[item.ref_doc_id].append(item)
    if made and not any(passages.values()):
        raise ValueError("no passage has a vector, so the vector store would get none: put an embedder behind the splitter")
    return passages


def _restoring(store: Store, id_: str, held: set[str]) -> Callable[[], object]:
    """Puts a document back as it is now."""
    if id_ not in held:
        return partial(_forget, store, id_)
    document, nodes = store.document(id_), store.nodes(store.passage_ids(id_))
    return partial(store.put, document, nodes)


def _forget(store: Store, id_: str) -> None:
    if any(stored.id_ == id_ for stored in store.documents()):
        store.delete(id_)


def _recalling(docstore: DocumentStore, id_: str) -> Callable[[], None]:
    """Puts a document, its passages and its hash back as they are now."""
    document, hash_ = docstore.get_document(id_, raise_error=False), docstore.get_document_hash(id_)
    info = docstore.get_ref_doc_info(id_)
    items = [*([] if document is None else [document]), *(docstore.get_nodes(info.node_ids) if info else ())]

    def put_back() -> None:
        docstore.delete_ref_doc(id_, raise_error=False)
        docstore.add_documents(items)
        if hash_ is not None:
            docstore.set_document_hash(id_, hash_)

    return put_back
