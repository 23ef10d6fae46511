"""The mode and the documents of a chat: chosen before a question, kept with the conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.screens.conftest import Screen
from tests.scripted_server import ScriptedServer

HANDBOOK = "staff-handbook-2021.docx"
DOG = "May I bring a large dog?"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda messages: "Hello.") as server:
        yield server


def scope(screen: Screen) -> str:
    """The documents that are asked, as their menu is called."""
    return screen.words("scope_popover").split("\n")[0]


def mode(screen: Screen) -> str:
    return screen.words("mode_popover").split("\n")[0]


def modes(screen: Screen) -> list[str]:
    """The modes that can be chosen."""
    (menu,) = [radio for radio in screen.tab.radio if (radio.key or "").endswith("_chat_mode")]
    return [option.split(" :small")[0] for option in menu.options]


def choose_mode(screen: Screen, name: str) -> None:
    (menu,) = [radio for radio in screen.tab.radio if (radio.key or "").endswith("_chat_mode")]
    menu.set_value(name)
    screen.run()


def choose_documents(screen: Screen, *names: str) -> None:
    (menu,) = [field for field in screen.tab.multiselect if (field.key or "").endswith("_chat_files")]
    menu.set_value([file.id for file in screen.library.files.all() if file.name in names])
    screen.run()


def open_conversation(screen: Screen, title: str) -> None:
    """Click on a conversation in the sidebar."""
    (item,) = [item for item in screen.data("conversations")["items"] if item["title"] == title]
    screen.send("conversations", "act", {"do": "open", "id": item["id"]})


def test_conversation_keeps_its_mode_and_documents(
    sample_screen: Screen, open_tab: Callable[..., Screen]
) -> None:
    screen = sample_screen.open("chat")
    choose_mode(screen, "context")
    choose_documents(screen, HANDBOOK)
    screen.ask("May a dog ride in the car?")
    assert (mode(screen), scope(screen)) == ("Documents each time", HANDBOOK)

    screen = open_tab().open("chat", c=screen.tab.query_params["c"])  # as a reload does
    assert (mode(screen), scope(screen)) == ("Documents each time", HANDBOOK)
    screen.ask("And a horse?")
    assert screen.facts().startswith("Documents each time")
    cited = screen.library.conversations.messages(screen.tab.query_params["c"])[-1].sources
    assert {source.file_name for source in cited} == {HANDBOOK}

    other = open_tab().open("chat").ask("How many cars are there, then?")
    assert (mode(other), scope(other)) == ("Follow-ups and documents", "All documents")
    open_conversation(other, "May a dog ride in the car?")
    assert (mode(other), scope(other)) == ("Documents each time", HANDBOOK)


def test_documents_chosen_for_a_chat_stay_with_it(sample_screen: Screen) -> None:
    screen = sample_screen.open("chat").ask("How many carriages are there, then?")
    screen.press("New chat")
    choose_mode(screen, "context")
    choose_documents(screen, HANDBOOK)
    screen.ask("May a cat ride in the car?")
    open_conversation(screen, "How many carriages are there, then?")
    screen.act("keep")
    assert (mode(screen), scope(screen)) == ("Follow-ups and documents", "All documents")
    screen.press("New chat")
    assert (mode(screen), scope(screen)) == ("Follow-ups and documents", "All documents")


def test_just_talk_shows_no_documents_and_ends_with_its_chat(
    sample_screen: Screen, server: ScriptedServer
) -> None:
    sample_screen.connect(server)
    screen = sample_screen.open("chat")
    assert screen.has("suggested")
    choose_mode(screen, "simple")
    for searching in ("scope_popover", "chat_reading_popover", "suggested"):
        assert not screen.has(searching)
    assert "passages" not in screen.words("empty_chat")
    screen.ask("Say hello.")
    names = [action["do"] for action in screen.data("actions_")["actions"]]
    assert "keep" in names
    assert "why" not in names
    screen.press("New chat")
    assert (mode(screen), scope(screen)) == ("Follow-ups and documents", "All documents")
    open_conversation(screen, "Say hello.")
    assert mode(screen) == "Just talk"
    screen.open("home")
    screen.tab.chat_input(key="home_ask").set_value("Where can I leave my bicycle?")
    screen.run()
    assert screen.facts().startswith("Follow-ups and documents")


def test_each_mode_states_its_largest_cost_before_a_question(
    sample_screen: Screen, server: ScriptedServer
) -> None:
    sample_screen.connect(server)
    screen = sample_screen.open("chat")
    for name, calls in (
        ("condense_plus_context", "1 call"), ("react", r"\d+ calls"), ("condense_plus_context", "1 call")
    ):  # fmt: skip
        choose_mode(screen, name)
        price = rf"^Per question, at most: {calls}, about [\d,]+ tokens"
        screen.until(lambda price=price: re.search(price, screen.words(), re.MULTILINE))


def test_a_deleted_document_is_no_longer_listed_as_chosen(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"ferry.txt": "The ferry to Nessay leaves at noon.", "crane.txt": "A tall crane."})
    screen.open("chat")
    choose_documents(screen, "ferry.txt")
    assert scope(screen) == "ferry.txt"
    (ferry,) = [
        file["id"] for file in screen.open("home").data("files")["files"] if file["name"] == "ferry.txt"
    ]
    screen.send("files", "act", {"do": "delete", "id": ferry})
    assert screen.toasts() == ["ferry.txt was deleted."]
    assert scope(screen.open("chat")) == "All documents"


def test_a_chat_about_one_document_may_be_widened_to_all(sample_screen: Screen) -> None:
    (handbook,) = [file.id for file in sample_screen.library.files.all() if file.name == HANDBOOK]
    screen = sample_screen.open("document", d=handbook).press("Ask about this document")
    assert scope(screen) == HANDBOOK
    screen.ask("Which painter decorated the opera of Sydney?")
    assert f"Searched only in {HANDBOOK}." in screen.words()
    screen.press("Search all documents")
    assert "Searched only in" not in screen.words()
    assert scope(screen) == "All documents"
    assert len(screen.transcript()) == 2


def test_new_group_of_a_document_can_be_used_in_chat(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"minutes.txt": "The committee met.", "crane.txt": "A tall crane."})
    (minutes,) = [file.id for file in screen.library.files.all() if file.name == "minutes.txt"]
    screen.open("document", d=minutes)
    screen.tab.text_input(key="new_group").set_value("Our meetings")
    screen.press("Create the group")
    assert screen.words("groups_popover").split("\n")[0] == "Our meetings"
    assert screen.tab.button_group(key="document_groups").value == ["Our meetings"]
    screen.open("chat").press("Our meetings")
    assert scope(screen) == "Our meetings"
    screen.ask("Who met?")
    ask = screen.library.conversations.messages(screen.tab.query_params["c"])[-1].ask
    assert ask is not None
    assert ask.file_ids == (minutes,)


def search_once(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """One search, then an answer; and none for the call that answers from the passages."""
    if any(message["role"] == "tool" for message in messages) or "[1] " in str(messages[-1]["content"]):
        return ()
    function = {"name": "query_engine_tool", "arguments": json.dumps({"input": "large dog"})}
    return ({"id": "call-1", "type": "function", "function": function},)


def test_function_calling_model_searches_and_its_sources_open(sample_screen: Screen) -> None:
    with ScriptedServer(tool_calls=search_once) as server:
        sample_screen.connect(server, calls_functions=False)
        screen = sample_screen.open("chat")
        assert "Needs a model that can search by itself." in screen.words("mode_popover")
        assert "Documents when needed" not in modes(screen)
        screen.connect(server, calls_functions=True)
        screen.open("chat")
        assert "Documents when needed" in modes(screen)
        choose_mode(screen, "openai")
        screen.ask(DOG)
        assert screen.facts().startswith("Documents when needed · 3 calls")
        assert [bool(request.body.get("tools")) for request in server.chats] == [True, False, True]
        screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.1"})
        assert screen.has("panel_head")
