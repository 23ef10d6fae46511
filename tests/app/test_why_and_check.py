"""Why wasn't it found, and the sentences of an answer: what a person sees, presses, and then has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from lectern.db.conversations import Conversations
from lectern.settings import AnswerSettings, AppSettings, LLMSettings, read_settings, write_settings
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import App, choose_more, settled
from tests.app.test_chat import ask_anew
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

SECOND = "mercury-2-september-2022.pdf"  # has the second best passage about the steps
SAID = (
    "There are 214 steps from Fish Street to Windle Terrace. [1]\n"
    "- A **brass band** of elephants played there in 1777. [1]\n\n| Year | Band |\n|---|---|"
)


def write_reply(messages: Sequence[Mapping[str, Any]]) -> str:
    return SAID


@pytest.fixture
def settings_of(app: App) -> Iterator[App]:
    """The application, whose settings are as they were once the test is over."""
    before = read_settings(app.home)
    yield app
    write_settings(app.home, before)


@pytest.fixture(params=["quotes", "a model"])
def one_passage(request: pytest.FixtureRequest, settings_of: App) -> Iterator[App]:
    """The application that looks at one passage, without a language model and with a scripted one."""
    with ScriptedServer(write_reply) as server:
        model = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
        llm = model if request.param == "a model" else LLMSettings()
        write_settings(settings_of.home, AppSettings(llm=llm, answers=AnswerSettings(top_k=1)))
        yield settings_of


def last_sources(app: App, page: Page) -> list[str]:
    """The files of the passages of the last answer on the screen, as the library has them."""
    database = SQLiteDatabase(app.home / "library.db")
    talk = page.url.split("c=")[1].split("&")[0]
    names = [source.file_name for source in Conversations(database).messages(talk)[-1].sources]
    database.close()
    return names


def open_why(page: Page) -> None:
    """Ask why something is not in the last answer: in words below one that quotes nothing, else in its
    menu."""
    spelled = page.get_by_role("button", name="Why wasn’t it found?")
    if spelled.count():
        spelled.click()
    else:
        choose_more(page, "Why wasn’t it found?")
    page.locator(".st-key-why_cause").wait_for()
    settled(page)


def expect(page: Page, words: str) -> None:
    """Say what should have been found."""
    field = page.get_by_role("textbox", name="What did you expect to find?")
    field.fill(words)
    field.press("Enter")


def test_too_few_passages_is_diagnosed_and_one_button_fixes_it(page: Page, one_passage: App) -> None:
    app = one_passage
    ask_anew(page, app, "How many steps has the Herring Stair?")
    assert SECOND not in last_sources(app, page)

    open_why(page)
    cause = page.locator(".st-key-why_cause")
    cause.get_by_text("Lectern read only the first passage.").wait_for()
    assert "number 2" in cause.inner_text()
    missed = page.locator(".st-key-why_passage")
    missed.filter(has_text=SECOND).wait_for()
    assert "214 steps" in missed.inner_text()
    page.get_by_text("Searched for: How many steps has the Herring Stair?").wait_for()
    settled(page)

    missed.get_by_role("button", name=SECOND).click()
    page.locator(".st-key-panel .sheet mark").first.wait_for()
    page.get_by_role("button", name="Back").click()
    cause.wait_for()
    settled(page)

    cause.get_by_role("button", name="Read 3 passages").click()
    page.locator('[class*="st-key-facts_"] a[title*="3 of"]').wait_for()
    settled(page)
    assert SECOND in last_sources(app, page)
    assert read_settings(app.home).answers.top_k == 3


def test_expected_text_is_searched_and_reported_if_absent(page: Page, app: App) -> None:
    ask_anew(page, app, "How many steps has the Herring Stair?")
    open_why(page)
    expect(page, "214 steps from Fish Street")
    page.get_by_text("It was found.").wait_for()
    settled(page)
    expect(page, "A submarine landed on Jupiter")
    page.get_by_text("No passage seems to say it.").wait_for()
    settled(page)
    page.get_by_role("button", name="Add a document").click()
    page.get_by_role("button", name="Choose files").first.or_(page.locator("li.row").first).first.wait_for()
    assert "/chat" not in page.url


def test_a_supported_and_an_invented_sentence_look_different(page: Page, settings_of: App) -> None:
    app = settings_of
    with ScriptedServer(write_reply) as server:
        model = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
        write_settings(app.home, AppSettings(llm=model))
        ask_anew(page, app, "How many steps has the Herring Stair?")
        page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("menuitem", name="Is it in the passages?").click()
        rows = page.locator(".st-key-panel li.sentence")
        rows.nth(1).wait_for()
        settled(page)
        assert "Supported" in rows.nth(0).inner_text()
        assert "Not in the passages" in rows.nth(1).inner_text()
        assert rows.nth(1).locator(".said").inner_text() == "A brass band of elephants played there in 1777."
        assert rows.nth(2).locator(".said").inner_text() == "Year · Band"
        page.get_by_text("1 of 2 sentences are supported").wait_for()
        marked = page.locator('[data-testid="stChatMessage"] a[href^="#check-"]')
        marked.wait_for()
        assert "elephants" in marked.inner_text()
        assert marked.get_attribute("title") == "Not in the passages."

        page.reload()
        rows.nth(1).wait_for()
        assert "Not in the passages" in rows.nth(1).inner_text()
        settled(page)
        rows.nth(0).get_by_role("button").click()
        page.locator(".st-key-panel :is(img, .text)").first.wait_for()
        assert "&p=evidence." in page.url
        settled(page)
        page.locator(".st-key-close_panel button").click()
        page.locator(".st-key-panel").wait_for(state="detached")
        page.reload()
        marked.wait_for()  # kept with the answer
        settled(page)
        marked.click()
        rows.nth(1).wait_for()


def test_quotes_are_all_supported(page: Page, app: App) -> None:
    ask_anew(page, app, "Why is the station clock never corrected?")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Is it in the passages?").click()
    rows = page.locator(".st-key-panel li.sentence")
    rows.first.wait_for()
    supported = page.locator(".st-key-panel li.supported")
    assert supported.count() >= 1
    # A question that was quoted with its answer claims nothing.
    assert supported.count() + page.locator(".st-key-panel li.unjudged").count() == rows.count()
