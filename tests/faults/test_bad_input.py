"""What people and servers give that cannot work: each ends in a sentence for a person, and nothing else is
lost by it.

Files go through the library's own worker; models are a real server on this machine that fails on request.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.worker import Worker
from lectern.keys import write_key
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from lectern.settings import AppSettings, LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmptyFileError, TooLargeError
from tests.making import make_pdf
from tests.scripted_server import FAULTS, Fault, ScriptedServer

GOOD = "The tower was built by Ada Penrose in 1871."


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with one good file, which must outlive all the others."""
    library = Library(tmp_path_factory.mktemp("library"), embedder=HashEmbedding())
    assert add_and_read(library, "good.txt", GOOD.encode()).ready
    yield library
    assert [row.name for row in library.files.all() if row.ready] == ["good.txt"]
    assert [node.text for node in library.store.passages()] == [GOOD]
    library.close()


def add_and_read(library: Library, name: str, content: bytes) -> FileRow:
    """The row of a file after the worker is done with it and with what came out of it."""
    path = library.incoming / "given"
    path.write_bytes(content)
    row = library.intake.add(path, name).file
    worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
    while worker.run_once():
        continue
    return library.files.get(row.id) or row


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def no_pages() -> bytes:
    import pypdfium2

    saved = io.BytesIO()
    document = pypdfium2.PdfDocument.new()
    document.save(saved)
    document.close()
    return saved.getvalue()


FILES = {
    "nothing.pdf": (no_pages, "no pages"),
    "nul.txt": (lambda: bytes(5000), "nul.txt"),
    "picture.txt": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "picture|image"),
    "torn.pdf": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 40, "torn.pdf"),
    "torn.docx": (lambda: zipped({"word/document.xml": b"<w:document"})[:-30], "torn.docx"),
    "outside.zip": (lambda: zipped({"../../evil.txt": b"x", "fine.txt": b"y"}), "outside its folder"),
    "bomb.zip": (lambda: zipped({f"{n}.txt": b"0" * 100_000_000 for n in range(3)}), "times its size"),
    "program.exe": (lambda: b"MZ\x90\x00" * 500, "program.exe"),
}


@pytest.mark.parametrize("name", FILES)
def test_unreadable_file_stays_with_an_error_that_names_it(library: Library, name: str) -> None:
    content, told = FILES[name]
    row = add_and_read(library, name, content())
    assert row.stage is Stage.FAILED
    assert row.problem is not None
    assert name in row.problem.what
    assert any(part in row.problem.what + row.problem.hint for part in told.split("|")), row.problem
    assert row.problem.hint
    assert "Traceback" not in row.problem.what + row.problem.hint
    library.delete_file(row.id)


def test_an_empty_file_is_refused_at_once(library: Library) -> None:
    (library.incoming / "given").touch()
    with pytest.raises(EmptyFileError, match=r"void\.txt is empty"):
        library.intake.add(library.incoming / "given", "void.txt")


def test_a_text_of_200_mb_is_refused_at_once(library: Library) -> None:
    (library.incoming / "given").write_bytes(b"All work and no play. " * 9_100_000)
    with pytest.raises(TooLargeError, match=r"huge\.txt has more than 50 MB of text") as caught:
        library.intake.add(library.incoming / "given", "huge.txt")
    assert "Settings" in caught.value.hint


def test_encrypted_file_asks_for_its_password_and_opens(library: Library, tmp_path: Path) -> None:
    content = make_pdf(
        tmp_path / "secret.pdf", ["The safe is behind the clock."], password="open sesame"
    ).read_bytes()
    row = add_and_read(library, "secret.pdf", content)
    assert row.problem is not None
    assert row.problem.needs_password
    for password, opens in (("wrong", False), ("open sesame", True)):
        library.files.queue.retry(row.id, password=password)
        worker = Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest)
        assert worker.run_once()
        tried = library.files.get(row.id)
        assert tried is not None
        assert tried.ready is opens
    assert [node.text for node in library.store.passages(row.id)] == ["The safe is behind the clock."]
    library.delete_file(row.id)


def test_an_old_encoding_is_recognised_and_no_letter_is_dropped(library: Library) -> None:
    text = "Die Straße führt über die Brücke zum Café. Grüße aus Köln, süße Träume und schöne Äpfel."
    row = add_and_read(library, "alt.txt", text.encode("cp1252"))
    assert library.store.document(row.id).text.strip() == text
    library.delete_file(row.id)


SAID = f"{GOOD} [1]"
LLM_FAULTS: dict[str, tuple[Fault, str, bool]] = {
    # what goes wrong, what is said of it, whether part of an answer was there
    "wrong key": (FAULTS["401"], "key", False),
    "not such a server": (FAULTS["404"], "127.0.0.1", False),
    "too many requests": (FAULTS["429"], "too many|requests|limit", False),
    "its own failure": (FAULTS["500"], "out of memory|failed|error", False),
    "a web page": (FAULTS["html"], "127.0.0.1", False),
    "garbage": (FAULTS["garbage"], "127.0.0.1", False),
    "half a stream": (FAULTS["cut"], "broke off|middle|ended", True),
    "silence": (FAULTS["mute"], "nothing|silent|second", False),
    "silence in the middle": (FAULTS["silence"], "nothing|silent|second|said no more", True),
}


@pytest.fixture
def ask(library: Library) -> Iterator[Callable[[ScriptedServer], tuple[AnswerRuns, Message]]]:
    def ask_it(server: ScriptedServer) -> tuple[AnswerRuns, Message]:
        llm = LLMSettings(provider="openai_compatible", base_url=server.url, model="tiny", timeout=1.0)
        library.update_settings(AppSettings(llm=llm))
        write_key(library.folder, "openai_compatible", "sk-very-secret")
        runs = AnswerRuns(library)
        run = runs.start(library.conversations.create().id, Ask("Who built the tower?"))
        assert run.wait(60)
        message = library.conversations.message(run.message_id)
        assert message is not None
        return runs, message

    yield ask_it
    library.update_settings(AppSettings())


@pytest.mark.parametrize("name", LLM_FAULTS)
def test_model_failure_keeps_the_partial_answer_and_allows_retry(
    library: Library, ask: Callable[[ScriptedServer], tuple[AnswerRuns, Message]], name: str
) -> None:
    fault, told, partial = LLM_FAULTS[name]
    with ScriptedServer(lambda _: SAID, always=fault, models=["tiny"]) as server:
        runs, message = ask(server)
        assert message.state == "failed"
        assert message.problem is not None
        sentence = f"{message.problem.what} {message.problem.hint}".lower()
        assert any(part in sentence for part in told.split("|")), sentence
        assert "secret" not in f"{message.problem}"
        assert bool(message.text) is partial
        assert SAID.startswith(message.text.strip())
        without = runs.retry(message.id, extractive=True)
        assert without.wait(30)
        assert GOOD in without.text
    with ScriptedServer(lambda _: SAID, models=["tiny"], port=urlsplit(server.url).port or 0):
        again = runs.retry(message.id, extractive=False)
        assert again.wait(30)
        kept = library.conversations.message(message.id)
        assert kept is not None
        assert (kept.text, kept.state, kept.problem) == (SAID, "done", None)
