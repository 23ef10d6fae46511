"""A language model: connected in Settings with plain words about what is wrong, answering, stopped, and
failing."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from lectern.keys import write_key
from lectern.settings import LLMSettings, read_settings, write_settings
from tests.app.conftest import App, Look, answered, drop, facts_of, payload, row, settled, until
from tests.app.test_chat import ask, transcript
from tests.scripted_server import FAULTS, ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

KEY = "sk-lectern-test-0123456789"
LONG = " ".join(f"On trip {number} the lower car left its station on time." for number in range(36))


def long_answer(messages: Sequence[Mapping[str, Any]]) -> str:
    return LONG


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(key=KEY, models=("tiny", "large"), slots=4) as server:
        yield server


@pytest.fixture
def settings(page: Page, app: App) -> Iterator[Page]:
    """The Settings screen; what a test sets is set back after it."""
    before = read_settings(app.home)
    page.on("dialog", lambda dialog: dialog.accept())  # leaving with something unsaved asks first
    page.goto(f"{app.url}/settings")
    page.get_by_role("heading", name="Settings").wait_for()
    settled(page)
    yield page
    write_settings(app.home, before)


@pytest.fixture
def connected(app: App, server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The server, whose model answers while a test lasts."""
    before = read_settings(app.home)
    llm = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
    write_key(app.home, "openai_compatible", KEY, llm.base_url)
    write_settings(app.home, before.model_copy(update={"llm": llm}))
    yield server
    write_settings(app.home, before)


def fill_in(page: Page, address: str, model: str, key: str = "") -> None:
    page.locator(".st-key-llm_provider").get_by_text("Other").click()
    page.get_by_label("Address", exact=True).fill(address)
    page.get_by_label("Address", exact=True).press("Enter")
    settled(page)
    name_model(page, model)
    if key:
        type_key(page, key)


def name_model(page: Page, model: str) -> None:
    box = page.get_by_label("Model", exact=True)
    box.fill(model)
    box.press("Enter")
    settled(page)


def type_key(page: Page, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_label("Key", exact=True).press("Enter")
    settled(page)


def connect(page: Page, server: ScriptedServer, model: str = "tiny") -> None:
    fill_in(page, f"{server.url}/v1", model, KEY)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved. The next answer uses it.").wait_for()
    settled(page)


def test_a_model_is_connected_and_its_key_is_never_displayed_again(
    settings: Page, app: App, server: ScriptedServer, look: Look
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    fill_in(settings, nobody, "tiny", "sk-wrong-key-000000000")
    settings.get_by_role("button", name="Test").click()
    report = settings.locator(".st-key-problem_report")
    report.get_by_text("127.0.0.1").wait_for()
    look(settings, "test of a model")
    settings.get_by_text("Not saved yet").wait_for()
    settings.get_by_role("link", name="Chat").click()
    settings.get_by_role("heading", name="Ask your documents").wait_for()
    settings.get_by_role("link", name="Settings").click()
    settings.get_by_text("Not saved yet").wait_for()
    until(settings, lambda: settings.get_by_label("Address", exact=True).input_value() == nobody)
    settings.get_by_role("button", name="Discard").click()
    settings.get_by_text("Not saved yet").wait_for(state="detached")

    connect(settings, server)
    settings.reload()
    settings.get_by_text("Remove the saved key").wait_for()
    settled(settings)
    assert KEY not in settings.content()
    until(settings, lambda: settings.get_by_label("Key", exact=True).input_value() == "")
    settings.goto(f"{app.url}/chat")
    ask(settings, "What happened on Regatta night in 2022?")
    answered(settings)
    _, reply = transcript(settings)
    assert reply.startswith("The documents say: “")
    facts = facts_of(settings)
    assert "call" in facts
    assert "tiny" in facts
    assert "no language model" not in facts
    assert KEY not in app.log()


def stop(page: Page) -> Locator:
    """The application's own Stop, not that of a file's row nor Streamlit's, which is in the page before it is
    hidden."""
    return page.locator(".st-key-stop").get_by_role("button", name="Stop")


def whole_answer(page: Page) -> str:
    """The first answer, once all of it is drawn: its facts come last, and its passages in a frame of their
    own."""
    before, now = "", transcript(page)[1]
    told = page.locator('[class*="st-key-facts_"] a[title*="tiny"]')
    while before != now or not told.count():
        page.wait_for_timeout(700)
        before, now = now, transcript(page)[1]
    return now


def test_stop_keeps_the_partial_answer_and_a_failure_offers_ways_on(
    page: Page, app: App, connected: ScriptedServer, look: Look
) -> None:
    connected.reply, connected.words_per_second = long_answer, 20.0
    page.goto(f"{app.url}/chat")
    ask(page, "Tell me everything.")
    page.get_by_text("trip 1 ").wait_for()
    page.reload()  # which follows the answer on
    page.get_by_text("trip 2 ").wait_for()
    stop(page).click()
    page.get_by_text("Stopped. The text so far has been kept.").wait_for()
    kept = whole_answer(page)
    assert "trip 2" in kept
    assert "trip 35" not in kept
    page.reload()
    page.get_by_text("Stopped. The text so far has been kept.").wait_for()
    assert whole_answer(page) == kept
    assert page.get_by_test_id("stChatInputTextArea").is_enabled()

    connected.always = FAULTS["mute"]
    ask(page, "May I bring a large dog?")
    page.get_by_text(re.compile(r"^Reading [\d,]+ tokens$")).wait_for()
    stop(page).click()
    page.get_by_text("Stopped before anything was written.").wait_for()

    connected.always = FAULTS["500"]
    page.goto(f"{app.url}/chat")
    page.get_by_role("button", name="New chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask(page, "May I bring a large dog?")
    page.get_by_role("button", name="Try again").wait_for(timeout=60_000)
    look(page, "failed answer")
    page.get_by_role("button", name="Answer without a model").click()
    page.get_by_role("button", name="Answer without a model").wait_for(state="detached")
    answered(page)
    assert "no language model: quoting your documents" in facts_of(page)


def test_a_slow_answer_is_written_while_a_document_is_read(
    page: Page, app: App, connected: ScriptedServer, look: Look
) -> None:
    connected.reply, connected.words_per_second = long_answer, 10.0
    page.goto(app.url)
    text = b"".join(b"The harbour of town %d was built in 1902. " % town for town in range(20_000))
    drop(page, payload("towns.txt", text))
    row(page, "towns.txt").get_by_role("button", name="Stop").wait_for()
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()  # the box of the screen before is gone
    ask(page, "Tell me everything.")
    page.get_by_text("trip 1 ").wait_for()
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.get_by_text("Reading 1 document").wait_for()
    done = sidebar.get_by_role("progressbar").get_attribute("aria-valuenow")
    until(page, lambda: sidebar.get_by_role("progressbar").get_attribute("aria-valuenow") != done)
    look(page, "writing")
    stop(page).click()  # it is being written still: the bar beside it has moved meanwhile
    page.get_by_text("Stopped. The text so far has been kept.").wait_for()
    page.goto(app.url)
    row(page, "towns.txt").get_by_role("button", name="Stop").wait_for()
    look(page, "reading")
    row(page, "towns.txt").get_by_role("button", name="Stop").click()
    row(page, "towns.txt").get_by_role("button", name="Delete towns.txt").click()
    row(page, "towns.txt").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("towns.txt was deleted").wait_for()


def open_settings(page: Page, url: str, part: str, *, more: bool = False) -> None:
    """One of the pages; with `more` also what is rarely used."""
    page.goto(f"{url}/settings?s={part}")
    page.locator(".st-key-settings_page").wait_for()
    settled(page)
    if more:
        page.get_by_test_id("stExpander").get_by_text("More", exact=True).click()
