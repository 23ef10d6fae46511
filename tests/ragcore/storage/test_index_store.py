"""What every index store promises, in memory and on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcore.storage.disk import DiskStorage
from ragcore.storage.index_store import IndexRecord, IndexStore, SimpleIndexStore


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexStore]:
    if request.param == "memory":
        yield SimpleIndexStore()
    else:
        storage = DiskStorage(tmp_path)
        yield storage.index_store
        storage.close()


def test_records_stay_whole_and_ordered_and_are_replaced_by_id(store: IndexStore) -> None:
    first = IndexRecord(
        "vector_store", "a", "about cats", {"embedder": "hash", "sizes": [1, 2]}, "place", "ChromaVectorStore"
    )
    second = IndexRecord("summary", "b")
    store.upsert(first)
    store.upsert(second)
    assert store.all() == [first, second]
    changed = IndexRecord("tree", "a", "about dogs")
    store.upsert(changed)
    assert store.all() == [changed, second]
    assert (store.get("a"), store.get("c")) == (changed, None)
    store.delete("a")
    store.delete("c")
    assert store.all() == [second]


def test_each_place_has_entries_of_its_own(store: IndexStore) -> None:
    store.put_entries("here", {"k": ["n1"], "l": {"deep": [1, None]}})
    store.put_entries("there", {"k": 5})
    store.put_entries("here", {"k": ["n1", "n2"], "m": "text"})
    assert list(store.entries("here").items()) == [
        ("k", ["n1", "n2"]),
        ("l", {"deep": [1, None]}),
        ("m", "text"),
    ]
    assert store.entries("here", ["m", "k", "x"]) == {"m": "text", "k": ["n1", "n2"]}
    store.delete_entries("here", ["k", "x"])
    assert store.entries("here") == {"l": {"deep": [1, None]}, "m": "text"}
    assert store.entries("there") == {"k": 5}
    assert store.entries("nowhere") == {}
