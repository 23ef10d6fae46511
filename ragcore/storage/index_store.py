"""The records of indexes: the kind, the id, and entries that the index computed from its passages."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragcore.schema import new_id


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """An index. `place` is the key of its passages, vectors and entries; it does not change when the index
    gets another id.

    `data` is small and consists of JSON values. `keeper` is the class name of an external store with its
    vectors, or "".

    >>> store = SimpleIndexStore()
    >>> store.upsert(IndexRecord("summary", index_id="notes"))
    >>> store.get("notes").kind
    'summary'
    """

    kind: str
    index_id: str = field(default_factory=new_id)
    summary: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    place: str = field(default_factory=new_id)
    keeper: str = ""


class IndexStore(Protocol):
    """Records of indexes, and for each place any number of entries: a key and a JSON value."""

    def upsert(self, record: IndexRecord) -> None:
        """Store a record. It replaces the record with the same index id."""

    def get(self, index_id: str) -> IndexRecord | None: ...

    def all(self) -> list[IndexRecord]:
        """In order of insertion."""

    def delete(self, index_id: str) -> None:
        """Delete a record, but not its entries. An unknown id is no error."""

    def entries(self, place: str, keys: Collection[str] | None = None) -> dict[str, Any]:
        """All entries in order of insertion, or those with `keys`. Unknown keys are skipped."""

    def put_entries(self, place: str, entries: Mapping[str, Any]) -> None:
        """Add or replace entries, at a cost that does not depend on how many are stored."""

    def delete_entries(self, place: str, keys: Collection[str]) -> None:
        """Unknown keys are skipped."""


class SimpleIndexStore:
    """Lives as long as the process. See `IndexStore`.

    >>> store = SimpleIndexStore()
    >>> store.put_entries("notes", {"term:ada": ["n1"]})
    >>> store.entries("notes")
    {'term:ada': ['n1']}
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._records: dict[str, IndexRecord] = {}
        self._entries: dict[str, dict[str, Any]] = {}

    def upsert(self, record: IndexRecord) -> None:
        with self._lock:
            self._records[record.index_id] = record

    def get(self, index_id: str) -> IndexRecord | None:
        return self._records.get(index_id)

    def all(self) -> list[IndexRecord]:
        with self._lock:
            return list(self._records.values())

    def delete(self, index_id: str) -> None:
        with self._lock:
            self._records.pop(index_id, None)

    def entries(self, place: str, keys: Collection[str] | None = None) -> dict[str, Any]:
        with self._lock:
            entries = self._entries.get(place, {})
            return dict(entries) if keys is None else {key: entries[key] for key in keys if key in entries}

    def put_entries(self, place: str, entries: Mapping[str, Any]) -> None:
        with self._lock:
            self._entries.setdefault(place, {}).update(entries)

    def delete_entries(self, place: str, keys: Collection[str]) -> None:
        with self._lock:
            entries = self._entries.get(place, {})
            for key in keys:
                entries.pop(key, None)
