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
from tests.app.test_query import choose
from tests.scripted_server import FAULTS, Fault, ScriptedServer

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


def test_the_test_button_says_in_a_sentence_what_is_wrong(
    settings: Page, server: ScriptedServer, look: Look
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    test = settings.get_by_role("button", name="Test")
    report = settings.locator(".st-key-problem_report")

    fill_in(settings, nobody, "tiny", "sk-wrong-key-000000000")
    test.click()
    report.get_by_text("127.0.0.1").wait_for()
    refused = report.inner_text()
    report.get_by_role("button", name="Try again").click()
    report.get_by_text("127.0.0.1").wait_for()
    settled(settings)
    look(settings, "test of a model")

    settings.get_by_label("Address", exact=True).fill(f"{server.url}/v1")
    settings.get_by_label("Address", exact=True).press("Enter")
    settled(settings)
    test.click()
    report.get_by_text("key", exact=False).first.wait_for()
    wrong_key = report.inner_text()

    type_key(settings, KEY)
    name_model(settings, "huge")
    test.click()
    report.get_by_text("huge").first.wait_for()
    unknown = report.inner_text()
    assert settings.locator(".st-key-llm_offered button").all_inner_texts() == ["tiny", "large"]
    assert len({refused, wrong_key, unknown}) == 3
    assert not any(key in told for key in ("sk-wrong-key", KEY) for told in (refused, wrong_key, unknown))

    choose(settings, "Model", "tiny")
    test.click()
    settings.get_by_text("Works: tiny answered").wait_for()
    assert "sk-wrong-key" not in settings.content()


def test_key_of_one_server_is_not_sent_to_another_under_test(
    connected: ScriptedServer, settings: Page, app: App
) -> None:
    with ScriptedServer(models=("tiny",)) as other:
        fill_in(settings, f"{other.url}/v1", "tiny")
        settings.get_by_text(f"The saved key belongs to {connected.url} and is sent nowhere else").wait_for()
        settings.get_by_role("button", name="Test").click()
        settings.get_by_text("Works: tiny answered").wait_for()
        assert other.requests
        assert not any("authorization" in request.headers for request in other.requests)
    fill_in(settings, "http://169.254.169.254/v1", "tiny")
    for button in ("Test", "Save"):
        settings.get_by_role("button", name=button, exact=True).click()
        settings.locator(".st-key-problem_report").get_by_text(
            "169.254.169.254 is in this computer's network"
        ).wait_for()
    assert read_settings(app.home).llm.base_url == f"{connected.url}/v1"


def test_server_models_are_offered_and_a_single_one_is_chosen(settings: Page, server: ScriptedServer) -> None:
    fill_in(settings, f"{server.url}/v1", "", KEY)
    save = settings.get_by_role("button", name="Save", exact=True)
    settings.get_by_text("Press Test to see the server’s models, then choose one.").wait_for()
    assert save.is_disabled()
    test = settings.get_by_role("button", name="Test")
    test.click()
    settings.get_by_text("The server answers. Choose one of its models.").wait_for()
    settings.locator(".st-key-llm_offered").get_by_text("large").click()
    settings.get_by_text("The server answers. Save to use it.").wait_for()
    assert settings.get_by_label("Model", exact=True).input_value() == "large"
    assert save.is_enabled()
    settings.locator(".st-key-llm_offered").get_by_text("large").click()
    until(settings, lambda: settings.get_by_label("Model", exact=True).input_value() == "")
    server.models = ("tiny",)
    test.click()
    settings.get_by_text("Works: tiny answered").wait_for()
    assert settings.get_by_label("Model", exact=True).input_value() == "tiny"
    until(settings, save.is_enabled)


def test_local_ollama_connects_in_three_presses(settings: Page, app: App) -> None:
    try:
        ollama = ScriptedServer(openai=False, port=11434, models=("llama", "mistral"))
    except OSError:
        pytest.skip("something listens already where Ollama does")
    with ollama:
        settings.locator(".st-key-llm_provider").get_by_text("Ollama").click()
        settings.locator(".st-key-llm_offered").get_by_text("mistral").click()
        settings.get_by_text("The server answers. Save to use it.").wait_for()
        settings.get_by_role("button", name="Save", exact=True).click()
        settings.get_by_text("Saved. The next answer uses it.").wait_for()
        kept = read_settings(app.home).llm
        assert (kept.provider, kept.model, kept.base_url) == ("ollama", "mistral", "")


@pytest.mark.main
def test_the_model_answers_and_its_key_is_never_displayed_again(
    settings: Page, app: App, server: ScriptedServer
) -> None:
    connect(settings, server)
    settings.reload()
    settings.get_by_text("Remove the saved key").wait_for()
    settled(settings)
    assert KEY not in settings.content()
    assert settings.get_by_label("Key", exact=True).input_value() == ""
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


def test_without_a_model_answers_are_quoted_again(page: Page, app: App, connected: ScriptedServer) -> None:
    page.goto(f"{app.url}/settings")
    page.get_by_label("Model", exact=True).wait_for()
    settled(page)
    page.locator(".st-key-llm_provider").get_by_text("None").click()
    page.get_by_text("Answers quote your documents word for word.").wait_for()
    settled(page)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved. The next answer uses it.").wait_for()
    settled(page)
    assert read_settings(app.home).llm.provider == "none"


def test_a_server_that_answered_before_is_one_press_away(
    page: Page, app: App, connected: ScriptedServer
) -> None:
    test_without_a_model_answers_are_quoted_again(page, app, connected)
    page.locator(".st-key-llm_provider").get_by_text("Other").click()
    page.get_by_label("Address", exact=True).wait_for()
    settled(page)
    assert page.get_by_label("Address", exact=True).input_value() == f"{connected.url}/v1"
    assert page.get_by_label("Model", exact=True).input_value() == "tiny"
    page.get_by_role("button", name="Save", exact=True).click()
    until(page, lambda: read_settings(app.home).llm.provider == "openai_compatible")
    assert read_settings(app.home).llm.model == "tiny"


def test_unsaved_settings_are_announced_and_survive_navigation(
    settings: Page, server: ScriptedServer
) -> None:
    fill_in(settings, f"{server.url}/v1", "tiny")
    settings.get_by_text("Not saved yet").wait_for()
    settings.get_by_role("link", name="Chat").click()
    settings.get_by_role("heading", name="Ask your documents").wait_for()
    settings.get_by_role("link", name="Settings").click()
    settings.get_by_text("Not saved yet").wait_for()
    assert settings.get_by_label("Address", exact=True).input_value() == f"{server.url}/v1"
    settings.get_by_role("button", name="Discard").click()
    settings.get_by_text("Not saved yet").wait_for(state="detached")


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


def test_stop_keeps_the_partial_answer_and_reload_follows_it(
    page: Page, app: App, connected: ScriptedServer
) -> None:
    connected.reply, connected.words_per_second = long_answer, 20.0
    page.goto(f"{app.url}/chat")
    ask(page, "Tell me everything.")
    page.get_by_text("trip 1 ").wait_for()
    page.reload()
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


def test_the_page_says_that_it_waits_for_a_silent_model(
    page: Page, app: App, connected: ScriptedServer
) -> None:
    connected.always = FAULTS["mute"]
    page.goto(f"{app.url}/chat")
    ask(page, "May I bring a large dog?")
    page.get_by_text(re.compile(r"^Reading [\d,]+ tokens$")).wait_for()
    stop(page).click()
    page.get_by_text("Stopped before anything was written.").wait_for()


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


def test_failed_answer_says_why_and_can_run_without_a_model(
    page: Page, app: App, connected: ScriptedServer, look: Look
) -> None:
    server = connected
    server.always = FAULTS["500"]
    page.goto(f"{app.url}/chat")
    ask(page, "May I bring a large dog?")
    page.get_by_role("button", name="Answer without a model").wait_for(timeout=60_000)
    page.get_by_role("button", name="Try again").wait_for()
    look(page, "failed answer")
    told = page.get_by_test_id("stChatMessage").locator('[class*="st-key-problem_"]')
    for fault, what in (
        ("401", "does not accept the key"),
        ("429", "is getting too many requests"),
        ("context", "are longer than the model can read at once"),
        ("", "has no model 'tiny'"),
    ):
        server.always, server.models = (FAULTS[fault], server.models) if fault else (Fault(), ("large",))
        told.get_by_role("button", name="Try again").click()
        told.get_by_text(what).wait_for()
        for choice in ("Try again", "Answer without a model", "Open settings"):
            told.get_by_role("button", name=choice).wait_for()
        settled(page)
    page.get_by_role("button", name="Answer without a model").click()
    page.get_by_role("button", name="Answer without a model").wait_for(state="detached")
    answered(page)
    assert "no language model: quoting your documents" in facts_of(page)


def test_model_parameters_and_the_file_limit_are_stored(
    settings: Page, app: App, server: ScriptedServer
) -> None:
    fill_in(settings, f"{server.url}/v1", "tiny")
    settings.get_by_text("More", exact=True).click()
    for label, value in (("Freedom of wording temperature", "0.70"), ("Room for the answer tokens", "320")):
        settings.get_by_label(label, exact=True).fill(value)
        settings.get_by_label(label, exact=True).press("Enter")
        settled(settings)
    settings.get_by_role("button", name="Save", exact=True).click()
    settings.get_by_text("Saved. The next answer uses it.").wait_for()
    set_limit(settings, app, "3")
    settings.goto(f"{app.url}/settings")
    settings.get_by_text("More", exact=True).click()
    settled(settings)
    until(
        settings,
        lambda: settings.get_by_label("Freedom of wording temperature", exact=True).input_value() != "0.00",
    )
    assert settings.get_by_label("Freedom of wording temperature", exact=True).input_value() == "0.70"
    assert settings.get_by_label("Room for the answer tokens", exact=True).input_value() == "320"
    settings.goto(app.url)
    settings.get_by_text("Drop your files here").wait_for()
    drop(settings, payload("large.txt", b"x" * 3_000_001))
    settings.get_by_text(
        "large.txt is 3 MB; the limit is 3 MB. Split it, or raise the limit in Settings."
    ).wait_for()
    set_limit(settings, app, "500")


def open_settings(page: Page, url: str, part: str, *, more: bool = False) -> None:
    """One of the pages; with `more` also what is rarely used."""
    page.goto(f"{url}/settings?s={part}")
    page.locator(".st-key-settings_page").wait_for()
    settled(page)
    if more:
        page.get_by_test_id("stExpander").get_by_text("More", exact=True).click()


def set_limit(page: Page, app: App, megabytes: str) -> None:
    open_settings(page, app.url, "reading", more=True)
    page.get_by_label("Largest file, in MB", exact=True).fill(megabytes)
    page.get_by_label("Largest file, in MB", exact=True).press("Enter")
    page.get_by_text("Saved.", exact=True).last.wait_for()
    settled(page)
