"""The queue of files: who gets which, how far they are, and what becomes of those whose worker is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import FileRow, Stage, seconds_left
from lectern.jobs.files import Files
from lectern.jobs.links import Link
from ragcore.errors import DamagedFileError, EncryptedFileError
from tests.lectern.jobs.libraries import Clock, given


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
    return files.claimed.advance(file_id, worker, stage, done, total, fraction=fraction, seconds_left=left)


def test_files_are_claimed_in_order_by_one_worker_each(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "1"), "1.txt").file
    second = files.add(given(tmp_path, "2"), "2.txt").file
    claimed = [files.queue.claim("a"), files.queue.claim("b"), files.queue.claim("a")]
    assert [file and file.id for file in claimed] == [first.id, second.id, None]


def test_file_of_a_silent_worker_is_reclaimed_for_good(files: Files, tmp_path: Path, clock: Clock) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("dead")
    clock.now += 9
    assert not files.queue.has_waiting()
    assert files.queue.claim("alive") is None
    clock.now += 2
    assert files.queue.has_waiting()
    again = files.queue.claim("alive")
    assert again is not None
    assert again.id == file.id
    assert not advance(files, file.id, "dead", Stage.EMBEDDING, 1, 2)
    assert not files.claimed.finish(file.id, "dead", passages=9, pages=9)
    assert advance(files, file.id, "alive", Stage.EMBEDDING, 1, 2)


def test_stop_ends_a_waiting_file_and_signals_a_running_worker(files: Files, tmp_path: Path) -> None:
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


def test_file_added_again_before_it_has_stopped_continues(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    files.queue.stop(file.id)
    assert files.add(given(tmp_path), "notes.txt").outcome == "duplicate"
    assert not files.claimed.sign(file.id, "w")
    files.claimed.halt(file.id, "w")
    assert files.queue.claim("other").id == file.id  # type: ignore[union-attr]
    assert files.claimed.sign(file.id, "other")


def test_link_added_again_before_it_has_stopped_is_fetched(files: Files) -> None:
    link = Link("https://example.org/", anywhere=False)
    row = files.links.add(link)
    files.queue.claim("w", link=True)
    files.queue.stop(row.id)
    files.links.add(link)
    assert not files.claimed.sign(row.id, "w")
    assert files.queue.claim("other", link=True).id == row.id  # type: ignore[union-attr]
    assert files.claimed.sign(row.id, "other")


def test_file_of_a_silent_worker_waits_and_stops_at_once(files: Files, tmp_path: Path, clock: Clock) -> None:
    dead, begun, waiting = (files.add(given(tmp_path, text * 100_000), f"{text}.txt").file for text in "abc")
    for worker, file in (("dead", dead), ("alive", begun)):
        files.queue.claim(worker)
        advance(files, file.id, worker, Stage.EMBEDDING, 5, 10, left=30.0)
    clock.now += 11
    assert advance(files, begun.id, "alive", Stage.EMBEDDING, 6, 10, left=28.0)
    rows = {file.id: file for file in files.all()}
    assert [rows[file.id].stage for file in (dead, begun, waiting)] == [
        Stage.QUEUED,
        Stage.EMBEDDING,
        Stage.QUEUED,
    ]
    assert rows[dead.id].seconds_left == rows[waiting.id].seconds_left
    # one worker is at work
    assert seconds_left(list(rows.values())) == 28.0 + 2 * (rows[waiting.id].seconds_left or 0)
    files.queue.stop(dead.id)
    assert files.get(dead.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    assert not advance(files, dead.id, "dead", Stage.EMBEDDING, 6, 10)
    assert files.queue.claim("other").id == waiting.id  # type: ignore[union-attr]
    assert files.queue.claim("other") is None
    files.queue.retry(dead.id)
    assert files.queue.claim("other").id == dead.id  # type: ignore[union-attr]


def test_failed_file_keeps_its_error_until_retried(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "secret.pdf").file
    files.queue.claim("w")
    error = EncryptedFileError("secret.pdf is protected by a password.", hint="Enter it.")
    files.claimed.fail(file.id, "w", error)
    failed = files.get(file.id)
    assert failed is not None
    assert failed.stage is Stage.FAILED
    assert failed.problem is not None
    assert (failed.problem.what, failed.problem.hint, failed.problem.needs_password) == (
        error.what,
        error.hint,
        True,
    )
    files.queue.retry(file.id, password="open sesame")
    assert files.password(file.id) == "open sesame"
    tried = files.get(file.id)
    assert tried is not None
    assert (tried.stage, tried.problem) == (Stage.QUEUED, None)


def test_long_transaction_does_not_make_a_worker_silent(files: Files, tmp_path: Path, clock: Clock) -> None:
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


def test_heartbeat_from_the_future_counts_as_silence(files: Files, tmp_path: Path, clock: Clock) -> None:
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


def test_progress_never_goes_back_and_is_full_only_when_ready(files: Files, tmp_path: Path) -> None:
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


def test_progress_survives_its_worker_and_restarts_on_new_bytes(
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


def test_remaining_time_is_reported_if_running_else_estimated(files: Files, tmp_path: Path) -> None:
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
    files.claimed.finish(
        running.id, "w", passages=1, pages=0, paces=[("embed", 50.0, 1e6), ("text.txt", 1e6, 1e6)]
    )
    assert files.get(waiting.id).seconds_left == pytest.approx(10, rel=0.05)  # type: ignore[union-attr]
    assert files.get(running.id).seconds_left is None  # type: ignore[union-attr]


def test_total_time_is_shared_by_workers_and_covers_the_longest() -> None:
    def row(stage: Stage, left: float | None) -> FileRow:
        return FileRow("", "a.txt", "", "", 1, 0.0, stage, 0, 0, 0, 0, None, seconds_left=left)

    ready = row(Stage.READY, None)
    assert seconds_left([ready]) is None
    assert seconds_left([row(Stage.QUEUED, 8.0), row(Stage.QUEUED, 2.0), ready]) == 10.0
    assert seconds_left([row(Stage.READING, 4.0), row(Stage.QUEUED, 8.0)]) == 12.0
    assert seconds_left([row(Stage.READING, 4.0), row(Stage.EMBEDDING, 2.0), row(Stage.QUEUED, 8.0)]) == 7.0
    assert seconds_left([row(Stage.READING, 40.0), row(Stage.EMBEDDING, 2.0)]) == 40.0


def test_files_of_a_dead_worker_are_queued_and_named(files: Files, tmp_path: Path) -> None:
    names = ("mine.txt", "others.txt", "another machine's.txt")
    mine, others, elsewhere = (files.add(given(tmp_path, name), name).file for name in names)
    for worker in ("12-web-a", "123-web-a", "12-web-1-a"):
        files.queue.claim(worker)
    assert [file.id for file in files.queue.release("12-web")] == [mine.id]
    assert files.get(mine.id).stage is Stage.QUEUED  # type: ignore[union-attr]
    assert files.get(others.id).stage is Stage.READING  # type: ignore[union-attr]
    assert files.get(elsewhere.id).stage is Stage.READING  # type: ignore[union-attr]


def test_a_stop_request_outlives_a_dead_worker(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("12-web-a")
    files.queue.stop(file.id)
    files.queue.release("12-web")
    assert files.get(file.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    files.queue.retry(file.id)
    assert files.queue.claim("w") is not None
    assert files.claimed.sign(file.id, "w")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells containers apart")
def test_job_of_another_container_of_the_same_name_stays_with_it(files: Files, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    program = f"from lectern.jobs.file_queue import process_name; print(process_name({ended.pid}))"
    container = ["unshare", "--user", "--pid", "--fork"]
    if subprocess.run([*container, "true"], capture_output=True).returncode:
        pytest.skip("no containers can be made here")
    there = subprocess.run([*container, sys.executable, "-c", program], capture_output=True, check=True)
    held = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim(f"{there.stdout.decode().strip()}-a")
    files.queue.release_ended()
    assert files.get(held.id).stage is Stage.READING  # type: ignore[union-attr]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked for there")
def test_jobs_of_ended_local_processes_are_queued_again(files: Files, tmp_path: Path) -> None:
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


def heal(files: Files, tmp_path: Path) -> FileRow:
    """A file whose stored text was damaged, and which is being read again."""
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    files.claimed.finish(file.id, "w", passages=1, pages=1)
    files.queue.heal(file.id)
    assert files.queue.claim("w")
    return file


@pytest.mark.parametrize("end", ["failed", "stopped", "replaced"])
def test_a_file_read_after_an_unfinished_repair_has_no_note_of_it(
    end: str, files: Files, tmp_path: Path
) -> None:
    file = heal(files, tmp_path)
    if end == "failed":
        files.claimed.fail(file.id, "w", DamagedFileError("The original is damaged."))
        files.queue.retry(file.id)
    elif end == "stopped":
        files.queue.stop(file.id)
        files.claimed.halt(file.id, "w")
        files.queue.retry(file.id)
    else:
        files.add(given(tmp_path, "other words"), "notes.txt")
    assert files.queue.claim("w")
    assert files.claimed.finish(file.id, "w", passages=1, pages=1)
    assert files.get(file.id).left_out == ()  # type: ignore[union-attr]


def test_an_abandoned_file_is_not_claimed_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.give_up(file.id, DamagedFileError("notes.txt is damaged."))
    assert files.queue.claim("w") is None
    assert files.get(file.id).problem.what == "notes.txt is damaged."  # type: ignore[union-attr]
