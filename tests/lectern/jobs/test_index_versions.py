"""The store of a library, which is that of its current index."""

from __future__ import annotations

from pathlib import Path

from lectern.jobs.index_versions import SCHEMA, CurrentStore, IndexVersions
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.disk import SCHEMA as DISK_SCHEMA
from ragcore.vector_stores.disk import DiskStore


def test_an_index_is_opened_once_also_while_it_is_empty(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA, DISK_SCHEMA)
    opened: list[DiskStore] = []

    def open_index(name: str) -> DiskStore:
        opened.append(DiskStore(database, index=name, vectors=tmp_path / "vectors"))
        return opened[-1]

    store = CurrentStore(IndexVersions(database), open_index)
    assert (len(store), store.documents(), len(store)) == (0, [], 0)
    assert len(opened) == 1
    store.close()
    database.close()


class TakenMeanwhile(set[str]):
    """The damaged documents of an index, of which another thread takes the last one after it was seen."""

    def __bool__(self) -> bool:
        seen = len(self) > 0
        self.clear()
        return seen


def test_a_damaged_text_that_another_thread_heals_is_no_failure(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA, DISK_SCHEMA)

    def open_index(name: str) -> DiskStore:
        index = DiskStore(database, index=name, vectors=tmp_path / "vectors")
        index.damaged_texts = TakenMeanwhile({"a"})
        return index

    store = CurrentStore(IndexVersions(database), open_index)
    assert store.documents() == []
    store.close()
    database.close()
