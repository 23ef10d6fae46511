"""The table of files: what is taken in, what is told of it, and how workers share the work."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from ragcore.config import IngestSettings
from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, TooLargeError
from ragcore.ingestion import files as files_module
from ragcore.ingestion.file_bytes import FolderBytes
from ragcore.ingestion.files import SCHEMA, Files, Stage
from ragcore.sqlite import SQLiteDatabase


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(SQLiteDatabase(tmp_path / "library.db", SCHEMA), FolderBytes(tmp_path))


def given(tmp_path: Path, text: str = "hello") -> Path:
    path = tmp_path / f"given-{time.monotonic_ns()}"
    path.write_text(text, "utf-8")
    return path


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


def test_other_bytes_under_the_same_name_replace_the_file_and_old_bytes_go_once_the_new_are_ready(
    files: Files, tmp_path: Path
) -> None:
    first = files.add(given(tmp_path, "old"), "notes.txt").file
    files.claim("w")
    files.finish(first.id, "w", passages=1, pages=0)
    second = files.add(given(tmp_path, "new"), "notes.txt")
    assert (second.outcome, second.file.id, second.file.stage) == ("replaced", first.id, Stage.QUEUED)
    assert files.location(first).read_text("utf-8") == "old"
    files.claim("w")
    assert files.finish(first.id, "w", passages=1, pages=0)
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
    claimed = [files.claim("a"), files.claim("b"), files.claim("a")]
    assert [file and file.id for file in claimed] == [first.id, second.id, None]


def test_a_file_whose_worker_fell_silent_is_claimed_again_and_the_old_worker_is_turned_away(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.claim("dead")
    assert files.claim("alive") is None
    monkeypatch.setattr(files_module, "SILENT_SECONDS", -1.0)
    again = files.claim("alive")
    assert again is not None
    assert again.id == file.id
    assert not files.advance(file.id, "dead", Stage.EMBEDDING, 1, 2)
    assert not files.finish(file.id, "dead", passages=9, pages=9)
    assert files.advance(file.id, "alive", Stage.EMBEDDING, 1, 2)


def test_stop_ends_a_waiting_file_at_once_and_tells_the_worker_of_a_running_one(files: Files, tmp_path: Path) -> None:
    running = files.add(given(tmp_path, "1"), "1.txt").file
    waiting = files.add(given(tmp_path, "2"), "2.txt").file
    files.claim("w")
    files.stop(running.id)
    files.stop(waiting.id)
    assert files.get(waiting.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    assert not files.sign(running.id, "w")
    assert not files.advance(running.id, "w", Stage.EMBEDDING, 1, 2)
    files.halt(running.id, "w")
    files.retry(running.id)
    assert files.get(running.id).stage is Stage.QUEUED  # type: ignore[union-attr]
    assert files.claim("w").id == running.id  # type: ignore[union-attr]
    assert files.sign(running.id, "w")


def test_a_failed_file_stays_with_what_happened_until_it_is_tried_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "secret.pdf").file
    files.claim("w")
    error = EncryptedFileError("secret.pdf is protected by a password.", hint="Enter it.")
    files.fail(file.id, "w", error)
    failed = files.get(file.id)
    assert failed is not None
    assert failed.stage is Stage.FAILED
    assert failed.problem is not None
    assert (failed.problem.what, failed.problem.hint, failed.problem.needs_password) == (error.what, error.hint, True)
    files.retry(file.id, password="open sesame")
    assert files.password(file.id) == "open sesame"
    tried = files.get(file.id)
    assert tried is not None
    assert (tried.stage, tried.problem) == (Stage.QUEUED, None)


def test_a_failed_file_given_again_is_read_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.claim("w")
    files.fail(file.id, "w", DamagedFileError("notes.txt is damaged."))
    again = files.add(given(tmp_path), "notes.txt")
    assert (again.outcome, again.file.id, again.file.stage) == ("replaced", file.id, Stage.QUEUED)


def test_the_bar_never_goes_back_and_ends_full(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.claim("w")
    seen = [0.0]
    for stage, done, total in [
        (Stage.READING, 0, 0), (Stage.READING, 3, 4), (Stage.SPLITTING, 0, 1), (Stage.EMBEDDING, 0, 10),
        (Stage.EMBEDDING, 5, 10), (Stage.EMBEDDING, 10, 10), (Stage.STORING, 0, 1),
    ]:  # fmt: skip
        files.advance(file.id, "w", stage, done, total)
        seen.append(files.get(file.id).fraction)  # type: ignore[union-attr]
    files.finish(file.id, "w", passages=10, pages=4)
    done_row = files.get(file.id)
    assert done_row is not None
    assert seen == sorted(seen)
    assert (done_row.fraction, done_row.passages, done_row.pages) == (1.0, 10, 4)


def test_time_left_comes_from_the_speed_so_far(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.claim("w")
    files.advance(file.id, "w", Stage.EMBEDDING, 0, 100)
    assert files.get(file.id).seconds_left is None  # type: ignore[union-attr]
    time.sleep(0.2)
    files.advance(file.id, "w", Stage.EMBEDDING, 20, 100)
    left = files.get(file.id).seconds_left  # type: ignore[union-attr]
    assert left == pytest.approx(0.8, rel=0.5)


def test_remove_deletes_the_bytes(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path, "x" * 1234), "notes.txt").file
    files.remove(file.id)
    assert files.get(file.id) is None
    assert not files.location(file).parent.exists()


def test_a_name_with_folders_and_quotes_never_becomes_a_path(files: Files, tmp_path: Path) -> None:
    added = files.add(given(tmp_path), "../../etc/pass'wd\".txt")
    assert files.location(added.file).resolve().is_relative_to((tmp_path / "files").resolve())


def test_a_version_that_arrives_while_the_one_before_becomes_ready_is_kept(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "old"), "notes.txt").file
    files.claim("w")
    arriving, arrived, finished = threading.Event(), threading.Event(), threading.Event()
    newer = files.location(first).with_name("newer.txt")

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
    files._database.connection().set_trace_callback(at_statement)
    assert files.finish(first.id, "w", passages=1, pages=0)
    finished.set()
    thread.join()
    assert newer.read_text("utf-8") == "new"


def test_the_password_is_kept_only_where_pages_are_drawn_with_it(files: Files, tmp_path: Path) -> None:
    kept = {}
    for name in ("secret.pdf", "secret.docx"):
        file = files.add(given(tmp_path, name), name).file
        files.claim("w")
        files.fail(file.id, "w", EncryptedFileError(f"{name} is protected with a password."))
        files.retry(file.id, password="sesame")
        files.claim("w")
        files.finish(file.id, "w", passages=1, pages=1)
        kept[name] = files.password(file.id)
    assert kept == {"secret.pdf": "sesame", "secret.docx": None}


def test_a_name_that_holds_half_characters_is_taken_as_far_as_it_can_be_shown(files: Files, tmp_path: Path) -> None:
    assert files.add(given(tmp_path), "caf\udce9.txt").file.name == "caf�.txt"
    assert files.refuse("caf\udce9.pdf", 3, DamagedFileError("It is damaged.")).name == "caf�.pdf"


def test_a_file_that_is_refused_again_has_one_row(files: Files) -> None:
    files.refuse("huge.pdf", 10, TooLargeError("It is too large."))
    last = files.refuse("huge.pdf", 20, TooLargeError("It is too large."))
    assert [(file.id, file.size) for file in files.all()] == [(last.id, 20)]


def test_what_a_dead_worker_held_is_queued_and_named(files: Files, tmp_path: Path) -> None:
    mine, others = (files.add(given(tmp_path, name), name).file for name in ("mine.txt", "others.txt"))
    files.claim("12-a")
    files.claim("123-a")
    assert [file.id for file in files.release(12)] == [mine.id]
    assert files.get(mine.id).stage is Stage.QUEUED  # type: ignore[union-attr]
    assert files.get(others.id).stage is Stage.READING  # type: ignore[union-attr]


def test_a_file_given_up_is_not_claimed_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.give_up(file.id, DamagedFileError("notes.txt is damaged."))
    assert files.claim("w") is None
    assert files.get(file.id).problem.what == "notes.txt is damaged."  # type: ignore[union-attr]


def test_folders_of_no_file_are_swept_unless_they_are_newer_than_all_that_is_known(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    lost, newer = tmp_path / "files" / "lost", tmp_path / "files" / "newer"
    for folder, seconds in ((lost, -60), (newer, 60)):
        folder.mkdir()
        (folder / "left.txt").write_text("left", "utf-8")
        os.utime(folder, (file.added + seconds, file.added + seconds))
    files.sweep()
    assert not lost.exists()
    assert newer.exists()
    assert files.location(file).exists()


def test_a_database_that_knows_no_file_sweeps_none(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "files" / "kept"
    folder.mkdir(parents=True)
    files.sweep()
    assert folder.exists()
