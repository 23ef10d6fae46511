"""Questions that are asked while documents are still being read: refused where nothing is ready, else
answered with a note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.ask.asked_documents import count_unread
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StillReadingError
from ragcore.llms.scripted import ScriptedLLM
from tests.lectern.test_library import take_in, worker_of

ASK = Ask("Who built the tower?", chat_mode=None)
CHAT = Ask("Who built the tower?")


@pytest.fixture
def llm() -> ScriptedLLM:
    return ScriptedLLM(lambda *_: "Ada built it [1].")


@pytest.fixture
def library(tmp_path: Path, llm: ScriptedLLM) -> Iterator[Library]:
    library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
    yield library
    library.close()


def queue(library: Library, name: str, filling: str = "") -> str:
    path = library.incoming / "given"
    path.write_text(f"The Penrose Tower was built by Ada. This is {name}. {filling}", "utf-8")
    return library.intake.add(path, name).file.id


def get_message(library: Library, message_id: str) -> Message:
    message = library.conversations.message(message_id)
    assert message is not None
    return message


@pytest.mark.parametrize("ask", [ASK, CHAT], ids=["alone", "in a chat"])
def test_question_before_reading_calls_no_model_and_is_retried(
    library: Library, llm: ScriptedLLM, ask: Ask
) -> None:
    queue(library, "a.txt")
    queue(library, "b.txt", filling="Rain. " * 12_000)  # too large to be read together with another
    runs = AnswerRuns(library)
    run = runs.start(library.conversations.create().id, ask)
    assert run.wait(30)
    message = get_message(library, run.message_id)
    assert message.state == "failed"
    assert message.problem is not None
    assert message.problem.what == "Nothing can be answered yet: 2 documents are still being read."
    assert message.problem.needs_reading
    assert message.problem.retryable
    assert llm.calls == []
    assert worker_of(library).run_once()
    again = runs.retry(run.message_id)
    assert again.wait(30)
    message = get_message(library, run.message_id)
    assert (message.state, message.text) == ("done", "Ada built it [1].")
    assert message.facts is not None
    assert message.facts.files_unread == 1


def test_only_the_documents_that_were_chosen_count(library: Library) -> None:
    ready = take_in(library, "The tower was built by Ada.", "ready.txt").id
    waiting = queue(library, "waiting.txt")
    assert count_unread(library.files, Ask("?", file_ids=(ready,))) == 0
    assert (
        count_unread(library.files, Ask("?", file_ids=(ready, waiting)))
        == count_unread(library.files, ASK)
        == 1
    )
    library.answer(Ask("?", chat_mode=None, file_ids=(ready, waiting)))
    with pytest.raises(StillReadingError, match="1 document is still being read"):
        library.answer(Ask("?", chat_mode=None, file_ids=(waiting,)))


def test_a_message_that_needs_no_document_waits_for_none(library: Library) -> None:
    ask = Ask("Good morning", chat_mode="simple")
    queue(library, "a.txt")
    assert count_unread(library.files, ask) == 0
    assert "".join(library.answer(ask)) == "Ada built it [1]."


def test_without_documents_there_is_nothing_to_wait_for(library: Library) -> None:
    assert count_unread(library.files, ASK) == 0
    library.answer(ASK)
