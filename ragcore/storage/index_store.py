"""What there is to know of an index beside its passages: which kind it is, its id, and what it worked out about them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragcore.schema import new_id


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """An index. `place` is where its passages, vectors and entries are kept: it stays when the index is given another id.

    `data` is small and made of what JSON has. `keeper` names the store that has its vectors where they are kept elsewhere.
    """

    kind: str
    index_id: str = field(default_factory=new_id)
    summary: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    place: str = field(default_factory=new_id)
    keeper: str = ""


class IndexStore(Protocol):
    """Records of indexes, and for each place any number of entries: a key and a value made of what JSON has."""

    def put(self, record: IndexRecord) -> None:
        """Store a record, replacing the one with its index id."""

    def get(self, index_id: str) -> IndexRecord | None: ...

    def all(self) -> list[IndexRecord]:
        """In order of insertion."""

    def delete(self, index_id: str) -> None:
        """Forget a record; its entries stay. Nothing happens when there is none."""

    def entries(self, place: str, keys: Collection[str] | None = None) -> dict[str, Any]:
        """All entries in order of insertion, or those of these keys that there are."""

    def put_entries(self, place: str, entries: Mapping[str, Any]) -> None:
        """Add or replace these, at a cost that does not depend on how many there are."""

    def delete_entries(self, place: str, keys: Collection[str]) -> None:
        """Keys that are not there are passed over."""


class SimpleIndexStore:
    """Lives as long as the process. See `IndexStore`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._records: dict[str, IndexRecord] = {}
        self._entries: dict[str, dict[str, Any]] = {}

    def put(self, record: IndexRecord) -> None:
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
            held = self._entries.get(place, {})
            return dict(held) if keys is None else {key: held[key] for key in keys if key in held}

    def put_entries(self, place: str, entries: Mapping[str, Any]) -> None:
        with self._lock:
            self._entries.setdefault(place, {}).update(entries)

    def delete_entries(self, place: str, keys: Collection[str]) -> None:
        with self._lock:
            held = self._entries.get(place, {})
            for key in keys:
                held.pop(key, None)
