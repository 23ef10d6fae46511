import sqlite3
import threading
from pathlib import Path

import pytest

from ragcore.errors import DamagedStoreError
from ragcore.ingestion.cache import IngestionCache


@pytest.fixture(params=["memory", "file"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> IngestionCache:
    return IngestionCache(tmp_path / "deep" / "cache.db" if request.param == "file" else None)


def test_stored_keys_are_read_and_others_are_omitted(cache: IngestionCache) -> None:
    cache.put({"a": "1", "b": "2"})
    cache.put({"b": "3"})
    assert cache.get(["b", "c", "a"]) == {"a": "1", "b": "3"}
    assert len(cache) == 2
    cache.clear()
    assert (cache.get(["a"]), len(cache)) == ({}, 0)


def test_more_keys_than_fit_one_query_are_read(cache: IngestionCache) -> None:
    entries = {str(number): str(number * number) for number in range(3000)}
    cache.put(entries)
    assert cache.get(list(entries)) == entries


def test_a_cache_file_can_be_reopened_and_copied(tmp_path: Path) -> None:
    first = IngestionCache(tmp_path / "a.db")
    first.put({"a": "1"})
    first.close()
    again = IngestionCache(tmp_path / "a.db")
    assert again.get(["a"]) == {"a": "1"}
    again.persist(tmp_path / "b.db")
    again.persist(tmp_path / "a.db")
    copy = IngestionCache.from_persist_path(tmp_path / "b.db")
    copy.put({"b": "2"})
    assert IngestionCache(tmp_path / "b.db").get(["a", "b"]) == {"a": "1"}
    assert len(IngestionCache.from_persist_path(tmp_path / "none.db")) == 0


def test_threads_may_share_one(cache: IngestionCache) -> None:
    def work(name: str) -> None:
        for number in range(50):
            cache.put({f"{name}{number}": name})
            assert cache.get([f"{name}{number}"]) == {f"{name}{number}": name}

    threads = [threading.Thread(target=work, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 200


def test_a_file_of_another_kind_is_reported_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is no database, but a text that is long enough" * 100)
    with pytest.raises(DamagedStoreError, match=r"cache\.db") as told:
        IngestionCache(tmp_path / "cache.db")
    assert "Delete the file" in told.value.hint
    sqlite3.connect(tmp_path / "other.db").executescript("CREATE TABLE t (x)")
    with pytest.raises(DamagedStoreError, match=r"other\.db"):
        IngestionCache.from_persist_path(tmp_path / "other.db")
