"""Compare: what the page says of modes, of the search, of passages and of earlier questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lectern.settings import PriceSettings
from tests.screens.conftest import Screen
from tests.scripted_server import ScriptedServer

STAIR = "How many steps has the Herring Stair?"
QUESTION = "Which year had the most passengers?"


@pytest.fixture
def screen(sample_screen: Screen) -> Screen:
    return sample_screen.open("query")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(slots=4) as server:
        yield server


def choose(screen: Screen, *modes: str) -> None:
    """Answer in these modes and no others."""
    screen.tab.button_group(key="query_modes").set_value(list(modes))
    screen.run()


def ask(screen: Screen, question: str) -> None:
    screen.tab.text_area(key="query_text").set_value(question)
    screen.press("query_ask")


def read(screen: Screen, how_much: str) -> None:
    """How much the next question reads."""
    screen.tab.radio(key="query_reading_0").set_value(how_much)
    screen.run()


def facts(screen: Screen) -> str:
    """The line below a single answer."""
    (line,) = screen.groups("facts_")
    return line


def limit(screen: Screen, price: PriceSettings) -> None:
    library = screen.library
    library.update_settings(library.settings.model_copy(update={"price": price}))


def test_changed_search_settings_are_named(screen: Screen) -> None:
    screen.tab.number_input(key="query_top_k").set_value(3)
    assert "Search settings · 3 passages" in screen.run().words("query_buttons").splitlines()
    screen.tab.toggle(key="query_diverse").set_value(True)
    named = "Search settings · 3 passages · varied passages"
    assert named in screen.run().words("query_buttons").splitlines()
    ask(screen, QUESTION)
    assert len(screen.groups("hit_")) == 3


def test_a_missing_reranking_model_is_named_in_place_of_the_answer(screen: Screen) -> None:
    screen.tab.text_input(key="query_reranker").set_value("nobody/has-this")
    assert "· reranked" in screen.run().words("query_buttons")
    ask(screen, QUESTION)
    (problem,) = screen.groups("problem_")
    assert "The reranking model 'nobody/has-this' is not on this computer." in problem


def test_far_weaker_passages_appear_only_on_request(sample_screen: Screen) -> None:
    screen = sample_screen.open("settings", s="answers")
    screen.tab.toggle(key="set_weaker").set_value(True)
    screen.run()
    assert screen.library.settings.answers.weaker
    screen.open("query")
    choose(screen, "no_text")
    ask(screen, STAIR)
    assert len(screen.groups("hit_")) == 6
    assert "6 passages · weaker passages included" in screen.words("query_buttons")
    screen.tab.toggle(key="query_weaker").set_value(False)
    screen.press("query_ask")
    assert 0 < len(screen.groups("hit_")) < 6


def test_an_answer_names_its_mode_and_lists_its_passages(screen: Screen) -> None:
    choose(screen, "accumulate")
    assert "Asks each passage separately" in screen.words("query_ways")
    ask(screen, QUESTION)
    assert facts(screen).startswith("Each by itself (accumulate) ·")
    hits = screen.groups("hit_")
    assert len(hits) == 6
    assert all("score 0." in hit for hit in hits)
    choose(screen, "no_text")
    screen.press("query_ask")
    assert facts(screen).startswith("Passages only (no text) ·")
    assert len(screen.groups("hit_")) == 6
    offered = screen.data("actions_")
    assert offered["text"] == ""  # there is nothing to copy
    assert "Save this answer with details" in [action["label"] for action in offered["actions"]]


def test_only_the_chosen_documents_are_looked_at(screen: Screen) -> None:
    names = {name: file_id for file_id, name in screen.library.files.ready_names().items()}
    screen.tab.multiselect(key="query_files").set_value([names["staff-handbook-2021.docx"]])
    screen.run()
    ask(screen, "Who built the railway?")
    hits = screen.groups("hit_")
    assert hits
    assert all(" · staff-handbook-2021.docx" in hit.splitlines()[0] for hit in hits)


def test_earlier_questions_name_their_mode_open_and_are_deleted(screen: Screen) -> None:
    for mode in ("refine", "no_text"):
        choose(screen, mode)
        ask(screen, STAIR)
    listed = f"{STAIR} · Passages only", f"{STAIR} · Refine"
    assert [button for button in screen.buttons() if STAIR in button] == list(listed)
    screen.press("recent_1")
    assert facts(screen).startswith("One after another (refine) ·")
    screen.press("drop_0").press("delete_question")
    assert [button for button in screen.buttons() if STAIR in button] == [listed[1]]


def test_a_price_is_of_what_will_be_done(screen: Screen, server: ScriptedServer) -> None:
    screen.connect(server)
    screen.tab.text_area(key="query_text").set_value(QUESTION)
    screen.run()
    screen.until(lambda: "Compact: 1 call, about" in screen.words("query_ways"))
    choose(screen, "compact", "refine")
    assert "Compare 2 answers" in screen.buttons()
    read(screen, "everything")
    said = "Reads every passage of your documents. Nothing is left out, but it takes longer."
    assert screen.words("query_ways").splitlines() == [said]
    assert screen.tab.button_group(key="query_modes").proto.disabled
    assert "Ask" in screen.buttons()
    screen.press("query_ask")
    assert "Summary of summaries (tree summarize): " in screen.words("offer")
    assert "Compact: " not in screen.words()


def test_an_empty_question_is_reported(screen: Screen) -> None:
    screen.press("query_ask")
    assert "There is no question." in screen.words()
    screen.press("Dismiss")
    assert "There is no question." not in screen.words()
    choose(screen)
    assert "Choose at least one response mode." in screen.words("query_ways")
    assert screen.tab.button(key="query_ask").disabled
    read(screen, "each_file")
    screen.press("query_ask")  # no mode is needed for that
    assert "There is no question." in screen.words()


def test_each_of_several_answers_names_its_steps(screen: Screen) -> None:
    choose(screen, "compact", "no_text")
    ask(screen, QUESTION)
    first, second = screen.groups("column_")
    assert "Read all passages at once." in first
    assert "Found the passages; no answer was written." in second


def test_a_question_above_a_limit_needs_confirmation(screen: Screen, server: ScriptedServer) -> None:
    limit(screen, PriceSettings(ask_above_calls=5, ask_above_tokens=0))
    choose(screen, "accumulate")
    ask(screen, QUESTION)  # quotes call no model, so no limit is in their way
    assert facts(screen).startswith("Each by itself (accumulate) · ")
    screen.connect(server)
    screen.open("query")
    choose(screen, "accumulate")
    ask(screen, QUESTION)
    assert "Answering takes 6 calls" in screen.words("confirm_price")
    screen.press("confirm_cancel")
    assert not screen.has("confirm_price")
    assert "q" not in screen.tab.query_params
    assert not server.chats
    screen.press("query_ask").press("confirm_run")
    assert facts(screen).startswith("Each by itself (accumulate) · ")
    assert len(server.chats) == 6


def test_a_chat_above_a_limit_needs_confirmation_each_time(screen: Screen, server: ScriptedServer) -> None:
    screen.connect(server)
    limit(screen, PriceSettings(ask_above_calls=0, ask_above_tokens=100))
    screen.open("chat").ask(STAIR)
    assert "Answering takes 1 call" in screen.words("confirm_price")
    screen.press("confirm_run")
    assert len(screen.transcript()) == 2
    screen.act("again")
    assert "Answering takes 1 call" in screen.words("confirm_price")
    assert len(server.chats) == 1
    screen.press("confirm_run")
    assert len(server.chats) == 2
