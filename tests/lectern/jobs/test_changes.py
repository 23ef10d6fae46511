"""Waiting for others to change a library."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.jobs.changes import Changes, wait_for_end
from lectern.jobs.file_rows import Stage
from lectern.jobs.files import Files
from ragcore.errors import DamagedFileError
from ragcore.sql.base import Database
from tests.databases import KINDS, opening
from tests.lectern.jobs.libraries import given

SCHEMA = "CREATE TABLE IF NOT EXISTS lamps (number INTEGER NOT NULL);"


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, SCHEMA)


def light(database: Database) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO lamps VALUES (1)")


def test_revision_changes_after_another_connection_commits(open_database: Callable[[], Database]) -> None:
    here, there = open_database(), open_database()
    light(there)
    seen = here.revision()
    light(there)
    assert here.revision() != seen


def test_who_waits_returns_soon_after_a_change_and_not_before(open_database: Callable[[], Database]) -> None:
    here, there = open_database(), open_database()
    light(there)
    changes = Changes(here)
    came_late = True
    while came_late:  # a server counts what was committed some time later
        began = time.monotonic()
        changes.wait(at_most=2)
        came_late = time.monotonic() - began < 2
    began = time.monotonic()
    timer = threading.Timer(1.0, light, [there])
    timer.start()
    changes.wait(at_most=20)
    assert 0.9 < time.monotonic() - began < 5
    timer.join()


def test_a_change_that_came_before_the_wait_is_not_missed(open_database: Callable[[], Database]) -> None:
    here, there = open_database(), open_database()
    changes = Changes(here)
    light(there)
    began = time.monotonic()
    changes.wait(at_most=20)
    assert time.monotonic() - began < 5


def test_each_requested_file_is_reported_once_at_its_end(files: Files, tmp_path: Path) -> None:
    earlier = files.add(given(tmp_path, "earlier"), "earlier.txt").file
    before = files.versions()
    names = {
        files.add(given(tmp_path, name), name).file.id: name for name in ("one.txt", "two.txt", "three.txt")
    }
    assert files.queue.claim("w") == files.get(earlier.id)  # and it is never finished
    told: list[str] = []

    def tell() -> None:
        told.extend(f"{file.name} {file.stage.value}" for file in wait_for_end(files, set(), before))

    thread = threading.Thread(target=tell)
    thread.start()
    for number, file_id in enumerate(names):
        claimed = files.queue.claim("w")
        assert claimed is not None
        assert claimed.id == file_id
        if number == 1:
            files.claimed.fail(file_id, "w", DamagedFileError("It is damaged."))
        else:
            assert files.claimed.finish(file_id, "w", passages=1, pages=0)
        deadline = time.monotonic() + 20
        while len(told) <= number and time.monotonic() < deadline:
            time.sleep(0.02)
    thread.join(20)
    assert told == ["one.txt ready", "two.txt failed", "three.txt ready"]


def test_waiting_for_thousands_of_files_is_cheap_and_prompt(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "first.txt").file
    with files.transaction() as db:
        db.executemany(
            "INSERT INTO files (id, name, path, hash, size, added, stage) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(f"id{n}", f"{n}.txt", "p", f"hash{n}", 1, 9e9, "queued") for n in range(8000)],
        )
    spent: list[float] = []

    def wait() -> None:
        next(wait_for_end(files, {file.id}, set()))
        spent.append(time.thread_time())

    assert files.queue.claim("w") is not None
    thread = threading.Thread(target=wait)
    thread.start()
    for _ in range(60):  # seconds of work for others, who write all the while
        time.sleep(0.1)
        files.claimed.sign(file.id, "w")
    files.claimed.finish(file.id, "w", passages=1, pages=0)
    thread.join(20)
    assert spent, "It has not heard of the file's end."
    assert spent[0] < 1.5  # at every change, it would be several seconds
    assert files.get(file.id).stage is Stage.READY  # type: ignore[union-attr]
