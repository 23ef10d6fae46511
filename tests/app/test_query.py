"""Query: one question, answered in a chosen way, with its passages and their scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, answered, choose_more, settled, until
from tests.app.test_compare import slow_model

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["slow_model"]


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_label(label, exact=True).fill(option)  # a long list draws only what is in sight
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def answer_by(page: Page, *ways: str) -> None:
    """Choose these ways of answering, and no other, each after the page was drawn anew."""
    chips = page.locator(".st-key-query_modes button[aria-pressed]")
    chips.last.wait_for()

    def is_chosen() -> bool:
        page.wait_for_timeout(300)
        settled(page)
        for chip in chips.all():
            if (chip.inner_text() in ways) != (chip.get_attribute("aria-pressed") == "true"):
                chip.click()
                return False
        return True

    until(page, is_chosen)


def ask(page: Page, question: str) -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def open_query(page: Page, app: App) -> None:
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)


@pytest.mark.usefixtures("slow_model")
def test_a_price_follows_the_typing(page: Page, app: App) -> None:
    open_query(page, app)
    box, price = page.get_by_role("textbox", name="Question"), page.locator(".st-key-query_ways p").last
    assert price.inner_text() == "Type a question to see what it takes to answer it."
    box.press_sequentially("Which year had", delay=30)
    price.get_by_text("Compact: 1 call, about").wait_for()
    settled(page)
    before = price.inner_text()
    box.press_sequentially(" the most passengers" + " of all years" * 60)
    until(
        page, lambda: re.match("Compact: 1 call, about", price.inner_text()) and price.inner_text() != before
    )
    assert box.evaluate("one => document.activeElement === one")
    until(page, lambda: box.input_value().startswith("Which year had the most passengers of all years"))
    box.fill("")
    price.get_by_text("Type a question to see").wait_for()


def test_passages_unfold_and_earlier_questions_hold_nobody_on_the_page(page: Page, app: App) -> None:
    open_query(page, app)
    for way in ("Accumulate", "Passages only"):
        answer_by(page, way)
        before = page.url
        ask(page, "Which year had the most passengers?")
        until(page, lambda before=before: page.url != before)
        answered(page)
    hits = page.locator('[class*="st-key-hit_"]')
    hits.nth(5).wait_for()
    assert hits.count() == 6
    short = len(hits.first.inner_text())
    hits.first.get_by_text("The whole passage").click()
    until(page, lambda: len(hits.first.inner_text()) > 2 * short)
    hits.first.locator("a").first.click()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    page.reload()
    page.locator(".st-key-panel_head").wait_for()
    question = page.get_by_role("textbox", name="Question")
    until(page, lambda: question.input_value() == "Which year had the most passengers?")
    page.get_by_role("button", name="Close").click()
    page.locator(".st-key-panel").wait_for(state="detached")

    earlier, popover = (
        page.get_by_role("button", name="Earlier questions"),
        page.get_by_test_id("stPopoverBody"),
    )
    earlier.click()
    page.get_by_role("button", name="Which year had the most passengers? · Accumulate").first.click()
    page.locator('[class*="st-key-facts_"]', has_text="(accumulate) ·").wait_for()
    popover.wait_for(state="hidden")  # it covers nothing of what was chosen
    choose_more(page, "Bad answer")
    page.get_by_label("What was wrong?").fill("too long")
    page.get_by_label("What was wrong?").press("Enter")
    page.get_by_text("You said it was wrong: too long").wait_for()
    for closed in (False, True):
        page.get_by_role("link", name="Compare", exact=True).click()
        page.get_by_role("heading", name="Compare").wait_for()
        settled(page)
        earlier.click()
        popover.get_by_role("button").first.wait_for()
        settled(page)
        if closed:
            page.keyboard.press("Escape")
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Evaluate").click()
        page.get_by_role("heading", name="Evaluate").wait_for()
        settled(page)
        page.wait_for_timeout(500)
        assert page.url.split("?")[0].endswith("/evaluate")
        assert page.get_by_role("heading", level=1).all_inner_texts() == ["Evaluate"]
