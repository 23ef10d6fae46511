"""What can be done with a conversation and its answers: copied, branched, answered otherwise, judged,
exported, begun."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.db.conversations import Conversations
from lectern.export.transcript import from_json
from lectern.schema import Ask
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import (
    App,
    Look,
    answered,
    choose_more,
    settled,
    until,
)
from tests.app.test_chat import ask_anew, transcript

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

DOG = "May I bring a large dog?"
STAIR = "How many steps has the Herring Stair?"
ROPE = "When was the present rope fitted?"
WEIR = "The Marrow Weir was built in 1897 by Ida Quill. The Marrow Weir is a dam of larch on the River Tunn."


@pytest.fixture(autouse=True)
def cleared(app: App) -> Iterator[None]:
    """Every test begins without conversations, and leaves none."""
    kept = Conversations(SQLiteDatabase(app.home / "library.db"))
    for talk in kept.all():
        kept.delete(talk.id)
    yield
    for talk in kept.all():
        kept.delete(talk.id)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def menu(page: Page, title: str) -> None:
    button(page, f"Rename, copy, export or delete: {title}").click()


def dialog(page: Page) -> Locator:
    shown = page.get_by_role("dialog")
    shown.wait_for()
    settled(page)
    return shown


def test_many_conversations_are_listed_by_day_with_more_to_load(page: Page, app: App, look: Look) -> None:
    now, hour = time.time(), 3600.0
    ages = [0.0, *[40 * 24 * hour + number for number in range(70)]]
    for number, age in enumerate(ages):
        kept = Conversations(SQLiteDatabase(app.home / "library.db"), clock=lambda at=now - age: at)
        kept.write(kept.begin(kept.create().id, Ask(f"Number {number}?")).id, text="Nothing.", state="done")
    page.goto(f"{app.url}/chat")
    titles, days = (
        page.locator("button.title"),
        page.get_by_role("region", name="Conversations").get_by_role("heading"),
    )
    until(page, lambda: titles.count() == 60)
    month = datetime.fromtimestamp(now - ages[1]).strftime("%B %Y")
    assert days.all_inner_texts() == ["Today", month]
    look(page, "conversations by day")
    button(page, "Show more").click()
    until(page, lambda: titles.count() == 71)
    assert titles.nth(60).evaluate("el => el === el.getRootNode().activeElement")
    assert button(page, "Show more").count() == 0

    menu(page, "Number 70?")
    prints = page.get_by_role("link", name="Print, or save as PDF")
    assert prints.inner_text() == "Print, or save as PDF"
    until(
        page,
        lambda: prints.evaluate("el => el.parentElement.getBoundingClientRect().bottom < innerHeight + 1"),
    )
    button(page, "Pin").click()
    until(page, lambda: days.all_inner_texts() == ["Pinned conversations", "Today", month])
    assert titles.first.inner_text() == "Number 70?"
    page.reload()
    until(page, lambda: titles.count() == 60)
    assert titles.first.inner_text() == "Number 70?"
    menu(page, "Number 70?")
    button(page, "Unpin").click()
    until(page, lambda: days.all_inner_texts() == ["Today", month])
    menu(page, "Number 0?")
    button(page, "Rename").click()
    page.get_by_label("Conversation name").fill("The stair")
    page.get_by_label("Conversation name").press("Enter")
    menu(page, "The stair")
    button(page, "Delete").click()
    button(page, "Delete").click()
    page.get_by_text("Conversation deleted.").wait_for()
    until(page, lambda: days.all_inner_texts() == [month])


def test_conversation_list_is_searched_while_it_is_typed(page: Page, app: App) -> None:
    kept = Conversations(SQLiteDatabase(app.home / "library.db"))
    for number in range(5):
        answer = kept.begin(kept.create().id, Ask(f"What is on page {number}?"))
        kept.write(answer.id, text="A tall lighthouse." if number == 4 else "Nothing.", state="done")
    page.goto(f"{app.url}/chat")
    titles = page.locator("button.title")
    until(page, lambda: titles.count() == 5)
    search = page.get_by_role("searchbox", name="Search conversations")
    search.press_sequentially("lighthouse ta")  # and no Enter
    until(page, lambda: titles.all_inner_texts() == ["What is on page 4?"])
    snippet = page.get_by_role("region", name="Conversations").locator(".snippet")
    assert (snippet.inner_text(), snippet.locator("b").inner_text()) == ("A tall lighthouse.", "lighthouse")
    assert search.evaluate("el => el === document.activeElement")
    search.press_sequentially("xi")
    page.get_by_text("No conversation contains these words.").wait_for()
    until(page, lambda: search.input_value() == "lighthouse taxi")
    page.get_by_role("button", name="New chat").click()
    until(page, lambda: titles.count() == 5)
    until(page, lambda: search.input_value() == "")


def test_phone_menu_closes_after_choosing_a_page(page: Page, app: App) -> None:
    ask_anew(page, app, DOG)
    page.set_viewport_size({"width": 390, "height": 844})
    menu_is_away = page.locator('[data-testid="stSidebar"][data-collapsed="true"]')
    for chosen in (page.get_by_role("link", name="Compare"), button(page, DOG), button(page, "New chat")):
        menu_is_away.wait_for(state="attached")
        page.get_by_test_id("stExpandSidebarButton").click()
        chosen.click()
    menu_is_away.wait_for(state="attached")
    page.get_by_role("heading", name="Ask your documents").wait_for()


def test_the_forms_about_an_answer_are_used_with_the_keyboard_and_lists(
    page: Page, app: App, look: Look
) -> None:
    ask_anew(page, app, DOG)
    address = page.url
    choose_more(page, "Another kind of answer")
    form = dialog(page)
    form.get_by_label("Chat mode", exact=True).click()
    # A list that closes waits for what moves it, and would stay over the form for good when that is broken
    # off. For who asks for rest, it is in its place at once.
    moving = (
        "e => { e.style.translate = '9px'; return [getComputedStyle(e).translate, e.getAnimations().length] }"
    )
    assert page.get_by_test_id("stSelectboxVirtualDropdown").evaluate(moving) == ["9px", 0]
    choose_option(page, "Documents each time")
    form.get_by_label("How to read the passages", exact=True).click()
    choose_option(page, "Each by itself")
    page.get_by_text("Asks each passage separately").wait_for()
    look(page, "other ways")
    button(page, "Replace this answer").click()
    page.locator('[class*="st-key-facts_"] a[title^="Documents each time"]').wait_for()
    answered(page)
    assert (len(transcript(page)), page.url) == (2, address)

    facts = page.locator('[class*="st-key-facts_"]').element_handle()
    button(page, "More").last.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # its second entry: edit the question
    form = dialog(page)
    field = form.get_by_label("Question")
    for _ in range(4):
        if field.evaluate("el => el === document.activeElement"):
            break
        page.keyboard.press("Tab")
    look(page, "edit a question")
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(STAIR)
    page.keyboard.press("Control+Enter")
    form.wait_for(state="detached")
    button(page, STAIR).wait_for()
    facts.wait_for_element_state("hidden")
    answered(page)
    assert transcript(page)[0] == STAIR
    assert button(page, DOG).count() == 1


def choose_option(page: Page, option: str) -> None:
    """In the list that is open."""
    page.get_by_role("option", name=option, exact=True).click()
    page.get_by_role("option").first.wait_for(state="detached")
    settled(page)


def chosen(page: Page) -> tuple[str | None, ...]:
    """Whether the bad and the good thumb are given."""
    thumbs = (page.locator(f'[role="menuitemcheckbox"][data-do="{thumb}"]').last for thumb in ("bad", "good"))
    return tuple(thumb.get_attribute("aria-checked") for thumb in thumbs)


def test_a_judged_conversation_is_saved_as_markdown_html_and_json(
    page: Page, app: App, look: Look, tmp_path: Path
) -> None:
    question = "Two dogs in each car? <script>alert(1)</script>"
    ask_anew(page, app, question)
    choose_more(page, "Bad answer")
    word = page.get_by_label("What was wrong?")
    word.fill("no *page* <b>4</b>")
    word.press("Enter")
    page.get_by_text("You said it was wrong: no *page* <b>4</b>").wait_for()
    settled(page)
    look(page, "thumb")
    assert chosen(page) == ("true", "false")
    choose_more(page, "Bad answer")
    until(page, lambda: chosen(page) == ("false", "false"))
    choose_more(page, "Good answer")
    page.get_by_label("What was good?").fill("right & short")
    page.get_by_label("What was good?").press("Enter")
    page.get_by_text("You said: right & short").wait_for()
    settled(page)
    chip = page.locator('[class*="st-key-chips_"] a').first.text_content() or ""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button(page, "Copy").click()
    until(page, lambda: page.evaluate("navigator.clipboard.readText()") != "")
    copied = page.evaluate("navigator.clipboard.readText()")
    button(page, "More").last.click()
    with page.expect_download() as begun:
        page.get_by_role("menuitem", name="Save the whole conversation").click()
    assert begun.value.suggested_filename == "Two dogs in each car script alert(1) script.html"
    menu(page, question)
    saved: dict[str, Path] = {}
    for form, suffix in (("Markdown", "md"), ("HTML", "html"), ("JSON", "json")):
        with page.expect_download() as begun:
            page.get_by_role("link", name=f"Export as {form}").click()
        assert begun.value.suggested_filename == f"Two dogs in each car script alert(1) script.{suffix}"
        saved[suffix] = tmp_path / f"export.{suffix}"
        begun.value.save_as(saved[suffix])

    kept = from_json(saved["json"].read_text("utf-8"))
    asked, given = kept.messages
    shown = given.as_shown
    assert copied == shown.text
    assert (asked.text, kept.verdicts[given.id].word) == (question, "right & short")
    markdown = saved["md"].read_text("utf-8")
    assert shown.text in markdown
    assert "Two dogs in each car? \\<script\\>" in markdown
    source = next(source for source in shown.sources if f"[{source.number}]" in shown.text)
    assert source.file_name in chip
    assert f"\\[{source.number}\\] **" in markdown

    alerts: list[str] = []
    page.on("dialog", lambda shown: (alerts.append(shown.message), shown.dismiss()))
    opened = page.context.new_page()
    opened.on("dialog", lambda shown: (alerts.append(shown.message), shown.dismiss()))
    opened.set_content(saved["html"].read_text("utf-8"))
    opened.get_by_text(question).first.wait_for()
    opened.get_by_role("link", name=f"[{source.number}]").first.click()
    shown = opened.locator("li", has_text=f"[{source.number}] {source.file_name}")
    assert " ".join(source.text.split())[:60] in " ".join(shown.inner_text().split())
    assert not alerts
    opened.close()
