"""The worker process, killed, stopped and orphaned in the middle of its work: nothing is lost, doubled or
left running."""

from __future__ import annotations

import http.server
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lectern.indexes import Indexes
from lectern.jobs.file_rows import FileRow, Lane, Stage
from lectern.library import Library
from tests.lectern.jobs.libraries import vectors_held
from tests.ragcore.readers.web.test_download import Site

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

LONG = "".join(
    f"Paragraph {n} tells of the {n}th lamp, which burnt for {n} nights. It was never lit again.\n\n"
    for n in range(3000)
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    library = Library.open(tmp_path_factory.mktemp("library"))
    library.worker.start()
    yield library
    library.close()


def add(library: Library, text: str, name: str) -> str:
    path = library.incoming / name
    path.write_text(text, "utf-8")
    return library.intake.add(path, name).file.id


def wait(library: Library, file_id: str, reached: Callable[[FileRow], bool], seconds: float = 120) -> FileRow:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        file = library.files.get(file_id)
        assert file is not None
        if reached(file):
            return file
        time.sleep(0.05)
    raise AssertionError(f"still {file}")


def worker_of(library: Library, file_id: str) -> int | None:
    """The process that has the file in hand, or None."""
    with sqlite3.connect(library.database.path) as db:
        (name,) = db.execute("SELECT worker FROM files WHERE id = ?", (file_id,)).fetchone()
    return int(name.split("-")[0]) if name else None


def kill_worker_of(library: Library, file_id: str) -> None:
    process = worker_of(library, file_id)
    assert process is not None
    os.kill(process, signal.SIGKILL)


def embedding(file: FileRow) -> bool:
    return file.stage is Stage.EMBEDDING and file.done > 0


@pytest.mark.late("a worker, a reader and an embedder start in processes of their own within two minutes")
def test_a_file_is_stopped_within_two_seconds_and_resumed(library: Library) -> None:
    file_id = add(library, LONG, "long.txt")
    wait(library, file_id, embedding)
    asked = time.monotonic()
    library.files.queue.stop(file_id)
    wait(library, file_id, lambda file: file.stage is Stage.STOPPED, seconds=10)
    assert time.monotonic() - asked < 4  # two, with room for a machine busy with other tests
    assert len(library.store) == 0
    library.files.queue.retry(file_id)
    wait(library, file_id, embedding)
    library.delete_file(file_id)


def test_killed_worker_is_replaced_without_loss_or_doubles(library: Library) -> None:
    ready = add(library, "The kettle was never found.", "kettle.txt")
    wait(library, ready, lambda file: file.ready)
    file_id = add(library, LONG[:40_000], "killed.txt")
    wait(library, file_id, embedding)
    kill_worker_of(library, file_id)
    done = wait(library, file_id, lambda file: file.ready)
    assert len(list(library.store.passages(file_id))) == done.passages
    assert [node.text for node in library.store.passages(ready)] == ["The kettle was never found."]
    assert [row.id_ for row in library.store.documents()] == [ready, file_id]


def test_an_idle_worker_keeps_no_vectors_open_that_are_gone(library: Library) -> None:
    first, second = (add(library, f"The {word} is green.", f"{word}.txt") for word in ("door", "gate"))
    for file_id in (first, second):
        wait(library, file_id, lambda file: file.ready)
    # for which the vectors of before are looked up
    add(library, "The door is green.\n\nThe lock is red.", "door.txt")
    wait(library, first, lambda file: file.ready)
    process = library.worker.pid
    assert process is not None
    library.delete_file(second)
    deadline = time.monotonic() + 20
    while vectors_held(library.folder, process):
        assert time.monotonic() < deadline, "the worker still has them"
        time.sleep(0.05)


def test_index_deleted_elsewhere_with_an_idle_worker_can_close(tmp_path: Path) -> None:
    shelf = Indexes(tmp_path)
    made = shelf.create("Contracts")
    library = Library.open(made.where)
    library.worker.start()
    wait(library, add(library, "The kettle was never found.", "kettle.txt"), lambda file: file.ready)
    shelf.delete(made.id)
    with ThreadPoolExecutor(1) as another:  # that ends the application, and has not used the library before
        another.submit(library.close).result()
    assert len(shelf.all()) == 1


def test_link_of_a_killed_worker_is_fetched_by_the_next(library: Library) -> None:
    site = Site()
    came, over = threading.Event(), threading.Event()

    def hang(handler: http.server.BaseHTTPRequestHandler) -> None:
        site.page("/", "<title>The crane</title><p>The crane was built in spring.")  # for whoever asks next
        came.set()
        over.wait(60)

    site.answers["/"] = hang
    link = library.intake.add_link(site.link("/"), anywhere=True)
    assert came.wait(60)
    kill_worker_of(library, link.id)
    deadline = time.monotonic() + 60
    while not (found := [file for file in library.files.all() if file.origin == site.link("/")]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    over.set()
    wait(library, found[0].id, lambda file: file.ready)
    assert library.files.get(link.id) is None
    assert "built in spring" in library.store.document(found[0].id).text
    site.server.shutdown()
    site.server.server_close()


def test_a_worker_ends_with_the_application_however_that_ends(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from lectern.library import Library\n"
        f"library = Library.open(Path({str(tmp_path)!r})); library.worker.start()\n"
        "print(library.worker.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as application:
        assert application.stdout is not None
        worker = int(application.stdout.readline())
        application.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _alive(worker):
        time.sleep(0.1)
    assert not _alive(worker)


def test_file_of_a_killed_application_is_read_first_on_restart(tmp_path: Path) -> None:
    program = (
        "import time; from pathlib import Path; from lectern.library import Library\n"
        f"library = Library.open(Path({str(tmp_path)!r})); library.worker.start(); time.sleep(600)"
    )
    library = Library.open(tmp_path)
    killed, waiting = add(library, LONG, "killed.txt"), add(library, LONG[:-1], "waiting.txt")
    with subprocess.Popen([sys.executable, "-c", program]) as application:
        before = wait(library, killed, embedding)
        first = worker_of(library, killed)
        application.kill()
    library.worker.start()
    wait(library, killed, lambda file: worker_of(library, file.id) not in (first, None))
    again = wait(library, killed, embedding)
    assert again.done >= before.done
    # On a busy machine it may have made no progress for so long that it lets others pass, in a lane of its
    # own.
    assert again.lane is Lane.STUCK or library.files.get(waiting).stage is Stage.QUEUED  # type: ignore[union-attr]
    library.files.queue.stop(killed)
    wait(library, killed, lambda file: file.stage is Stage.STOPPED, seconds=4)
    library.close()


def _alive(process: int) -> bool:
    """Whether the process runs; one that has ended and only waits to be collected does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_closed_library_leaves_no_temporary_files_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    closed = Library.open(tmp_path / "library")
    closed.worker.start()
    file_id = add(closed, "word,word\n" * 2_000_000, "long.csv")
    wait(closed, file_id, lambda file: file.stage is Stage.READING)
    closed.close()
    assert [path.name for path in tmp_path.iterdir()] == ["library"]
    opened = Library.open(tmp_path / "library")
    assert opened.files.get(file_id).stage is Stage.QUEUED  # type: ignore[union-attr]
    opened.close()


def test_the_log_of_the_worker_is_begun_anew_when_it_is_long(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_bytes(b"x" * 1_500_000)
    library = Library.open(tmp_path)
    library.worker.start()
    library.close()
    assert log.stat().st_size < 100_000
    assert (tmp_path / "worker.old.log").stat().st_size == 1_500_000


def read_only(log: Path) -> None:
    log.touch(mode=0o400)
    if os.geteuid() == 0:
        pytest.skip("the administrator may write it")


def on_a_full_disk(log: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no full disk to write to")
    log.symlink_to("/dev/full")


@pytest.mark.parametrize("spoil", [Path.mkdir, read_only, on_a_full_disk])
def test_log_that_cannot_be_written_does_not_stop_reading(
    spoil: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(tmp_path / "worker.log")
    with closing(Library.open(tmp_path)) as library:
        library.worker.start()
        wait(library, add(library, "The tower is old.", "tower.txt"), lambda file: file.ready)
    assert len([text for text in caplog.messages if "worker.log cannot be written" in text]) == 1
