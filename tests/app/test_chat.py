"""Chat: answers that show where they come from, and a screen that is the same after a reload or a restart."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from lectern.db.conversations import Conversations
from lectern.schema import Ask
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import (
    App,
    Watch,
    answered,
    facts_of,
    mode_option,
    settled,
    until,
)
from tests.app.test_compare import saying_slowly
from tests.app.test_query import choose

if TYPE_CHECKING:
    from playwright.sync_api import Page


def ask(page: Page, question: str) -> None:
    settled(page)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")


def ask_anew(page: Page, app: App, question: str) -> None:
    page.goto(f"{app.url}/chat")
    ask(page, question)
    answered(page)


def transcript(page: Page) -> list[str]:
    """What was said, without how its lines are broken."""
    return [" ".join(text.split()) for text in page.get_by_test_id("stChatMessageContent").all_inner_texts()]


def test_closest_passages_unfold_their_context_and_open(page: Page, app: App) -> None:
    ask_anew(page, app, "Are bicycles carried to the museum by the railway of the pier?")
    said = page.locator('[class*="st-key-said_closest_"]')
    assert "Not sure" in said.inner_text().partition("Closest passages:")[0]
    more = said.get_by_text("Show more")
    shown = len(said.inner_text())
    more.click()
    until(page, lambda: len(said.inner_text()) > shown + 100)
    page.get_by_text("Bicycles are not carried.").wait_for()
    assert more.evaluate("el => getComputedStyle(el, '::after').content") == '"Show less"'
    assert more.evaluate("el => getComputedStyle(el).fontSize") == "0px"
    page.get_by_text("Why wasn’t it found?", exact=True).wait_for()  # in words, not as a sign alone
    page.locator('[data-testid="stChatMessage"] a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel mark").first.wait_for()


def test_new_question_scrolls_to_the_top(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 1280, "height": 560})
    page.goto(app.url)
    box = page.locator(".st-key-home_ask textarea")
    # whose answer is higher than the window
    box.fill("Are bicycles carried to the museum by the railway of the pier?")
    box.press("Enter")
    answered(page)
    page.wait_for_timeout(1500)  # the page goes down with what comes last
    until(
        page,
        lambda: (
            0
            <= page.get_by_test_id("stChatMessage").first.evaluate("el => el.getBoundingClientRect().top")
            < 100
        ),
    )
    page.set_viewport_size({"width": 1280, "height": 640})
    ask_anew(page, app, "Who drives the two cars of the railway?")
    for count, more in enumerate(("And who mends them?", "And who pays for it?"), 2):
        ask(page, more)
        answered(page, count)
    page.locator('[data-testid="stChatMessage"]').first.scroll_into_view_if_needed()
    page.mouse.move(640, 300)
    page.mouse.wheel(0, -3000)
    question = "How long is the line?"
    ask(page, question)
    asked = page.locator('[data-testid="stChatMessage"]', has_text=question).first
    until(page, lambda: 0 <= asked.evaluate("el => el.getBoundingClientRect().top") < 500)
    answered(page, 4)
    until(page, lambda: 0 <= asked.evaluate("el => el.getBoundingClientRect().top") < 500)


@pytest.mark.smoke
def test_a_citation_opens_the_page_with_its_lines_marked(page: Page, app: App) -> None:
    ask_anew(page, app, "What joins the two cars on their two parallel tracks?")
    chip = page.locator('[class*="st-key-chips_"] a', has_text=".pdf").first
    chip.click()
    image = page.locator(".st-key-panel img")
    image.wait_for()
    until(page, lambda: image.evaluate("el => el.naturalWidth") > 300)
    sheet = image.bounding_box()
    assert sheet is not None
    marks = page.locator(".st-key-panel .sheet mark")
    assert marks.count() >= 1
    box = marks.first.bounding_box()
    assert box is not None
    assert sheet["x"] < box["x"] < box["x"] + box["width"] <= sheet["x"] + sheet["width"] + 1
    assert 3 < box["height"] < sheet["height"] / 4
    # What is quoted stands out within the passage.
    quoted, whole = (
        [
            box
            for mark in page.locator(f".st-key-panel .sheet mark{which}").all()
            if (box := mark.bounding_box())
        ]
        for which in (".quoted", ":not(.quoted)")
    )
    assert quoted
    assert sum(box["width"] for box in quoted) < sum(box["width"] for box in whole)
    assert all(any(abs(box["y"] - line["y"]) < 1 for line in whole) for box in quoted)
    shown = page.locator(".st-key-panel .label").inner_text()
    assert shown.startswith(f"Page {chip.inner_text().rpartition('p. ')[2].strip()} of ")
    # What is quoted stands on the second of the two pages that the passage reaches.
    back, turn = (page.get_by_role("button", name=f"{which} page") for which in ("Previous", "Next"))
    goes_on = page.locator(".st-key-panel .more")
    assert not goes_on.is_visible()
    back.click()
    assert page.locator(".st-key-panel .label").inner_text() != shown
    assert goes_on.inner_text() == f"Continues on {shown.split(' of ')[0].lower()}"
    until(page, goes_on.is_visible)
    assert page.locator(".st-key-panel .sheet mark").count() >= 1
    turn.click()
    assert page.locator(".st-key-panel .label").inner_text() == shown
    while turn.is_enabled():
        turn.click()
    last = shown.rpartition(" of ")[2]
    assert page.locator(".st-key-panel .label").inner_text() == f"Page {last} of {last}"
    assert page.locator(".st-key-panel .sheet mark").count() == 0
    head = page.locator(".st-key-panel_head")
    head.get_by_text(f"p.\N{NO-BREAK SPACE}{last}", exact=True).wait_for()
    assert page.locator(".st-key-panel .legend").inner_text().split("\n") == [
        "Quoted in the answer",
        "Rest of the passage",
    ]
    page.get_by_role("button", name="Back to the passage").click()
    assert page.locator(".st-key-panel .sheet mark").count() >= 1
    while turn.is_enabled():
        turn.click()
    head.get_by_text(f"p.\N{NO-BREAK SPACE}{last}", exact=True).wait_for()
    settled(page)
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".st-key-document_page .label", has_text=f"Page {last} of {last}").wait_for()
    page.get_by_role("button", name="Back to the passage").click()
    page.locator(".st-key-document_page mark.quoted").first.wait_for()
    page.get_by_role("button", name="Back to the chat").click()
    page.locator(".st-key-panel .label", has_text=shown).wait_for()
    settled(page)
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")


def test_browser_back_undoes_each_click_and_forward_repeats_it(page: Page, app: App) -> None:
    def at_rest() -> tuple[list[str], list[str], str]:
        settled(page)
        return transcript(page), page.locator(".st-key-panel_head").all_inner_texts(), page.url

    page.goto(f"{app.url}/chat")
    ask(page, "How many steps has the Herring Stair?")
    answered(page)
    seen = [at_rest()]
    # The way from page to page leads to what was open.
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("heading", name="Compare").wait_for()
    until(page, lambda: page.title() == "Compare · Lectern")
    settled(page)
    page.get_by_role("link", name="Chat", exact=True).click()
    until(page, lambda: at_rest() == seen[0])
    until(page, lambda: page.title() == "How many steps has the Herring Stair? · Lectern")
    for number in (0, 1):
        page.locator('[class*="st-key-chips_"] a').nth(number).click()
        page.locator(".st-key-panel").locator(".label, .text, .cards").first.wait_for()
        until(page, lambda: page.url != seen[-1][2])
        seen.append(at_rest())
    assert len({url for _, _, url in seen}) == 3
    for go, expected in (
        (page.go_back, seen[1]),
        (page.go_back, seen[0]),
        (page.go_forward, seen[1]),
        (page.go_forward, seen[2]),
        (page.go_back, seen[1]),
        (page.go_back, seen[0]),
    ):
        go()
        until(page, lambda expected=expected: at_rest() == expected)


def test_reload_and_server_restart_show_the_same_screen(page: Page, app: App, watch: Watch) -> None:
    watch.forgiven += [
        "WebSocket connection",
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "Failed to fetch",
        "_stcore/",
    ]
    watch.forgiven.append("Streamlit server is not responding")  # on a busy machine it is away for longer
    ask_anew(page, app, "May I bring a large dog?")
    page.locator('a[href^="#passage-"]').first.click()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    before, address = transcript(page), page.url
    head = page.locator(".st-key-panel_head").inner_text()
    assert "&p=passage." in address

    page.reload()
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    assert (transcript(page), page.url, page.locator(".st-key-panel_head").inner_text()) == (
        before,
        address,
        head,
    )

    app.kill()
    app.start()
    page.goto(address)
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    assert (transcript(page), page.url, page.locator(".st-key-panel_head").inner_text()) == (
        before,
        address,
        head,
    )


OWN_OPTIONS = ("Documents each time", "staff-handbook-2021.docx")


def options(page: Page) -> str:
    """The mode, and the documents that are asked."""
    mode, scope = (
        page.locator(f".st-key-{name}_popover button").first.text_content() for name in ("mode", "scope")
    )
    return f"{mode} · {scope}"


def set_options(page: Page, way: str, document: str) -> None:
    page.locator(".st-key-mode_popover button").first.click()
    mode_option(page, way).click()
    page.keyboard.press("Escape")
    settled(page)
    page.locator(".st-key-scope_popover button").first.click()
    choose(page, "Only these documents", document)
    for _ in range(2):  # the list, then what holds it
        page.keyboard.press("Escape")
    settled(page)


def test_menus_that_are_closed_take_the_options_of_each_conversation(page: Page, app: App) -> None:
    """The browser sends the values of a closed menu again with each press."""
    ask_anew(page, app, "How many carriages are there, then?")
    page.get_by_role("button", name="New chat").click()
    page.locator(".st-key-empty_chat").wait_for()
    set_options(page, "Documents each time", "staff-handbook-2021.docx")
    ask(page, "May a cat ride in the car?")
    answered(page)
    until(page, lambda: all(part in options(page) for part in OWN_OPTIONS))
    page.get_by_role("button", name="How many carriages are there, then?", exact=True).click()
    until(page, lambda: "All documents" in options(page))
    page.get_by_role("button", name="More", exact=True).last.click()
    page.get_by_role("menuitem", name="Keep as a note").click()
    page.get_by_text("Added to your notes.").wait_for()
    settled(page)
    assert not any(part in options(page) for part in OWN_OPTIONS)
    page.get_by_role("button", name="May a cat ride in the car?", exact=True).click()
    until(page, lambda: all(part in options(page) for part in OWN_OPTIONS))
    page.reload()
    answered(page)
    until(page, lambda: all(part in options(page) for part in OWN_OPTIONS))
    ask(page, "And a horse?")
    answered(page, 2)
    assert facts_of(page).startswith("Documents each time")
    for chip in page.locator('[class*="st-key-chips_"]').last.locator("a").all_text_contents():
        assert "staff-handbook-2021.docx" in chip

    with saying_slowly(app, "Hello."):
        page.get_by_role("button", name="New chat").click()
        page.locator(".st-key-empty_chat").wait_for()
        until(page, lambda: page.title() == "Chat · Lectern")
        until(page, lambda: page.evaluate("document.activeElement.dataset.testid") == "stChatInputTextArea")
        settled(page)
        page.locator(".st-key-mode_popover button").first.click()
        mode_option(page, "Just talk").click()
        page.locator(".st-key-scope_popover").wait_for(state="detached")
        page.get_by_test_id("stRadio").wait_for()  # the menu is still open


def test_a_conversation_and_its_passages_need_the_keyboard_alone(page: Page, app: App) -> None:
    ask_anew(page, app, "May I bring a large dog?")
    box = page.get_by_test_id("stChatInputTextArea")
    until(page, lambda: box.evaluate("el => el === document.activeElement"))
    chip = page.locator('[class*="st-key-chips_"] a').last
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if chip.evaluate("el => el === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.locator(".st-key-panel_head").wait_for()
    settled(page)
    page.keyboard.press("Escape")
    page.locator(".st-key-panel").wait_for(state="detached")
    assert chip.evaluate("el => el === document.activeElement")


def test_answer_from_another_server_is_followed_and_stopped(page: Page, app: App) -> None:
    elsewhere = Conversations(SQLiteDatabase(app.home / "library.db"))
    talk = elsewhere.create()
    written = elsewhere.begin(talk.id, Ask("Who built it?"))
    said, ended = ["It was"], threading.Event()

    def write() -> None:
        while not ended.wait(0.5) and elsewhere.write(written.id, text=said[-1], state="writing"):
            continue

    writer = threading.Thread(target=write)
    writer.start()
    try:
        page.goto(f"{app.url}/chat?c={talk.id}")
        page.get_by_text("It was", exact=True).wait_for()
        assert page.get_by_test_id("stChatInputTextArea").is_disabled()
        said.append("It was Ada Penrose.")
        page.get_by_text("It was Ada Penrose.", exact=True).wait_for()
        page.locator(".st-key-stop").get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped. The text so far has been kept.").wait_for()
        settled(page)
        assert page.get_by_test_id("stChatInputTextArea").is_enabled()
    finally:
        ended.set()
        writer.join()
        elsewhere.delete(talk.id)
