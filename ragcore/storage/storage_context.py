"""Where indexes keep what they have: in memory, or in a folder, with a vector store of one's own if one is given.

    index.storage_context.persist("./storage")
    context = StorageContext.from_defaults(persist_dir="./storage")
    index = load_index_from_storage(context)

Several indexes may share a context: each has a place of its own there, so that none can disturb another. What is shared on
purpose is `docstore`.
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

SHARED = ""  # the place of what all indexes share


class StorageContext:
    """`docstore`, `index_store` and `vector_store`, where given, take the place of the storage's own.

    A `docstore` that is given gets the passages of the indexes, too, as long as it is given.
    """

    def __init__(
        self,
        storage: Storage,
        docstore: DocumentStore | None = None,
        index_store: IndexStore | None = None,
        vector_store: Store | None = None,
    ) -> None:
        self.storage = storage
        self.vector_store = None if vector_store is None else as_store(vector_store)  # None: each index has its own
        self.index_store: IndexStore = storage.index_store if index_store is None else index_store
        self.docstore: DocumentStore = storage.nodes(SHARED) if docstore is None else docstore
        self.docstore_is_given = docstore is not None
        self._stores: dict[str, Store] = {}  # by place, those that one index was given
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
        """Empty and in memory; with `persist_dir` what was persisted there, read when it is needed and changed in place.

        A folder on `fs`, a file system of fsspec's kind, is copied to this machine while the context lives; what is changed
        is there again once it is persisted. StoreError where nothing was persisted.
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
                hint='Write one there first, with index.storage_context.persist("that folder"), or correct its name.',
            )
        return cls(storage, docstore, index_store, vector_store)

    @classmethod
    def from_dict(cls, save_dict: Mapping[str, Any]) -> StorageContext:
        """What `to_dict` gave, in memory. KeyError for anything else."""
        from ragcore.storage.json_store import storage_from_plain

        return cls(storage_from_plain(save_dict))

    def to_dict(self) -> dict[str, Any]:
        """Everything as values that JSON has. ValueError where vectors are kept by a store that outlives the process."""
        from ragcore.storage.json_store import plain_storage

        copy = MemoryStorage()
        with self.storage.transaction():  # a change that is still worked out need not be waited for
            self._copy_to(copy)
        for record in copy.index_store.all():
            if record.keeper:
                raise ValueError(
                    f"the vectors of the index {record.index_id!r} are in a {record.keeper}, which keeps them itself"
                )
        return plain_storage(copy, SHARED)

    def node_store(self, place: str) -> DocumentStore:
        """The passages of the index at `place`, which are its alone."""
        return self.storage.nodes(place)

    def store_of(self, record: IndexRecord) -> Store:
        """The vectors of an index. StoreError when they are kept elsewhere and that store was not given."""
        given = self._given_to(record)
        if given is not None:
            return given
        if record.keeper:
            raise StoreError(
                f"The passages of the index {record.index_id!r} are in a {record.keeper}, not in this storage.",
                hint="Give that store too: StorageContext.from_defaults(vector_store=..., persist_dir=...)",
            )
        return self.storage.vectors(record.place)

    def keep_in(self, store: Store, record: IndexRecord) -> None:
        """Let this one index have its vectors in `store`."""
        self._stores[record.place] = store

    def index_in(self, store: Store, kind: str) -> IndexRecord | None:
        """The first index of this kind that has its vectors in `store`, as far as this storage knows of one."""
        for record in self.index_store.all():
            given = self._given_to(record)
            if record.kind == kind and (given is store or (given is None and record.keeper == type(store).__name__)):
                return record
        return None

    def add_index(self, record: IndexRecord) -> IndexRecord:
        """Store a record, telling it where its vectors are."""
        given = self._given_to(record)
        told = replace(record, keeper=record.keeper if given is None else type(given).__name__)
        self.index_store.put(told)
        return told

    def change(self) -> AbstractContextManager[object]:
        """Held while a change is worked out from what is there, and stored: through this context there is one such change at
        a time, and readers need not wait. What changes through another context of the folder, `version` tells.
        """
        return self._changing

    def version(self, record: IndexRecord) -> object:
        """Another value once an index was changed, through whichever context."""
        return self.index_store.entries(SHARED, [record.place]).get(record.place)

    def mark_changed(self, record: IndexRecord) -> None:
        self.index_store.put_entries(SHARED, {record.place: new_id()})

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """In a folder, what is stored inside is stored together or not at all. Stores that were given are not part of it."""
        with self._changing, self.storage.transaction():  # in this order everywhere, so that no two wait for each other
            yield

    def undoes(self, store: Store) -> bool:
        """Whether a transaction that fails takes back what was done to `store`."""
        return self.storage.undoes(store)

    def persist(self, persist_dir: str | Path = "./storage", fs: FileSystem | None = None) -> None:
        """Write everything to a folder, replacing what was persisted there; others see all of it at once.

        On `fs`, a file system of fsspec's kind, who opens the folder meanwhile may find it incomplete.

        A context that was opened on this very folder has everything there already. A given store that outlives the process
        by itself is left where it is, and must be given again when the folder is opened.
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
            if not self._given:
                return
            source = StorageContext(MemoryStorage())
            with self.storage.transaction():
                self._copy_to(source.storage)
        target = DiskStorage(folder)
        with span("persist", folder=str(folder)), source.storage.transaction(), target.transaction():
            target.clear()
            source._copy_to(target)
        target.close()
        for store in {id(store): own_store(store) for store in (self.vector_store, *self._stores.values())}.values():
            if hasattr(store, "persist"):  # of a script's own
                store.persist(str(folder / "default__vector_store.json"))

    def close(self) -> None:
        """Close the folder's files; the context can be used on, which opens them again."""
        self.storage.close()

    def _given_to(self, record: IndexRecord) -> Store | None:
        return self._stores.get(record.place, self.vector_store)

    @property
    def _given(self) -> bool:
        """Whether anything of this context is not kept in its storage."""
        own = self.index_store is self.storage.index_store and not self.docstore_is_given
        return not own or self.vector_store is not None or bool(self._stores)

    def _copy_to(self, target: Storage) -> None:
        from ragcore.vector_stores.memory import MemoryStore

        copy_documents(self.docstore, target.nodes(SHARED))
        target.index_store.put_entries(SHARED, self.index_store.entries(SHARED))
        for record in self.index_store.all():
            copy_documents(self.node_store(record.place), target.nodes(record.place))
            store = self._given_to(record)
            if isinstance(store, MemoryStore) or (store is None and not record.keeper):
                vectors = self.storage.vectors(record.place) if store is None else store
                target.copy_vectors(vectors, record.place)
                record = replace(record, keeper="")
            target.index_store.put(record)
            target.index_store.put_entries(record.place, self.index_store.entries(record.place))
