"""Groups of documents: chosen, seen by all, part of a copy, and left by a document that is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.document_groups import LABEL_CHARS, SCHEMA, DocumentGroups
from lectern.export import backup, restore
from lectern.jobs.file_rows import FILES_TABLE
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.sql.base import Database
from tests.databases import KINDS, opening
from tests.lectern.test_library import TOWER, take_in


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, FILES_TABLE, SCHEMA)


@pytest.fixture
def database(open_database: Callable[[], Database]) -> Database:
    database = open_database()
    with database.transaction() as db:
        for name in ("one", "two"):
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage) VALUES (?, ?, '', '', 0, "
                "0, 'ready')",
                (name, name),
            )
    return database


def test_document_groups_follow_the_last_choice_across_processes(
    database: Database, open_database: Callable[[], Database]
) -> None:
    groups = DocumentGroups(database)
    groups.replace("one", ["Travel", "money"])
    groups.replace("two", ["Travel"])
    assert DocumentGroups(open_database()).all() == {"money": ["one"], "Travel": ["one", "two"]}
    groups.replace("one", ["Home"])
    assert groups.of("one") == ["Home"]
    assert groups.all() == {"Home": ["one"], "Travel": ["two"]}


def test_a_label_is_tidied_and_one_without_words_is_none(database: Database) -> None:
    groups = DocumentGroups(database)
    groups.replace("one", ["  My   trips\n", "My trips", " ", "a\ud800", "x" * 100])
    assert groups.of("one") == ["a\ufffd", "My trips", "x" * LABEL_CHARS]


def test_a_document_that_is_gone_is_in_no_group(database: Database) -> None:
    groups = DocumentGroups(database)
    groups.replace("one", ["Travel"])
    with database.transaction() as db:
        db.execute("DELETE FROM files WHERE id = 'one'")
    assert groups.all() == {}
    groups.replace("one", ["Travel"])
    assert groups.all() == {}


def test_library_copy_has_groups_and_deletion_removes_them(tmp_path: Path) -> None:
    here, there = (Library(tmp_path / name, embedder=HashEmbedding(8)) for name in ("here", "there"))
    take_in(here, TOWER, "tower.txt")
    here.groups.replace(here.files.all()[0].id, ["Sights"])
    backup.write_copy(here, tmp_path / "copy.lectern")
    restore.read_copy(there, tmp_path / "copy.lectern")
    (file,) = there.files.all()
    assert there.groups.all() == {"Sights": [file.id]}
    there.delete_file(file.id)
    assert there.groups.all() == {}
    here.close()
    there.close()
