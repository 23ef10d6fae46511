"""A library made by another version of the program: an earlier one's is brought up to date, a newer one's is
left as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.sql import sqlite
from tests.faults.test_store_faults import check, direction, item

# what the first version stored: documents 1 and 3, once also 2
EARLIER = Path(__file__).with_name("earlier_version.sql")
EARLIER_FILE = "1-0883c9f39a6e3660.f32"


def make_earlier(folder: Path) -> None:
    (folder / "vectors").mkdir()
    rows = np.stack([direction(100 * number + i) for number in (1, 2, 3) for i in range(3)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    (folder / "vectors" / EARLIER_FILE).write_bytes(rows.astype(np.float32).tobytes())
    with closing(sqlite3.connect(folder / "library.db")) as database:
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        database.executescript(EARLIER.read_text("utf-8"))


@contextmanager
def library(folder: Path) -> Iterator[Library]:
    opened = Library(folder, embedder=HashEmbedding())
    yield opened
    opened.close()


def test_a_library_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    make_earlier(tmp_path)
    with library(tmp_path) as opened:
        assert check(opened.store.current, tmp_path) == {1, 3}
        assert opened.files.get("d1").ready
        (conversation,) = opened.conversations.all()
        assert [message.text for message in opened.conversations.messages(conversation.id)] == [
            "What is word1?"
        ]
        assert opened.store.current.verify() == []
        opened.store.upsert(*item(4, 2))
        opened.store.delete("d3")
        assert check(opened.store.current, tmp_path) == {1, 4}
        tables = [
            row["name"] for row in opened.database.connection().execute("SELECT name FROM sqlite_master")
        ]
        assert not [name for name in tables if name.startswith("keywords_")]
        assert opened.database.connection().execute("PRAGMA user_version").fetchone()[0] == sqlite.VERSION
    with library(tmp_path) as opened:
        assert check(opened.store.current, tmp_path) == {1, 4}


def test_first_version_library_reveals_damage_once_verified(tmp_path: Path) -> None:
    make_earlier(tmp_path)
    file = tmp_path / "vectors" / EARLIER_FILE
    with library(tmp_path) as opened:
        assert opened.store.current.verify() == []
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with library(tmp_path) as opened:
        assert opened.store.current.verify() == ["d3"]
        opened.store.current.replace_vectors("d3", np.stack([direction(300 + i) for i in range(3)]))
        assert opened.store.current.verify() == []
        assert check(opened.store.current, tmp_path) == {1, 3}


def test_first_version_library_reveals_lost_vectors_at_once(tmp_path: Path) -> None:
    make_earlier(tmp_path)
    file = tmp_path / "vectors" / EARLIER_FILE
    file.write_bytes(file.read_bytes()[:-1])
    with library(tmp_path) as opened:
        assert opened.store.current.verify() == ["d3"]
        assert [hit.node.id_ for hit in opened.store.search(direction(102), 1)] == ["d1/2"]


def test_library_of_a_newer_version_is_refused_unchanged(tmp_path: Path) -> None:
    with library(tmp_path) as opened:
        opened.store.upsert(*item(1))
    with closing(sqlite3.connect(tmp_path / "library.db")) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute(f"PRAGMA user_version = {sqlite.VERSION + 1}")
    before = (tmp_path / "library.db").read_bytes()
    with pytest.raises(
        StoreError, match=f"made by a newer version of Lectern.*version {sqlite.VERSION + 1}"
    ) as caught:
        Library(tmp_path, embedder=HashEmbedding()).store.documents()
    assert "Update Lectern" in caught.value.hint
    assert (tmp_path / "library.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("library.db*")) == ["library.db"]
