"""Where indexes store their data: in memory or in a folder, optionally with an external vector store.

    index.storage_context.persist("./storage")
    context = StorageContext.from_defaults(persist_dir="./storage")
    index = load_index_from_storage(context)

Several indexes may share a context. Each has its own place there, so that none affects another; all share
`docstore`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragcore.errors import StoreError
from ragcore.observe import span
from ragcore.schema import new_id
from ragcore.storage.docstore import DocumentStore, copy_documents
from ragcore.storage.index_store import IndexRecord, IndexStore
from ragcore.storage.memory import MemoryStorage, Storage
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.types import as_store, own_store

if TYPE_CHECKING:
    from ragcore.storage.fsspec_folder import FileSystem

SHARED = ""  # the place that all indexes share


class StorageContext:
    """`docstore`, `index_store` and `vector_store` replace those of the storage unless None.

    The indexes also add their passages to an external `docstore`.

    >>> context = StorageContext.from_defaults()
    >>> context.docstore.docs
    {}
    """

    def __init__(
        self,
        storage: Storage,
        docstore: DocumentStore | None = None,
        index_store: IndexStore | None = None,
        vector_store: Store | None = None,
    ) -> None:
        self.storage = storage
        # None: each index has its own
        self.vector_store = None if vector_store is None else as_store(vector_store)
        self.index_store: IndexStore = storage.index_store if index_store is None else index_store
        self.docstore: DocumentStore = storage.nodes(SHARED) if docstore is None else docstore
        self.docstore_is_external = docstore is not None
        self._stores: dict[str, Store] = {}  # by place: external vector stores of single indexes
        self._changing = threading.RLock()

    @classmethod
    def from_defaults(
        cls,
        docstore: DocumentStore | None = None,
        index_store: IndexStore | None = None,
        vector_store: Store | None = None,
        persist_dir: str | Path | None = None,
        fs: FileSystem | None = None,
    ) -> StorageContext:
        """An empty context in memory. With `persist_dir` it is the persisted context, read on demand and
        changed in place.

        A folder on `fs`, a file system with fsspec's interface, is copied to this machine while the context
        lives; `persist` copies changes back. StoreError if nothing was persisted.
        """
        if persist_dir is None:
            return cls(MemoryStorage(), docstore, index_store, vector_store)
        import shutil
        from tempfile import mkdtemp

        from ragcore.storage.disk import DiskStorage
        from ragcore.storage.fsspec_folder import download

        storage = DiskStorage(Path(persist_dir).absolute() if fs is None else Path(mkdtemp(prefix="storage")))
        if fs is not None:
            weakref.finalize(storage.database, shutil.rmtree, storage.folder, ignore_errors=True)
            download(fs, str(persist_dir), storage.folder)
        if not storage.is_filled():
            raise StoreError(
                f"The folder {storage.folder if fs is None else persist_dir} holds no index.",
                hint=(
                    'Write one there first, with index.storage_context.persist("that folder"), or '
                    "correct its name."
                ),
            )
        return cls(storage, docstore, index_store, vector_store)

    @classmethod
    def from_dict(cls, save_dict: Mapping[str, Any]) -> StorageContext:
        """The inverse of `to_dict`, in memory. KeyError for other values."""
        from ragcore.storage.json_store import storage_from_plain

        return cls(storage_from_plain(save_dict))

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values. ValueError if an external store that outlives the process has the
        vectors."""
        from ragcore.storage.json_store import plain_storage

        copy = MemoryStorage()
        # not `self.transaction`, which would wait for a change that is being computed
        with self.storage.transaction():
            self._copy_to(copy)
        for record in copy.index_store.all():
            if record.keeper:
                raise ValueError(
                    f"the vectors of the index {record.index_id!r} are in a {record.keeper}, which "
                    "keeps them itself"
                )
        return plain_storage(copy, SHARED)

    def node_store(self, place: str) -> DocumentStore:
        """The passages that belong to the index at `place`."""
        return self.storage.nodes(place)

    def store_of(self, record: IndexRecord) -> Store:
        """The vectors of an index. StoreError if they are in an external store that this context does not
        have."""
        external = self._external_store(record)
        if external is not None:
            return external
        if record.keeper:
            raise StoreError(
                f"The passages of the index {record.index_id!r} are in a {record.keeper}, not in this "
                "storage.",
                hint="Give that store too: StorageContext.from_defaults(vector_store=..., persist_dir=...)",
            )
        return self.storage.vectors(record.place)

    def keep_in(self, store: Store, record: IndexRecord) -> None:
        """Store the vectors of this index in `store`."""
        self._stores[record.place] = store

    def index_in(self, store: Store, kind: str) -> IndexRecord | None:
        """The first index of this kind with its vectors in `store`; None if this context has no such
        index."""
        for record in self.index_store.all():
            external = self._external_store(record)
            if record.kind == kind and (
                external is store or (external is None and record.keeper == type(store).__name__)
            ):
                return record
        return None

    def add_index(self, record: IndexRecord) -> IndexRecord:
        """Store a record with the name of its external vector store, and return it."""
        external = self._external_store(record)
        record = replace(record, keeper=record.keeper if external is None else type(external).__name__)
        self.index_store.upsert(record)
        return record

    def change(self) -> AbstractContextManager[object]:
        """A lock for computing and storing a change. It excludes other changes through this context, but not
        readers. `version` detects changes through another context of the same folder."""
        return self._changing

    def version(self, record: IndexRecord) -> object:
        """A value that differs after each change of the index, through any context."""
        return self.index_store.entries(SHARED, [record.place]).get(record.place)

    def mark_changed(self, record: IndexRecord) -> None:
        self.index_store.put_entries(SHARED, {record.place: new_id()})

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """In a folder, commits all changes inside or none. External stores are not part of the
        transaction."""
        with self._changing, self.storage.transaction():  # the same order everywhere prevents a deadlock
            yield

    def undoes(self, store: Store) -> bool:
        """Whether a failing transaction rolls back changes of `store`."""
        return self.storage.undoes(store)

    def persist(self, persist_dir: str | Path = "./storage", fs: FileSystem | None = None) -> None:
        """Write everything to a folder and replace its content; other processes see the whole change at once.

        On `fs`, a file system with fsspec's interface, a reader that opens the folder meanwhile may see it
        incomplete.

        A context that was opened on the same folder is already stored there. An external store that outlives
        the process is not copied; pass it again when you open the folder.
        """
        from ragcore.storage.disk import DiskStorage

        if fs is not None:
            from tempfile import TemporaryDirectory

            from ragcore.storage.fsspec_folder import upload

            with TemporaryDirectory(prefix="storage") as copy:
                self.persist(copy)
                upload(Path(copy), fs, str(persist_dir))
            return
        folder, source = Path(persist_dir).absolute(), self
        if isinstance(self.storage, DiskStorage) and self.storage.folder.resolve() == folder.resolve():
            if not self._uses_external_stores:
                return
            source = StorageContext(MemoryStorage())
            with self.storage.transaction():
                self._copy_to(source.storage)
        target = DiskStorage(folder)
        with span("persist", folder=str(folder)), source.storage.transaction(), target.transaction():
            target.clear()
            source._copy_to(target)
        target.close()
        for store in {
            id(store): own_store(store) for store in (self.vector_store, *self._stores.values())
        }.values():
            if hasattr(store, "persist"):  # a store that a script defines
                store.persist(str(folder / "default__vector_store.json"))

    def close(self) -> None:
        """Close the folder's files. The next use of the context opens them again."""
        self.storage.close()

    def _external_store(self, record: IndexRecord) -> Store | None:
        return self._stores.get(record.place, self.vector_store)

    @property
    def _uses_external_stores(self) -> bool:
        own = self.index_store is self.storage.index_store and not self.docstore_is_external
        return not own or self.vector_store is not None or bool(self._stores)

    def _copy_to(self, target: Storage) -> None:
        from ragcore.vector_stores.memory import MemoryStore

        copy_documents(self.docstore, target.nodes(SHARED))
        target.index_store.put_entries(SHARED, self.index_store.entries(SHARED))
        for record in self.index_store.all():
            copy_documents(self.node_store(record.place), target.nodes(record.place))
            store = self._external_store(record)
            if isinstance(store, MemoryStore) or (store is None and not record.keeper):
                vectors = self.storage.vectors(record.place) if store is None else store
                target.copy_vectors(vectors, record.place)
                record = replace(record, keeper="")
            target.index_store.upsert(record)
            target.index_store.put_entries(record.place, self.index_store.entries(record.place))
