"""A library as a whole, with a hashing embedder and a scripted model: files in, answers and their passages
out."""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, get_args

import numpy as np
import pytest

from lectern.explain.source_view import draw_page
from lectern.export.backup import write_copy
from lectern.export.restore import read_copy
from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.worker import Worker, tidy
from lectern.library import Library
from lectern.runs.answer_runs import AlreadyAnsweringError, AnswerRuns
from lectern.schema import Ask
from lectern.settings import RESPONSE_MODES, AppSettings, ChatMode, LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError, LLMTimeoutError, QuestionError, StoreError, UnknownDocumentError
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import Document, new_id
from tests import postgres
from tests.making import make_pdf

if TYPE_CHECKING:
    from ragcore.schema import Vectors

TOWER = (
    "The tower was built by Ada Penrose in 1871. It is forty metres high.\n\nThe lamp burns oil of whales."
)
CELLAR = "The cellar holds three hundred barrels. Nobody has counted them since the flood."


def worker_of(library: Library) -> Worker:
    return Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)


def take_in(library: Library, text: str, name: str) -> FileRow:
    path = library.incoming / "given"
    path.write_text(text, "utf-8")
    added = library.intake.add(path, name)
    assert worker_of(library).run_once()
    file = library.files.get(added.file.id)
    assert file is not None
    return file


def test_file_is_copied_and_the_original_stays_even_if_refused(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    small = library.settings.ingest.model_copy(update={"max_file_mb": 1})
    library.update_settings(library.settings.model_copy(update={"ingest": small}))
    given = {
        "tower.txt": TOWER.encode(),
        "again.txt": TOWER.encode(),
        "empty.txt": b"",
        "large.txt": b"a tower " * 200_000,
    }
    for name, content in given.items():
        (tmp_path / name).write_bytes(content)
    assert [library.intake.add(tmp_path / name, name).outcome for name in ("tower.txt", "again.txt")] == [
        "added",
        "duplicate",
    ]
    for name in ("empty.txt", "large.txt"):
        with pytest.raises(InputError, match=name):
            library.intake.add(tmp_path / name, name)
    with pytest.raises(FileNotFoundError):
        library.intake.add(tmp_path / "gone.txt", "gone.txt")
    assert {name: (tmp_path / name).read_bytes() for name in given} == given
    assert list(library.incoming.iterdir()) == []


def finished(library: Library, runs: AnswerRuns, ask: Ask, conversation: str | None = None) -> str:
    run = runs.start(conversation or library.conversations.create().id, ask)
    assert run.wait(30)
    return run.message_id


def test_a_file_becomes_passages_that_answer(open_library: Callable[..., Library]) -> None:
    library = open_library()
    tower = take_in(library, TOWER, "tower.txt")
    take_in(library, CELLAR, "cellar.txt")
    assert (tower.stage, tower.passages > 0, len(library.store)) == (Stage.READY, True, 2)
    message = library.conversations.message(
        finished(library, AnswerRuns(library), Ask("Who built the tower?", chat_mode=None))
    )
    assert message is not None
    assert message.state == "done"
    assert message.text == "The tower was built by Ada Penrose in 1871. [1]"
    assert message.sources[0].file_name == "tower.txt"
    assert message.facts is not None
    assert (message.facts.mode, message.facts.calls, message.facts.passages_total) == ("compact", 1, 2)
    assert message.facts.extractive


def test_a_question_to_one_file_is_not_answered_from_another(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, TOWER, "tower.txt")
    cellar = take_in(library, CELLAR, "cellar.txt")
    ask = Ask("Who built the tower?", chat_mode=None, file_ids=(cellar.id,))
    message = library.conversations.message(finished(library, AnswerRuns(library), ask))
    assert message is not None
    assert {source.file_id for source in message.sources} <= {cellar.id}
    assert "Penrose" not in message.text


def test_follow_up_is_searched_with_the_previous_subject(open_library: Callable[..., Library]) -> None:
    llm = ScriptedLLM(["Ada Penrose did. [1]", "How high is the tower?", "Forty metres. [1]"])
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    runs, talk = AnswerRuns(library), library.conversations.create().id
    finished(library, runs, Ask("Who built the tower?"), talk)
    message = library.conversations.message(finished(library, runs, Ask("And how high is it?"), talk))
    assert message is not None
    assert message.text == "Forty metres. [1]"
    assert message.facts is not None
    assert (message.facts.condensed, message.facts.calls) == ("How high is the tower?", 2)
    assert "Ada Penrose did. [1]" in [part.content for part in llm.calls[-1].call.history]
    trace = library.conversations.trace(message.id)
    assert trace is not None
    assert [step.facts["prompt"] for step in trace.spans("llm")] == ["condense_question", "context_chat"]


class Silent(ScriptedLLM):
    """Says two words, and the rest when released."""

    def __init__(self) -> None:
        super().__init__(lambda call: "One two three four.")
        self.released = threading.Event()

    def _stream(self, call: LLMCall, messages: list) -> Iterator[str]:  # type: ignore[type-arg,override]
        pieces = super()._stream(call, messages)
        for count, piece in enumerate(pieces):
            if count == 2:
                self.released.wait(20)
            yield piece
        return super().generate(call)


def test_stop_keeps_the_partial_text_and_frees_a_silent_chat(
    open_library: Callable[..., Library],
) -> None:
    llm = Silent()
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    runs, talk = AnswerRuns(library), library.conversations.create().id
    run = runs.start(talk, Ask("Who?"))
    began = time.monotonic()
    while len(run.text.split()) < 2 and time.monotonic() - began < 10:
        time.sleep(0.01)
    with pytest.raises(AlreadyAnsweringError):
        runs.start(talk, Ask("Another?"))
    run.stop()
    assert run.is_finished
    assert runs.get(talk) is None
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert (message.state, message.text.strip()) == ("stopped", "One two")
    llm.released.set()
    time.sleep(0.2)
    later = library.conversations.message(run.message_id)
    assert later is not None
    assert later.text.strip() == "One two"


def test_other_process_sees_a_running_answer_and_may_only_stop(
    open_library: Callable[..., Library],
) -> None:
    llm = Silent()
    here, there = open_library(llm), open_library(ScriptedLLM(lambda call: "Another answer."))
    take_in(here, TOWER, "tower.txt")
    runs, elsewhere, talk = AnswerRuns(here), AnswerRuns(there), here.conversations.create().id
    run = runs.start(talk, Ask("Who?"))
    deadline = time.monotonic() + 10
    while there.conversations.messages(talk)[1].text.strip() != "One two":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert there.conversations.messages(talk)[1].state == "writing"
    with pytest.raises(AlreadyAnsweringError):
        elsewhere.start(talk, Ask("Another?"))
    with pytest.raises(AlreadyAnsweringError):
        elsewhere.retry(run.message_id)
    elsewhere.stop(run.message_id)
    assert run.wait(10)
    llm.released.set()
    assert elsewhere.start(talk, Ask("Another?")).wait(10)
    assert [
        (m.text.strip(), m.state) for m in here.conversations.messages(talk) if m.role == "assistant"
    ] == [
        ("One two", "stopped"),
        ("Another answer.", "done"),
    ]


def test_one_of_two_simultaneous_answers_is_refused(open_library: Callable[..., Library]) -> None:
    llms = [Silent(), Silent()]
    several = [AnswerRuns(open_library(llm)) for llm in llms]
    take_in(several[0]._library, TOWER, "tower.txt")  # or nothing is found, and the answer is given at once
    talk = several[0]._library.conversations.create().id

    def ask(runs: AnswerRuns) -> bool:
        try:
            runs.start(talk, Ask("Who?"))
        except AlreadyAnsweringError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(ask, several)) == [False, True]
    assert len(several[0]._library.conversations.messages(talk)) == 2
    for runs, llm in zip(several, llms, strict=True):
        llm.released.set()
        run = runs.get(talk)
        assert run is None or run.wait(10)


def test_settings_changed_by_one_process_are_seen_by_the_others(open_library: Callable[..., Library]) -> None:
    here, there = open_library(), open_library()
    assert there.settings == AppSettings()
    changed = AppSettings(llm=LLMSettings(provider="ollama", model="llama3"))
    here.update_settings(changed)
    assert here.settings == changed
    deadline = time.monotonic() + 10
    while there.settings != changed:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert here.secret == there.secret


def test_an_unreachable_server_is_named_without_its_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    password = new_id()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(StoreError, match=f"docs on 127.0.0.1:{port} does not answer") as caught:
        Library(f"postgresql://ada:{password}@127.0.0.1:{port}/docs", local=tmp_path)
    shown = [*traceback.format_exception(caught.value), caught.value.hint, caplog.text]
    shown += [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in shown if password in text]


def test_followers_get_the_whole_text_from_any_moment(open_library: Callable[..., Library]) -> None:
    library = open_library(ScriptedLLM(["a b c d e f g"]))
    take_in(library, TOWER, "tower.txt")
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("Who?"))
    first = "".join(run.follow(hz=200))
    assert first == "".join(run.follow()) == run.text == "a b c d e f g"


def test_model_failure_keeps_the_question_and_allows_a_retry(
    open_library: Callable[..., Library],
) -> None:
    replies: list[Exception | str] = [LLMTimeoutError("The model said nothing for 2 s.", hint="Try again.")]

    def answer(call: LLMCall) -> str:
        reply = replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    library = open_library(ScriptedLLM(answer))
    take_in(library, TOWER, "tower.txt")
    runs, talk = AnswerRuns(library), library.conversations.create().id
    failed_id = finished(library, runs, Ask("Who built the tower?"), talk)
    failed = library.conversations.message(failed_id)
    assert failed is not None
    assert failed.problem is not None
    assert (failed.state, failed.problem.what, failed.problem.retryable) == (
        "failed",
        "The model said nothing for 2 s.",
        True,
    )

    without = runs.retry(failed_id, extractive=True)
    assert without.wait(30)
    assert "Ada Penrose" in without.text

    replies[0] = "Ada did."
    assert runs.retry(failed_id, extractive=False).wait(30)
    messages = library.conversations.messages(talk)
    assert [(m.role, m.text, m.state) for m in messages] == [
        ("user", "Who built the tower?", "done"),
        ("assistant", "Ada did. [1]", "done"),
    ]


@pytest.mark.parametrize(
    ("question", "told"), [("  \n", "There is no question"), ("x" * 50_000, "50,000 characters")]
)
def test_impossible_question_is_refused_and_not_stored(
    open_library: Callable[..., Library], question: str, told: str
) -> None:
    library = open_library()
    talk = library.conversations.create().id
    with pytest.raises(QuestionError, match=told):
        AnswerRuns(library).start(talk, Ask(question))
    assert library.conversations.messages(talk) == []


def test_deleting_a_file_frees_its_passages_and_its_bytes(open_library: Callable[..., Library]) -> None:
    library = open_library()
    file = take_in(library, TOWER * 2000, "big.txt")
    deleted = library.delete_file(file.id)
    assert (deleted.name, deleted.passages) == ("big.txt", file.passages)
    assert deleted.bytes_freed > len(TOWER) * 2000
    assert len(library.store) == 0
    with pytest.raises(UnknownDocumentError):
        library.delete_file(file.id)


def test_deleted_file_has_no_visible_page_and_no_bytes(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = make_pdf(
        library.incoming / "given.pdf", ["The tower was built by Ada Penrose.", "It is forty metres high."]
    )
    added = library.intake.add(path, "book.pdf").file
    assert worker_of(library).run_once()
    assert draw_page(library, added.id, 1)
    library.delete_file(added.id)
    with pytest.raises(UnknownDocumentError):
        draw_page(library, added.id, 1)
    assert [each for each in library.folder.rglob("*") if each.is_file() and ".db" not in each.name] == []
    with library.database.snapshot() as db:
        for table in ("files", "removed_files", "documents", "texts", "passages", "drafts"):
            kept = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert (table, kept[0]) == (table, int(table == "removed_files"))  # whose id the next sweep takes


def test_deletion_reports_the_freed_bytes_of_the_server(tmp_path: Path) -> None:
    library = Library(postgres.fresh(), embedder=HashEmbedding(), local=tmp_path / "library")

    def database_bytes() -> int:  # without the server's own tables, which it tidies up at times of its own
        with library.database.snapshot() as db:
            rows = db.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
                " AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
            )
            return int(rows.fetchall()[0][0])

    empty, random = library.status().bytes_on_disk, np.random.default_rng(0)
    words = [random.bytes(4).hex() for _ in range(4000)]  # which no database packs
    read = take_in(library, "\n\n".join(" ".join(random.choice(words, 60)) for _ in range(1500)), "words.txt")
    unread = library.incoming / "unread"
    unread.write_bytes(random.bytes(5_000_000))
    before = library.status().bytes_on_disk
    failed = library.intake.add(unread, "unread.bin").file
    worker_of(library).run_once()
    full = library.status().bytes_on_disk
    assert 5_000_000 < full - before < 6_000_000  # once, and not as a file and as rows
    for file, least in ((failed, 5_000_000), (read, read.passages * 4 * 256 + read.size)):
        before = database_bytes()
        freed = library.delete_file(file.id).bytes_freed
        assert freed >= least
        assert before - database_bytes() == pytest.approx(freed, abs=100_000)
    assert library.status().bytes_on_disk - empty < 0.1 * (full - empty)
    library.close()


def test_everything_is_there_after_the_library_is_opened_again(open_library: Callable[..., Library]) -> None:
    first = open_library()
    take_in(first, TOWER, "tower.txt")
    talk = first.conversations.create().id
    finished(first, AnswerRuns(first), Ask("Who built the tower?"), talk)
    first.close()
    second = open_library()
    assert [file.name for file in second.files.all()] == ["tower.txt"]
    assert [message.role for message in second.conversations.messages(talk)] == ["user", "assistant"]
    assert len(second.store) == 1


def test_zip_becomes_its_files_and_unreadable_ones_say_why(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    import zipfile

    library = open_library()
    path = library.incoming / "given.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes/tower.txt", TOWER)
        archive.writestr("cellar.md", CELLAR)
        archive.writestr("program.exe", b"MZ\0\0binary")
    library.intake.add(path, "all.zip")
    worker = worker_of(library)
    while worker.run_once():
        pass
    stages = {file.name: file.stage for file in library.files.all()}
    assert stages.pop("program.exe") is Stage.FAILED
    assert set(stages.values()) == {Stage.READY}
    assert len(stages) == 2


def test_zip_without_news_says_so_unless_it_was_interrupted(
    open_library: Callable[..., Library],
) -> None:
    import zipfile

    library = open_library()

    def given(**members: str) -> dict[str, str]:
        path = library.incoming / "given.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(f"{name}.txt", text)
        library.intake.add(path, "all.zip")
        while worker_of(library).run_once():
            pass
        return {
            file.name: file.problem.what if file.problem else file.stage.value for file in library.files.all()
        }

    read = {"tower.txt": "ready", "cellar.txt": "ready"}
    assert given(tower=TOWER, cellar=CELLAR) == read
    assert given(tower=TOWER, cellar=CELLAR) == {
        **read,
        "all.zip": "Everything in all.zip is already in your library.",
    }
    assert given(tower=TOWER, note="A note.") == {**read, "note.txt": "ready"}
    path = library.incoming / "given.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("last.txt", "The last one.")
    zipped = library.intake.add(path, "last.zip").file
    (library.incoming / "given").write_text("The last one.", "utf-8")
    library.files.add(library.incoming / "given", "last.txt")  # as a worker did that ended before it was done
    assert zipped.added < time.time()
    while worker_of(library).run_once():
        pass
    assert {file.name for file in library.files.all()} == {*read, "note.txt", "last.txt"}


def test_answer_stopped_during_search_calls_no_model(open_library: Callable[..., Library]) -> None:
    llm = ScriptedLLM(lambda call: "Never said.")
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    looking, go_on = threading.Event(), threading.Event()
    retrieve = library.store.current.keyword_search

    def slow_search(*given: object, **named: object) -> object:
        looking.set()
        go_on.wait(10)
        return retrieve(*given, **named)  # type: ignore[arg-type]

    library.store.current.keyword_search = slow_search  # type: ignore[method-assign,assignment]
    run = AnswerRuns(library).start(
        library.conversations.create().id, Ask("Who built the tower?", chat_mode=None)
    )
    assert looking.wait(10)
    run.stop()
    go_on.set()
    answering = [thread for thread in threading.enumerate() if thread.name == f"answer-{run.message_id}"]
    for thread in answering:
        thread.join(10)
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert (message.state, message.text, run.sources, llm.calls) == ("stopped", "", (), [])


def test_answer_names_its_model_although_settings_change(
    open_library: Callable[..., Library],
) -> None:
    llm = Silent()
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("Who?"))
    began = time.monotonic()
    while not run.text and time.monotonic() - began < 10:
        time.sleep(0.01)
    library._given_llm = ScriptedLLM([], model_name="another")
    llm.released.set()
    assert run.wait(10)
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert message.facts is not None
    assert (message.state, message.facts.model) == ("done", "scripted")


def test_an_answer_whose_conversation_is_deleted_ends(open_library: Callable[..., Library]) -> None:
    llm = Silent()
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    runs, talk = AnswerRuns(library), library.conversations.create().id
    run = runs.start(talk, Ask("Who?"))
    library.conversations.delete(talk)
    assert run.wait(5)
    assert runs.get(talk) is None
    llm.released.set()
    for thread in threading.enumerate():  # it writes the trace, before the library is closed
        if thread.name == f"answer-{run.message_id}":
            thread.join(5)


def test_a_conversation_that_was_deleted_takes_no_question(open_library: Callable[..., Library]) -> None:
    library = open_library()
    talk = library.conversations.create().id
    library.conversations.delete(talk)
    with pytest.raises(InputError, match="deleted"):
        AnswerRuns(library).start(talk, Ask("Who?"))


def test_an_answer_with_lone_surrogates_is_stored(open_library: Callable[..., Library]) -> None:
    library = open_library(ScriptedLLM(["A smile \ud83d\ude00 and a half \ud83d."]))
    take_in(library, TOWER, "tower.txt")
    message = library.conversations.message(finished(library, AnswerRuns(library), Ask("Who?")))
    assert message is not None
    assert (message.state, message.text) == (
        "done",
        "A smile \N{GRINNING FACE} and a half \N{REPLACEMENT CHARACTER}.",
    )


def test_answer_continues_after_the_database_was_busy(
    open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lectern.runs.answer_runs.WRITE_SECONDS", 0.05)
    monkeypatch.setattr("ragcore.sql.sqlite.BUSY_SECONDS", 0.05)
    llm = Silent()
    library = open_library(llm)
    take_in(library, TOWER, "tower.txt")
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("Who?"))
    began = time.monotonic()
    while not run.text and time.monotonic() - began < 10:
        time.sleep(0.01)
    with library.database.transaction():
        time.sleep(0.5)
    before = library.database.connection().execute("SELECT max(signed) FROM messages").fetchone()[0]
    time.sleep(0.3)
    assert library.database.connection().execute("SELECT max(signed) FROM messages").fetchone()[0] > before
    llm.released.set()
    assert run.wait(10)


def test_half_added_files_of_a_dead_process_clear_after_a_day(tmp_path: Path) -> None:
    incoming = tmp_path / "library" / "incoming"
    incoming.mkdir(parents=True)
    for name, age in (("old.part", 25 * 3600), ("new.part", 60)):
        (incoming / name).write_text("half", "utf-8")
        os.utime(incoming / name, (time.time() - age, time.time() - age))
    Library.open(tmp_path / "library").close()
    assert [path.name for path in incoming.iterdir()] == ["new.part"]


def test_a_folder_that_cannot_hold_a_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "library").write_text("I am a file.", "utf-8")
    with pytest.raises(StoreError, match="library cannot be used") as caught:
        Library.open(tmp_path / "library")
    assert "LECTERN_HOME" in caught.value.hint


def test_a_worker_removes_only_the_remains_of_crashes(open_library: Callable[..., Library]) -> None:
    library = open_library()
    kept = take_in(library, TOWER, "tower.txt")
    ghost = take_in(library, CELLAR, "cellar.txt")
    library.files.remove(ghost.id)  # and the process ended before the passages went
    own = VectorStoreIndex([], embed_model=library.embedder, store=library.store)
    own.insert(Document("Put in by a program of its own.", "own"))
    tidy(library.files, library.store)
    assert [row.id_ for row in library.store.documents()] == [kept.id, "own"]
    assert library.files.location(kept).exists()


def test_newer_version_of_another_worker_is_not_overwritten(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    other = worker_of(library)

    class Slow(HashEmbedding):
        """While it embeds, the file is replaced, and another worker reads the new one to its end."""

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            newer = library.incoming / "newer"
            newer.write_text(CELLAR, "utf-8")
            library.intake.add(newer, "notes.txt")
            assert other.run_once()
            return super().embed_passages(texts)

    path = library.incoming / "given"
    path.write_text(TOWER, "utf-8")
    file = library.intake.add(path, "notes.txt").file
    Worker(library.files, library.store, Slow(), lambda: library.settings.ingest).run_once()
    deadline = time.monotonic() + 20  # it ended when the file was no longer its own; the other goes on
    while not library.files.get(file.id).ready and time.monotonic() < deadline:  # type: ignore[union-attr]
        time.sleep(0.02)
    assert library.files.get(file.id).ready  # type: ignore[union-attr]
    assert library.store.document(file.id).text == CELLAR


def test_a_failing_embedder_is_reported(tmp_path: Path) -> None:
    class Broken(HashEmbedding):
        def embed_query(self, text: str) -> NoReturn:
            raise ImportError("no module named torch")

    library = Library(tmp_path / "library", embedder=Broken())
    library.embedder_loader.load()
    status = library.status()
    library.close()
    assert status.embedder == "failed"
    assert status.embedder_error is not None


def test_the_trace_of_every_mode_is_stored(open_library: Callable[..., Library]) -> None:
    library = open_library(ScriptedLLM(lambda call: "It was Ada. [1]"))
    take_in(library, TOWER, "tower.txt")
    take_in(library, CELLAR, "cellar.txt")
    runs = AnswerRuns(library)
    # which this model, without functions, cannot do
    ways = [way for way in get_args(ChatMode) if way != "openai"]
    for mode, chat_mode in product(RESPONSE_MODES, [None, *ways]):
        talk = library.conversations.create().id
        finished(library, runs, Ask("How high is the tower?", chat_mode=chat_mode, response_mode=mode), talk)
        answer_id = finished(
            library, runs, Ask("Who built it?", chat_mode=chat_mode, response_mode=mode), talk
        )
        message, trace = library.conversations.message(answer_id), library.conversations.trace(answer_id)
        assert message is not None
        assert message.facts is not None
        assert trace is not None
        assert (message.state, message.facts.calls) == ("done", len(trace.spans("llm"))), (mode, chat_mode)


def test_an_answer_without_passages_is_not_remembered(open_library: Callable[..., Library]) -> None:
    llm = ScriptedLLM([])  # any call would fail: a remembered turn is one to condense
    library = open_library(llm)
    runs, talk = AnswerRuns(library), library.conversations.create().id
    for question in ("Who built the tower?", "And when?"):
        message = library.conversations.message(finished(library, runs, Ask(question), talk))
        assert message is not None
        assert message.state == "done"
    assert llm.calls == []


def test_a_library_moves_from_a_folder_to_a_server_in_one_file(tmp_path: Path) -> None:
    here = Library(tmp_path / "library", embedder=HashEmbedding())
    there = Library(postgres.fresh(), embedder=HashEmbedding(), local=tmp_path / "there")
    take_in(here, TOWER, "tower.txt")
    talk = here.conversations.create()
    finished(here, AnswerRuns(here), Ask("Who built the tower?"), talk.id)
    write_copy(here, tmp_path / "copy")
    read_copy(there, tmp_path / "copy")
    while worker_of(there).run_once():
        continue
    assert [(file.name, file.stage) for file in there.files.all()] == [("tower.txt", Stage.READY)]
    assert [node.text for node in there.store.passages()] == [node.text for node in here.store.passages()]
    assert [m.text for m in there.conversations.messages(talk.id)] == [
        m.text for m in here.conversations.messages(talk.id)
    ]
    for library in (here, there):
        library.close()


def test_deleting_a_stopped_file_frees_its_passages(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, TOWER * 2000, "big.txt")
    source = library.incoming / "stopped"
    source.write_text(CELLAR * 2000, "utf-8")
    stopped = library.intake.add(source, "stopped.txt").file
    vectors = np.random.default_rng(0).random((500, 1000), np.float32)  # which no database packs
    library.files.drafts.keep(stopped.id, {f"{number:064x}": vector for number, vector in enumerate(vectors)})
    with library.database.transaction() as db:
        db.execute("UPDATE files SET stage = 'stopped', done = 500, total = 2000 WHERE id = ?", (stopped.id,))
    assert library.delete_file(stopped.id).bytes_freed > len(CELLAR) * 2000 + 500 * 4000 * 0.9
