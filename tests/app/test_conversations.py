"""What can be done with a conversation and its answers: copied, branched, answered otherwise, judged,
exported, begun."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lectern.db.conversations import Conversations
from lectern.export.transcript import from_json
from lectern.schema import Ask, Kind
from lectern.settings import LLMSettings, read_settings, write_settings
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import (
    App,
    Look,
    answered,
    choose_more,
    drop,
    facts_of,
    mode_option,
    payload,
    row,
    settled,
    until,
    wait_until_read,
)
from tests.app.test_chat import ask, ask_anew, transcript
from tests.scripted_server import ScriptedServer

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


def test_a_copy_is_named_and_goes_its_own_way(page: Page, app: App) -> None:
    ask_anew(page, app, DOG)
    before, address = transcript(page), page.url
    menu(page, DOG)
    button(page, "Duplicate").click()
    page.get_by_text(f"The copy is named “{DOG} (2)”.").wait_for()
    settled(page)
    assert page.url == address
    button(page, f"{DOG} (2)").click()
    until(page, lambda: page.url != address)
    answered(page)
    assert transcript(page) == before
    ask(page, STAIR)
    answered(page, 2)
    button(page, DOG).click()
    until(page, lambda: page.url == address)
    page.get_by_test_id("stChatMessage").nth(2).wait_for(state="detached")  # the address changes first
    answered(page)
    assert transcript(page) == before


def test_conversation_list_filters_by_title_and_messages(page: Page, app: App) -> None:
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
    assert search.input_value() == "lighthouse taxi"
    page.get_by_role("button", name="New chat").click()
    until(page, lambda: titles.count() == 5)
    assert search.input_value() == ""


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


def test_a_tab_is_called_by_its_page_and_its_conversation(page: Page, app: App) -> None:
    page.goto(f"{app.url}/settings")
    until(page, lambda: page.title() == "Settings · Lectern")
    page.get_by_role("link", name="Compare").click()
    until(page, lambda: page.title() == "Compare · Lectern")
    ask_anew(page, app, "May I bring a large dog?")
    until(page, lambda: page.title() == "May I bring a large dog? · Lectern")
    page.get_by_role("button", name="New chat").click()
    until(page, lambda: page.title() == "Chat · Lectern")


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


def test_edited_question_branches_and_the_old_chat_stays(page: Page, app: App, look: Look) -> None:
    from playwright.sync_api import expect

    ask_anew(page, app, DOG)
    ask(page, STAIR)
    answered(page, 2)
    before, address = transcript(page), page.url
    choose_more(page, "Edit question")
    form = dialog(page)
    expect(form.get_by_label("Question")).to_have_value(STAIR)
    look(page, "edit a question")
    form.get_by_label("Question").fill(ROPE)
    form.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name=f"A branch of “{DOG}”").wait_for()
    answered(page, 2)
    said = transcript(page)
    assert (said[:2], said[2], len(said)) == (before[:2], ROPE, 4)
    assert "2" in said[3]
    page.reload()
    page.get_by_role("button", name=f"A branch of “{DOG}”").wait_for()
    answered(page, 2)
    assert transcript(page) == said
    page.get_by_role("button", name=f"A branch of “{DOG}”").click()
    page.get_by_role("button", name=f"Continued differently in “{DOG} (2)”").wait_for()
    answered(page, 2)
    assert (transcript(page), page.url) == (before, address)


def test_the_first_question_is_edited_with_the_keyboard_alone(page: Page, app: App) -> None:
    ask_anew(page, app, DOG)
    before = page.locator('[class*="st-key-facts_"]').element_handle()
    button(page, "More").last.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # its second entry
    field = dialog(page).get_by_label("Question")
    for _ in range(4):
        if field.evaluate("el => el === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type(STAIR)
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    button(page, STAIR).wait_for()
    before.wait_for_element_state("hidden")
    answered(page)
    assert transcript(page)[0] == STAIR
    assert button(page, DOG).count() == 1


def test_answer_in_another_mode_replaces_or_branches(page: Page, app: App, look: Look) -> None:
    ask_anew(page, app, DOG)
    address = page.url
    choose_more(page, "Another kind of answer")
    choose_in(dialog(page), page, "Chat mode", "Documents each time")
    choose_in(page.get_by_role("dialog"), page, "How to read the passages", "Each by itself")
    page.get_by_text("Asks each passage separately").wait_for()
    look(page, "other ways")
    button(page, "Replace this answer").click()
    page.locator('[class*="st-key-facts_"] a[title^="Documents each time"]').wait_for()
    answered(page)
    assert (len(transcript(page)), page.url) == (2, address)

    ask(page, STAIR)
    answered(page, 2)
    choose_more(page, "Another kind of answer", 0)  # under an answer that others build on
    form = dialog(page)
    assert form.get_by_role("button", name="Replace this answer").count() == 0
    choose_in(form, page, "Chat mode", "One complete question")
    button(page, "Answer in a new conversation").click()
    until(page, lambda: page.url != address)
    answered(page)
    assert facts_of(page, 0).startswith("One complete question")
    assert transcript(page)[0] == DOG


def choose_in(form: Locator, page: Page, label: str, option: str) -> None:
    form.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    page.get_by_role("option").first.wait_for(state="detached")
    settled(page)


def test_for_who_asks_for_rest_a_list_is_in_its_place_at_once(page: Page, app: App) -> None:
    """A list that closes waits for what moves it, and stays over the form for good when that is broken
    off."""
    ask_anew(page, app, DOG)
    choose_more(page, "Another kind of answer")
    dialog(page).get_by_label("Chat mode", exact=True).click()
    moving = (
        "e => { e.style.translate = '9px'; return [getComputedStyle(e).translate, e.getAnimations().length] }"
    )
    assert page.get_by_test_id("stSelectboxVirtualDropdown").evaluate(moving) == ["9px", 0]


def test_thumb_with_a_word_survives_reload_and_can_be_undone(page: Page, app: App, look: Look) -> None:
    ask_anew(page, app, DOG)
    choose_more(page, "Bad answer")
    word = page.get_by_label("What was wrong?")
    word.fill("no *page* <b>4</b>")
    word.press("Enter")
    page.get_by_text("You said it was wrong: no *page* <b>4</b>").wait_for()
    page.reload()
    page.get_by_text("You said it was wrong: no *page* <b>4</b>").wait_for()
    settled(page)
    look(page, "thumb")
    assert chosen(page) == ("true", "false")
    choose_more(page, "Bad answer")
    page.get_by_text("You said it was wrong").wait_for(state="detached")
    until(page, lambda: chosen(page) == ("false", "false"))
    page.reload()
    answered(page)
    assert chosen(page) == ("false", "false")


def chosen(page: Page) -> tuple[str | None, ...]:
    """Whether the bad and the good thumb are given."""
    thumbs = (page.locator(f'[role="menuitemcheckbox"][data-do="{thumb}"]').last for thumb in ("bad", "good"))
    return tuple(thumb.get_attribute("aria-checked") for thumb in thumbs)


def test_a_conversation_is_saved_as_markdown_html_and_json(page: Page, app: App, tmp_path: Path) -> None:
    question = "Two dogs in each car? <script>alert(1)</script>"
    ask_anew(page, app, question)
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


def test_suggested_question_is_answered_from_its_document(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    page.get_by_role("button", name="Try it with a sample").wait_for()
    settled(page)
    drop(page, payload("weir.txt", WEIR.encode()))
    row(page, "weir.txt").wait_for()
    wait_until_read(page)
    suggested = page.locator(".st-key-suggested").get_by_role(
        "button", name="When was the Marrow Weir built?"
    )
    suggested.wait_for(timeout=90_000)  # the embedder is loaded for it
    suggested.click()
    answered(page)
    assert "/chat?c=" in page.url
    assert transcript(page)[0] == "When was the Marrow Weir built?"
    assert "1897" in transcript(page)[1]
    assert "weir.txt" in page.locator('[class*="st-key-chips_"]').inner_text()
    page.get_by_role("button", name="New chat").click()
    suggested.click()
    answered(page)
    assert "1897" in transcript(page)[1]


def test_citation_survives_reindex_and_rename_until_deletion(page: Page, empty_app: App) -> None:
    built = "The lock at Ossing was dug in 1911 by Nathan Crewe."
    page.goto(empty_app.url)
    settled(page)
    text = " ".join([f"The keeper oiled gate {number}." for number in range(20)])
    drop(page, payload("lock.txt", f"{text} {built} {text}".encode()))
    row(page, "lock.txt").wait_for()
    wait_until_read(page)
    ask_anew(page, empty_app, "Who dug the lock at Ossing?")
    page.locator('[class*="st-key-chips_"] a').first.click()
    mark = page.locator(".st-key-panel .text mark")
    quoted = mark.locator(".quoted")
    quoted.wait_for()
    around = page.locator(".st-key-panel .text")
    shown, whole, cited = mark.inner_text(), around.inner_text(), page.url
    assert len(whole) > len(shown)
    assert quoted.inner_text() == built

    menu(page, "Who dug the lock at Ossing?")
    button(page, "Rename").click()
    page.get_by_label("Conversation name").fill("The lock")
    page.get_by_label("Conversation name").press("Enter")
    button(page, "The lock").wait_for()
    page.goto(f"{empty_app.url}/settings?s=reading")
    page.get_by_role("spinbutton", name="Length of a passage in tokens").fill("40")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Rebuild the index (").click()
    page.get_by_text("The index has been rebuilt").wait_for()
    page.goto(cited)
    quoted.wait_for()
    assert (mark.inner_text(), quoted.inner_text(), around.inner_text()) == (shown, built, whole)

    ask_anew(page, empty_app, "Wer hat den Mond an die Bahn gekettet?")
    assert "Ähnlichste Passagen:" in transcript(page)[-1]

    page.goto(empty_app.url)
    row(page, "lock.txt").get_by_role("button", name="Delete lock.txt").click()
    row(page, "lock.txt").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("lock.txt was deleted").wait_for()
    page.goto(cited)
    gone = page.locator(".st-key-panel").get_by_text("lock.txt has been deleted since this answer was given.")
    gone.wait_for()
    assert (mark.inner_text(), quoted.inner_text()) == (shown, built)
    page.set_viewport_size({"width": 390, "height": 600})
    page.reload()
    quoted.wait_for()
    settled(page)
    in_sight(page, gone)
    in_sight(page, quoted)


def in_sight(page: Page, what: Locator) -> None:
    """Wholly within the window, below the head of the panel."""
    head, box = page.locator(".st-key-panel_head").bounding_box(), what.bounding_box()
    assert head is not None
    assert box is not None
    assert head["y"] + head["height"] <= box["y"]
    assert box["y"] + box["height"] <= page.evaluate("innerHeight")


def called(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """One search, then an answer; and none for the call that answers from the passages."""
    if any(message["role"] == "tool" for message in messages) or "[1] " in str(messages[-1]["content"]):
        return ()
    function = {"name": "query_engine_tool", "arguments": json.dumps({"input": "large dog"})}
    return ({"id": "call-1", "type": "function", "function": function},)


@pytest.fixture
def connected(app: App) -> Iterator[Callable[..., None]]:
    """Name a model in the settings; they are as they were after the test."""
    before = read_settings(app.home)

    def connect(server: ScriptedServer, *, calls_functions: bool) -> None:
        llm = LLMSettings(
            provider="openai_compatible",
            base_url=f"{server.url}/v1",
            model="tiny",
            calls_functions=calls_functions,
        )
        write_settings(app.home, before.model_copy(update={"llm": llm}))

    yield connect
    write_settings(app.home, before)


def test_function_calling_model_searches_and_its_sources_open(
    page: Page, app: App, connected: Callable[..., None]
) -> None:
    with ScriptedServer(tool_calls=called) as server:
        connected(server, calls_functions=False)
        page.goto(f"{app.url}/chat")
        page.locator(".st-key-mode_popover button").first.click()
        page.get_by_text("Needs a model that can search by itself.").last.wait_for()
        assert mode_option(page, "Documents when needed").count() == 0  # it cannot be chosen

        connected(server, calls_functions=True)
        page.reload()
        page.get_by_role("heading", name="Ask your documents").wait_for()
        set_way(page, "Documents when needed")
        ask(page, DOG)
        answered(page)
        facts = facts_of(page)
        assert facts.startswith("Documents when needed · 3 calls")
        assert [bool(request.body.get("tools")) for request in server.chats] == [True, False, True]
        page.locator('a[href^="#passage-"]').first.click()
        page.locator(".st-key-panel_head").wait_for()
        settled(page)


def set_way(page: Page, way: str) -> None:
    settled(page)
    page.locator(".st-key-mode_popover button").first.click()
    mode_option(page, way).click()
    settled(page)
    page.keyboard.press("Escape")
    settled(page)


def test_all_conversations_are_deleted_at_once(page: Page, app: App) -> None:
    kept = Conversations(SQLiteDatabase(app.home / "library.db"))
    kinds: tuple[Kind, ...] = ("chat", "query")
    for kind in kinds:
        kept.write(kept.begin(kept.create(kind).id, Ask(STAIR)).id, text="It has 214.", state="done")
    page.goto(f"{app.url}/settings?s=privacy")
    button(page, STAIR).wait_for()
    page.locator(".st-key-delete_popover button").click()
    page.locator(".st-key-delete_conversations button").click()
    button(page, STAIR).wait_for(state="detached")
    assert not any(map(kept.all, kinds))
