"""The offer to search across languages stands where it helps, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from lectern.explain.across_languages import plan_across_languages
from lectern.jobs.embedders import BUILT_IN, MULTILINGUAL
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message, Source
from lectern.ui import resources
from ragcore.embeddings import multilingual_e5
from ragcore.embeddings.hashing import HashEmbedding
from tests.lectern.jobs.libraries import add, worker_of
from tests.multilingual import ENGLISH, GERMAN, needs_multilingual_e5

QUESTION = "Worauf wartet der Reiher an dem Wasser?"

pytestmark = needs_multilingual_e5


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library")
    opened.store.choose(BUILT_IN)
    read(opened, ENGLISH)
    yield opened
    opened.close()


def read(library: Library, text: str) -> None:
    add(library, text, f"{text[:8]}.txt")
    assert worker_of(library, library._embedders.of(BUILT_IN)).run_once()


def source(text: str) -> Source:
    return Source(1, "n", "f", "notes.txt", 0, len(text), text)


def test_offer_comes_for_a_language_of_no_document(library: Library) -> None:
    plan = plan_across_languages(library, QUESTION, [source(ENGLISH)])
    assert plan is not None
    assert plan.changes == ("embedding model: built-in → multilingual-e5-small",)
    assert plan.seconds > 0


@pytest.mark.parametrize("question", ["What does the heron wait for?", "Reiher 1998"])
def test_no_offer_for_the_documents_or_an_unknown_language(library: Library, question: str) -> None:
    assert plan_across_languages(library, question, [source(ENGLISH)]) is None


def test_missing_weights_are_downloaded_as_the_original_model(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multilingual_e5, "is_installed", lambda: False)
    assert plan_across_languages(library, QUESTION, [source(ENGLISH)]) is None, (
        "downloads are switched off here"
    )
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    for documents in (ENGLISH, GERMAN):  # those in German would have been for it as well
        plan = plan_across_languages(library, QUESTION, [source(documents)])
        assert plan is not None
        assert plan.changes == ("embedding model: built-in → intfloat/multilingual-e5-small",)
    assert plan_across_languages(library, "What does the heron wait for?", [source(ENGLISH)]) is None


def test_no_offer_if_a_passage_or_document_has_the_language(library: Library) -> None:
    assert plan_across_languages(library, QUESTION, [source(ENGLISH), source(GERMAN)]) is None
    read(library, GERMAN)
    assert plan_across_languages(library, QUESTION, [source(ENGLISH)]) is None


def test_offer_comes_without_an_answer_in_a_mixed_library(library: Library) -> None:
    read(library, GERMAN)
    assert plan_across_languages(library, QUESTION, [source(GERMAN)]) is None
    assert plan_across_languages(library, QUESTION, [source(GERMAN)], answered=False) is not None
    english = "What does the heron wait for?"
    assert plan_across_languages(library, english, [source(ENGLISH)], answered=False) is not None


def test_no_offer_if_all_documents_have_the_language(library: Library) -> None:
    english = "What does the heron wait for?"
    assert plan_across_languages(library, english, [source(ENGLISH)], answered=False) is None


def test_no_offer_during_indexing_or_with_another_embedder(library: Library, tmp_path: Path) -> None:
    library.rebuilds.start(embed_model=MULTILINGUAL)
    assert plan_across_languages(library, QUESTION, []) is None
    while worker_of(library, library._embedders.of(BUILT_IN)).rebuild_once():
        pass
    assert library.store.versions.current().embed_model == MULTILINGUAL
    assert plan_across_languages(library, QUESTION, []) is None
    assert library.retriever(1).retrieve(QUESTION)[0].node.text == ENGLISH
    other = Library(tmp_path / "other", embedder=HashEmbedding())
    read(other, ENGLISH)
    assert plan_across_languages(other, QUESTION, []) is None
    other.close()


def test_no_offer_if_most_documents_searched_have_the_language(library: Library) -> None:
    read(library, GERMAN)
    read(library, "The keeper of the harbour writes down every boat that comes in.")
    english = "What does the heron wait for?"
    assert plan_across_languages(library, english, [source(ENGLISH)], answered=False) is None
    assert plan_across_languages(library, QUESTION, [source(GERMAN)], answered=False) is not None
    (german,) = [file.id for file in library.files.all() if file.name.startswith("Der")]
    others = [file.id for file in library.files.all() if file.id != german]
    assert plan_across_languages(library, english, [], answered=False, file_ids=[german]) is not None
    assert plan_across_languages(library, QUESTION, [], answered=False, file_ids=[german]) is None
    assert plan_across_languages(library, QUESTION, [], answered=True, file_ids=others) is not None


def below_an_answer() -> None:
    import streamlit as st

    from lectern.ui import resources
    from lectern.ui.widgets.across_languages import across_languages

    message = resources.library().conversations.message(st.session_state.message)
    if message is not None and message.state == "done":
        across_languages(message)


@pytest.fixture
def runs(library: Library, monkeypatch: pytest.MonkeyPatch) -> AnswerRuns:
    runs = AnswerRuns(library)
    monkeypatch.setattr(resources, "library", lambda: library)
    monkeypatch.setattr(resources, "current_index", lambda: SimpleNamespace(library=library, runs=runs))
    return runs


def ask(library: Library, runs: AnswerRuns, question: str) -> str:
    """The id of the answer, once it is given."""
    run = runs.start(library.conversations.create("chat").id, Ask(question))
    assert run.wait(60)
    return run.message_id


def tab(message_id: str) -> AppTest:
    page = AppTest.from_function(below_an_answer, default_timeout=60)
    page.session_state["message"] = message_id
    page.run()
    assert not page.exception
    return page


def press(page: AppTest) -> None:
    (button,) = page.button
    assert button.label.startswith("Search across languages (")
    button.click().run()
    assert not page.exception


def rebuild(library: Library) -> None:
    library.worker.close()  # only the worker of this process
    while worker_of(library, library._embedders.of(BUILT_IN)).rebuild_once():
        pass
    assert library.store.versions.current().embed_model == MULTILINGUAL


def answer_of(library: Library, message_id: str) -> Message:
    message = library.conversations.message(message_id)
    assert message is not None
    return message


def wait_for_answer(runs: AnswerRuns, message: Message) -> None:
    run = runs.get(message.conversation_id)
    assert run is None or run.wait(60)


def test_the_reply_to_a_greeting_has_no_offer(library: Library, runs: AnswerRuns) -> None:
    page = tab(ask(library, runs, "¡Hola! ¿Cómo estás?"))
    assert not page.markdown, "it searched nothing"


def test_one_click_rebuilds_the_index_for_every_language(library: Library, runs: AnswerRuns) -> None:
    page = tab(ask(library, runs, QUESTION))
    assert page.markdown[0].value.startswith("Your documents are indexed for questions in English")
    press(page)
    coming = library.store.versions.next_version()
    assert coming is None or coming.embed_model == MULTILINGUAL
    assert coming is not None or library.store.versions.current().embed_model == MULTILINGUAL


@pytest.mark.parametrize("reloaded", [False, True])
def test_question_is_asked_again_once_when_the_index_is_ready(
    library: Library, runs: AnswerRuns, reloaded: bool
) -> None:
    id_ = ask(library, runs, QUESTION)
    page = tab(id_)
    press(page)
    before = library.conversations.begin_again(id_, Ask(QUESTION))
    library.conversations.write(id_, text="The first answer", state="done")
    rebuild(library)
    page = tab(id_) if reloaded else page.run()
    wait_for_answer(runs, before)
    again = answer_of(library, id_)
    assert "heron" in again.text
    assert [message.role for message in library.conversations.messages(again.conversation_id)] == [
        "user",
        "assistant",
    ]
    library.conversations.begin_again(id_, Ask(QUESTION))  # as if something else were written since
    library.conversations.write(id_, text="unchanged", state="done")
    tab(id_)
    page.run()
    wait_for_answer(runs, again)
    assert answer_of(library, id_).text == "unchanged"


def test_question_is_not_asked_again_in_place_of_another(library: Library, runs: AnswerRuns) -> None:
    id_ = ask(library, runs, QUESTION)
    press(tab(id_))
    assert runs.retry(id_, ask=Ask("What does the heron wait for?")).wait(60)
    rebuild(library)
    before = answer_of(library, id_)
    tab(id_)
    wait_for_answer(runs, before)
    assert answer_of(library, id_) == before


def the_conversation() -> None:
    import streamlit as st

    from lectern.ui import resources
    from lectern.ui.widgets import answer

    messages = resources.library().conversations.messages(st.session_state.conversation)
    for message in messages:
        if message.role == "assistant":
            answer.answer(message, last=message is messages[-1])


def test_question_is_not_asked_again_after_a_later_one(library: Library, runs: AnswerRuns) -> None:
    id_ = ask(library, runs, QUESTION)
    press(tab(id_))
    conversation = answer_of(library, id_).conversation_id
    assert runs.start(conversation, Ask("What does the heron wait for?")).wait(60)
    rebuild(library)
    before = library.conversations.messages(conversation)
    page = AppTest.from_function(the_conversation, default_timeout=60)
    page.session_state["conversation"] = conversation
    page.run()
    assert not page.exception
    assert runs.get(conversation) is None
    assert library.conversations.messages(conversation) == before


def test_question_is_not_asked_again_after_a_rebuild_given_up(library: Library, runs: AnswerRuns) -> None:
    id_ = ask(library, runs, QUESTION)
    press(tab(id_))
    library.worker.close()
    library.store.versions.give_up()
    library.rebuilds.start(embed_model=MULTILINGUAL)
    rebuild(library)
    before = answer_of(library, id_)
    tab(id_)
    wait_for_answer(runs, before)
    assert answer_of(library, id_) == before


def test_hint_for_an_english_question_names_the_other_documents(library: Library, runs: AnswerRuns) -> None:
    read(library, GERMAN)
    page = tab(ask(library, runs, "Which sailor painted the observatory last winter?"))
    assert page.markdown[0].value.startswith("Some of your documents are in another language")
