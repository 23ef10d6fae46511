"""Small files are read together and wait for no large one, a file without progress makes way, and each comes
to its own end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lectern.jobs import lease
from lectern.jobs.file_rows import FILE_LANES, FileRow, Lane, Stage, lane_of
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.worker import Worker
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.schema import Document, TextNode
from tests.lectern.jobs.libraries import Counting, KilledError, add, paragraphs, worker_of

if TYPE_CHECKING:
    from ragcore.schema import Vectors

LARGE = "\n\n".join(f"The barrel {number} rolled for {number} miles." for number in range(1700))


def notes(library: Library, count: int) -> list[FileRow]:
    return [add(library, f"The lamp number {number} is lit.", f"{number}.txt") for number in range(count)]


def stages(library: Library) -> dict[str, Stage]:
    return {file.name: file.stage for file in library.files.all()}


def texts(library: Library) -> list[str]:
    return sorted(library.store.document(stored.id_).text for stored in library.store.documents())


def test_small_files_are_embedded_together_with_own_passages(library: Library) -> None:
    given, counting = notes(library, 30), Counting()
    assert worker_of(library, counting).run_once()
    assert counting.batches == 1
    for number, file in enumerate(given):
        (node,) = library.store.passages(file.id)
        assert node.text == f"The lamp number {number} is lit."
        (stored,) = library.store.nodes([node.id_])
        assert stored.embedding == pytest.approx(HashEmbedding().embed_passages([node.text])[0], abs=1e-6)
        row = library.files.get(file.id)
        assert row is not None
        assert (row.stage, row.passages) == (Stage.READY, 1)


def test_faulty_small_files_fail_and_the_others_become_ready(library: Library) -> None:
    notes(library, 3)
    add(library, " ", "empty.txt")
    add(library, '{"a": ', "broken.json")
    add(library, "{\\rtf1 the end}", "end.rtf")
    while worker_of(library).run_once():
        pass
    assert stages(library) == {
        **dict.fromkeys(("0.txt", "1.txt", "2.txt", "end.rtf"), Stage.READY),
        **dict.fromkeys(("empty.txt", "broken.json"), Stage.FAILED),
    }


def test_small_files_stopped_or_replaced_are_not_stored(library: Library) -> None:
    given = notes(library, 4)

    class Acting(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if len(texts) == 4:
                library.files.queue.stop(given[0].id)
                library.delete_file(given[1].id)
                add(library, "The barrel rolled.", "2.txt")
            return super().embed_passages(texts)

    worker = worker_of(library, Acting())
    assert worker.run_once()
    assert texts(library) == ["The lamp number 3 is lit."]
    assert stages(library) == {"0.txt": Stage.STOPPED, "2.txt": Stage.QUEUED, "3.txt": Stage.READY}
    library.files.queue.retry(given[0].id)
    assert worker.run_once()
    assert texts(library) == ["The barrel rolled.", "The lamp number 0 is lit.", "The lamp number 3 is lit."]


def test_small_files_of_a_killed_worker_are_redone_singly(library: Library) -> None:
    notes(library, 5)
    with pytest.raises(KilledError):
        worker_of(library, Counting(dies_at=0)).run_once()
    assert texts(library) == []
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")
    worker, ready = worker_of(library), []
    while worker.run_once():
        ready.append(library.files.tally()[Stage.READY])
    assert ready == [1, 2, 3, 4, 5]  # one of them may be what workers die of
    assert texts(library) == [f"The lamp number {number} is lit." for number in range(5)]


def test_unstorable_small_file_does_not_fail_the_others(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = notes(library, 4)
    index = library.store.current
    prepared: Callable[[Document, Sequence[TextNode]], Callable[[], int]] = index.prepare_upsert

    def failing(document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        if document.id_ == given[2].id:
            raise ZeroDivisionError
        return prepared(document, nodes)

    monkeypatch.setattr(index, "prepare_upsert", failing)
    worker_of(library).run_once()
    assert stages(library) == {
        name: Stage.FAILED if name == "2.txt" else Stage.READY for name in stages(library)
    }
    assert len(texts(library)) == 3


def test_small_file_is_ready_while_a_large_one_is_embedded(library: Library) -> None:
    small = Worker(library.files, library.store, Counting(), lambda: library.settings.ingest, [Lane.SMALL])
    add(library, LARGE, "large.txt")
    notes(library, 2)
    begun, go_on = threading.Event(), threading.Event()

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            begun.set()
            go_on.wait(30)
            return super().embed_passages(texts)

    large = Worker(library.files, library.store, Slow(), lambda: library.settings.ingest, [Lane.LARGE])
    thread = threading.Thread(target=large.run_once)
    thread.start()
    assert begun.wait(30)
    assert small.run_once()
    assert not small.run_once()
    assert stages(library) == {"large.txt": Stage.EMBEDDING, "0.txt": Stage.READY, "1.txt": Stage.READY}
    go_on.set()
    thread.join()
    assert stages(library)["large.txt"] is Stage.READY


def hanging(path: Path, options: ReadOptions, *, cancelled: Callable[[], bool], **_: Any) -> Document:
    """Reads on for four seconds, without progress, where a name says so."""
    end = time.monotonic() + 4
    while "hangs" in options.name and time.monotonic() < end:
        time.sleep(0.02)
        if cancelled():
            raise Cancelled
    return read_file(path, options)


def test_stalled_file_makes_way_and_is_read_after_the_others(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lectern.jobs.worker.read_isolated", hanging)
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 1.5)
    for name in ("hangs 1.txt", "hangs 2.txt", "large.txt"):
        add(library, f"{name}\n\n{LARGE}", name)
    worker, ready = worker_of(library), []
    while worker.run_once():
        ready += [
            name for name, stage in stages(library).items() if stage is Stage.READY and name not in ready
        ]
    assert ready == ["large.txt", "hangs 1.txt", "hangs 2.txt"]


def test_a_file_for_which_no_other_waits_is_read_on(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lectern.jobs.worker.read_isolated", hanging)
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 1.5)
    file = add(library, LARGE, "hangs.txt")
    assert worker_of(library).run_once()
    row = library.files.get(file.id)
    assert row is not None
    assert (row.stage, row.lane) == (Stage.READY, Lane.LARGE)


def test_slow_small_file_continues_in_the_large_lane(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lectern.jobs.worker.read_isolated", hanging)
    monkeypatch.setattr(lease, "SMALL_SECONDS", 0.2)
    given = [*notes(library, 2), add(library, "Lamp.", "hangs.txt"), add(library, "The barrel.", "last.txt")]
    small = Worker(
        library.files, library.store, HashEmbedding(), lambda: library.settings.ingest, [Lane.SMALL]
    )
    assert small.run_once()
    assert not small.run_once()
    rows = [library.files.get(file.id) for file in given]
    assert [row and (row.stage, row.lane) for row in rows] == [
        (Stage.READY, Lane.SMALL),
        (Stage.READY, Lane.SMALL),
        (Stage.QUEUED, Lane.LARGE),
        (Stage.READY, Lane.SMALL),
    ]


@pytest.mark.parametrize(
    ("name", "size", "lane"),
    [
        ("a.txt", 65_536, Lane.SMALL),
        ("a.txt", 65_537, Lane.LARGE),
        ("a.txt", 700_000, Lane.LARGE),
        ("a.txt", 5_600_000, Lane.LONG),
        ("a.txt", 45_000_000, Lane.LONGEST),
        ("a.txt", 200_000_000, Lane.LONGEST),
        ("a.pdf", 4_000_000, Lane.LARGE),
        ("scans.pdf", 100_000_000, Lane.LONGEST),
        ("a.zip", 400_000_000, Lane.LARGE),
    ],
)
def test_lane_of_a_file_is_chosen_by_its_usual_time(name: str, size: int, lane: Lane) -> None:
    assert lane_of(name, size) is lane


def test_no_file_waits_for_one_that_takes_far_longer_or_shorter(library: Library) -> None:
    sizes = {"small.txt": 100, "large.txt": 90_000, "long.txt": 800_000, "longest.pdf": 51_000_000}
    for name, size in sizes.items():
        path = library.incoming / "given"
        with path.open("wb") as file:
            file.truncate(size)
        assert library.intake.add(path, name).file.lane is lane_of(name, size)
    claimed = [
        [row.name for row in library.files.queue.claim_together(f"worker of {lane.name}", [lane])]
        for lane in FILE_LANES
    ]
    assert claimed == [["small.txt"], ["large.txt"], ["long.txt"], ["longest.pdf"], []]


def test_file_that_may_have_killed_workers_is_read_alone(library: Library) -> None:
    notes(library, 3)
    assert len(library.files.queue.claim_together("71-here-w")) == 3
    library.worker._release("71-here")
    assert [len(library.files.queue.claim_together("72-here-w")) for _ in range(4)] == [1, 1, 1, 0]


def test_a_zip_with_many_small_files_is_not_one_of_them(library: Library) -> None:
    assert add(library, paragraphs(3), "notes.zip").lane is Lane.LARGE
