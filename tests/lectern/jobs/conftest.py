"""The table of files, in each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.jobs.file_storage import SCHEMA as BYTES_SCHEMA
from lectern.jobs.file_storage import FolderBytes, ServerBytes
from lectern.jobs.files import SCHEMA, Files
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.sqlite import SQLiteDatabase
from tests.databases import KINDS, opening
from tests.lectern.jobs.libraries import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Files]:
    for open_database in opening(request.param, tmp_path, SCHEMA, BYTES_SCHEMA):
        database = open_database()
        on_server = isinstance(database, PostgresDatabase)
        yield Files(database, ServerBytes(database, tmp_path) if on_server else FolderBytes(tmp_path), clock=clock)


@pytest.fixture
def in_folder(tmp_path: Path, clock: Clock) -> Files:
    return Files(SQLiteDatabase(tmp_path / "library.db", SCHEMA), FolderBytes(tmp_path), clock=clock)
