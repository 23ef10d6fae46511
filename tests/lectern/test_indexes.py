"""Several indexes: each on its own, none ever half made, and the disk agrees with what is said."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Setting
from lectern.explain.embedding_map import compute_map, write
from lectern.export.backup import write_copy
from lectern.indexes import FIRST_NAME, MAIN, Index, Indexes, bytes_in
from lectern.jobs.worker import Worker
from lectern.keys import read_key, write_key
from lectern.library import Library
from lectern.schema import Ask
from lectern.settings import IngestSettings, LLMSettings
from lectern.ui.open_indexes import IDLE_SECONDS, OpenIndexes
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError, UnreadableFileError
from ragcore.evaluation.question_sets import Question
from tests import postgres

TOWER = "The tower was built by Ada Penrose in 1871. It is forty metres high."
CELLAR = "The cellar holds three hundred barrels. Nobody has counted them since the flood."


def opened(where: Path | str) -> Library:
    return Library(where, embedder=HashEmbedding())


@pytest.fixture
def shelf(tmp_path: Path) -> Indexes:
    return Indexes(tmp_path, opened)


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Library]:
    library = opened(tmp_path)
    yield library
    library.close()


def take_in(library: Library, text: str, name: str) -> None:
    path = library.incoming / "given"
    path.write_text(text, "utf-8")
    library.intake.add(path, name)
    read_all(library)


def read_all(library: Library) -> None:
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    while worker.run_once():
        pass


def names(shelf: Indexes) -> list[str]:
    return [index.name for index in shelf.all()]


def test_first_index_exists_and_others_follow_in_order(shelf: Indexes, tmp_path: Path) -> None:
    assert shelf.all() == [Index(MAIN, FIRST_NAME, tmp_path)]
    made = [shelf.create(name) for name in ("Contracts", "  Letters\nof 1911 ")]
    assert names(shelf) == [FIRST_NAME, "Contracts", "Letters of 1911"]
    assert [shelf.get(index.id) for index in made] == made


def test_what_is_in_one_index_is_in_no_other(shelf: Indexes, first: Library) -> None:
    take_in(first, TOWER, "tower.txt")
    other = opened(shelf.create("Contracts").where)
    take_in(other, CELLAR, "cellar.txt")
    asked = other.conversations.create()
    other.conversations.begin(asked.id, Ask("How many barrels?"))
    assert [file.name for file in first.files.all()] == ["tower.txt"]
    assert [file.name for file in other.files.all()] == ["cellar.txt"]
    assert [each.node.text for each in other.retriever(3).retrieve("barrels and tower")] == [CELLAR]
    assert first.conversations.all() == []
    other.close()


def test_models_and_keys_are_shared_but_chunking_is_per_index(shelf: Indexes, first: Library) -> None:
    other = opened(shelf.create("Contracts", ingest=IngestSettings(chunk_size=64)).where)
    other.update_settings(
        other.settings.model_copy(update={"llm": LLMSettings(provider="ollama", model="little")})
    )
    write_key(other.folder, "openai", "sk-given-in-the-other-one")
    assert first.settings.llm.model == "little"
    assert read_key(first.folder, "openai") == "sk-given-in-the-other-one"
    assert (first.settings.ingest.chunk_size, other.settings.ingest.chunk_size) == (200, 64)
    first.update_settings(first.settings.model_copy(update={"ingest": IngestSettings(chunk_size=99)}))
    assert other.settings.ingest.chunk_size == 64
    assert not (other.folder / "keys.json").exists()
    other.close()


def test_names_are_there_once_and_can_be_changed(shelf: Indexes) -> None:
    made = shelf.create("Contracts")
    with pytest.raises(InputError, match="called CONTRACTS"):
        shelf.create("CONTRACTS")
    with pytest.raises(InputError, match="no name"):
        shelf.create(" \n ")
    shelf.rename(made.id, "Leases")
    shelf.rename(made.id, "leases")
    shelf.rename(MAIN, "Papers")
    assert names(shelf) == ["Papers", "leases"]
    with pytest.raises(InputError, match="called leases"):
        shelf.rename(MAIN, "leases")
    assert shelf.free_name("Papers") == "Papers 2"
    assert shelf.free_name("Other") == "Other"


@pytest.mark.parametrize(
    "id_", ["", "..", "../..", "indexes", "0123456789ab", "0123456789AB", "main/../x", "x" * 400]
)
def test_what_is_no_id_of_an_index_opens_nothing(shelf: Indexes, id_: str) -> None:
    shelf.create("Contracts")
    assert shelf.get(id_) is None
    with pytest.raises(InputError, match="no longer exists"):
        shelf.delete(id_)


def test_duplicate_index_has_the_same_content_without_embedding(shelf: Indexes, first: Library) -> None:
    take_in(first, TOWER, "tower.txt")
    take_in(first, CELLAR, "cellar.txt")
    asked = first.conversations.create(title="Barrels")
    first.conversations.begin(asked.id, Ask("How many barrels?"))
    made = shelf.duplicate(MAIN, first, "Copy")

    class Refusing(HashEmbedding):
        def embed_passages(self, texts: object) -> object:  # type: ignore[override]
            raise AssertionError("something was embedded anew")

    copy = Library(made.where, embedder=Refusing())
    worker = Worker(copy.files, copy.store, copy.embedder, lambda: copy.settings.ingest)
    while worker.run_once():
        pass
    assert {file.name: (file.ready, file.problem) for file in copy.files.all()} == {
        "tower.txt": (True, None),
        "cellar.txt": (True, None),
    }
    assert sorted(node.text for node in copy.store.passages()) == sorted(
        node.text for node in first.store.passages()
    )
    assert [conversation.title for conversation in copy.conversations.all()] == ["Barrels"]
    copy.delete_file(copy.files.all()[0].id)
    assert len(first.files.all()) == 2
    copy.close()


def test_deleted_index_frees_the_bytes_that_were_announced(
    shelf: Indexes, first: Library, tmp_path: Path
) -> None:
    take_in(first, TOWER, "tower.txt")
    made = shelf.create("Contracts")
    other = opened(made.where)
    take_in(other, CELLAR * 50, "cellar.txt")
    other.close()
    before = bytes_in(tmp_path)
    assert shelf.delete(made.id) == before - bytes_in(tmp_path) > 5000
    assert names(shelf) == [FIRST_NAME]
    assert not Path(made.where).exists()
    assert [node.text for node in first.store.passages()] == [TOWER]
    with pytest.raises(InputError, match="first index cannot be deleted"):
        shelf.delete(MAIN)


def test_index_from_a_copy_chunks_like_its_original(shelf: Indexes, first: Library, tmp_path: Path) -> None:
    ingest = first.settings.ingest
    first.update_settings(
        first.settings.model_copy(update={"ingest": ingest.model_copy(update={"chunk_size": 64})})
    )
    take_in(first, TOWER, "tower.txt")
    write_copy(first, tmp_path / "copy.lectern")
    first.update_settings(first.settings.model_copy(update={"ingest": ingest}))
    made, copied = shelf.take_in(tmp_path / "copy.lectern", "Mine")
    assert copied.files == 1
    other = opened(made.where)
    assert (other.settings.ingest.chunk_size, first.settings.ingest.chunk_size) == (64, ingest.chunk_size)
    other.close()


def test_an_incomplete_index_does_not_exist(shelf: Indexes, tmp_path: Path) -> None:
    broken = tmp_path / "broken.lectern"
    broken.write_bytes(b"this is no zip")
    with pytest.raises(UnreadableFileError, match=r"mine\.lectern is not a complete copy") as refused:
        shelf.take_in(broken, "Mine", called="mine.lectern")
    assert refused.value.hint == "Make the copy again. No index was made from this one."
    assert names(shelf) == [FIRST_NAME]
    assert list((tmp_path / "indexes").iterdir()) == []


def test_rest_of_a_killed_process_is_swept_and_new_work_stays(shelf: Indexes, tmp_path: Path) -> None:
    made = shelf.create("Contracts")
    Path(made.where).rename(tmp_path / "indexes" / "0123456789ab.gone")
    (tmp_path / "indexes" / "cdefcdefcdef.part").mkdir()
    Indexes(tmp_path, opened)
    assert [path.name for path in (tmp_path / "indexes").iterdir()] == ["cdefcdefcdef.part"]


def test_an_index_whose_name_cannot_be_read_is_still_there(shelf: Indexes) -> None:
    made = shelf.create("Contracts")
    (Path(made.where) / "index.json").write_text("{", "utf-8")
    assert names(shelf) == [FIRST_NAME, made.id]


def _create(folder: str, name: str) -> None:
    Indexes(folder, opened).create(name)


def test_two_processes_share_a_shelf(shelf: Indexes, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    others = [spawn.Process(target=_create, args=(str(tmp_path), name)) for name in ("One", "Two")]
    for other in others:
        other.start()
    for other in others:
        other.join(60)
    assert [other.exitcode for other in others] == [0, 0]
    assert sorted(names(shelf)) == sorted([FIRST_NAME, "One", "Two"])
    gone = shelf.all()[1]
    Indexes(tmp_path, opened).delete(gone.id)
    assert shelf.get(gone.id) is None


def test_a_library_on_a_server_is_alone() -> None:
    shelf = Indexes(postgres.fresh(), opened)
    assert [index.id for index in shelf.all()] == [MAIN]
    with pytest.raises(InputError, match="holds a single index"):
        shelf.create("Contracts")


def test_open_index_stops_before_deletion_and_idle_ones_close(shelf: Indexes) -> None:
    indexes = OpenIndexes(shelf, HashEmbedding())
    first, made, idle = shelf.all()[0], shelf.create("Contracts"), shelf.create("Idle")
    opened_ = {index.id: indexes.get(index.id) for index in (first, made, idle)}
    workers = {id_: each.library.worker._process for id_, each in opened_.items()}
    assert all(worker is not None and worker.poll() is None for worker in workers.values())
    indexes.close_idle(opened_[idle.id].last_used + IDLE_SECONDS + 1)
    again = indexes.get(made.id)
    assert again is not opened_[made.id]
    assert indexes.get(MAIN) is opened_[MAIN]
    assert workers[idle.id].poll() is not None  # type: ignore[union-attr]
    assert indexes.delete(made.id) > 0
    assert again.library.worker.pid is None
    with pytest.raises(InputError, match="no longer exists"):
        indexes.get(made.id)
    indexes.close()
    assert workers[MAIN].poll() is not None  # type: ignore[union-attr]


def test_everything_is_deleted_in_all_indexes_and_settings_stay(shelf: Indexes, tmp_path: Path) -> None:
    indexes = OpenIndexes(shelf, HashEmbedding())
    other = shelf.create("Contracts")
    for id_ in (MAIN, other.id):
        library = indexes.get(id_).library
        take_in(library, TOWER, "tower.txt")
        conversation = library.conversations.create()
        library.conversations.begin(conversation.id, Ask("Who built the tower?"))
        library.notes.keep("Ada Penrose, again", [], question="Who?")
        question = Question("Who built it?", ("Ada Penrose",))
        question_set = library.evaluations.add_set("Mine", [question])
        run = library.evaluations.begin_run(
            question_set.id, Setting("One", Ask("")), answering=True, model=""
        )
        library.evaluations.add_result(run.id, Result(question, {}, 0.1, answer="Ada Penrose did"))
        write(compute_map(library.store, None, lambda share: None), library.folder / "maps" / "tower.npz")
        library.suggestions.get()
        library.suggestions.wait()
    library = indexes.get(MAIN).library
    chosen = library.settings.answers.model_copy(update={"top_k": 9})
    library.update_settings(library.settings.model_copy(update={"answers": chosen}))
    write_key(tmp_path, "openai", "secret-key")

    def suggestions() -> int:
        with library.database.snapshot() as db:
            return int(db.execute("SELECT count(*) AS n FROM suggestions").fetchone()["n"])

    assert suggestions()

    indexes.delete_everything()

    assert not suggestions()
    assert names(shelf) == [FIRST_NAME]
    assert not library.files.all()
    assert not len(library.store)
    assert not library.conversations.all()
    assert not library.notes.all()
    assert not library.evaluations.sets()
    assert library.settings.answers.top_k == 9
    assert read_key(tmp_path, "openai") == "secret-key"
    indexes.close()
    rest = [path for path in tmp_path.rglob("*") if path.is_file() and b"Penrose" in path.read_bytes()]
    assert not rest
    assert not [*tmp_path.rglob("*.npz")]


def test_unfinished_work_of_an_index_resumes_on_restart(shelf: Indexes) -> None:
    idle, reading, making, broken = (shelf.create(name) for name in ("Idle", "Reading", "Making", "Broken"))
    for index in (reading, making):
        library = opened(index.where)
        (library.incoming / "given").write_text(TOWER, "utf-8")
        library.intake.add(library.incoming / "given", "tower.txt")
        if index == making:
            read_all(library)
            library.rebuilds.start(chunk_size=64)
        library.close()
    (Path(broken.where) / "library.db").write_bytes(b"no library" * 100)
    indexes = OpenIndexes(shelf, HashEmbedding())
    indexes.resume_work()
    workers = {id_: each.library.worker._process for id_, each in indexes._open.items()}
    indexes.close()
    assert workers.keys() == {reading.id, making.id}
    assert None not in workers.values()
    assert idle.id not in workers


def test_index_describes_itself_by_name_and_creation_time(shelf: Indexes) -> None:
    made = shelf.create("Ärger & Co")
    assert json.loads((Path(made.where) / "index.json").read_text("utf-8")) == {
        "name": "Ärger & Co",
        "made": made.created,
    }
