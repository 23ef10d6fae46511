"""Stage mode: recorded questions are answered by their recordings, on a library with no document and on the
sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lectern.runs.recorded_demo import recordings
from ragcore.text.citations import MARKS
from tests.app.conftest import App, answered, settled, until
from tests.app.test_chat import ask, transcript
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


@pytest.mark.beside("test_citation_of_a_recording_opens_the_sample_page")
def test_chat_and_query_recordings_play_without_documents(page: Page, empty_app: App) -> None:
    switch(page, empty_app, True)
    page.goto(empty_app.url)
    page.locator(".st-key-recorded_home").get_by_role("button", name=FIRST).click()
    answered(page)
    page.locator(".st-key-recorded_chat").get_by_role("button", name=SECOND).click()
    answered(page, 2)
    first, second = transcript(page)[1], transcript(page)[3]
    for shown, one in zip((first, second), USUAL, strict=True):
        assert MARKS.sub("", one.text).strip() in shown
    assert all(line.startswith("Recorded on ") and USUAL[0].facts.model in line for line in facts(page))
    page.locator('[class*="st-key-facts_"] a').nth(1).click()
    page.get_by_text(f"Searched for: {USUAL[1].facts.condensed}").wait_for()
    page.get_by_role("button", name="Close").click()
    page.locator('[data-testid="stChatMessage"] a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel").get_by_text(
        "This is how the passage read when the answer was recorded."
    ).wait_for()
    assert "38 miles per hour" in page.locator(".st-key-panel mark").first.inner_text()
    page.reload()
    answered(page, 2)
    assert (transcript(page)[1], transcript(page)[3]) == (first, second)

    ask(page, "How tall is the tower?")  # not recorded: answered from this library, which has nothing
    answered(page, 3)
    assert not facts(page)[2].startswith("Recorded")

    page.goto(f"{empty_app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    page.locator(".st-key-query_modes").get_by_text("Accumulate", exact=True).click()
    settled(page)
    page.locator(".st-key-recorded_query").get_by_role("button", name=ALONE).click()
    until(page, lambda: page.get_by_role("textbox", name="Question").input_value() == ALONE)
    settled(page)
    page.get_by_role("button", name="Compare 2 answers").click()
    # on a narrow screen one of them is behind the other
    until(page, lambda: page.get_by_text("Recorded on").count() >= 2)
    settled(page)
    assert page.get_by_text("4 calls").count() >= 1  # accumulate, as it was
    assert USUAL[0].facts.model in page.locator(".st-key-compare_common").inner_text()
    page.get_by_role("link", name="Stage mode is on").click()
    page.locator(".st-key-settings_page").wait_for()
    settled(page)
    page.get_by_test_id("stExpander").get_by_text("More", exact=True).click()
    page.get_by_text("Each answer names the model that wrote it.").wait_for()
    switch(page, empty_app, False)
    page.goto(empty_app.url)
    page.get_by_role("button", name="Try it with a sample").wait_for()
    settled(page)
    assert page.locator(".st-key-recorded_home").count() == 0


def test_citation_of_a_recording_opens_the_sample_page(on_sample: Page, app: App) -> None:
    page = on_sample
    page.goto(f"{app.url}/chat")
    page.locator(".st-key-recorded_chat").get_by_role("button", name=FIRST).click()
    answered(page)
    assert facts(page)[0].startswith("Recorded on ")
    page.locator('[class*="st-key-chips_"] a').first.click()
    page.locator(".st-key-panel mark").first.wait_for()
