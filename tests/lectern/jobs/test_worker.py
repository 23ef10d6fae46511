"""What a worker does to files: nothing twice, nothing by half, and only what is wanted."""

from __future__ import annotations

import shutil
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lectern.jobs.embedders import Embedders
from lectern.jobs.embedding_drafts import Drafts
from lectern.jobs.file_rows import FileRow, Stage, seconds_left
from lectern.jobs.files import Added, Files
from lectern.jobs.index_versions import IndexSettings
from lectern.jobs.open_library import open_parts
from lectern.jobs.rebuild import Rebuilder
from lectern.jobs.sandbox import end_readers, start_reader
from lectern.jobs.time_left import remember
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.settings import IngestSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.sql.postgres import PostgresDatabase
from tests import postgres
from tests.lectern.jobs.libraries import (
    Counting,
    KilledError,
    add,
    disk_bytes,
    paragraphs,
    small_passages,
    vectors_held,
    worker_of,
)
from tests.making import make_docx, make_pdf, make_rtf, make_text, make_xlsx
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, only_tesseract, scanned, with_tesseract

if TYPE_CHECKING:
    from ragcore.schema import Vectors


@pytest.fixture
def in_folder(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    small_passages(opened)
    yield opened
    opened.close()


def kill(library: Library, embedder: Counting) -> None:
    """A worker takes the first file and dies over it; what it held is known to be free."""
    worker = worker_of(library, embedder)
    with pytest.raises(KilledError):
        worker.run_once()
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")


def drafts_of(library: Library, file_id: str) -> int:
    return len(Drafts(library.database).vectors(file_id))


@pytest.mark.smoke
def test_the_work_of_a_killed_worker_resumes_where_it_was(library: Library) -> None:
    file = add(library, paragraphs(600), "long.txt")
    first, second = Counting(dies_at=3), Counting()
    kill(library, first)
    assert drafts_of(library, file.id) == len(first.texts) > 300
    assert worker_of(library, second).run_once()
    nodes = list(library.store.passages(file.id))
    assert sorted(first.texts + second.texts) == sorted(node.text for node in nodes)
    assert drafts_of(library, file.id) == 0
    found = library.store.nodes([node.id_ for node in nodes])
    expected = HashEmbedding().embed_passages([node.text for node in nodes])
    assert all(
        node.embedding == pytest.approx(row, abs=1e-6) for node, row in zip(found, expected, strict=True)
    )


def test_heartbeat_age_uses_the_shared_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = [4_000_000_000.0]  # seconds since the epoch: no machine's own clock
    monkeypatch.setattr(PostgresDatabase, "clock", lambda database: shared[0])
    address = postgres.fresh()
    here, there = (open_parts(address, tmp_path / machine) for machine in ("here", "there"))
    path = tmp_path / "given"
    path.write_text("Notes.", "utf-8")
    file = here.files.add(path, "notes.txt").file
    here.store.versions.begin(IndexSettings(40, 0, "sentence", ""))
    assert here.files.queue.claim("one") is not None
    assert here.store.versions.claim("one") is not None
    assert there.files.queue.claim("two") is None
    assert there.store.versions.claim("two") is None
    shared[0] += 60
    assert there.files.queue.claim("two") == there.files.get(file.id)
    assert there.store.versions.claim("two") is not None
    for parts in (here, there):
        parts.database.close()


@with_tesseract
@only_tesseract
def test_file_with_unreadable_scans_is_ready_and_can_be_reread(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, folder = shutil.which("tesseract"), tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    end_readers()
    try:
        file = library.intake.add(
            scanned(tmp_path / "mixed.pdf", "=Typed.", SENTENCES[0], SENTENCES[1]), "mixed.pdf"
        ).file
        assert worker_of(library).run_once()
        row = library.files.get(file.id)
        assert row is not None
        assert (row.stage, row.problem and row.problem.what) == (
            Stage.READY,
            (
                "In mixed.pdf there are only pictures on pages 2 and 3, and no text recognition (OCR) is "
                "installed."
            ),
        )
        assert library.store.document(file.id).text == "Typed."
        (folder / "tesseract").symlink_to(str(real))
        library.files.queue.retry(file.id)
        assert worker_of(library).run_once()
        row = library.files.get(file.id)
        assert row is not None
        assert (row.stage, row.problem) == (Stage.READY, None)
        assert library.store.document(file.id).text == "\n\n".join(["Typed.", *SENTENCES])
        library.files.queue.retry(file.id)
        assert not worker_of(library).run_once()
    finally:
        end_readers()


def test_of_a_replaced_file_only_changed_passages_are_embedded(library: Library) -> None:
    add(library, paragraphs(100), "long.txt")
    worker_of(library).run_once()
    changed = paragraphs(100).replace("number 7,", "number seven,").replace("number 70,", "number seventy,")
    file = add(library, changed, "long.txt")
    counting = Counting()
    worker_of(library, counting).run_once()
    assert len(counting.texts) == 2
    assert all("seven" in text for text in counting.texts)
    assert library.store.document(file.id).text == changed
    assert library.files.get(file.id).passages == len(library.store) == 100  # type: ignore[union-attr]


def test_passages_row_and_drafts_change_together_or_not_at_all(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = add(library, paragraphs(400), "long.txt")

    def dying(file_id: str, worker: str, **told: object) -> bool:
        assert len(library.store) >= 400  # in this transaction
        raise KilledError

    monkeypatch.setattr(library.files.claimed, "finish", dying)
    kill(library, Counting())
    assert len(library.store) == 0
    with library.database.snapshot() as db:
        assert [row["stage"] for row in db.execute("SELECT stage FROM files").fetchall()] == ["storing"]
    monkeypatch.undo()
    counting = Counting()
    worker_of(library, counting).run_once()
    row = library.files.get(file.id)
    assert row is not None
    assert row.ready
    assert len(library.store) == row.passages >= 400
    assert 0 < len(counting.texts) <= 150  # the last group had no draft


def test_file_stopped_while_embedding_leaves_nothing_stored(library: Library) -> None:
    stopped, deleted = (add(library, paragraphs(100, word), f"{word}.txt") for word in ("kettle", "barrel"))

    class Acting(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if "kettle" in texts[0]:
                library.files.queue.stop(stopped.id)
            else:
                library.delete_file(deleted.id)
            return super().embed_passages(texts)

    worker = worker_of(library, Acting())
    assert worker.run_once()
    assert worker.run_once()
    assert library.files.get(stopped.id).stage is Stage.STOPPED  # type: ignore[union-attr]
    assert library.files.get(deleted.id) is None
    assert len(library.store) == 0
    assert drafts_of(library, deleted.id) == 0
    library.files.queue.retry(stopped.id)
    worker_of(library).run_once()
    assert library.files.get(stopped.id).ready  # type: ignore[union-attr]


@pytest.mark.parametrize("act", ["queue.stop", "remove"])
def test_file_stopped_just_before_storing_is_not_stored(
    act: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = add(library, paragraphs(10), "notes.txt")
    advance = library.files.claimed.advance

    def acting(file_id: str, worker: str, stage: Stage, done: int, total: int, **told: float) -> bool:
        wanted = advance(file_id, worker, stage, done, total, **told)  # type: ignore[arg-type]
        if stage is Stage.STORING:
            attrgetter(act)(library.files)(file_id)
        return wanted

    monkeypatch.setattr(library.files.claimed, "advance", acting)
    worker_of(library).run_once()
    assert len(library.store) == 0
    row = library.files.get(file.id)
    assert row is None if act == "remove" else row is not None and row.stage is Stage.STOPPED


@pytest.mark.parametrize(
    "stage", ["loading the embedder", "splitting", "fetching the bytes", "making ready what is stored"]
)
def test_stop_works_within_two_seconds_while_a_step_takes_long(
    stage: str, in_folder: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, begun, over = in_folder, threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        over.wait(20)

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            slow()
            return super().embed_passages(texts)

    if stage == "splitting":
        monkeypatch.setattr("lectern.jobs.worker.passages_of", lambda *given: slow())
    elif stage == "making ready what is stored":
        monkeypatch.setattr(library.store.current, "prepare_upsert", lambda *given: slow())
    elif stage == "fetching the bytes":
        monkeypatch.setattr(library.files, "location", lambda file: slow())
    file = add(library, paragraphs(10), "notes.txt")
    worker = worker_of(library, Slow() if stage == "loading the embedder" else None)
    thread = threading.Thread(target=worker.run_once)
    thread.start()
    assert begun.wait(20)
    asked = time.monotonic()
    library.files.queue.stop(file.id)
    thread.join(10)
    took = time.monotonic() - asked
    over.set()
    assert took < 2
    assert library.files.get(file.id).stage is Stage.STOPPED  # type: ignore[union-attr]


@pytest.mark.late("the pace is measured with what other processes take from this one")
def test_progress_is_reported_and_never_goes_back(library: Library) -> None:
    file = add(library, paragraphs(800), "long.txt")
    seen: list[tuple[float, float | None]] = []
    took = characters = 0.0

    class Watched(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            nonlocal took, characters
            began, row = time.monotonic(), library.files.get(file.id)
            assert row is not None
            seen.append((row.fraction, row.seconds_left))
            time.sleep(0.05)
            vectors = super().embed_passages(texts)
            took, characters = took + time.monotonic() - began, characters + sum(map(len, texts))
            return vectors

    worker_of(library, Watched()).run_once()
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert 0 < fractions[-1] < 1
    assert all(left is not None and left > 0 for _, left in seen)
    assert library.files.costs().of("embed") == pytest.approx(took / characters, rel=0.3)


def test_a_deleted_file_gives_its_room_on_the_disk_back(in_folder: Library) -> None:
    library, folder = in_folder, in_folder.folder
    files = [add(library, paragraphs(1500, word), f"{word}.txt") for word in ("kettle", "barrel", "wheel")]
    worker = worker_of(library)
    while worker.run_once():
        pass
    for file in files:
        before = disk_bytes(folder)
        freed = library.delete_file(file.id).bytes_freed
        gone = before - disk_bytes(folder)
        assert freed >= 1_000_000
        assert gone == pytest.approx(freed, rel=0.1)
    assert disk_bytes(folder) < 500_000


def test_parallel_deletions_each_report_their_own_bytes(in_folder: Library) -> None:
    files = [add(in_folder, paragraphs(4000, word), f"{word}.txt") for word in ("lamp", "mast", "rope")]
    for _ in files:
        worker_of(in_folder).run_once()
    before = disk_bytes(in_folder.folder)
    with ThreadPoolExecutor(2) as two:
        freed = [
            deleted.bytes_freed for deleted in two.map(in_folder.delete_file, [file.id for file in files[:2]])
        ]
    assert min(freed) > 0.3 * max(freed)
    assert sum(freed) == pytest.approx(before - disk_bytes(in_folder.folder), rel=0.02)


def test_deletion_during_a_rebuild_reports_the_freed_bytes(in_folder: Library) -> None:
    for word in ("kettle", "barrel"):
        add(in_folder, paragraphs(1500, word), f"{word}.txt")
    worker = worker_of(in_folder)
    while worker.run_once():
        pass
    in_folder.rebuilds.start(chunk_size=18)
    rebuilder = Rebuilder(
        in_folder.files, in_folder.store, Embedders(HashEmbedding()), "w", ThreadPoolExecutor(1)
    )
    assert rebuilder.run_once(lambda: True)  # after the first document
    first = min(in_folder.files.all(), key=lambda file: file.added)
    before = disk_bytes(in_folder.folder)
    coming = in_folder.store.versions.next_version()
    assert coming is not None
    assert len(in_folder.store.version(coming.name)) > 0
    freed = in_folder.delete_file(first.id).bytes_freed
    assert len(in_folder.store.version(coming.name)) == 0
    assert freed > 2 * 1500 * 4 * 256
    assert before - disk_bytes(in_folder.folder) == pytest.approx(freed, rel=0.05)


def test_first_file_that_is_stopped_leaves_nothing_on_disk(in_folder: Library) -> None:
    file = add(in_folder, paragraphs(60), "stopped.txt")
    empty = disk_bytes(in_folder.folder)
    vectors = np.random.default_rng(0).random((500, 1000), np.float32)
    in_folder.files.drafts.keep(file.id, {f"{number:064x}": vector for number, vector in enumerate(vectors)})
    with in_folder.database.transaction() as db:
        db.execute("UPDATE files SET stage = 'stopped', done = 500, total = 2000 WHERE id = ?", (file.id,))
    assert in_folder.delete_file(file.id).bytes_freed > 500 * 4000
    assert disk_bytes(in_folder.folder) <= empty


def test_who_deletes_a_file_keeps_no_vectors_open_that_are_gone(in_folder: Library) -> None:
    for word in ("kettle", "barrel"):
        add(in_folder, paragraphs(60, word), f"{word}.txt")
    worker = worker_of(in_folder)
    while worker.run_once():
        pass
    assert in_folder.retriever(1).retrieve("barrel number 7")
    in_folder.delete_file(in_folder.files.all()[0].id)
    assert vectors_held(in_folder.folder) == []


def test_the_room_of_replaced_versions_does_not_add_up(in_folder: Library) -> None:
    library, sizes = in_folder, []
    for version in range(6):
        add(library, paragraphs(600, f"lamp{version}"), "long.txt")
        worker_of(library).run_once()
        sizes.append(disk_bytes(library.folder))
    assert max(sizes) < 3 * sizes[0]


def test_a_damaged_vector_is_computed_again(in_folder: Library) -> None:
    library = in_folder
    sound, damaged = (add(library, paragraphs(20, word), f"{word}.txt") for word in ("kettle", "barrel"))
    worker = worker_of(library)
    while worker.run_once():
        pass
    path = next((library.folder / "vectors").glob("*.f32"))
    data = bytearray(path.read_bytes())
    data[-100] ^= 0x7F
    path.write_bytes(data)
    assert worker.heal() == 1
    assert worker.heal() == 0
    for file in (sound, damaged):
        nodes = library.store.nodes(library.store.passage_ids(file.id))
        expected = HashEmbedding().embed_passages([node.text for node in nodes])
        assert all(
            node.embedding == pytest.approx(row, abs=1e-6) for node, row in zip(nodes, expected, strict=True)
        )


def test_vector_repair_gives_way_to_files_and_continues_later(in_folder: Library) -> None:
    library = in_folder
    file = add(library, paragraphs(600), "long.txt")
    worker_of(library).run_once()
    path = next((library.folder / "vectors").glob("*.f32"))
    data = bytearray(path.read_bytes())
    data[100] ^= 0x7F
    path.write_bytes(data)

    class Interrupted(Counting):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if self.batches == 1:
                add(library, "A file comes.", "short.txt")
            return super().embed_passages(texts)

    first, second = Interrupted(), Counting()
    assert worker_of(library, first).heal() == 0
    assert first.batches == 2
    worker_of(library).run_once()
    assert worker_of(library, second).heal() == 1
    assert sorted(first.texts + second.texts) == sorted(node.text for node in library.store.passages(file.id))
    assert drafts_of(library, file.id) == 0
    assert worker_of(library).find_damaged() == []


def test_remaining_time_of_a_mixed_queue_is_within_factor_two(in_folder: Library, tmp_path: Path) -> None:
    library = in_folder
    library.update_settings(library.settings.model_copy(update={"ingest": IngestSettings()}))
    given = [
        make_text(tmp_path / "first.txt", "Just a note."),
        *(
            make_pdf(tmp_path / f"{number}.pdf", [paragraphs(20, f"lamp{number}{page}") for page in range(4)])
            for number in range(2)
        ),
        *(
            make_docx(tmp_path / f"{number}.docx", paragraphs(400, f"wheel{number}").split("\n\n"))
            for number in range(3)
        ),
        make_rtf(tmp_path / "a.rtf", paragraphs(160, "barrel").split("\n\n")),
        make_xlsx(
            tmp_path / "a.xlsx",
            {"Lamps": [["lamp", "nights"], *([f"The lamp {n}", str(n)] for n in range(400))]},
        ),
        make_text(tmp_path / "long.txt", paragraphs(300, "mast")),
    ]
    for path in given:
        library.intake.add(path, path.name)
    began, seen = time.monotonic(), list[tuple[float, float]]()

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            seen.append((time.monotonic() - began, seconds_left(library.files.all()) or 0.0))
            time.sleep(sum(map(len, texts)) * 3e-5)
            return super().embed_passages(texts)

    embedder = Slow()
    start_reader()
    worker, began = worker_of(library, embedder), time.monotonic()
    seen.clear()
    while worker.run_once():
        pass
    whole = time.monotonic() - began
    said = [(left, whole - at) for at, left in seen if whole / 2 <= at <= 0.9 * whole]
    assert len(said) >= 5
    assert all(true / 2 <= left <= 2 * true for left, true in said), said


def test_waiting_file_uses_the_pace_of_the_one_before(library: Library) -> None:
    with library.files.transaction() as db:
        remember(db, "embed", 2e-3, 20_000)  # on a quick day
    add(library, paragraphs(1000), "long.txt")
    waiting, cost = add(library, paragraphs(1000, "kettle"), "next.txt"), 2e-5
    told = [0.0]

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            told.append(library.files.get(waiting.id).seconds_left or 0.0)  # type: ignore[union-attr]
            time.sleep(sum(map(len, texts)) * cost)
            return super().embed_passages(texts)

    worker_of(library, Slow()).run_once()
    assert told[-1] > waiting.size * cost / 2


def zipped(library: Library, **members: str) -> FileRow:
    path = library.incoming / "given.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.txt", text)
    return library.intake.add(path, "all.zip").file


def meanwhile(library: Library, unwrapped: type[Files]) -> Worker:
    """A worker whose files do something else at the same time."""
    files = unwrapped(library.database, library.files.storage)
    return Worker(files, library.store, library.embedder, lambda: library.settings.ingest)


def stages(library: Library) -> dict[str, str]:
    return {
        file.name: file.problem.what if file.problem else file.stage.value for file in library.files.all()
    }


def test_zip_replaced_during_its_last_file_is_unpacked_again(library: Library) -> None:
    class Replaced(Files):
        def add(self, *given: Any, **how: Any) -> Added:
            added = super().add(*given, **how)
            zipped(library, mast="The mast is new.")
            return added

    zipped(library, lamp="The lamp is lit.")
    meanwhile(library, Replaced).run_once()
    assert stages(library) == {"all.zip": "queued", "lamp.txt": "queued"}
    while worker_of(library).run_once():
        pass
    assert stages(library) == {"lamp.txt": "ready", "mast.txt": "ready"}


def test_zip_without_news_stays_visible_until_it_is_refused(library: Library) -> None:
    seen: list[dict[str, str]] = []

    class Looked(Files):
        def refuse(self, *given: Any) -> FileRow:
            looker = threading.Thread(target=lambda: seen.append(stages(library)))
            looker.start()
            looker.join()
            return super().refuse(*given)

    for _ in range(2):
        zipped(library, lamp="The lamp is lit.")
        while meanwhile(library, Looked).run_once():
            pass
    assert seen == [{"all.zip": "storing", "lamp.txt": "ready"}]
    assert stages(library) == {
        "all.zip": "Everything in all.zip is already in your library.",
        "lamp.txt": "ready",
    }


def test_worker_that_lost_a_zip_keeps_what_the_next_unpacked(library: Library) -> None:
    lost, unpacked = threading.Event(), threading.Event()

    class Loses(Files):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            advance = self.claimed.advance

            def advance_late(*given: Any, **progress: Any) -> bool:
                if given[3] == given[4] != 0 and not lost.is_set():  # all of it is unpacked
                    zipped(library, mast="The mast is new.")
                    lost.set()
                    assert unpacked.wait(60)
                return advance(*given, **progress)

            self.claimed.advance = advance_late  # type: ignore[method-assign]

    class Gains(Files):
        def add(self, *given: Any, **how: Any) -> Added:
            unpacked.set()
            loser.join()
            return super().add(*given, **how)

    zipped(library, lamp="The lamp is lit.")
    loser = threading.Thread(target=meanwhile(library, Loses).run_once)
    loser.start()
    assert lost.wait(60)
    meanwhile(library, Gains).run_once()
    assert stages(library) == {"mast.txt": "queued"}


def test_of_a_zip_that_is_stopped_nothing_stays_unpacked(library: Library) -> None:
    class Stops(Files):
        def add(self, *given: Any, **how: Any) -> Added:
            self.queue.stop(file.id)
            return super().add(*given, **how)

    file = zipped(library, lamp="The lamp is lit.", mast="The mast is new.")
    of_a_killed_worker = library.files.location(file).parent / "unpacked-0" / "member-00001.txt"
    of_a_killed_worker.parent.mkdir()
    of_a_killed_worker.write_text("The lamp is lit.", "utf-8")
    meanwhile(library, Stops).run_once()
    assert stages(library) == {"all.zip": "stopped", "lamp.txt": "queued"}
    assert list(library.folder.rglob("member-*")) == []
    library.files.queue.retry(file.id)
    while worker_of(library).run_once():
        pass
    assert stages(library) == {"lamp.txt": "ready", "mast.txt": "ready"}


def test_a_zip_can_be_stopped_while_a_large_file_is_unpacked(library: Library) -> None:
    over = threading.Event()

    class Slow(Files):
        def add(self, *given: Any, **how: Any) -> Added:
            self.queue.stop(file.id)
            assert over.wait(60)
            return super().add(*given, **how)

    file = zipped(library, lamp="The lamp is lit.")
    worker = meanwhile(library, Slow)
    thread = threading.Thread(target=worker.run_once)
    thread.start()
    thread.join(20)
    assert stages(library) == {"all.zip": "stopped"}
    over.set()
    worker._threads.shutdown()
