"""Replay: a conversation in every chat mode, side by side; with a model that calls functions, and stopped
half-way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from lectern.settings import AppSettings, LLMSettings, read_settings, write_settings
from tests.app.conftest import App, answered, settled, until
from tests.app.test_chat import ask
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FIRST, SECOND = "In what wind does the railway stop?", "And what did Dr Greaves recommend?"
LONG = " ".join(f"word{number}" for number in range(400))


@pytest.fixture
def server(app: App) -> Iterator[ScriptedServer]:
    """A model that calls functions, connected; what was set before is set again afterwards."""
    before = read_settings(app.home)
    with ScriptedServer(models=("tiny",), slots=4) as server:
        server.tool_calls = lambda messages: looks_up(server, messages)
        llm = LLMSettings(
            provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny", calls_functions=True
        )
        write_settings(app.home, AppSettings.model_validate({**before.model_dump(), "llm": llm}))
        yield server
        write_settings(app.home, before)


def looks_up(server: ScriptedServer, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Where it is offered tools, the model looks something up once before it answers."""
    body = next(
        request.body for request in reversed(server.requests) if request.body.get("messages") is messages
    )
    if not body.get("tools") or messages[-1]["role"] == "tool":
        return ()
    function = {"name": "query_engine_tool", "arguments": json.dumps({"input": "gusts of wind"})}
    return ({"id": "c1", "type": "function", "function": function},)


def talk(page: Page, app: App, *questions: str) -> None:
    page.goto(f"{app.url}/chat")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    for number, question in enumerate(questions, 1):
        ask(page, question)
        answered(page, number)


def replay(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).last.click()
    page.get_by_role("menuitem", name="Replay in other modes").click()
    page.get_by_role("heading", name="Modes", exact=True).wait_for()


def start(page: Page) -> None:
    settled(page)
    page.get_by_role("button", name="Replay", exact=True).click()


def whole(page: Page) -> None:
    page.get_by_role("button", name="Replay again").wait_for(timeout=90_000)
    settled(page)


def cell(page: Page, mode: str, row: int) -> Locator:
    return page.locator(f'.st-key-replay tbody tr:not(.question) >> td[data-mode="{mode}"]').nth(row)


def marks(page: Page, mode: str, row: int) -> list[str]:
    return cell(page, mode, row).locator(".marks li").all_inner_texts()


def brightness_at_the_edge(table: Locator) -> float:
    """Of most of the pixels at its right edge, 0 to 255."""
    with Image.open(BytesIO(table.screenshot())) as shot:
        grey, right = shot.convert("L"), shot.width - 3
        return median(grey.getpixel((right, y)) for y in range(shot.height))


def test_every_way_shows_what_it_did_and_a_reload_shows_the_same(page: Page, app: App) -> None:
    talk(page, app, FIRST, SECOND)
    replay(page)
    page.get_by_text("Without a language model answers are quotes").wait_for()
    assert page.get_by_text(re.compile("[0-9] (calls?|tokens)")).count() == 0  # which nobody reads or pays
    page.get_by_text("Just talk: Needs a language model").wait_for()
    start(page)
    whole(page)
    assert page.locator(".st-key-replay tr.question").all_inner_texts() == [FIRST, SECOND]
    assert marks(page, "context", 1) == ["As typed", "3 passages", "No tool"]
    assert marks(page, "condense_question", 0) == ["As typed", "6 passages", "No tool"]
    assert marks(page, "condense_question", 1) == ["Rewritten", "1 passage", "No tool"]
    assert "wind" in cell(page, "condense_question", 1).locator(".lookup").inner_text()
    assert marks(page, "react", 1) == ["As typed", "3 passages", "1 tool call"]
    assert SECOND in cell(page, "react", 1).locator(".lookup").inner_text()
    assert "Same answer as" in cell(page, "openai", 0).inner_text()
    assert cell(page, "simple", 0).inner_text().startswith("Needs a language model")
    assert page.get_by_text(re.compile("[0-9] (calls?|tokens)")).count() == 0
    heads = page.locator(".st-key-replay thead th")
    assert all(head.inner_text().count("\n") <= 1 for head in heads.all())
    assert (page.locator(".st-key-replay thead").bounding_box() or {"height": 999})["height"] < 100
    assert heads.last.get_attribute("data-mode") == "simple"  # which has nothing to say
    scroll = page.locator(".st-key-replay .scroll")
    more = brightness_at_the_edge(scroll)
    scroll.evaluate("el => { el.scrollLeft = el.scrollWidth }")
    assert brightness_at_the_edge(scroll) > more + 20
    scroll.evaluate("el => { el.scrollLeft = 0 }")
    assert "as “Follow-ups and documents”" in page.locator('.st-key-replay th[data-mode="best"]').inner_text()

    cell(page, "react", 0).locator("a").first.click()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    before, address = page.locator(".st-key-replay .scroll").inner_text(), page.url
    page.goto("about:blank")
    page.goto(address)
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    until(page, lambda: page.locator(".st-key-replay .scroll").inner_text() == before)
    cell(page, "condense_question", 1).locator("a.facts").click()
    page.locator(".st-key-panel_head").get_by_text("How this answer was made").wait_for()
    until(page, lambda: "&p=calls." in page.url)
    address = page.url.replace("&p=calls.", "&p=why.")
    page.goto("about:blank")
    page.goto(address)  # asking why would ask anew, so a replay has no such panel
    cell(page, "context", 0).locator("a.facts").wait_for()
    settled(page)
    assert page.locator(".st-key-panel").count() == 0

    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".st-key-replay .modes button", has_text="Step by step").click()
    until(page, cell(page, "react", 0).is_visible)
    assert not cell(page, "context", 0).is_visible()
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_role("button", name="Back to the chat").click()
    answered(page, 2)


def test_a_model_is_seen_calling_functions_and_can_be_stopped(
    page: Page, app: App, server: ScriptedServer
) -> None:
    talk(page, app, FIRST)
    replay(page)
    choose(page, "Documents each time", "Follow-ups and documents", "Documents when needed", "Just talk")
    page.get_by_text("1 question in 4 modes: 6 calls").wait_for()
    start(page)
    whole(page)
    assert marks(page, "simple", 0) == ["As typed", "No search", "No tool"]
    assert marks(page, "openai", 0) == ["As typed", "6 passages", "1 tool call"]
    assert "gusts of wind" in cell(page, "openai", 0).locator(".lookup").inner_text()
    assert "3 calls" in page.locator('.st-key-replay th[data-mode="openai"]').inner_text()
    list_table_and_heading(page, server)
    stopped_and_tried_again(page, server)


def choose(page: Page, *modes: str) -> None:
    """These modes and no others."""
    pills = page.locator(".st-key-replay_modes button")
    pills.last.wait_for()
    for pill in pills.all():
        wanted = str(pill.inner_text().strip() in modes).lower()
        if pill.get_attribute("aria-pressed") != wanted:
            pill.click()
            until(page, lambda pill=pill, wanted=wanted: pill.get_attribute("aria-pressed") == wanted)
            settled(page)


def list_table_and_heading(page: Page, server: ScriptedServer) -> None:
    """The Markdown of a model is drawn, also on a phone."""
    server.reply = lambda messages: (
        "## Wind\nIt **stops**\nat 45. [1]\n\n1. quagga\n\n2. okapi\n- zebra\n\n| Wind | Car |\n"
        "|---|---|\n| 45 | stops |"
    )
    page.get_by_role("button", name="Replay again").click()
    choose(page, "Follow-ups and documents")
    start(page)
    whole(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        answer = cell(page, "condense_plus_context", 0).locator(".answer")
        shown = " ".join(answer.inner_text().split())
        assert re.fullmatch("Wind It stops at 45. 1 quagga okapi zebra Wind Car 45 stops [0-9]", shown)
        assert [item.get_attribute("value") for item in answer.locator("ol li").all()] == ["1", "2"]
        assert answer.locator("ul li").all_inner_texts() == ["zebra"]
        assert answer.locator("strong").all_inner_texts() == ["Wind", "stops"]
        cells = answer.locator("table :is(th, td)").all_inner_texts()
        assert [" ".join(text.split()[:1]) for text in cells] == ["Wind", "Car", "45", "stops"]
        until(page, answer.locator("td").last.is_visible)
    page.set_viewport_size({"width": 1280, "height": 860})


def stopped_and_tried_again(page: Page, server: ScriptedServer) -> None:
    """Stop keeps the text so far; one mode is then tried again alone."""
    server.reply, server.words_per_second = lambda messages: LONG, 20.0
    page.get_by_role("button", name="Replay again").click()
    choose(
        page, "Documents each time", "Follow-ups and documents", "One complete question", "Just talk"
    )  # one more than are asked at the same time
    start(page)
    stopped = cell(page, "context", 0)
    stopped.get_by_text("word8 ").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    whole(page)
    stopped.get_by_text("Stopped. The text so far has been kept.").wait_for()
    assert "word8 " in stopped.inner_text()
    assert "word399" not in stopped.inner_text()
    assert page.locator(".st-key-replay").get_by_text("Not asked").count() >= 1
    begun = [
        mode
        for mode in ("condense_plus_context", "condense_question", "simple")
        if cell(page, mode, 0).get_by_role("button", name="Try again").count()
    ]
    assert len(begun) == 2  # of the three others, which were not all begun
    other = cell(page, begun[0], 0)
    before = other.inner_text()
    server.reply, server.words_per_second = lambda messages: "Forty miles an hour [1].", 0.0
    stopped.get_by_role("button", name="Try again").click()
    stopped.get_by_text("Forty miles an hour").wait_for()
    whole(page)
    assert stopped.get_by_role("button", name="Try again").count() == 0
    assert marks(page, "context", 0) == ["As typed", "6 passages", "No tool"]
    assert other.inner_text() == before
    other.get_by_role("button", name="Try again").wait_for()
