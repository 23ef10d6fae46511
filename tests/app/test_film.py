"""How an answer was made, and what it takes: said before, kept beside what it took, and asked about above a
limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lectern.settings import AppSettings, LLMSettings, PriceSettings, read_settings, write_settings
from tests.app.conftest import App, Look, answered, settled, until
from tests.app.test_chat import ask as ask_in_chat
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUESTION = "In what wind does the railway stop?"


@contextmanager
def set_to(app: App, settings: AppSettings) -> Iterator[None]:
    before = read_settings(app.home)
    write_settings(app.home, settings)
    try:
        yield
    finally:
        write_settings(app.home, before)


def choose_way(page: Page, way: str) -> None:
    """This way of answering and no other."""
    pills = page.locator(".st-key-query_modes [role=toolbar] button")
    pills.first.wait_for()
    for pill in pills.all():
        wanted = str(pill.inner_text().strip() == way).lower()
        if pill.get_attribute("aria-pressed") != wanted:
            pill.click()
            until(page, lambda pill=pill, wanted=wanted: pill.get_attribute("aria-pressed") == wanted)
            settled(page)


def query(page: Page, app: App, way: str) -> None:
    page.goto(f"{app.url}/query")
    page.get_by_role("heading", name="Compare").wait_for()
    settled(page)
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("textbox", name="Question").press("Control+Enter")
    # the price of some way, or that it is worked out
    page.locator(".st-key-query_ways").get_by_text(": ").first.wait_for()
    settled(page)
    choose_way(page, way)


def panel(page: Page) -> Locator:
    return page.locator(".st-key-panel")


def nodes(page: Page) -> Locator:
    return panel(page).locator("button[data-number]")


def open_call(page: Page, number: int) -> Locator:
    nodes(page).locator(f"xpath=self::*[@data-number='{number}']").click()
    details = panel(page).locator(f'section.details[aria-label="Prompt {number}"]')
    details.wait_for()
    return details


def ask_again(page: Page) -> None:
    before = page.url
    page.get_by_role("button", name="Ask", exact=True).click()
    until(page, lambda: page.url != before)
    answered(page)


def test_refine_is_a_strip_whose_calls_open_to_their_prompts(page: Page, app: App, look: Look) -> None:
    query(page, app, "Refine")
    page.get_by_text("Refine: ").wait_for()
    page.get_by_role("button", name="Ask", exact=True).click()
    answered(page)
    ask_again(page)  # the first answer may have waited for the embedder, and is then not measured
    facts = page.locator('[class*="st-key-facts_"]')
    assert re.match(r"One after another \(refine\) · \d+\.\d\ss", facts.inner_text())

    page.get_by_text(re.compile(r"Refine: (about|a few)")).wait_for()  # now there is a history
    ask_again(page)
    assert re.match(
        r"One after another \(refine\) · \d+\.\d\ss \((about|a few) .* expected\)", facts.inner_text()
    )

    facts.get_by_role("link").click()
    panel(page).get_by_text("How this answer was made").wait_for()
    until(page, lambda: nodes(page).count() == 6)
    assert panel(page).locator("ins").count() >= 1
    details = open_call(page, 3)
    assert details.locator(".legend li").all_inner_texts() == [
        "Documents",
        "Question",
        "Earlier answer",
    ]
    assert QUESTION in details.locator(".part.question").inner_text()
    assert "[3]" in details.locator(".part.documents").inner_text()
    look(page, "refine as a strip")
    said = details.locator(".part.answer .text").inner_text()
    settled(page)
    assert re.search(r"p=calls\.\w+\.3", page.url)

    nodes(page).nth(1).focus()  # the answer so far is what the call before has said
    page.keyboard.press("Enter")
    earlier = panel(page).locator('section.details[aria-label="Prompt 2"] .reply')
    earlier.wait_for()
    assert " ".join(earlier.inner_text().split()) == " ".join(said.split())
    settled(page)

    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    panel(page).locator('section.details[aria-label="Prompt 2"]').wait_for()
    settled(page)
    assert panel(page).evaluate("el => el.scrollWidth <= el.clientWidth")
    nodes(page).nth(3).click()
    panel(page).locator('section.details[aria-label="Prompt 4"]').wait_for()
    settled(page)
    below = page.locator(".st-key-panel_head").bounding_box()
    assert below is not None
    until(
        page, lambda: (nodes(page).nth(3).bounding_box() or {"y": 0})["y"] >= below["y"] + below["height"] - 1
    )
    page.keyboard.press("Escape")
    panel(page).wait_for(state="detached")


def test_a_tree_is_drawn_and_a_question_above_a_limit_waits(page: Page, app: App, look: Look) -> None:
    with ScriptedServer(slots=4) as server:
        model = LLMSettings(
            provider="openai_compatible",
            base_url=f"{server.url}/v1",
            model="tiny",
            context_window=1100,
            num_output=300,
        )
        price = PriceSettings(prompt_million=1000.0, completion_million=2000.0, currency="€")
        with set_to(app, AppSettings(llm=model, price=price)):
            tree_of_summaries(page, app, server, look)
        limited = PriceSettings(ask_above_calls=0, ask_above_tokens=100)
        with set_to(app, AppSettings(llm=model, price=limited)):
            question_above_limit(page, app, look)


def tree_of_summaries(page: Page, app: App, server: ScriptedServer, look: Look) -> None:
    query(page, app, "Tree summarize")
    said = page.get_by_text(
        re.compile(r"Tree summarize: (\d+) calls, about [\d,]+ tokens.*, about €\d+\.\d\d")
    )
    said.wait_for()
    page.get_by_role("button", name="Ask", exact=True).click()
    answered(page)
    facts = page.locator('[class*="st-key-facts_"]')
    assert re.match(
        r"Summary of summaries \(tree summarize\) · \d+ calls · .* · €\d+\.\d\d", facts.inner_text()
    )
    facts.get_by_role("link").click()
    panel(page).locator(".tree").wait_for()
    calls = len(server.chats)
    assert calls >= 3
    assert nodes(page).count() == calls
    assert panel(page).locator(".tree path").count() == calls - 1
    root = open_call(page, calls)
    assert "The documents say" in root.locator(".part.answer").inner_text()
    assert root.locator(".part.documents").count() == 0
    look(page, "summarizing as a tree")
    assert "passage" not in (nodes(page).last.get_attribute("aria-label") or "").lower()
    settled(page)


def question_above_limit(page: Page, app: App, look: Look) -> None:
    dialog = page.get_by_role("dialog")
    page.goto(f"{app.url}/chat")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    ask_in_chat(page, QUESTION)
    dialog.get_by_role("button", name="Cancel").wait_for()
    look(page, "above a limit")
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="detached")
    until(page, lambda: page.get_by_test_id("stChatInputTextArea").input_value() == QUESTION)
    page.get_by_test_id("stChatInputTextArea").press("Enter")
    dialog.get_by_role("button", name="Run anyway").click()
    answered(page)
