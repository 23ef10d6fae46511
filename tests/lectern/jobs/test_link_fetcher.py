"""Links as jobs: what is there comes once, whoever ends in the middle of it, and nothing else waits for
it."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.files import Files
from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.worker import run_forever
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedStoreError
from tests.lectern.jobs.libraries import KilledError, add, worker_of
from tests.ragcore.readers.web.test_download import PAGE, Site

NAME = "Öffnung: der die Bahn.html"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        yield library


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def fetcher_of(library: Library) -> Fetcher:
    return Fetcher(library.files, lambda: library.settings.ingest)


def row(library: Library) -> FileRow:
    (only,) = library.files.all()
    return only


def test_link_becomes_a_file_and_a_changed_page_replaces_it(library: Library, site: Site) -> None:
    link = site.page("/", PAGE)
    waiting = library.intake.add_link(link, anywhere=True)
    assert (waiting.name, waiting.stage) == (link, Stage.QUEUED)
    assert library.intake.add_link(link, anywhere=True).id == waiting.id
    assert fetcher_of(library).run_once()
    assert not fetcher_of(library).run_once()
    file = row(library)
    assert (file.name, file.origin, file.stage) == (NAME, link, Stage.QUEUED)
    assert worker_of(library).run_once()
    site.page("/", PAGE.replace("Frühling", "Herbst"))
    library.intake.add_link(link, anywhere=True)
    assert fetcher_of(library).run_once()
    assert worker_of(library).run_once()
    assert (row(library).id, row(library).stage) == (file.id, Stage.READY)
    assert "Herbst" in library.store.document(file.id).text


def test_a_page_that_is_in_the_library_is_reported(library: Library, site: Site) -> None:
    link = site.page("/", PAGE)
    for _ in range(2):
        library.intake.add_link(link, anywhere=True)
        assert fetcher_of(library).run_once()
    files = {file.name: file for file in library.files.all()}
    assert files.keys() == {NAME, link}
    problem = files[link].problem
    assert problem is not None
    assert problem.what == f"{NAME} is already in your library."
    assert files[NAME].stage is Stage.QUEUED


def test_page_added_by_a_killed_process_is_not_called_duplicate(library: Library, site: Site) -> None:
    class Killed(Files):
        def remove(self, file_id: str, *, worker: str = "") -> bool:
            raise KilledError

    link = site.page("/", PAGE)
    library.intake.add_link(link, anywhere=True)
    with pytest.raises(KilledError):
        Fetcher(Killed(library.database, library.files.storage), lambda: library.settings.ingest).run_once()
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")
    assert fetcher_of(library).run_once()
    assert [file.name for file in library.files.all()] == [NAME]


def test_a_link_whose_process_was_killed_is_fetched_by_another(library: Library, site: Site) -> None:
    link = site.page("/", PAGE)
    library.intake.add_link(link, anywhere=True)
    assert library.files.queue.claim("dead", link=True) is not None
    assert not fetcher_of(library).run_once()
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")
    assert fetcher_of(library).run_once()
    assert row(library).name == NAME
    # And one that was killed when the file was in, and the link's row was not gone yet.
    library.intake.add_link(link, anywhere=True)
    assert library.files.queue.claim("dead", link=True) is not None
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")
    assert fetcher_of(library).run_once()
    assert [file.name for file in library.files.all() if file.path] == [NAME]


def test_link_keeps_its_allowed_targets_and_can_be_retried(library: Library, site: Site) -> None:
    link = site.link("/late")
    file = library.intake.add_link(link)
    assert fetcher_of(library).run_once()
    assert "is an address of this computer" in str(row(library).problem)
    assert site.asked == []
    library.intake.add_link(link, anywhere=True)
    assert fetcher_of(library).run_once()
    assert "has no such page (404)" in str(row(library).problem)
    site.page("/late", PAGE)
    library.files.queue.retry(file.id)
    assert fetcher_of(library).run_once()
    assert row(library).name == NAME


def test_a_worker_takes_the_file_behind_a_link_that_waits(library: Library, site: Site) -> None:
    link = library.intake.add_link(site.page("/", PAGE), anywhere=True)
    own = add(library, "My own notes.", "notes.txt")
    assert worker_of(library).run_once()
    assert not worker_of(library).run_once()
    assert {file.id: file.stage for file in library.files.all()} == {
        link.id: Stage.QUEUED,
        own.id: Stage.READY,
    }


def test_slow_server_blocks_nobody_and_stops_within_two_seconds(library: Library, site: Site) -> None:
    silent, over = threading.Event(), threading.Event()

    def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
        with suppress(OSError):  # when the other side has gone
            handler.wfile.write(
                b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n"
            )
            while not silent.wait(0.05):
                handler.wfile.write(b"lamp ")
        over.wait(30)

    site.answers["/"] = drip
    file = library.intake.add_link(site.link("/"), anywhere=True)
    thread = threading.Thread(target=fetcher_of(library).run_once)
    thread.start()
    own = add(library, "My own notes.", "notes.txt")
    assert worker_of(library).run_once()
    assert library.files.get(own.id).ready  # type: ignore[union-attr]
    deadline = time.monotonic() + 20
    while not (now := library.files.get(file.id)) or not now.done:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert now.total == 1000
    assert 0 < now.fraction < 1
    silent.set()
    asked = time.monotonic()
    library.files.queue.stop(file.id)
    thread.join(10)
    assert time.monotonic() - asked < 2
    over.set()
    assert library.files.get(file.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    site.page("/", "The lamp is lit.", "text/plain")
    library.files.queue.retry(file.id)
    assert fetcher_of(library).run_once()
    assert library.files.get(file.id) is None
    library.files.remove(library.intake.add_link(site.link("/"), anywhere=True).id)
    assert not fetcher_of(library).run_once()
    with library.database.snapshot() as db:
        assert db.execute("SELECT link FROM links").fetchall() == []


def test_links_are_fetched_again_after_a_database_repair(
    library: Library, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    library.intake.add_link(site.page("/", PAGE), anywhere=True)
    claim, tries = library.files.queue.claim, iter(["damaged", "mended"])

    def damaged_at_first(worker: str, *, link: bool) -> FileRow | None:
        match next(tries, "over"):
            case "damaged":
                raise DamagedStoreError("The library is damaged.", hint="Take in a copy.")
            case "over":
                raise SystemExit
        return claim(worker, link=link)

    monkeypatch.setattr(library.files.queue, "claim", damaged_at_first)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with pytest.raises(SystemExit):
        run_forever(fetcher_of(library).run_once, library.database)
    assert row(library).name == NAME
    assert "The library is damaged." in caplog.text
