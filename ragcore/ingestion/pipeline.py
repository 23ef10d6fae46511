"""A pipeline of transformations from documents to passages that skips documents it has already processed.

A run happens completely or not at all: if a step fails, or the store refuses a passage, document store and
vector store have their former contents, and the same documents can be processed again. Documents that were
restored in this way are the newest where stores have an order.
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
    """What to do with a document, depending on its id and on the hash of its text and metadata.

    >>> IngestionPipeline([], docstore_strategy="upserts").docstore_strategy is DocstoreStrategy.UPSERTS
    True
    """

    UPSERTS = "upserts"  # add new, replace changed, and skip unchanged documents
    DUPLICATES_ONLY = "duplicates_only"  # skip a document with a known hash, whatever its id
    UPSERTS_AND_DELETE = "upserts_and_delete"  # as upserts, and delete documents that are not in this run


class Reader(Protocol):
    def load_data(self) -> Sequence[Document]: ...


@dataclass(frozen=True, slots=True)
class _Source:
    """A document, or all input passages of one."""

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
    """Runs `transformations`, which may include an embedder; by default a SentenceSplitter and the default
    embedder.

    With a `docstore` it knows the documents of earlier runs, and `docstore_strategy` decides what to do with
    them; without one every run processes everything. With a `vector_store`, passages with a vector replace
    those of the same document there. `documents` and `readers` are further input of every run. `cache` stores
    the results of steps, by default in memory, unless `disable_cache` is set.

    >>> from ragcore.node_parser import SentenceSplitter
    >>> pipeline = IngestionPipeline([SentenceSplitter()], docstore=SimpleDocumentStore())
    >>> [len(pipeline.run([Document("A boat is red.", "d1")])) for _ in range(2)]
    [1, 0]
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
        """The passages of the processed documents, together by document, documents in the order of the input.

        Of several documents with one id the last counts. `num_workers` is the number of documents, or shares
        of the passages, to process at once. ValueError if there is a vector store, but no step splits or
        embeds; errors of steps are raised. `in_place` has no effect: the input never changes.
        """
        with span("ingest", pipeline=self.name) as step:
            read = [document for reader in self.readers for document in reader.load_data()]
            sources = _sources([*(documents or ()), *(nodes or ()), *self.documents, *read])
            changed, obsolete = self._plan(sources)
            step.note(documents=len(sources), skipped=len(sources) - len(changed), deleted=len(obsolete))
            items = [item for source in changed for item in source.items]
            cache = None if self.disable_cache else self.cache
            results = run_transformations(items, self.transformations, cache, num_workers or 1, show_progress)
            with ExitStack() as undo:
                if self.vector_store is not None:
                    self._store(self.vector_store, changed, obsolete, results, undo)
                if self.docstore is not None:
                    self._record(self.docstore, changed, obsolete, undo)
                undo.pop_all()
            step.note(passages=len(results))
        return results

    arun = awaitable(run)

    def persist(self, persist_dir: str | Path = "./pipeline_storage") -> None:
        """Write the cache and the document store into a folder, and replace or delete the files of an earlier
        pipeline there.

        Indexes may be in the same folder. The vector store saves itself.
        """
        folder = Path(persist_dir)
        self.cache.persist(folder / CACHE_FILE)
        if self.docstore is None:
            for ending in ("", "-wal", "-shm"):  # the last two exist if its process was killed
                (folder / f"{DOCSTORE_FILE}{ending}").unlink(missing_ok=True)
            return
        with _open_docstore(folder) as (database, target), database.transaction():
            target.clear()
            copy_documents(self.docstore, target)

    def load(self, persist_dir: str | Path = "./pipeline_storage") -> None:
        """Replace the cache, and the document store if one was persisted there, by copies from a folder.

        StoreError if nothing was persisted there.
        """
        folder = Path(persist_dir)
        if not (folder / CACHE_FILE).is_file():
            raise StoreError(
                f"There is no pipeline in the folder {folder}.",
                hint="Write it there first, with pipeline.persist().",
            )
        self.cache = IngestionCache.from_persist_path(folder / CACHE_FILE)
        if (folder / DOCSTORE_FILE).is_file():
            self.docstore = SimpleDocumentStore()
            with _open_docstore(folder) as (_, source):
                copy_documents(source, self.docstore)

    def _plan(self, sources: Sequence[_Source]) -> tuple[list[_Source], list[str]]:
        """The documents to process, and the ids of those to delete."""
        if self.docstore is None:
            return list(sources), []
        known = self.docstore.get_all_document_hashes()
        if self.docstore_strategy is DocstoreStrategy.DUPLICATES_ONLY:
            seen, first = set(known.values()), {source.hash: source for source in reversed(sources)}
            return [
                source for source in sources if source is first[source.hash] and source.hash not in seen
            ], []
        changed = [source for source in sources if known.get(source.id_) != source.hash]
        if self.docstore_strategy is DocstoreStrategy.UPSERTS:
            return changed, []
        passages = {id_ for info in self.docstore.get_all_ref_doc_info().values() for id_ in info.node_ids}
        ids = {source.id_ for source in sources}
        return changed, [id_ for id_ in known if id_ not in ids and id_ not in passages]

    def _store(
        self,
        store: Store,
        changed: Sequence[_Source],
        obsolete: Sequence[str],
        results: Sequence[Item],
        undo: ExitStack,
    ) -> None:
        passages = _by_source(results, [source.id_ for source in changed])
        existing = {stored.id_ for stored in store.documents()}
        for source in changed:
            undo.callback(_restore(store, source.id_, existing))
            store.upsert(source.document, passages[source.id_])
        for id_ in obsolete:
            if id_ in existing:
                undo.callback(_restore(store, id_, existing))
                store.delete(id_)

    def _record(
        self, docstore: DocumentStore, changed: Sequence[_Source], obsolete: Sequence[str], undo: ExitStack
    ) -> None:
        for id_ in [*(source.id_ for source in changed), *obsolete]:
            undo.callback(_restore_record(docstore, id_))
            docstore.delete_ref_doc(id_, raise_error=False)
        for source in changed:
            docstore.add_documents([item for item in source.items if isinstance(item, Document)])
            docstore.set_document_hash(source.id_, source.hash)


@contextmanager
def _open_docstore(folder: Path) -> Iterator[tuple[SQLiteDatabase, DiskDocumentStore]]:
    """The file of a pipeline's document store, whose documents are all in the shared namespace."""
    with closing(SQLiteDatabase(folder / DOCSTORE_FILE, SCHEMA)) as database:
        yield database, DiskDocumentStore(database, SHARED)


def _sources(items: Sequence[Item]) -> list[_Source]:
    """The items grouped by document; a passage without document is its own."""
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


def _by_source(results: Sequence[Item], ids: Sequence[str]) -> dict[str, list[TextNode]]:
    """The passages with a vector, by document."""
    passages: dict[str, list[TextNode]] = {id_: [] for id_ in ids}
    for item in results:
        if isinstance(item, Document):
            raise ValueError("the transformations gave back a document: there must be a splitter among them")
        if item.ref_doc_id is None or item.ref_doc_id not in passages:
            raise ValueError(
                f"passage {item.id_!r} does not say which of the documents it was cut from (its ref_doc_id)"
            )
        if item.embedding is not None:
            passages[item.ref_doc_id].append(item)
    if results and not any(passages.values()):
        raise ValueError(
            "no passage has a vector, so the vector store would get none: put an embedder behind the splitter"
        )
    return passages


def _restore(store: Store, id_: str, existing: set[str]) -> Callable[[], object]:
    """A function that restores the present state of a document."""
    if id_ not in existing:
        return partial(_forget, store, id_)
    document, nodes = store.document(id_), store.nodes(store.passage_ids(id_))
    return partial(store.upsert, document, nodes)


def _forget(store: Store, id_: str) -> None:
    if any(stored.id_ == id_ for stored in store.documents()):
        store.delete(id_)


def _restore_record(docstore: DocumentStore, id_: str) -> Callable[[], None]:
    """A function that restores the present state of a document, its passages and its hash."""
    document, hash_ = docstore.get_document(id_, raise_error=False), docstore.get_document_hash(id_)
    info = docstore.get_ref_doc_info(id_)
    items = [*([] if document is None else [document]), *(docstore.get_nodes(info.node_ids) if info else ())]

    def restore() -> None:
        docstore.delete_ref_doc(id_, raise_error=False)
        docstore.add_documents(items)
        if hash_ is not None:
            docstore.set_document_hash(id_, hash_)

    return restore
