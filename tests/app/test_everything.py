"""Reading everything once its price was agreed to, one answer per document as a table, and the run card."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, Look, answered, facts_of, settled, until
from tests.app.test_chat import ask, ask_anew, transcript
from tests.app.test_model import connected, server  # noqa: F401  # fixtures

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

QUESTION = "How many steps has the Herring Stair?"


def facts(page: Page) -> str:
    return facts_of(page)


def choose_in_menu(page: Page, label: str) -> None:
    settled(page)
    page.get_by_role("button", name="More", exact=True).last.click()
    page.get_by_role("menuitem", name=label).click()


def agree(page: Page, place: str, label: str) -> str:
    """Wait for the price, and agree to it; gives the price."""
    button = page.locator(place).get_by_role("button", name=label, exact=True)
    button.wait_for()
    until(page, button.is_enabled)
    price = page.locator(place).inner_text()
    button.click()
    return price


def total(page: Page) -> int:
    found = re.search(r"of ([\d,]+) passages", facts(page))
    assert found is not None
    return int(found.group(1).replace(",", ""))


def test_everything_is_read_once_the_price_is_agreed_to(page: Page, app: App, look: Look) -> None:
    ask_anew(page, app, QUESTION)
    passages = total(page)
    assert re.search(rf"\d+ of {passages} passages, \d+ of \d+ files", facts(page))
    choose_in_menu(page, "Read everything")
    assert page.locator('[class*="st-key-facts_"]').count() == 1  # nothing has begun
    until(
        page,
        page.locator(".st-key-panel").get_by_role("button", name="Read everything", exact=True).is_enabled,
    )
    look(page, "read everything")
    price = agree(page, ".st-key-panel", "Read everything")
    assert f"Reads {passages} passages of" in price
    assert re.search(r"Summary of summaries \(tree summarize\): \S", price)
    answered(page, 2)
    files = re.search(r"(\d+) of (\d+) files", facts(page))
    assert files is not None
    assert files.group(1) == files.group(2)
    assert f"{passages} of {passages} passages" in facts(page)
    assert facts(page).startswith("Read everything · Summary of summaries (tree summarize) ·")
    said = page.get_by_test_id("stChatMessage").last
    assert "211" in said.inner_text() or said.locator('a[href^="#passage-"]').count() >= 1
    said.locator('a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel_head").get_by_text("1 ·").wait_for()
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")
    before = transcript(page)
    page.reload()
    answered(page, 2)
    assert transcript(page) == before


@pytest.fixture
def table(page: Page, app: App) -> Locator:
    """The question asked of each document, from the menu beside the question box."""
    page.goto(f"{app.url}/chat")
    settled(page)
    page.locator(".st-key-chat_reading_popover button").first.click()
    page.get_by_test_id("stPopoverBody").get_by_text("Each document", exact=True).click()
    page.locator(".st-key-chat_reading_popover button").get_by_text("Each document").wait_for()
    page.keyboard.press("Escape")
    ask(page, "Who built the railway?")
    price = agree(page, ".st-key-offer", "Ask each document")
    assert re.search(r"Asks \d+ documents, one by one", price)
    answered(page)
    return page.locator("table.file-answers")


def test_each_document_answers_in_a_table_that_is_saved(
    page: Page, table: Locator, browser: Browser, tmp_path: Path, look: Look
) -> None:
    rows = table.locator("tbody tr")
    names = table.locator("tbody th").all_inner_texts()
    assert len(names) >= 4
    look(page, "each document")
    assert sum(kind == "found" for kind in rows.evaluate_all("rows => rows.map(row => row.className)")) >= 1
    table.locator('a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel_head").wait_for()
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")
    shown = rows.all_inner_texts()
    page.reload()
    answered(page)
    assert rows.all_inner_texts() == shown
    page.locator(".st-key-chat_reading_popover").get_by_text("Best passages").wait_for()

    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    data = Path(download.value.path()).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    head, *saved = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert head == ["Document", "Answer", "Pages", "Found"]
    assert [row[0] for row in saved] == names
    assert not [cell for row in saved for cell in row if "[" in cell or cell.startswith(("=", "+", "-", "@"))]

    with page.expect_download() as download:
        choose_in_menu(page, "Save this answer with details")
    download.value.save_as(tmp_path / "card.html")
    context = browser.new_context(offline=True)
    card = context.new_page()
    card.goto((tmp_path / "card.html").as_uri())
    for width in (390, 700, 1000):
        card.set_viewport_size({"width": width, "height": 844})
        cells = card.locator("table.rows th")
        assert cells.all_inner_texts() == names
        lines = cells.evaluate_all("cells => cells.map((cell) => cell.getBoundingClientRect().width)")
        assert min(lines) >= 200, lines  # or names would be broken after every few letters
        assert card.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_run_card_opens_without_any_network(
    page: Page, app: App, browser: Browser, tmp_path: Path
) -> None:
    ask_anew(page, app, QUESTION)
    said = page.get_by_test_id("stChatMessageContent").last.locator("p").first.inner_text()
    with page.expect_download() as download:
        choose_in_menu(page, "Save this answer with details")
    saved = tmp_path / download.value.suggested_filename
    assert saved.suffix == ".html"
    download.value.save_as(saved)
    asked: list[str] = []
    context = browser.new_context(offline=True, color_scheme="dark", viewport={"width": 390, "height": 844})
    context.on("request", lambda request: asked.append(request.url))
    card = context.new_page()
    card.goto(saved.as_uri())
    assert card.get_by_role("heading", name=QUESTION).is_visible()
    assert card.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(25, 24, 22)"
    assert card.evaluate("document.documentElement.scrollWidth") <= 390
    assert said.split(".")[0].split("\n")[0] in card.locator("body").inner_text()
    assert asked == [saved.as_uri()]
    assert card.get_by_role("heading", name="Follow-ups and documents").first.is_visible()
    assert card.get_by_role("cell", name="Follow-ups and documents (condense_plus_context)").is_visible()
    assert card.get_by_role("cell", name="–", exact=True).count() == 0
    card.get_by_role("link", name="[1]").first.click()
    cited = card.locator("p[id^='passage-']:target")
    assert cited.is_visible()  # and so unfolded
    box = cited.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 844
    card.locator("summary", has_text="Answer in a chat (context_chat)").first.click()
    assert card.locator(".origin.documents").first.is_visible()
    context.close()
