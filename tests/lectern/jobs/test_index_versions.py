"""The store of a library, which is that of its current index."""

from __future__ import annotations

from pathlib import Path

from lectern.jobs.index_versions import SCHEMA, CurrentStore, IndexVersions
from lectern.library import Library
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.disk import SCHEMA as DISK_SCHEMA
from ragcore.vector_stores.disk import DiskStore
from tests.lectern.jobs.libraries import add, paragraphs, worker_of


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


def test_damaged_text_is_read_again_in_a_library_of_any_kind(library: Library) -> None:
    file = add(library, paragraphs(20), "lamp.txt")
    worker = worker_of(library)
    while worker.run_once():
        pass
    with library.database.transaction() as db:
        db.execute("UPDATE texts SET data = ?", (b"damaged",))
    worker.check_texts()
    assert worker.run_once()
    healed = library.files.get(file.id)
    assert healed is not None
    assert "was read again from its original" in healed.left_out[0].what
    assert library.store.document(file.id).text == paragraphs(20)
    assert len(list(library.store.passages(file.id))) == healed.passages


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
