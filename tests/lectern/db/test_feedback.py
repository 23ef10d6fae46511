"""Thumbs under answers: kept, changed, taken back, gone with their answer, and part of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.conversations import SCHEMA as CONVERSATIONS
from lectern.db.conversations import Conversations
from lectern.db.feedback import SCHEMA, WORD_CHARS, Feedback, Verdict
from lectern.export import backup, restore
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError
from ragcore.sql.base import Database
from tests.databases import KINDS, opening


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, CONVERSATIONS, SCHEMA)


def answers(database: Database, *questions: str) -> tuple[str, list[str]]:
    conversations = Conversations(database)
    talk = conversations.create()
    return talk.id, [conversations.begin(talk.id, Ask(question)).id for question in questions]


def test_the_last_verdict_counts_and_another_process_sees_it(open_database: Callable[[], Database]) -> None:
    database = open_database()
    talk, (first, second) = answers(database, "Who?", "When?")
    feedback = Feedback(database)
    feedback.give(first, Verdict(True))
    feedback.give(first, Verdict(False, "  the wrong page "))
    feedback.give(second, Verdict(True))
    assert Feedback(open_database()).of(talk) == {
        first: Verdict(False, "the wrong page"),
        second: Verdict(True),
    }
    feedback.take_back(first)
    assert feedback.of(talk) == {second: Verdict(True)}


def test_it_goes_with_its_answer(open_database: Callable[[], Database]) -> None:
    database = open_database()
    talk, (answer,) = answers(database, "Who?")
    feedback = Feedback(database)
    feedback.give(answer, Verdict(True))
    Conversations(database).delete(talk)
    assert list(feedback.dump()) == []
    with pytest.raises(InputError, match="has been deleted"):
        feedback.give(answer, Verdict(True))


def test_a_long_comment_is_cut_to_the_available_length(open_database: Callable[[], Database]) -> None:
    database = open_database()
    talk, (answer,) = answers(database, "Who?")
    Feedback(database).give(answer, Verdict(True, "a\ud800" * WORD_CHARS))
    word = Feedback(database).of(talk)[answer].word
    assert len(word) == WORD_CHARS
    assert word[:2] == "a\ufffd"


def test_a_copy_of_the_library_has_it_and_replaces_none(tmp_path: Path) -> None:
    here, there = (Library(tmp_path / name, embedder=HashEmbedding(8)) for name in ("here", "there"))
    talk, (first, second) = answers(here.database, "Who?", "When?")
    here.feedback.give(first, Verdict(False, "no date"))
    backup.write_copy(here, tmp_path / "copy.lectern")
    restore.read_copy(there, tmp_path / "copy.lectern")
    assert there.feedback.of(talk) == {first: Verdict(False, "no date")}
    there.feedback.give(first, Verdict(True))
    there.feedback.give(second, Verdict(True))
    restore.read_copy(there, tmp_path / "copy.lectern")
    assert there.feedback.of(talk) == {first: Verdict(True), second: Verdict(True)}
    here.close()
    there.close()


def test_a_rewritten_answer_has_no_feedback(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding(8))
    runs = AnswerRuns(library)
    talk = library.conversations.create()
    run = runs.start(talk.id, Ask("Who built it?", extractive=True))
    assert run.wait(30)
    library.feedback.give(run.message_id, Verdict(True))
    again = runs.retry(run.message_id, ask=Ask("Who built it?", chat_mode="context", extractive=True))
    assert again.wait(30)
    assert library.feedback.of(talk.id) == {}
    answer = library.conversations.message(run.message_id)
    assert answer is not None
    assert answer.ask is not None
    assert (answer.ask.chat_mode, answer.ask.question) == ("context", "Who built it?")
    library.close()
