"""Reading everything once its price was agreed to, one answer per document as a table, and the run card."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any

import pytest

from lectern.export.run_card import run_card
from tests.screens.conftest import Screen
from tests.scripted_server import ScriptedServer

QUESTION = "How many steps has the Herring Stair?"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(quote_last_passage) as server:
        yield server


def quote_last_passage(messages: Sequence[Mapping[str, Any]]) -> str:
    """Quotes the last passage of its call, and no more."""
    passages = re.findall(r"^\[(\d+)\][^\n]*\n([^\n]+)", str(messages[-1]["content"]), re.MULTILINE)
    return f"{passages[-1][1]} [{passages[-1][0]}]" if passages else "That is all. [1]"


def agree(screen: Screen, place: str, label: str) -> str:
    """Wait for the price, and agree to it; gives the price."""
    screen.until(
        lambda: [button for button in screen.tab.button if button.label == label and not button.disabled]
    )
    price = screen.words(place)
    screen.press(label)
    return price


def passages(screen: Screen) -> int:
    found = re.search(r"of ([\d,]+) passages", screen.facts())
    assert found is not None
    return int(found.group(1).replace(",", ""))


def test_everything_is_read_once_the_price_is_agreed_to(
    sample_screen: Screen, open_tab: Callable[..., Screen]
) -> None:
    screen = sample_screen.open("chat").ask(QUESTION)
    all_passages = passages(screen)
    assert re.search(rf"\d+ of {all_passages} passages, \d+ of 10 files", screen.facts())
    screen.act("everything")
    assert len(screen.transcript()) == 2  # nothing has begun
    price = agree(screen, "panel", "Read everything")
    assert f"Reads {all_passages} passages of" in price
    assert re.search(r"Summary of summaries \(tree summarize\): \S", price)
    assert f"{all_passages} of {all_passages} passages, 10 of 10 files" in screen.facts()
    assert screen.facts().startswith("Read everything · Summary of summaries (tree summarize) ·")
    assert "(#passage-" in screen.tab.chat_message[3].markdown[0].value
    again = open_tab().open("chat", c=screen.tab.query_params["c"])  # as a reload does
    assert again.transcript() == screen.transcript()


def test_each_document_answers_once_the_price_is_agreed_to(sample_screen: Screen) -> None:
    screen = sample_screen.open("chat")
    (menu,) = [radio for radio in screen.tab.radio if (radio.key or "").startswith("chat_reading")]
    menu.set_value("each_file")
    assert screen.run().words("chat_reading_popover").startswith("Each document")
    screen.ask("Who built the railway?")
    assert re.search(r"Asks 10 documents, one by one", agree(screen, "offer", "Ask each document"))
    message = screen.library.conversations.messages(screen.tab.query_params["c"])[-1]
    assert message.facts is not None
    assert len(message.facts.rows) == 10
    assert "found" in [row.found for row in message.facts.rows]
    assert screen.words("chat_reading_popover").startswith("Best passages")


def test_the_run_card_of_a_model_names_it_and_holds_its_words(
    sample_screen: Screen, server: ScriptedServer
) -> None:
    sample_screen.connect(server)
    screen = sample_screen.open("chat").ask(QUESTION)
    message = screen.library.conversations.messages(screen.tab.query_params["c"])[-1]
    card = unescape(run_card(screen.library, [message]))
    assert "tiny" in card
    quoted = quote_last_passage([server.chats[-1].body["messages"][-1]])
    assert quoted.rpartition(" [")[0] in card
    assert QUESTION in card
    assert "no language model" not in card


def test_a_model_reads_everything_and_its_table(sample_screen: Screen, server: ScriptedServer) -> None:
    sample_screen.connect(server)
    screen = sample_screen.open("chat").ask(QUESTION).act("everything")
    agree(screen, "panel", "Read everything")
    all_passages = passages(screen)
    assert f"{all_passages} of {all_passages} passages" in screen.facts()
    assert "tiny" in screen.facts()
    shown = "\n".join(text.value for text in screen.tab.chat_message[3].markdown)
    assert re.findall(r"\[(?:\*\*)?(\d+)[^]]*\]\(#passage-", shown)[0] == "1"
    screen.act("each_file")
    agree(screen, "panel", "Ask each document")
    message = screen.library.conversations.messages(screen.tab.query_params["c"])[-1]
    assert message.facts is not None
    assert {row.found for row in message.facts.rows} == {"found"}
