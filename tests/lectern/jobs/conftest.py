"""The table of files and a library in each kind of database, and processes that have read nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lectern.jobs.file_storage import SCHEMA as BYTES_SCHEMA
from lectern.jobs.file_storage import FolderBytes, ServerBytes
from lectern.jobs.files import SCHEMA, Files
from lectern.jobs.sandbox import end_readers
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.sqlite import SQLiteDatabase
from tests.databases import KINDS, opening
from tests.lectern.jobs.hijacking import Attack, hijack
from tests.lectern.jobs.libraries import Clock, small_passages


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Files]:
    for open_database in opening(request.param, tmp_path, SCHEMA, BYTES_SCHEMA):
        database = open_database()
        on_server = isinstance(database, PostgresDatabase)
        yield Files(
            database, ServerBytes(database, tmp_path) if on_server else FolderBytes(tmp_path), clock=clock
        )


@pytest.fixture
def in_folder(tmp_path: Path, clock: Clock) -> Files:
    return Files(SQLiteDatabase(tmp_path / "library.db", SCHEMA), FolderBytes(tmp_path), clock=clock)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    small_passages(opened)
    yield opened
    opened.close()


@pytest.fixture
def new_process() -> Iterator[None]:
    """The test's files are read in a process of their own."""
    end_readers()
    yield
    end_readers()


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attack:
    return partial(hijack, folder=tmp_path, monkeypatch=monkeypatch)
