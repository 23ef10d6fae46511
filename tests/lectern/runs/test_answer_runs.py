"""Answers in their threads: what is stored at their end, also when it could not be stored at first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lectern.db import conversations
from lectern.library import Library
from lectern.runs import answer_runs
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, State
from lectern.settings import LLMSettings, PriceSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.sql.sqlite import NoRoomError
from tests.lectern.test_library import TOWER, take_in


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path, embedder=HashEmbedding(), llm=ScriptedLLM(["First."]))
    yield opened
    opened.close()


def test_unsaved_answer_is_not_written_over_the_one_asked_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_runs, "WRITE_SECONDS", 0.5)
    monkeypatch.setattr(conversations, "SILENT_SECONDS", 0.1)
    write = library.conversations.write

    def fail_once(message_id: str, *, state: State, **values: object) -> bool:
        if state == "done":
            monkeypatch.setattr(library.conversations, "write", write)
            raise NoRoomError(library.folder)
        return write(message_id, state=state, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(library.conversations, "write", fail_once)
    runs, ask = AnswerRuns(library), Ask("What is new?", chat_mode="simple")
    first = runs.start(library.conversations.create().id, ask)
    assert first.wait(10)
    time.sleep(0.2)
    unsaved = library.conversations.message(first.message_id)
    assert unsaved is not None
    assert (unsaved.text, unsaved.saved) == ("First.", False)

    def answer_late(call: object) -> str:
        time.sleep(1)  # in which the first would be written
        return "Second."

    library._given_llm = ScriptedLLM(answer_late)
    second = runs.retry(first.message_id, ask=replace(ask, question="What else is new?"))
    assert second.wait(10)
    stored = library.conversations.message(first.message_id)
    assert stored is not None
    assert (stored.text, stored.state, stored.saved) == ("Second.", "done", True)
    assert stored.ask is not None
    assert stored.ask.question == "What else is new?"


@pytest.mark.smoke
def test_answer_has_the_price_of_the_settings_at_its_start(library: Library) -> None:
    def answer(call: object) -> str:
        library.update_settings(
            library.settings.model_copy(update={"price": PriceSettings(currency="EUR", prompt_million=9.0)})
        )
        return "A lamp."

    library._given_llm = ScriptedLLM(answer)
    before = library.settings.price.currency
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("What?", chat_mode="simple"))
    assert run.wait(10)
    stored = library.conversations.message(run.message_id)
    assert stored is not None
    assert stored.facts is not None
    assert (stored.facts.currency, library.settings.price.currency) == (before, "EUR")


def test_model_stays_open_beside_the_extractive_reader(tmp_path: Path) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    library.update_settings(
        library.settings.model_copy(
            update={
                "llm": LLMSettings(
                    provider="openai_compatible", base_url="http://127.0.0.1:1/v1", model="tiny"
                )
            }
        )
    )
    model, reader = library.writer(), library.writer(extractive=True)
    assert library.writer() is model
    assert library.writer(extractive=True) is reader
    library.close()


def test_a_follow_up_has_the_same_question_before_and_after(tmp_path: Path) -> None:
    condensed = "Who built the tower in 1871?"
    llm = ScriptedLLM(["Ada built it.", condensed, "Ada did."])
    with closing(Library(tmp_path / "tower", embedder=HashEmbedding(), llm=llm)) as library:
        take_in(library, TOWER, "tower.txt")
        runs, conversation_id = AnswerRuns(library), library.conversations.create().id
        for question in ("Who built the tower?", "And when did she?"):
            run = runs.start(conversation_id, Ask(question, chat_mode="condense_plus_context"))
            assert run.wait(30)
        message = library.conversations.message(run.message_id)
        assert message is not None
        assert run.standalone_question == message.standalone_question == condensed
        assert replace(message, facts=None).standalone_question == "And when did she?"
