"""The bytes of files on a database's server: whole on every machine, and gone when they are deleted or were
never placed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.jobs.file_storage import (
    CHUNK_BYTES,
    POLL_SECONDS,
    SCHEMA,
    UNCLAIMED_SECONDS,
    UNUSED_SECONDS,
    FolderBytes,
    ServerBytes,
)
from ragcore.sql.base import Database
from tests.databases import opening

PATH = "files/f1/abc.pdf"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    for open_database in opening("postgres", tmp_path, SCHEMA):
        yield open_database()


@pytest.fixture
def here(database: Database, tmp_path: Path) -> ServerBytes:
    return ServerBytes(database, tmp_path / "here")


@pytest.fixture
def there(database: Database, tmp_path: Path) -> ServerBytes:
    return ServerBytes(database, tmp_path / "there")


def write_file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "given"
    path.write_bytes(data)
    return path


def place(file_bytes: ServerBytes, tmp_path: Path, data: bytes, path: str = PATH) -> None:
    with file_bytes.receiving(write_file(tmp_path, data)) as received:
        received.place(path)


def place_and_fail(file_bytes: ServerBytes, source: Path, database: Database) -> None:
    with file_bytes.receiving(source) as received, database.transaction():
        received.place(PATH)
        raise ValueError("in the middle")


def chunks(database: Database) -> int:
    with database.snapshot() as db:
        return int(db.execute("SELECT count(*) FROM file_chunks").fetchone()[0])


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, 2 * CHUNK_BYTES + 17])
def test_what_one_machine_places_another_reads_whole(
    here: ServerBytes, there: ServerBytes, tmp_path: Path, size: int
) -> None:
    data = os.urandom(size)
    place(here, tmp_path, data)
    assert not (tmp_path / "given").exists()
    assert there.local(PATH).read_bytes() == data
    assert there.local(PATH) == there.local(PATH)


def test_what_is_received_and_not_placed_leaves_nothing(
    here: ServerBytes, database: Database, tmp_path: Path
) -> None:
    source = write_file(tmp_path, b"not wanted")
    with here.receiving(source):
        assert chunks(database) == 1
    assert chunks(database) == 0
    assert source.exists()
    with pytest.raises(ValueError, match="in the middle"):
        place_and_fail(here, source, database)
    assert chunks(database) == 0
    assert source.exists()
    assert not here.local(PATH).exists()


def test_a_deleted_file_is_nowhere(
    here: ServerBytes, there: ServerBytes, database: Database, tmp_path: Path
) -> None:
    place(here, tmp_path, b"one")
    place(here, tmp_path, b"another", "files/f2/abc.pdf")
    there.local(PATH)
    there.drop("f1")
    assert not here.local(PATH).exists()
    assert not there.local(PATH).exists()
    assert here.local("files/f2/abc.pdf").read_bytes() == b"another"
    assert chunks(database) == 1


def test_sweep_removes_unowned_files_and_unread_copies(
    here: ServerBytes, database: Database, tmp_path: Path
) -> None:
    place(here, tmp_path, b"kept")
    place(here, tmp_path, b"left by a crash", "files/f2/abc.pdf")
    place(here, tmp_path, b"a version before", "files/f1/old.pdf")
    with database.transaction() as db:
        for name, age in (("incoming/old", UNCLAIMED_SECONDS + 60), ("incoming/new", 60)):
            db.execute(
                "INSERT INTO file_chunks VALUES (?, '', 0, ?, ?)", (name, b"coming", time.time() - age)
            )
    read, unread = here.local(PATH), tmp_path / "here" / "files" / "f3" / "old.pdf"
    unread.parent.mkdir()
    unread.write_bytes(b"old")
    os.utime(unread, (0, time.time() - UNUSED_SECONDS - 60))
    here.sweep({PATH: time.time()})
    with database.snapshot() as db:
        left = [row["path"] for row in db.execute("SELECT path FROM file_chunks ORDER BY path").fetchall()]
    assert left == [PATH, "incoming/new"]
    assert read.exists()
    assert not unread.exists()


def test_copy_unread_for_a_day_goes_when_another_file_is_read(
    here: ServerBytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(here, tmp_path, b"one")
    place(here, tmp_path, b"another", "files/f2/abc.pdf")
    place(here, tmp_path, b"a third", "files/f3/abc.pdf")
    unread, read = here.local(PATH), here.local("files/f2/abc.pdf")
    for copy in (unread, read):
        os.utime(copy, (0, time.time() - UNUSED_SECONDS - 60))
    later = time.monotonic() + POLL_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    here.local("files/f2/abc.pdf")
    here.local("files/f3/abc.pdf")
    assert read.exists()
    assert not unread.exists()
    assert here.local(PATH).read_bytes() == b"one"


def test_a_copy_that_is_used_counts_as_unchanged(here: ServerBytes, tmp_path: Path) -> None:
    place(here, tmp_path, b"one")
    copy = here.local(PATH)
    os.utime(copy, (0, time.time() - 60))
    changed = copy.stat().st_mtime_ns
    assert here.local(PATH).stat().st_mtime_ns == changed


def test_copy_swept_while_requested_is_fetched_again(
    here: ServerBytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(here, tmp_path, b"one")
    copy, touch = here.local(PATH), os.utime

    def forgotten_first(path: Path, *, ns: tuple[int, int]) -> None:
        copy.unlink(missing_ok=True)  # by another process, that found it unread for a day
        touch(path, ns=ns)

    monkeypatch.setattr(os, "utime", forgotten_first)
    assert here.local(PATH).read_bytes() == b"one"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_sweeping_goes_on_past_a_folder_that_is_gone_meanwhile(tmp_path: Path) -> None:
    files = tmp_path / "files"
    for name in ("f1", "f2", "f3"):
        (files / name).mkdir(parents=True)
    for name in ("e1", "f15", "g1"):  # found, and not there when it is looked at
        (files / name).symlink_to(tmp_path / "gone")
    FolderBytes(tmp_path).sweep({"files/f2/abc.txt": time.time() + 60})
    assert sorted(path.name for path in files.iterdir() if path.is_dir()) == ["f2"]


def test_copies_are_not_all_looked_at_for_each_file_that_comes(here: ServerBytes, tmp_path: Path) -> None:
    unread = tmp_path / "here" / "files" / "f9" / "abc.pdf"
    for number in range(2):
        place(here, tmp_path, b"one", f"files/f{number}/abc.pdf")
    here.local("files/f0/abc.pdf")
    unread.parent.mkdir()
    unread.write_bytes(b"old")
    os.utime(unread, (0, time.time() - UNUSED_SECONDS - 60))
    here.local("files/f1/abc.pdf")
    assert unread.exists()
    here.sweep({})
    assert not unread.exists()


def test_a_file_whose_row_was_undone_is_back_where_it_came_from(tmp_path: Path) -> None:
    folder, source = FolderBytes(tmp_path), write_file(tmp_path, b"new")

    def refused(path: str) -> None:
        with folder.receiving(source) as received:
            received.place(path)
            raise ZeroDivisionError

    for path in ("files/f1/abc.txt", "files/f2/abc.txt"):
        with pytest.raises(ZeroDivisionError):
            refused(path)
        assert source.read_bytes() == b"new"
        assert list((tmp_path / "files").iterdir()) == []
