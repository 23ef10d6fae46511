"""Settings: values that are saved at once, the pages of an address, and prompts in a wording of one's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lectern.ui.i18n import LANGUAGES
from ragcore.prompts.wording import TEXT_QA
from tests.screens.conftest import Screen
from tests.scripted_server import ScriptedServer

TEXTS = {"stair.txt": "The Herring Stair has 214 steps. It was cut in 1790."}
BUILT_IN = TEXT_QA.messages[1].content
WRONG = "From {kontext_str}: {query_str}"


@pytest.fixture
def screen(open_screen: Callable[..., Screen]) -> Screen:
    return open_screen(TEXTS)


def chosen_page(screen: Screen) -> object:
    return screen.tab.button_group(key="settings_page").value


def message(screen: Screen) -> str:
    """The wording of the opened prompt."""
    return str(screen.tab.text_area(key="prompt_text_qa_1").value)


def word(screen: Screen, text: str) -> None:
    screen.tab.text_area(key="prompt_text_qa_1").set_value(text)
    screen.run()


def test_a_number_is_saved_once_it_is_entered(screen: Screen) -> None:
    for page, key, label, value in (
        ("answers", "price_ask_above_calls", "Ask first above this many requests", 7),
        ("reading", "set_max_file_mb", "Largest file, in MB", 3),
    ):
        field = screen.open("settings", s=page).tab.number_input(key=key)
        assert field.label.startswith(label)
        field.set_value(value)
        screen.run()
        assert screen.toasts() == ["Saved."]
    assert screen.library.settings.price.ask_above_calls == 7
    assert screen.library.settings.ingest.max_file_mb == 3
    assert screen.open("home").data("dropzone")["limit"] == 3_000_000


def test_the_address_names_the_page(screen: Screen) -> None:
    screen.open("settings")
    assert chosen_page(screen) == "model"
    screen.tab.button_group(key="settings_page").set_value("prompts")
    screen.run().press("Summarise")
    assert screen.tab.query_params["s"] == "prompts.tree_summarize"
    screen.press("All instructions")
    assert screen.tab.query_params["s"] == "prompts"
    screen.open("chat").open("settings")
    assert chosen_page(screen) == "model"
    assert chosen_page(screen.open("settings", s="nothing")) == "model"


def test_display_has_the_language_and_the_appearance(screen: Screen) -> None:
    screen.open("settings", s="display")
    language, appearance = screen.tab.selectbox
    assert (language.label, appearance.label) == ("Display language", "Light or dark")
    assert appearance.options == ["Same as the browser", "Light", "Dark"]
    assert len(language.options) == len(LANGUAGES) + 1
    assert "中文 (Chinese)" in language.options  # read also where there is no font for Chinese


def test_invalid_prompt_is_refused_and_its_text_stays(screen: Screen) -> None:
    screen.open("settings", s="prompts").press("Answer from passages")
    word(screen, WRONG)
    assert "Not saved yet" in screen.words("prompt_buttons")
    screen.press("save_prompt")
    wrong = "{kontext_str} cannot be used here. {context_str} is missing."
    assert wrong in screen.words("problem_prompt")
    assert message(screen) == WRONG
    screen.open("evaluate").open("settings", s="prompts")
    assert "Not saved yet" in screen.words("prompt_row_text_qa")
    screen.press("Answer from passages")
    assert message(screen) == WRONG
    screen.press("discard_prompt")
    assert message(screen) == BUILT_IN
    assert not screen.has("problem_prompt")


def test_next_answer_uses_the_new_prompt_and_old_ones_return(screen: Screen) -> None:
    screen.open("settings", s="prompts.text_qa")
    word(screen, f"Think of a ZEBRA first.\n{BUILT_IN}")
    screen.press("save_prompt")
    assert screen.toasts() == ["Saved. The next answer uses it."]
    with ScriptedServer(models=("tiny",)) as server:
        screen.connect(server)
        screen.open("query").tab.text_area(key="query_text").set_value("How many steps has the Stair?")
        screen.press("query_ask")
        assert "ZEBRA" in server.chats[-1].body["messages"][-1]["content"]
    screen.open("settings", s="prompts.text_qa")
    screen.tab.session_state["prompt_versions"] = True  # opens the list
    screen.run().press("restore_text_qa_0")
    assert message(screen) == BUILT_IN
    assert "3 versions" in screen.words()
