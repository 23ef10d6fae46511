"""The table of files: what is taken in, what is told of it, and how workers share the work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import ACTIVE, FileRow, Stage, seconds_left
from lectern.jobs.file_storage import SCHEMA as BYTES_SCHEMA
from lectern.jobs.file_storage import FolderBytes, ServerBytes
from lectern.jobs.files import SCHEMA, Added, Files
from lectern.jobs.links import Link
from lectern.settings import IngestSettings
from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, TooLargeError
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.sqlite import SQLiteDatabase
from tests.databases import KINDS, opening


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 0.001  # two files never come at the same time
        return self.now


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


def advance(
    files: Files,
    file_id: str,
    worker: str,
    stage: Stage,
    done: int,
    total: int,
    fraction: float = 0.5,
    left: float | None = None,
) -> bool:
    return files.claimed.advance(file_id, worker, stage, done, total, fraction=fraction, left=left)


def given(tmp_path: Path, text: str = "hello") -> Path:
    path = tmp_path / f"given-{time.monotonic_ns()}"
    path.write_text(text, "utf-8")
    return path


def test_what_a_screen_counts_names_and_shows_first_is_what_all_the_rows_say(files: Files, tmp_path: Path) -> None:
    stages = [Stage.READY, Stage.FAILED, Stage.QUEUED, Stage.EMBEDDING, Stage.READY, Stage.STOPPED, Stage.READY]
    for number, stage in enumerate(stages):
        (tmp_path / "given").write_text(f"text {number}", "utf-8")
        id_ = files.add(tmp_path / "given", f"{number}.txt").file.id
        with files.transaction() as db:
            db.execute("UPDATE files SET stage = ? WHERE id = ?", (stage.value, id_))
    rows = files.all()
    assert [row.name for row in rows] == [f"{number}.txt" for number in (6, 5, 4, 3, 2, 1, 0)]
    assert files.all(limit=3) == rows[:3]
    assert files.all(*ACTIVE) == [row for row in rows if row.active]
    assert files.all(*ACTIVE, limit=1) == [row for row in rows if row.active][:1]
    assert files.tally() == Counter(row.stage for row in rows)
    assert list(files.ready_names().items()) == [(row.id, row.name) for row in rows if row.ready]


def test_a_file_is_moved_into_the_library_and_waits(files: Files, tmp_path: Path) -> None:
    source = given(tmp_path)
    added = files.add(source, "notes.txt")
    assert added.outcome == "added"
    assert not source.exists()
    assert files.location(added.file).read_text("utf-8") == "hello"
    assert (added.file.stage, added.file.kind, added.file.size) == (Stage.QUEUED, "TXT", 5)


def test_the_same_bytes_under_any_name_are_a_duplicate(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path), "notes.txt").file
    again = files.add(given(tmp_path), "copy.txt")
    assert (again.outcome, again.file.id) == ("duplicate", first.id)
    assert len(files.all()) == 1


@pytest.mark.parametrize("origin", ["", "https://example.org/"])
def test_a_file_that_becomes_the_same_as_another_is_replaced_and_not_taken_for_that(
    files: Files, tmp_path: Path, origin: str
) -> None:
    def give(text: str, name: str) -> tuple[str, str]:
        added = files.add(given(tmp_path, text), name, origin=origin and origin + name)
        return added.outcome, added.file.id

    a, b = give("one", "a.txt")[1], give("two", "b.txt")[1]
    assert give("one", "b.txt") == ("replaced", b)
    assert give("two", "a.txt") == ("replaced", a)
    assert give("one", "b.txt") == ("duplicate", b)
    assert give("two", "b.txt") == ("replaced", b)
    assert give("two", "b.txt") == ("duplicate", b)
    assert give("two", "c.txt")[0] == "duplicate"
    assert {file.name: files.location(file).read_text("utf-8") for file in files.all()} == {"a.txt": "two", "b.txt": "two"}


def test_bytes_that_were_given_under_two_names_stay_when_one_of_them_gets_others(files: Files, tmp_path: Path) -> None:
    def give(text: str, name: str, origin: str = "") -> str:
        return files.add(given(tmp_path, text), name, origin=origin).outcome

    def kept() -> dict[str, str]:
        return {file.name: files.location(file).read_text("utf-8") for file in files.all()}

    places = [("a.txt", ""), ("b.txt", ""), ("c.txt", ""), ("a.txt", "/folder/a.txt")]
    assert [give("one", *place) for place in places] == ["added", *["duplicate"] * 3]
    (first,) = files.all()
    files.queue.claim("w")
    files.claimed.finish(first.id, "w", passages=3, pages=0)
    assert give("two", "b.txt") == "added"
    assert kept() == {"a.txt": "one", "b.txt": "two"}
    assert give("two", "a.txt") == "replaced"
    assert (files.get(first.id).name, files.get(first.id).passages) == ("a.txt", 3)  # type: ignore[union-attr]
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "one"}
    assert {file.stage for file in files.all()} == {Stage.QUEUED}
    assert give("three", "a.txt", "/folder/a.txt") == "replaced"
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "three", "c.txt": "one"}
    for file in files.all():
        files.queue.claim("w")
        files.claimed.finish(file.id, "w", passages=1, pages=0)
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "three", "c.txt": "one"}
    assert give("four", "c.txt") == "replaced"
    assert len(kept()) == 4


def test_a_copy_of_the_library_itself_gives_none_of_its_files_another_name(files: Files, tmp_path: Path) -> None:
    for text, name, beside in (("two", "a.txt", False), ("two", "a (2).txt", True), ("three", "a.txt", False)):
        files.add(given(tmp_path, "one"), "a.txt")
        files.add(given(tmp_path, text), name, origin="/folder/a.txt", beside=beside)
    kept = {file.name: files.location(file).read_text("utf-8") for file in files.all()}
    assert kept == {"a.txt": "one", "a (2).txt": "three"}


def test_of_a_file_that_is_deleted_no_other_name_is_remembered(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "one"), "a.txt").file
    files.add(given(tmp_path, "one"), "b.txt")
    files.remove(first.id)
    for text in ("one", "two"):
        files.add(given(tmp_path, text), "a.txt")
    assert [file.name for file in files.all()] == ["a.txt"]
    with files.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM other_names").fetchone()[0] == 0


@pytest.mark.parametrize("gone", ["the bytes", "links between files"])
def test_bytes_that_are_kept_under_another_name_are_copied_where_they_cannot_be_linked_and_may_be_gone(
    in_folder: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    def not_here(source: object, target: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    first = in_folder.add(given(tmp_path, "one"), "a.txt").file
    for name in ("b.txt", "c.txt"):
        in_folder.add(given(tmp_path, "one"), name)
    if gone == "the bytes":
        in_folder.location(first).unlink()
    else:
        monkeypatch.setattr(os, "link", not_here)
    for text in ("two", "three"):
        assert in_folder.add(given(tmp_path, text), "a.txt").outcome == "replaced"
    kept = {file.name: in_folder.location(file).read_text("utf-8") for file in in_folder.all()}
    assert kept == {"a.txt": "three"} | ({} if gone == "the bytes" else {"b.txt": "one"})


def test_a_file_that_was_refused_may_be_there_under_another_name(files: Files, tmp_path: Path) -> None:
    there = files.add(given(tmp_path), "notes.txt").file
    files.refuse("copy.txt", 5, EmptyFileError("copy.txt is empty."))
    assert files.add(given(tmp_path), "copy.txt") == Added(there, "duplicate", "copy.txt")


def test_a_version_that_was_refused_does_not_stand_in_the_way_of_the_next(files: Files, tmp_path: Path) -> None:
    there = files.add(given(tmp_path, "old"), "notes.txt").file
    files.refuse("notes.txt", 5, EmptyFileError("notes.txt is empty."))
    files.queue.claim("w")
    files.claimed.finish(there.id, "w", passages=1, pages=0)
    assert files.add(given(tmp_path, "new"), "notes.txt").file.id == there.id


def test_other_bytes_under_the_same_name_replace_the_file_and_old_bytes_go_once_the_new_are_ready(
    files: Files, tmp_path: Path
) -> None:
    first = files.add(given(tmp_path, "old"), "notes.txt").file
    files.queue.claim("w")
    files.claimed.finish(first.id, "w", passages=1, pages=0)
    second = files.add(given(tmp_path, "new"), "notes.txt")
    assert (second.outcome, second.file.id, second.file.stage) == ("replaced", first.id, Stage.QUEUED)
    assert files.location(first).read_text("utf-8") == "old"
    files.queue.claim("w")
    assert files.claimed.finish(first.id, "w", passages=1, pages=0)
    assert not files.location(first).exists()
    assert files.location(second.file).read_text("utf-8") == "new"


def test_an_empty_file_and_one_over_the_limit_are_refused_and_nothing_is_left_behind(files: Files, tmp_path: Path) -> None:
    with pytest.raises(EmptyFileError, match=r"void\.txt"):
        files.add(given(tmp_path, ""), "void.txt")
    with pytest.raises(TooLargeError, match="limit is 1 MB"):
        files.add(given(tmp_path, "x" * 1_000_001), "big.txt", IngestSettings(max_file_mb=1))
    assert files.all() == []
    assert list(tmp_path.glob("given-*")) == []


def test_files_are_claimed_in_the_order_they_came_and_by_one_worker_only(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "1"), "1.txt").file
    second = files.add(given(tmp_path, "2"), "2.txt").file
    claimed = [files.queue.claim("a"), files.queue.claim("b"), files.queue.claim("a")]
    assert [file and file.id for file in claimed] == [first.id, second.id, None]


def test_a_file_whose_worker_fell_silent_is_claimed_again_and_the_old_worker_is_turned_away(
    files: Files, tmp_path: Path, clock: Clock
) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("dead")
    clock.now += 9
    assert not files.queue.waiting()
    assert files.queue.claim("alive") is None
    clock.now += 2
    assert files.queue.waiting()
    again = files.queue.claim("alive")
    assert again is not None
    assert again.id == file.id
    assert not advance(files, file.id, "dead", Stage.EMBEDDING, 1, 2)
    assert not files.claimed.finish(file.id, "dead", passages=9, pages=9)
    assert advance(files, file.id, "alive", Stage.EMBEDDING, 1, 2)


def test_stop_ends_a_waiting_file_at_once_and_tells_the_worker_of_a_running_one(files: Files, tmp_path: Path) -> None:
    running = files.add(given(tmp_path, "1"), "1.txt").file
    waiting = files.add(given(tmp_path, "2"), "2.txt").file
    files.queue.claim("w")
    files.queue.stop(running.id)
    files.queue.stop(waiting.id)
    assert files.get(waiting.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    assert not files.claimed.sign(running.id, "w")
    assert not advance(files, running.id, "w", Stage.EMBEDDING, 1, 2)
    files.claimed.halt(running.id, "w")
    files.queue.retry(running.id)
    assert files.get(running.id).stage is Stage.QUEUED  # type: ignore[union-attr]
    assert files.queue.claim("w").id == running.id  # type: ignore[union-attr]
    assert files.claimed.sign(running.id, "w")


def test_a_file_that_is_given_again_before_its_worker_has_stopped_goes_on(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    files.queue.stop(file.id)
    assert files.add(given(tmp_path), "notes.txt").outcome == "duplicate"
    assert not files.claimed.sign(file.id, "w")
    files.claimed.halt(file.id, "w")
    assert files.queue.claim("other").id == file.id  # type: ignore[union-attr]
    assert files.claimed.sign(file.id, "other")


def test_a_link_that_is_given_again_before_it_has_stopped_is_fetched(files: Files) -> None:
    link = Link("https://example.org/", anywhere=False)
    row = files.links.add(link)
    files.queue.claim("w", link=True)
    files.queue.stop(row.id)
    files.links.add(link)
    assert not files.claimed.sign(row.id, "w")
    assert files.queue.claim("other", link=True).id == row.id  # type: ignore[union-attr]
    assert files.claimed.sign(row.id, "other")


def test_a_file_whose_worker_fell_silent_is_shown_to_wait_and_is_stopped_at_once(
    files: Files, tmp_path: Path, clock: Clock
) -> None:
    dead, begun, waiting = (files.add(given(tmp_path, text * 100_000), f"{text}.txt").file for text in "abc")
    for worker, file in (("dead", dead), ("alive", begun)):
        files.queue.claim(worker)
        advance(files, file.id, worker, Stage.EMBEDDING, 5, 10, left=30.0)
    clock.now += 11
    assert advance(files, begun.id, "alive", Stage.EMBEDDING, 6, 10, left=28.0)
    rows = {file.id: file for file in files.all()}
    assert [rows[file.id].stage for file in (dead, begun, waiting)] == [Stage.QUEUED, Stage.EMBEDDING, Stage.QUEUED]
    assert rows[dead.id].seconds_left == rows[waiting.id].seconds_left
    assert seconds_left(list(rows.values())) == 28.0 + 2 * (rows[waiting.id].seconds_left or 0)  # one worker is at work
    files.queue.stop(dead.id)
    assert files.get(dead.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    assert not advance(files, dead.id, "dead", Stage.EMBEDDING, 6, 10)
    assert files.queue.claim("other").id == waiting.id  # type: ignore[union-attr]
    assert files.queue.claim("other") is None
    files.queue.retry(dead.id)
    assert files.queue.claim("other").id == dead.id  # type: ignore[union-attr]


def test_a_failed_file_stays_with_what_happened_until_it_is_tried_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "secret.pdf").file
    files.queue.claim("w")
    error = EncryptedFileError("secret.pdf is protected by a password.", hint="Enter it.")
    files.claimed.fail(file.id, "w", error)
    failed = files.get(file.id)
    assert failed is not None
    assert failed.stage is Stage.FAILED
    assert failed.problem is not None
    assert (failed.problem.what, failed.problem.hint, failed.problem.needs_password) == (error.what, error.hint, True)
    files.queue.retry(file.id, password="open sesame")
    assert files.password(file.id) == "open sesame"
    tried = files.get(file.id)
    assert tried is not None
    assert (tried.stage, tried.problem) == (Stage.QUEUED, None)


def test_a_failed_file_given_again_is_read_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    files.claimed.fail(file.id, "w", DamagedFileError("notes.txt is damaged."))
    again = files.add(given(tmp_path), "notes.txt")
    assert (again.outcome, again.file.id, again.file.stage) == ("replaced", file.id, Stage.QUEUED)


def test_a_failed_file_given_under_another_name_is_tried_again_and_not_doubled_unless_that_says_another_kind(
    files: Files, tmp_path: Path
) -> None:
    file = files.add(given(tmp_path), "locked.pdf").file
    files.queue.claim("w")
    advance(files, file.id, "w", Stage.READING, 1, 2)
    files.claimed.fail(file.id, "w", EncryptedFileError("locked.pdf is protected with a password."))
    again = files.add(given(tmp_path), "copy.PDF")
    assert (again.outcome, again.file.id, again.file.stage) == ("duplicate", file.id, Stage.QUEUED)
    assert again.file.fraction == 0
    files.queue.claim("w")
    files.claimed.fail(file.id, "w", EncryptedFileError("locked.pdf is protected with a password."))
    other = files.add(given(tmp_path), "other.txt")
    assert other.outcome == "added"
    assert files.add(given(tmp_path), "another copy.pdf") == Added(other.file, "duplicate", "another copy.pdf")


def test_nobody_is_taken_for_silent_who_had_to_wait_for_a_long_transaction(files: Files, tmp_path: Path, clock: Clock) -> None:
    for name in ("dead.txt", "waits.txt", "long.txt"):
        files.add(given(tmp_path, name), name)
    dead, waits, long = (files.queue.claim(worker) for worker in ("dead", "waits", "long"))
    assert dead
    assert waits
    assert long
    clock.now += 9
    assert files.claimed.sign(waits.id, "waits")
    clock.now += 3
    with files.claimed.long_transaction():
        clock.now += 15
        assert files.claimed.finish(long.id, "long", passages=1, pages=0)
    assert files.queue.claim("other") == files.get(dead.id)
    assert files.queue.claim("other") is None
    clock.now += 12
    taken = files.queue.claim("other")
    assert taken is not None


def test_a_signature_from_the_future_is_silence_too_as_after_the_clock_was_set_back(
    files: Files, tmp_path: Path, clock: Clock
) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("dead")
    clock.now -= 9
    assert files.queue.claim("alive") is None
    clock.now -= 3600
    again = files.queue.claim("alive")
    assert again is not None
    assert again.id == file.id
    assert not files.claimed.sign(file.id, "dead")
    assert files.queue.claim("third") is None


def test_many_workers_at_once_never_get_the_same_file(files: Files, tmp_path: Path) -> None:
    ids = {files.add(given(tmp_path, str(number)), f"{number}.txt").file.id for number in range(20)}
    claimed: list[FileRow] = []

    def work(name: str) -> None:
        while (file := files.queue.claim(name)) is not None:
            claimed.append(file)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == 20
    assert {file.id for file in claimed} == ids


def test_the_bar_never_goes_back_and_is_full_only_when_the_file_is_ready(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    seen = [0.0]
    for fraction in (0.1, 0.05, 0.4, 0.3, 1.0):
        advance(files, file.id, "w", Stage.EMBEDDING, 1, 10, fraction)
        seen.append(files.get(file.id).fraction)  # type: ignore[union-attr]
    assert seen == [0.0, 0.1, 0.1, 0.4, 0.4, 0.99]
    files.claimed.finish(file.id, "w", passages=10, pages=4)
    done_row = files.get(file.id)
    assert done_row is not None
    assert (done_row.fraction, done_row.passages, done_row.pages) == (1.0, 10, 4)


def test_the_bar_stays_where_it_was_when_a_worker_dies_or_is_stopped_and_begins_again_with_other_bytes(
    files: Files, tmp_path: Path, clock: Clock
) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("dead")
    advance(files, file.id, "dead", Stage.EMBEDDING, 1, 10, 0.6)
    clock.now += 60
    assert files.queue.claim("w").fraction == 0.6  # type: ignore[union-attr]
    files.queue.stop(file.id)
    files.claimed.halt(file.id, "w")
    files.queue.retry(file.id)
    assert files.queue.claim("w").fraction == 0.6  # type: ignore[union-attr]
    assert files.add(given(tmp_path, "other"), "notes.txt").file.fraction == 0.0


def test_time_left_is_shown_as_the_worker_gave_it_and_estimated_for_what_waits(files: Files, tmp_path: Path) -> None:
    running = files.add(given(tmp_path, "a" * 100_000), "1.txt").file
    waiting = files.add(given(tmp_path, "b" * 200_000), "2.txt").file
    files.queue.claim("w")
    advance(files, running.id, "w", Stage.EMBEDDING, 5, 10, left=30.0)
    rows = {row.id: row for row in files.all()}
    assert rows[running.id].seconds_left == 30.0
    files.queue.claim("other")
    assert files.get(waiting.id).seconds_left == rows[waiting.id].seconds_left  # type: ignore[union-attr]
    assert seconds_left(files.all()) == 30.0  # of two at work, the longest
    # Whoever has seen a million characters take fifty seconds says ten for the second file.
    files.claimed.finish(running.id, "w", passages=1, pages=0, paces=[("embed", 50.0, 1e6), ("text.txt", 1e6, 1e6)])
    assert files.get(waiting.id).seconds_left == pytest.approx(10, rel=0.05)  # type: ignore[union-attr]
    assert files.get(running.id).seconds_left is None  # type: ignore[union-attr]


def test_the_time_for_all_is_shared_by_the_workers_and_never_less_than_the_longest_begun() -> None:
    def row(stage: Stage, left: float | None) -> FileRow:
        return FileRow("", "a.txt", "", "", 1, 0.0, stage, 0, 0, 0, 0, None, seconds_left=left)

    ready = row(Stage.READY, None)
    assert seconds_left([ready]) is None
    assert seconds_left([row(Stage.QUEUED, 8.0), row(Stage.QUEUED, 2.0), ready]) == 10.0
    assert seconds_left([row(Stage.READING, 4.0), row(Stage.QUEUED, 8.0)]) == 12.0
    assert seconds_left([row(Stage.READING, 4.0), row(Stage.EMBEDDING, 2.0), row(Stage.QUEUED, 8.0)]) == 7.0
    assert seconds_left([row(Stage.READING, 40.0), row(Stage.EMBEDDING, 2.0)]) == 40.0


def test_remove_deletes_the_bytes(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path, "x" * 1234), "notes.txt").file
    files.remove(file.id)
    assert files.get(file.id) is None
    assert not files.location(file).parent.exists()


def test_a_name_with_folders_and_quotes_never_becomes_a_path(files: Files, tmp_path: Path) -> None:
    added = files.add(given(tmp_path), "../../etc/pass'wd\".txt")
    assert files.location(added.file).resolve().is_relative_to((tmp_path / "files").resolve())


def test_a_version_that_arrives_while_the_one_before_becomes_ready_is_kept(in_folder: Files, tmp_path: Path) -> None:
    first = in_folder.add(given(tmp_path, "old"), "notes.txt").file
    in_folder.queue.claim("w")
    arriving, arrived, finished = threading.Event(), threading.Event(), threading.Event()
    newer = in_folder.location(first).with_name("newer.txt")

    def add_in_another_process() -> None:
        with SQLiteDatabase(tmp_path / "library.db").transaction():
            newer.write_text("new", "utf-8")
            arrived.set()
            finished.wait(5)

    def at_statement(statement: str) -> None:
        if statement.startswith("SELECT") and not arriving.is_set():
            arriving.set()
            thread.start()
            arrived.wait(0.3)

    thread = threading.Thread(target=add_in_another_process)
    in_folder.database.connection().set_trace_callback(at_statement)
    assert in_folder.claimed.finish(first.id, "w", passages=1, pages=0)
    finished.set()
    thread.join()
    assert newer.read_text("utf-8") == "new"


def test_the_password_is_kept_only_where_pages_are_drawn_with_it(files: Files, tmp_path: Path) -> None:
    kept = {}
    for name in ("secret.pdf", "secret.docx"):
        file = files.add(given(tmp_path, name), name).file
        files.queue.claim("w")
        files.claimed.fail(file.id, "w", EncryptedFileError(f"{name} is protected with a password."))
        files.queue.retry(file.id, password="sesame")
        files.queue.claim("w")
        files.claimed.finish(file.id, "w", passages=1, pages=1)
        kept[name] = files.password(file.id)
    assert kept == {"secret.pdf": "sesame", "secret.docx": None}


def test_a_name_that_holds_half_characters_is_taken_as_far_as_it_can_be_shown(files: Files, tmp_path: Path) -> None:
    assert files.add(given(tmp_path), "caf\ud83d.txt").file.name == "caf�.txt"
    assert files.refuse("caf\udc81.pdf", 3, DamagedFileError("It is damaged.")).name == "caf�.pdf"
    assert files.refuse("\ud83d\udc80.pdf", 3, DamagedFileError("It is damaged.")).name == "💀.pdf"


def test_two_files_with_names_from_before_utf8_stay_two(files: Files, tmp_path: Path) -> None:
    for letter in "éè":
        name = os.fsdecode(f"caf{letter}.txt".encode("cp1252"))
        assert files.add(given(tmp_path, f"caf{letter}"), name).outcome == "added"
        assert files.add(given(tmp_path, f"an old caf{letter}"), name, origin=f"/old/{name}").outcome == "added"
    named = {file.name: file.origin for file in files.all()}
    assert named == {"café.txt": "", "cafè.txt": "", "café (2).txt": "/old/café.txt", "cafè (2).txt": "/old/cafè.txt"}


def test_a_name_is_the_same_whichever_way_its_accents_are_written(files: Files, tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "Übersicht für März.txt") for form in ("NFC", "NFD"))
    first = files.add(given(tmp_path, "old"), composed).file
    added = files.add(given(tmp_path, "new"), apart)  # as macOS names it
    assert (added.outcome, added.file.id, added.file.name) == ("replaced", first.id, composed)
    files.refuse(composed, 3, DamagedFileError("It is damaged."))
    assert files.refuse(apart, 3, DamagedFileError("It is damaged.")).name == composed
    assert len(files.all()) == 2


def test_a_file_that_is_refused_again_has_one_row(files: Files) -> None:
    files.refuse("huge.pdf", 10, TooLargeError("It is too large."))
    last = files.refuse("huge.pdf", 20, TooLargeError("It is too large."))
    assert [(file.id, file.size) for file in files.all()] == [(last.id, 20)]


def test_files_of_one_name_from_several_places_are_numbered_past_those_that_are_there(files: Files, tmp_path: Path) -> None:
    taken = ("Übersicht%_.html", "Übersicht%_ (3).html", "Übersichtliches.html", "Übersicht%_ (2).htm")
    for name in taken:
        files.add(given(tmp_path, name), name)
    for number in range(3):
        files.add(given(tmp_path, f"of place {number}"), taken[0], origin=f"https://example.org/{number}")
    added = {file.origin: file.name for file in files.all() if file.origin}
    assert list(added.values())[::-1] == [f"Übersicht%_ ({number}).html" for number in (2, 4, 5)]


def test_what_a_dead_worker_held_is_queued_and_named(files: Files, tmp_path: Path) -> None:
    names = ("mine.txt", "others.txt", "another machine's.txt")
    mine, others, elsewhere = (files.add(given(tmp_path, name), name).file for name in names)
    for worker in ("12-web-a", "123-web-a", "12-web-1-a"):
        files.queue.claim(worker)
    assert [file.id for file in files.queue.release("12-web")] == [mine.id]
    assert files.get(mine.id).stage is Stage.QUEUED  # type: ignore[union-attr]
    assert files.get(others.id).stage is Stage.READING  # type: ignore[union-attr]
    assert files.get(elsewhere.id).stage is Stage.READING  # type: ignore[union-attr]


def test_what_a_dead_worker_was_asked_to_stop_is_stopped(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("12-web-a")
    files.queue.stop(file.id)
    files.queue.release("12-web")
    assert files.get(file.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    files.queue.retry(file.id)
    assert files.queue.claim("w") is not None
    assert files.claimed.sign(file.id, "w")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells containers apart")
def test_what_a_process_of_a_container_of_the_same_name_holds_is_left_to_it(files: Files, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    program = f"from lectern.jobs.files import process_name; print(process_name({ended.pid}))"
    there = subprocess.run(["unshare", "--user", "--pid", "--fork", sys.executable, "-c", program], capture_output=True)
    if there.returncode:
        pytest.skip("no containers can be made here")
    held = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim(f"{there.stdout.decode().strip()}-a")
    files.queue.release_ended()
    assert files.get(held.id).stage is Stage.READING  # type: ignore[union-attr]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked for there")
def test_what_processes_of_this_machine_held_that_have_ended_is_queued(files: Files, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    elsewhere = f"{ended.pid}-another-machine"
    names = [process_name(ended.pid), process_name(os.getpid()), elsewhere, "nobody"]
    held = [files.add(given(tmp_path, name), f"{name}.txt").file for name in names]
    for name in names:
        files.queue.claim(f"{name}-a")
    files.queue.release_ended()
    stages = [files.get(file.id).stage for file in held]  # type: ignore[union-attr]
    assert stages == [Stage.QUEUED, Stage.READING, Stage.READING, Stage.READING]


def test_a_file_given_up_is_not_claimed_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.give_up(file.id, DamagedFileError("notes.txt is damaged."))
    assert files.queue.claim("w") is None
    assert files.get(file.id).problem.what == "notes.txt is damaged."  # type: ignore[union-attr]


def test_folders_of_no_file_are_swept_unless_they_are_newer_than_all_that_is_known(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    lost, newer = tmp_path / "files" / "lost", tmp_path / "files" / "newer"
    for folder, seconds in ((lost, -60), (newer, 60)):
        folder.mkdir()
        (folder / "left.txt").write_text("left", "utf-8")
        os.utime(folder, (file.added + seconds, file.added + seconds))
    in_folder.sweep()
    assert not lost.exists()
    assert newer.exists()
    assert in_folder.location(file).exists()


def test_a_version_of_no_row_is_swept_and_the_current_one_is_kept(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    current = in_folder.location(file)
    stray = current.with_name("arrived-before-a-crash.txt")
    stray.write_text("left", "utf-8")
    os.utime(current.parent, (file.added + 60, file.added + 60))
    in_folder.sweep()
    assert stray.exists()  # it may be of a database that is newer than this one
    os.utime(current.parent, (file.added - 60, file.added - 60))
    in_folder.sweep()
    assert not stray.exists()
    assert current.exists()


def test_a_file_forgotten_by_a_process_that_ended_then_is_swept_with_its_bytes(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    in_folder.remove(file.id)
    left = in_folder.location(file)  # as if it had ended between the two
    left.parent.mkdir()
    left.write_text("left", "utf-8")
    in_folder.sweep()
    assert not left.parent.exists()
    with in_folder.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM removed_files").fetchone()[0] == 0


def test_a_database_that_knows_no_file_sweeps_none(in_folder: Files, tmp_path: Path) -> None:
    folder = tmp_path / "files" / "kept"
    folder.mkdir(parents=True)
    in_folder.sweep()
    assert folder.exists()
