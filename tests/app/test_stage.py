"""Stage mode: recorded questions are answered by their recordings, on a library with no document and on the
sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lectern.runs.recorded_demo import recordings
from tests.app.conftest import App, answered, settled, until
from tests.app.test_model import open_settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST, SECOND = "In what wind does the railway stop?", "And what did Dr Greaves recommend?"
ALONE = "May I bring a large dog?"
AS_RECORDED = {(one.ask.chat_mode, len(one.before)): one for one in recordings()}
USUAL = AS_RECORDED["condense_plus_context", 0], AS_RECORDED["condense_plus_context", 1]


def switch(page: Page, app: App, on: bool) -> None:
    open_settings(page, app.url, "answers", more=True)
    toggle = page.get_by_role("checkbox", name="Stage mode").or_(
        page.get_by_role("switch", name="Stage mode")
    )
    toggle.wait_for(state="attached")
    settled(page)
    if toggle.is_checked() != on:
        page.locator(".st-key-stage_mode").get_by_text("Stage mode").click()
        settled(page)
    until(page, lambda: toggle.is_checked() == on)


@pytest.fixture
def on_sample(page: Page, app: App) -> Iterator[Page]:
    """The application with the sample, in stage mode while a test lasts."""
    switch(page, app, True)
    yield page
    switch(page, app, False)


def facts(page: Page) -> list[str]:
    """How each answer was made: in a chat what its word tells, else what stands there."""
    links = page.locator('[class*="st-key-facts_"] a').all()
    return [link.get_attribute("title") or "" for link in links]


def test_citation_of_a_recording_opens_the_sample_page(on_sample: Page, app: App) -> None:
    page = on_sample
    page.goto(f"{app.url}/chat")
    page.locator(".st-key-recorded_chat").get_by_role("button", name=FIRST).click()
    answered(page)
    assert facts(page)[0].startswith("Recorded on ")
    page.locator('[class*="st-key-chips_"] a').first.click()
    page.locator(".st-key-panel mark").first.wait_for()
