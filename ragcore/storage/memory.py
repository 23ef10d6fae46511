"""Storage that lives as long as the process, for tries and for what need not be kept."""

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
    """Room for indexes. A place that nothing was put in is empty; '' is the place that all of them share."""

    @property
    def index_store(self) -> IndexStore: ...

    def nodes(self, place: str) -> DocumentStore: ...

    def vectors(self, place: str) -> Store: ...

    def copy_vectors(self, source: Store, place: str) -> None:
        """Put into `vectors(place)` everything that `source` holds."""

    def transaction(self) -> AbstractContextManager[None]:
        """What is stored inside is kept together or not at all, where the storage can promise that."""

    def undoes(self, store: Store) -> bool:
        """Whether a transaction that fails takes back what was done to `store`."""

    def close(self) -> None: ...


class MemoryStorage:
    """See `Storage`. A transaction keeps others waiting; what an error in it leaves half done is the caller's to undo."""

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
            self.vectors(place).put(source.document(stored.id_), source.nodes(source.passage_ids(stored.id_)))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            yield

    def undoes(self, store: Store) -> bool:
        return False

    def close(self) -> None:
        """Nothing to close."""
