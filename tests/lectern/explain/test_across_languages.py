"""The offer to search across languages stands where it helps, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.explain.across_languages import plan_across_languages
from lectern.jobs.embedders import BUILT_IN, MULTILINGUAL
from lectern.library import Library
from lectern.schema import AnswerFacts, Ask, Message, Source
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


def below_an_answer() -> None:
    import streamlit as st

    from lectern.ui.widgets.across_languages import across_languages

    across_languages(st.session_state.message)


def test_one_click_rebuilds_the_index_for_every_language(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "library", lambda: library)
    page = AppTest.from_function(below_an_answer, default_timeout=60)
    greeted = Message("m", "c", "assistant", "¡Hola!", "done", 0.0, Ask("¿Cómo estás?", chat_mode=None))
    page.session_state["message"] = greeted
    page.run()
    assert not page.exception
    assert not page.markdown, "the reply to a greeting searched nothing"
    page.session_state["message"] = replace(
        greeted,
        ask=Ask(QUESTION, chat_mode=None),
        facts=AnswerFacts("compact", "compact", 0, 0.1, 1, 1, 0, 0),
        sources=(source(ENGLISH),),
    )
    page.run()
    assert not page.exception
    assert page.markdown[0].value.startswith("Your documents are indexed for questions in English")
    (button,) = page.button
    assert button.label.startswith("Search across languages (")
    button.click().run()
    coming = library.store.versions.next_version()
    assert coming is None or coming.embed_model == MULTILINGUAL
    assert coming is not None or library.store.versions.current().embed_model == MULTILINGUAL
    assert not page.exception
