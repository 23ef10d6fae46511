"""Why wasn't it found, and the sentences of an answer: what a person sees, presses, and then has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from lectern.settings import AppSettings, LLMSettings, read_settings, write_settings
from tests.app.conftest import App, settled
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
