"""Query: one question, answered in a chosen way, with its passages and their scores."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lectern.settings import read_settings, write_settings
from tests.app.conftest import App, answered, choose_more, settled, until
from tests.app.test_compare import slow_model

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["slow_model"]


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_label(label, exact=True).fill(option)  # a long list draws only what is in sight
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def answer_by(page: Page, *ways: str) -> None:
    """Choose these ways of answering, and no other. Each click is waited for: what the ways do is said below
    them."""
    said = page.locator(".st-key-query_ways")
    chips = page.locator(".st-key-query_modes button[aria-pressed]")
    chips.last.wait_for()
    for chip in chips.all():
        if (chip.inner_text() in ways) != (chip.get_attribute("aria-pressed") == "true"):
            before = said.inner_text()
            chip.click()
            until(page, partial(_changed, said, before))
            settled(page)


def _changed(said: Locator, before: str) -> bool:
    return said.inner_text() != before


def ask(page: Page, question: str) -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def open_query(page: Page, app: App) -> None:
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)


def test_far_weaker_passages_appear_only_on_request(page: Page, app: App) -> None:
    before = read_settings(app.home)
    hits, question = page.locator('[class*="st-key-hit_"]'), "How many steps has the Herring Stair?"
    try:
        page.goto(f"{app.url}/settings?s=answers")
        page.locator(".st-key-set_weaker").get_by_text("Include weaker passages").click()
        until(page, lambda: read_settings(app.home).answers.weaker)
        open_query(page, app)
        answer_by(page, "Passages only")
        ask(page, question)
        answered(page)
        assert hits.count() == 6
        first = page.url
        page.get_by_role("button", name=re.compile("6 passages · weaker passages included")).click()
        page.locator(".st-key-query_weaker").get_by_text("Include weaker passages").click()
        settled(page)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Ask", exact=True).click()
        until(page, lambda: page.url != first)
        answered(page)
        until(page, lambda: 0 < hits.count() < 6)  # the new ones take the place of the old ones
    finally:
        write_settings(app.home, before)


def test_two_answer_modes_and_a_saved_result(page: Page, app: App) -> None:
    open_query(page, app)
    answer_by(page, "Accumulate")
    page.get_by_text("Asks each passage separately").wait_for()
    ask(page, "Which year had the most passengers?")
    answered(page)
    first = page.url
    assert page.locator('[class*="st-key-facts_"]').inner_text().startswith("Each by itself (accumulate) ·")
    hits = page.locator('[class*="st-key-hit_"]')
    assert hits.count() == 6
    assert "score" in hits.first.inner_text()
    short = len(hits.first.inner_text())
    hits.first.get_by_text("The whole passage").click()
    until(page, lambda: len(hits.first.inner_text()) > 2 * short)
    choose_more(page, "Bad answer")
    page.get_by_label("What was wrong?").fill("too long")
    page.get_by_label("What was wrong?").press("Enter")
    page.get_by_text("You said it was wrong: too long").wait_for()
    settled(page)

    answer_by(page, "Passages only")
    page.get_by_role("button", name="Ask", exact=True).click()
    until(page, lambda: page.url != first)
    answered(page)
    assert page.locator('[class*="st-key-facts_"]').inner_text().startswith("Passages only (no text) ·")
    assert page.locator('[class*="st-key-hit_"]').count() == 6
    assert page.get_by_role("button", name="Copy", exact=True).count() == 0  # there is no text
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Save this answer with details").wait_for()
    page.keyboard.press("Escape")

    page.locator('[class*="st-key-hit_"] a').first.click()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    page.reload()
    page.locator(".st-key-panel_head").wait_for()
    until(page, lambda: page.get_by_role("textbox", name="Question").input_value())
    assert page.get_by_role("textbox", name="Question").input_value() == "Which year had the most passengers?"
    assert page.locator('[class*="st-key-facts_"]').inner_text().startswith("Passages only (no text) ·")


def test_only_the_chosen_documents_are_looked_at(page: Page, app: App) -> None:
    open_query(page, app)
    page.get_by_role("button", name="Search settings").click()
    choose(page, "Only these documents", "staff-handbook-2021.docx")
    page.keyboard.press("Escape")
    ask(page, "Who built the railway?")
    answered(page)
    names = page.locator('[class*="st-key-hit_"] a').all_inner_texts()
    assert names
    assert all("staff-handbook-2021.docx" in name for name in names)


def test_earlier_questions_name_their_mode_and_open_uncovered(page: Page, app: App) -> None:
    open_query(page, app)
    for way in ("Refine", "Passages only"):
        answer_by(page, way)
        before = page.url
        ask(page, "How many steps has the Herring Stair?")
        until(page, lambda before=before: page.url != before)
        answered(page)
    page.get_by_role("button", name="Earlier questions").click()
    page.get_by_role("button", name="How many steps has the Herring Stair? · Passages only").first.wait_for()
    page.get_by_role("button", name="How many steps has the Herring Stair? · Refine").first.click()
    page.locator('[class*="st-key-facts_"]', has_text="(refine) ·").wait_for()
    page.get_by_test_id("stPopoverBody").wait_for(state="hidden")
    page.get_by_role("button", name="Earlier questions").click()
    alone = page.get_by_role("button", name="How many steps has the Herring Stair? · Passages only")
    alone.first.wait_for()
    before = alone.count()
    page.locator(".st-key-drop_0 button").first.click()
    page.locator(".st-key-delete_question button").click()
    until(page, lambda: alone.count() == before - 1)


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
    assert box.input_value().startswith("Which year had the most passengers of all years")
    box.fill("")
    price.get_by_text("Type a question to see").wait_for()


@pytest.mark.usefixtures("slow_model")
def test_a_price_is_of_what_will_be_done(page: Page, app: App) -> None:
    open_query(page, app)
    page.get_by_role("textbox", name="Question").fill("Which year had the most passengers?")
    ways = page.locator(".st-key-query_ways")
    ways.get_by_text("Compact: 1 call").wait_for()
    answer_by(page, "Compact", "Refine")
    page.get_by_role("button", name="Compare 2 answers").wait_for()
    button = page.locator(".st-key-query_reading_popover button")
    button.first.click()
    page.get_by_test_id("stPopoverBody").get_by_text("Read everything", exact=True).click()
    button.get_by_text("Read everything").wait_for()
    settled(page)
    assert (
        ways.inner_text()
        == "Reads every passage of your documents. Nothing is left out, but it takes longer."
    )
    page.keyboard.press("Escape")
    assert page.get_by_role("button", name="Compare").count() == 0
    chips = page.locator(".st-key-query_modes button[aria-pressed]")
    assert all(chip.is_disabled() for chip in chips.all())
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".st-key-offer").get_by_text("Summary of summaries (tree summarize): ").wait_for()
    assert page.get_by_text("Compact: ").count() == 0


def test_an_empty_question_is_reported(page: Page, app: App) -> None:
    open_query(page, app)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("There is no question.").wait_for()
    page.get_by_role("button", name="Dismiss").click()
    settled(page)
    answer_by(page)  # in no way
    page.get_by_text("Choose at least one response mode.").wait_for()
    assert page.get_by_role("button", name="Ask", exact=True).is_disabled()
    page.locator(".st-key-query_reading_popover button").first.click()
    page.get_by_test_id("stPopoverBody").get_by_text("Each document", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Ask", exact=True).click()  # none is needed for that
    page.get_by_text("There is no question.").wait_for()


@pytest.mark.parametrize("closed", [False, True])
def test_earlier_questions_hold_nobody_on_the_page(page: Page, app: App, closed: bool) -> None:
    open_query(page, app)
    ask(page, "Which planet is the largest?")
    page.locator(".st-key-query_question").wait_for()
    settled(page)
    page.get_by_role("button", name="Earlier questions").click()
    page.get_by_test_id("stPopoverBody").get_by_role("button").first.wait_for()
    settled(page)
    if closed:
        page.keyboard.press("Escape")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Evaluate").click()
    page.get_by_role("heading", name="Evaluate").wait_for()
    settled(page)
    page.wait_for_timeout(500)
    assert page.url.split("?")[0].endswith("/evaluate")
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Evaluate"]
