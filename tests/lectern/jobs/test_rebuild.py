"""An index made anew with other settings: the old one answers until the new one is whole, whatever happens in
between."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.jobs import index_versions
from lectern.jobs.chunking import passages_of
from lectern.jobs.time_left import remember
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, EmbeddingError
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

if TYPE_CHECKING:
    from ragcore.schema import Vectors


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """With three files in passages of 16 tokens; an old index is dropped at once."""
    monkeypatch.setattr(index_versions, "IN_USE_SECONDS", -1.0)
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    small_passages(opened)
    for word in ("kettle", "barrel", "wheel"):
        add(opened, paragraphs(60, word), f"{word}.txt")
    worker = worker_of(opened)
    while worker.run_once():
        pass
    yield opened
    opened.close()


def check_built_with(
    library: Library, chunk_size: int, chunk_overlap: int = 0, embed_model: str = ""
) -> None:
    """That every passage of the library is what these settings make of its documents, with its vector."""
    assert library.store.versions.current().embed_model == embed_model
    embedder = library.embedder
    for stored in library.store.documents():
        expected = passages_of(library.store.document(stored.id_), chunk_size, chunk_overlap)
        nodes = library.store.nodes(library.store.passage_ids(stored.id_))
        assert [node.text for node in nodes] == [node.text for node in expected]
        rows = embedder.embed_passages([node.text for node in expected])
        assert all(
            node.embedding == pytest.approx(row, abs=1e-6) for node, row in zip(nodes, rows, strict=True)
        )
        assert library.files.get(stored.id_).passages == len(nodes)  # type: ignore[union-attr]


def find_file(library: Library, question: str) -> str:
    """The name of the file whose passage answers best."""
    nodes = library.retriever(1).retrieve(question)
    return str(nodes[0].node.metadata["file_name"])


def run(library: Library, embedder: HashEmbedding | None = None) -> None:
    worker = worker_of(library, embedder)
    while worker.run_once() or worker.rebuild_once():
        pass


def test_the_estimated_changes_are_about_right(library: Library) -> None:
    plan = library.rebuilds.plan(chunk_size=48, chunk_overlap=8)
    assert plan.changes == ("passage length: 16 → 48 tokens", "overlap: 0 → 8 tokens")
    assert plan.passages_now == len(library.store) == 180
    assert plan.seconds > 0
    library.rebuilds.start(chunk_size=48, chunk_overlap=8)
    run(library)
    assert plan.passages == pytest.approx(len(library.store), rel=0.5)
    assert library.rebuilds.plan().changes == ()
    with pytest.raises(ConfigError, match="16 tokens cannot overlap by 16"):
        library.rebuilds.plan(chunk_size=16, chunk_overlap=16)


def test_rebuild_estimate_uses_recent_files_and_overlap(library: Library) -> None:
    add(library, "등대지기는 저녁에 계단을 올라가 항구 위의 등불을 켰다.\n\n" * 2000, "lamp.txt")
    run(library)
    texts = [library.store.document(stored.id_).text for stored in library.store.documents()]
    costs, told = library.files.costs(), list[float]()
    seconds = sum(map(len, texts)) * 2 * costs.of("embed")
    assert library.rebuilds.plan(chunk_size=128, chunk_overlap=64).seconds == pytest.approx(seconds, rel=0.3)

    class Watched(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            coming = library.store.versions.next_version()
            told.append((coming and coming.seconds_left) or 0.0)
            return super().embed_passages(texts)

    library.rebuilds.start(chunk_size=128, chunk_overlap=64)
    run(library, Watched())
    assert told[0] == pytest.approx(seconds, rel=0.3)


def test_chosen_splitter_stays_with_the_index_for_new_files(library: Library) -> None:
    add(library, "# One\n\nA short one.\n\n# Two\n\nA short two.\n", "headings.md")
    run(library)
    headings = next(file for file in library.files.all() if file.name == "headings.md")

    def texts() -> list[str]:
        return [node.text for node in library.store.nodes(library.store.passage_ids(headings.id))]

    whole = texts()
    plan = library.rebuilds.plan(chunk_size=200, splitter="section")
    assert plan.changes == ("passage length: 16 → 200 tokens", "cut at: sentences → headings")
    library.rebuilds.start(chunk_size=200, splitter="section")
    assert texts() == whole  # the old index answers until then
    assert library.rebuilds.current_settings().splitter == "sentence"
    run(library)
    assert texts() == ["# One\n\nA short one.", "# Two\n\nA short two."]
    assert library.rebuilds.current_settings().splitter == library.settings.ingest.splitter == "section"
    assert library.rebuilds.plan().changes == ()
    add(library, "# Three\n\nA.\n\n# Four\n\nB.\n", "later.md")
    run(library)
    later = next(file for file in library.files.all() if file.name == "later.md")
    assert later.passages == 2
    library.rebuilds.start(splitter="token")
    library.store.versions.give_up()
    run(library)
    assert library.rebuilds.plan().changes == (
        "cut at: headings → even lengths",
    )  # what is asked for, and not yet made
    assert library.rebuilds.current_settings().splitter == "section"


def test_the_old_index_answers_until_the_new_one_takes_its_place(library: Library) -> None:
    before = len(library.store)
    answers: list[str] = []

    class Asking(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            answers.append(find_file(library, "barrel number 7"))
            assert len(library.store) == before
            return super().embed_passages(texts)

    library.rebuilds.start(chunk_size=64)
    run(library, Asking())
    assert set(answers) == {"barrel.txt"}
    check_built_with(library, 64)
    assert find_file(library, "barrel number 7") == "barrel.txt"
    assert library.store.versions.next_version() is None
    assert library.settings.ingest.chunk_size == 64
    with library.database.snapshot() as db:
        assert [row[0] for row in db.execute("SELECT name FROM indexes")] == [
            library.store.versions.current().name
        ]


def test_vectors_of_unchanged_passages_are_reused(library: Library) -> None:
    library.rebuilds.start(chunk_size=17)
    counting = Counting()
    run(library, counting)
    check_built_with(library, 17)
    assert len(counting.texts) < 60


def test_the_work_of_a_killed_worker_resumes_where_it_was(library: Library) -> None:
    add(library, paragraphs(400, "crane"), "crane.txt")
    run(library)
    library.rebuilds.start(chunk_size=40)
    first, second, whole = Counting(dies_at=4), Counting(), Counting()
    worker = worker_of(library, first)
    with pytest.raises(KilledError):
        worker.rebuild_once()
    coming = library.store.versions.next_version()
    assert coming is not None
    assert 0 < coming.fraction < 1
    run(library, second)
    check_built_with(library, 40)
    for stored in library.store.documents():
        whole.texts += [node.text for node in passages_of(library.store.document(stored.id_), 40, 0)]
    assert sorted(first.texts + second.texts) == sorted(whole.texts)


def test_a_rebuild_is_stopped_resumed_and_abandoned(library: Library) -> None:
    class Stopping(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            library.store.versions.stop()
            return super().embed_passages(texts)

    library.rebuilds.start(chunk_size=40)
    run(library, Stopping())
    assert library.store.versions.next_version().state == "stopped"  # type: ignore[union-attr]
    check_built_with(library, 16)
    library.store.versions.resume()
    run(library)
    check_built_with(library, 40)
    library.rebuilds.start(chunk_size=80)
    library.store.versions.give_up()
    run(library)
    assert library.store.versions.next_version() is None
    check_built_with(library, 40)


def drafts(library: Library) -> int:
    with library.database.snapshot() as db:
        return int(db.execute("SELECT count(*) FROM drafts").fetchone()[0])


def test_remaining_time_counts_progress_within_the_document(library: Library) -> None:
    add(library, paragraphs(1500, "mast"), "long.txt")
    run(library)
    with library.database.transaction() as db:
        remember(db, "embed", 25.0, 1_000_000)  # about what this embedder takes
    told: list[tuple[float, float]] = []

    def signed() -> tuple[float, float]:
        with library.database.snapshot() as db:
            row = db.execute(
                "SELECT heartbeat, seconds_left FROM index_versions WHERE state = 'building'"
            ).fetchone()
        return row["heartbeat"], row["seconds_left"]

    class Slow(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            """Until the work was signed once more, which changes nothing of how much is done."""
            began, left = signed()
            deadline = time.monotonic() + 20
            while (now := signed())[0] == began:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            told.append((left, now[1]))
            return super().embed_passages(texts)

    library.rebuilds.start(chunk_size=64)
    run(library, Slow())
    assert len(told) > 8
    assert all(after == pytest.approx(before, rel=0.01) for before, after in told)
    assert told[-1][0] < 0.3 * told[0][0]


def test_vectors_of_an_abandoned_index_are_deleted(library: Library) -> None:
    add(library, paragraphs(400, "crane"), "crane.txt")
    run(library)
    library.rebuilds.start(chunk_size=40)
    with pytest.raises(KilledError):
        worker_of(library, Counting(dies_at=4)).rebuild_once()
    assert drafts(library) > 0
    library.store.versions.give_up()
    run(library)
    assert drafts(library) == 0


def test_changes_during_a_rebuild_end_up_in_the_new_index(library: Library) -> None:
    ids = {file.name: file.id for file in library.files.all()}
    acted: list[bool] = []

    class Busy(HashEmbedding):
        """While the last document is at hand, the library changes under it."""

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if "wheel" in texts[0] and not acted:
                acted.append(True)
                add(library, paragraphs(30, "anchor"), "anchor.txt")
                add(library, paragraphs(30, "teapot"), "kettle.txt")
                library.delete_file(ids["barrel.txt"])
                other = worker_of(library, HashEmbedding())
                while other.run_once():
                    pass
            return super().embed_passages(texts)

    library.rebuilds.start(chunk_size=40)
    run(library, Busy())
    assert acted
    check_built_with(library, 40)
    assert {stored.name for stored in library.store.documents()} == {"anchor.txt", "kettle.txt", "wheel.txt"}
    assert "teapot" in library.store.document(ids["kettle.txt"]).text


def test_new_embedder_embeds_questions_after_the_switch(library: Library) -> None:
    library.rebuilds.start(embed_model="hashing")

    class Never(HashEmbedding):
        name = "never"

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError

    run(library, Never())
    check_built_with(library, 16, embed_model="hashing")
    assert find_file(library, "barrel number 7") == "barrel.txt"
    file = add(library, paragraphs(5, "anchor"), "anchor.txt")
    worker = worker_of(library, Never())
    worker.run_once()
    assert library.files.get(file.id).ready  # type: ignore[union-attr]


def test_file_embedded_for_a_replaced_index_is_read_again(library: Library) -> None:
    class Late(HashEmbedding):
        name = "late"
        switched = False

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if not self.switched:
                self.switched = True
                library.rebuilds.start(embed_model="hashing")
                other = worker_of(library, HashEmbedding())
                while other.rebuild_once():
                    pass
            return -super().embed_passages(texts)

    file = add(library, paragraphs(5, "anchor"), "anchor.txt")
    worker = worker_of(library, Late())
    while worker.run_once():
        pass
    assert library.files.get(file.id).ready  # type: ignore[union-attr]
    check_built_with(library, 16, embed_model="hashing")


def test_failing_embedder_is_reported_and_the_old_index_stays(library: Library) -> None:
    class Broken(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            raise EmbeddingError("It is out of order.", hint="Mend it.")

    library.rebuilds.start(chunk_size=40)
    run(library, Broken())
    coming = library.store.versions.next_version()
    assert coming is not None
    assert coming.problem is not None
    assert (coming.state, coming.problem.what) == ("failed", "It is out of order.")
    check_built_with(library, 16)


def test_a_damaged_text_is_read_again_and_the_rebuild_goes_on(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    small_passages(library)
    for word in ("kettle", "barrel", "wheel"):
        add(library, paragraphs(60, word), f"{word}.txt")
    run(library)
    with library.database.transaction() as db:
        db.execute("UPDATE texts SET data = zeroblob(length(data)) WHERE document = 2")
    library.rebuilds.start(chunk_size=40)
    worker_of(library).rebuild_once()
    run(library)
    assert library.store.versions.next_version() is None
    check_built_with(library, 40)
    library.close()


def test_dropping_the_old_index_gives_its_room_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_versions, "IN_USE_SECONDS", -1.0)
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    small_passages(library)
    add(library, paragraphs(1500), "long.txt")
    run(library)
    sizes = [disk_bytes(library.folder)]
    for chunk_size in (17, 16):
        library.rebuilds.start(chunk_size=chunk_size)
        run(library)
        sizes.append(disk_bytes(library.folder))
    library.close()
    assert sizes[2] == pytest.approx(sizes[0], rel=0.15)


def test_application_releases_the_old_index_after_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_versions, "IN_USE_SECONDS", -1.0)
    application, worker = (Library(tmp_path / "library", embedder=HashEmbedding()) for _ in range(2))
    for word in ("kettle", "barrel"):
        add(application, paragraphs(60, word), f"{word}.txt")
    run(worker)
    assert find_file(application, "barrel number 7") == "barrel.txt"
    application.rebuilds.start(chunk_size=40)
    application.delete_file(next(file.id for file in application.files.all() if file.name == "kettle.txt"))
    assert find_file(application, "barrel number 7") == "barrel.txt"
    run(worker)
    worker.close()
    assert find_file(application, "barrel number 7") == "barrel.txt"
    assert vectors_held(tmp_path) == []
    application.close()
