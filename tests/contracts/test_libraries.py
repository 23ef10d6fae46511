"""What every library promises, in a folder or on a PostgreSQL server: files become passages that answer, and
each change is there for another process, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.export.backup import write_copy
from lectern.export.restore import read_copy
from lectern.jobs import index_versions, lease
from lectern.jobs.file_rows import Lane, Stage
from lectern.jobs.link_fetcher import Fetcher
from lectern.jobs.worker import tidy
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmbeddingError
from ragcore.llms.scripted import ScriptedLLM
from ragcore.readers.ocr.page_words import PageWords
from tests import postgres
from tests.lectern.jobs.libraries import (
    Counting,
    KilledError,
    add,
    paragraphs,
    small_passages,
    worker_of,
)
from tests.lectern.test_library import CELLAR, TOWER
from tests.ragcore.readers.web.test_download import PAGE, Site

if TYPE_CHECKING:
    from ragcore.schema import Vectors

Open = Callable[[], Library]


@pytest.fixture(params=["folder", "server"])
def open_library(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the same library each time, as another process would."""
    monkeypatch.setattr(lease, "SMALL_SECONDS", 300.0)  # for a busy machine
    where = postgres.fresh() if request.param == "server" else tmp_path / "library"
    opened = []

    def open_it() -> Library:
        library = Library(where, embedder=HashEmbedding(), local=tmp_path / "library")
        opened.append(library)
        return library

    yield open_it
    for library in opened:
        library.close()


def read_all(library: Library, embedder: HashEmbedding | None = None) -> None:
    worker = worker_of(library, embedder)
    while worker.run_once() or worker.rebuild_once():
        pass


def answer(library: Library, question: str) -> Message:
    run = AnswerRuns(library).start(library.conversations.create().id, Ask(question))
    assert run.wait(30)
    message = library.conversations.message(run.message_id)
    assert message is not None
    return message


def texts(library: Library) -> dict[str, list[str]]:
    """The passages of each file."""
    found = {}
    for file in library.files.all():
        nodes = library.store.nodes(library.store.passage_ids(file.id))
        found[file.name] = [node.text for node in nodes]
    return found


def test_files_become_passages_that_answer_in_every_process(open_library: Open) -> None:
    library, other = open_library(), open_library()
    tower = add(library, TOWER, "tower.txt")
    assert other.files.get(tower.id) == tower
    add(other, CELLAR, "cellar.txt")
    read_all(other)
    for each in (library, other, open_library()):
        assert [(file.name, file.stage) for file in each.files.all()] == [
            ("cellar.txt", Stage.READY),
            ("tower.txt", Stage.READY),
        ]
        message = answer(each, "Who built the tower?")
        assert message.text == "The tower was built by Ada Penrose in 1871. [1]"
        assert message.sources[0].file_id == tower.id
        assert library.conversations.message(message.id) == message
    assert library.suggestions.get().pending
    library.suggestions.wait(30)
    assert other.suggestions.get() == library.suggestions.get()
    assert other.suggestions.get().questions
    assert library.secret == other.secret


def test_replaced_and_deleted_files_leave_nothing(open_library: Open) -> None:
    library = open_library()
    small_passages(library)
    add(library, paragraphs(40), "lamps.txt")
    barrels = add(library, paragraphs(30, "barrel"), "barrels.txt")
    read_all(library)
    counting = Counting()
    add(library, f"A new lamp.\n\n{paragraphs(40)}", "lamps.txt")
    read_all(library, counting)
    assert counting.texts == ["A new lamp."]
    library.delete_file(barrels.id)
    tidy(library.files, library.store)
    other = open_library()
    assert {name: len(passages) for name, passages in texts(other).items()} == {"lamps.txt": 41}
    assert len(other.store) == 41
    assert other.status().passages == 41


def test_work_of_a_killed_worker_is_continued_by_another(open_library: Open) -> None:
    library = open_library()
    small_passages(library)
    add(library, paragraphs(600), "long.txt")
    other = open_library()
    first, second = Counting(dies_at=3), Counting()
    with pytest.raises(KilledError):
        worker_of(library, first).run_once()
    with library.database.transaction() as db:
        db.execute("UPDATE files SET heartbeat = 0")
    read_all(other, second)
    assert sorted(first.texts + second.texts) == sorted(texts(library)["long.txt"])


def test_new_index_takes_the_place_of_the_old_one(
    open_library: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_versions, "IN_USE_SECONDS", -1.0)  # an old index is dropped at once
    library, other = open_library(), open_library()
    small_passages(library)
    add(library, paragraphs(400), "lamps.txt")
    read_all(library)
    passages = len(library.store)
    library.rebuilds.start(chunk_size=40)
    with pytest.raises(KilledError):
        worker_of(library, Counting(dies_at=1)).rebuild_once()
    assert len(other.store) == passages  # the old index answers until then
    library.store.versions.stop()
    library.store.versions.resume()
    read_all(other)
    assert len(library.store) == len(other.store) < passages
    assert library.settings.ingest.chunk_size == 40
    library.rebuilds.start(chunk_size=20)
    library.store.versions.give_up()
    read_all(library)
    assert library.rebuilds.current_settings().chunk_size == 40
    with library.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM indexes").fetchone()[0] == 1


def test_failed_rebuild_is_reported_and_the_old_index_stays(open_library: Open) -> None:
    class Broken(HashEmbedding):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            raise EmbeddingError("It is out of order.", hint="Mend it.")

    library, other = open_library(), open_library()
    small_passages(library)
    add(library, paragraphs(20), "lamps.txt")
    read_all(library)
    passages = texts(library)
    library.rebuilds.start(chunk_size=40)
    read_all(library, Broken())
    coming = other.store.versions.next_version()
    assert coming is not None
    assert coming.problem is not None
    assert (coming.state, coming.problem.what) == ("failed", "It is out of order.")
    assert texts(other) == passages


def test_link_becomes_a_file_that_is_fetched_again_by_another_process(open_library: Open) -> None:
    library, other = open_library(), open_library()
    with Site() as site:
        link = site.page("/", PAGE)
        waiting = library.intake.add_link(link, anywhere=True)
        assert other.intake.add_link(link, anywhere=True).id == waiting.id
        assert library.files.queue.claim("dead", link=True) is not None
        with library.database.transaction() as db:
            db.execute("UPDATE files SET heartbeat = 0")
        assert Fetcher(other.files, lambda: other.settings.ingest).run_once()
    read_all(library)
    (file,) = other.files.all()
    assert (file.origin, file.stage) == (link, Stage.READY)


def test_words_of_a_page_come_back_and_go_with_their_file(open_library: Open) -> None:
    library = open_library()
    file = add(library, TOWER, "tower.txt")
    words = PageWords(90, [("cliff", 10, 20, 30, 40)])
    library.files.page_words.replace(file.id, {0: words, 2: PageWords(0, [])})
    pages = open_library().files.page_words
    assert pages.of(file.id, [0, 1, 2]) == {0: words, 2: PageWords(0, [])}
    library.files.remove(file.id)
    assert pages.of(file.id, range(3)) == {}


def test_file_changes_its_queue_for_all_processes(open_library: Open) -> None:
    library, other = open_library(), open_library()
    slow, deadly = add(library, TOWER, "tower.txt"), add(library, CELLAR, "cellar.txt")
    assert library.files.queue.claim("worker") == library.files.get(slow.id)
    assert library.files.queue.move(slow.id, "worker", Lane.LONG)
    library.files.queue.isolate(deadly.id)
    lanes = {file.name: file.lane for file in other.files.all()}
    assert lanes == {"tower.txt": Lane.LONG, "cellar.txt": Lane.LARGE}


def test_small_files_are_read_together_and_a_stopped_one_not(open_library: Open) -> None:
    library = open_library()
    files = [add(library, f"The tower {number} has {number} lamps.", f"{number}.txt") for number in range(6)]
    library.files.queue.stop(files[2].id)
    read_all(library)
    stages = {file.name: file.stage for file in library.files.all()}
    assert stages.pop("2.txt") is Stage.STOPPED
    assert set(stages.values()) == {Stage.READY}
    library.files.queue.retry(files[2].id)
    read_all(library)
    assert texts(open_library())["2.txt"] == ["The tower 2 has 2 lamps."]


def test_copy_holds_the_whole_library(open_library: Open, tmp_path: Path) -> None:
    library = open_library()
    add(library, TOWER, "tower.txt")
    read_all(library)
    message = answer(library, "Who built the tower?")
    write_copy(library, tmp_path / "copy")
    copied = Library(tmp_path / "copied", embedder=HashEmbedding(), llm=ScriptedLLM([]))
    read_copy(copied, tmp_path / "copy")
    read_all(copied)
    assert texts(copied) == texts(library)
    restored = copied.conversations.message(message.id)
    assert restored is not None
    assert restored.text == message.text
    copied.close()
