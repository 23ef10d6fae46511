"""Storage that lives as long as the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from ragcore.storage.docstore import DocumentStore, SimpleDocumentStore
from ragcore.storage.index_store import IndexStore, SimpleIndexStore
from ragcore.vector_stores.base import Store

if TYPE_CHECKING:
    from ragcore.vector_stores.memory import MemoryStore


class Storage(Protocol):
    """Stores indexes. A new place is empty; '' is the place that all indexes share."""

    @property
    def index_store(self) -> IndexStore: ...

    def nodes(self, place: str) -> DocumentStore: ...

    def vectors(self, place: str) -> Store: ...

    def copy_vectors(self, source: Store, place: str) -> None:
        """Copy everything in `source` to `vectors(place)`."""

    def transaction(self) -> AbstractContextManager[None]:
        """Commits all changes inside or none, if the storage supports it."""

    def undoes(self, store: Store) -> bool:
        """Whether a failing transaction rolls back changes of `store`."""

    def close(self) -> None: ...


class MemoryStorage:
    """See `Storage`. A transaction blocks other threads. After an error in it, the caller must undo its
    changes."""

    def __init__(self) -> None:
        self.index_store = SimpleIndexStore()
        self._lock = threading.RLock()
        self._nodes: dict[str, SimpleDocumentStore] = {}
        self._vectors: dict[str, MemoryStore] = {}

    def nodes(self, place: str) -> SimpleDocumentStore:
        return self._nodes.setdefault(place, SimpleDocumentStore())

    def vectors(self, place: str) -> MemoryStore:
        from ragcore.vector_stores.memory import MemoryStore

        return self._vectors.setdefault(place, MemoryStore())

    def copy_vectors(self, source: Store, place: str) -> None:
        for stored in source.documents():
            self.vectors(place).upsert(
                source.document(stored.id_), source.nodes(source.passage_ids(stored.id_))
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            yield

    def undoes(self, store: Store) -> bool:
        return False

    def close(self) -> None:
        """Memory needs no closing."""
