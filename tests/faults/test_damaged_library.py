"""A library whose database or keys a disk has damaged: it says so when it starts, says what to do, and writes
over nothing."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.db.integrity import IntegrityCheck, find_damage
from lectern.keys import read_key, write_key
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, DamagedStoreError, StoreError
from ragcore.extractive.quoter import Quoter
from ragcore.sql.sqlite import SQLiteDatabase
from tests.lectern.jobs.libraries import add, paragraphs, worker_of


@pytest.fixture(autouse=True, scope="module")
def main_module() -> Iterator[None]:
    """A script that `AppTest` ran stays the main module, which the processes of a later test would run
    again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    with closing(Library(folder, embedder=HashEmbedding())) as library:
        add(library, paragraphs(300, "kettle"), "kettle.txt")
        while worker_of(library).run_once():
            pass
        for number in range(50):
            library.conversations.create(title=f"Conversation {number} " * 20)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the whole library, to damage."""
    return shutil.copytree(whole, tmp_path, dirs_exist_ok=True)


def overwrite_page(database: Path, table: str, data: bytes) -> None:
    """The first page of a table."""
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(data[:size])


def screen() -> None:
    import streamlit as st

    from lectern.ui.widgets.problem import damage

    damage(st.session_state.library)


def read_screen(library: Library) -> str:
    page = AppTest.from_function(screen, default_timeout=60)
    page.session_state.library = library
    page.run()
    assert not page.exception
    return "\n".join(each.value for each in page.markdown)


@pytest.mark.parametrize("table", ["conversations", "passages", "files"])
@pytest.mark.parametrize(
    "data",
    [b"\xff" * 4096, b"\0" * 4096, b"\x0d\x00\x00\xff\xff\x00\x10" + b"words " * 700],
    ids=["ones", "zeros", "words"],
)
def test_a_damaged_database_page_is_reported_at_the_start(table: str, data: bytes, folder: Path) -> None:
    overwrite_page(folder / "library.db", table, data)
    with closing(Library(folder, embedder=HashEmbedding())) as library:
        library.integrity.start()
        library.integrity.wait(30)
        (error,) = library.damage()
        assert str(folder / "library.db") in error.what
        assert "backup" in error.hint
        assert "damaged" in read_screen(library)


def test_a_whole_library_says_nothing_and_opens_without_waiting(folder: Path) -> None:
    with closing(Library(folder, embedder=HashEmbedding())) as library:
        assert library.damage() == []
        library.integrity.start()
        library.integrity.wait(30)
        assert library.damage() == []
        assert read_screen(library) == ""


def test_database_too_slow_to_check_is_not_changed(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "a.db", "CREATE TABLE IF NOT EXISTS words (word TEXT)")
    with database.transaction() as db:
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) INSERT "
            "INTO words SELECT i FROM n"
        )
    assert find_damage(database, 0.0) == ""
    overwrite_page(tmp_path / "a.db", "words", b"\xff" * 4096)
    database.close()
    assert find_damage(database, 60.0)
    database.close()


def test_a_passing_failure_of_the_disk_is_no_damage(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "a.db", "CREATE TABLE IF NOT EXISTS words (word TEXT)")
    with database.transaction() as db:
        db.executemany("INSERT INTO words VALUES (?)", [("kettle " * 100,)] * 500)
    log = tmp_path / "a.db-wal"
    data = log.read_bytes()
    log.write_bytes(b"")
    database.connection().execute("PRAGMA shrink_memory")  # pages are read from the disk again
    check = IntegrityCheck(database)
    assert check.look() is None
    with pytest.raises(StoreError) as caught:
        find_damage(database, 60.0)
    assert not isinstance(caught.value, DamagedStoreError)
    log.write_bytes(data)
    assert find_damage(database, 60.0) == ""
    database.close()


TEXTS = [
    b"",
    b"{",
    b'["secret"]',
    b"\xff\xfe\x00",
    b"\0" * 60,
    b'{"openai": "sec',
    b'{"openai": null}',
    b"null",
]


@pytest.mark.parametrize("data", TEXTS, ids=str)
def test_damaged_keys_are_reported_and_can_be_entered_again(data: bytes, folder: Path) -> None:
    (folder / "keys.json").write_bytes(data)
    with closing(Library(folder, embedder=HashEmbedding())) as library:
        (error,) = library.damage()
        aside = folder / "keys.damaged-1.json"
        assert str(aside) in error.what
        assert "again" in error.hint
        assert "secret" not in read_screen(library)
        assert "damaged" in read_screen(library)
        assert aside.read_bytes() == data
        assert read_key(folder, "openai") == ""
        assert isinstance(library.writer(), Quoter)  # what needs no key goes on
        write_key(folder, "openai", "sk-new")
        assert library.damage() == []
        assert read_key(folder, "openai") == "sk-new"
        assert aside.read_bytes() == data
        (folder / "keys.json").write_bytes(data)
        assert str(folder / "keys.damaged-2.json") in library.damage()[0].what
        assert aside.read_bytes() == data


def test_unreadable_keys_are_reported_and_stay(folder: Path) -> None:
    (folder / "keys.json").mkdir()
    with closing(Library(folder, embedder=HashEmbedding())) as library:
        (error,) = library.damage()
        assert "cannot be read" in error.what
    with pytest.raises(ConfigError):
        write_key(folder, "openai", "sk-new")


PROGRAMS: dict[str, Callable[[Path], list[str]]] = {
    "the application": lambda folder: [
        "-c",
        "import anyio, resource\nfrom lectern.ui.server.app import lifespan\n"
        "async def run():\n    async with lifespan(None):\n        "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "anyio.run(run)",
    ],
    "the worker": lambda folder: [
        "-c",
        "import os, resource, sys, threading, time\nfrom lectern.jobs import worker\n"
        "os.dup2(os.pipe()[0], 0)\n"  # a standard input that stays open, as it ends with that
        f"sys.argv[1:] = [{str(folder)!r}]\n"
        "threading.Thread(target=worker.main, daemon=True).start()\ntime.sleep(3)\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)",
    ],
}


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_soft_limit_of_open_files_is_raised(program: Callable[[Path], list[str]], tmp_path: Path) -> None:
    limited = (
        "import os, resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 3000))\n"
        "os.execv(sys.executable, sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, sys.executable, *program(tmp_path)],
        env={
            "LECTERN_HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "3000" in done.stdout.split(), done.stderr
