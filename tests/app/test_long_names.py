"""Long names are shortened in their middle, so that their end is seen, and shown whole when touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, Watch, answered, drop, payload, row, settled, until, wait_until_read
from tests.app.test_chat import ask
from tests.app.test_languages import tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

NAMES = [
    "Bedienungsanleitung_Geschirrspülmaschine_Baureihe_SMV4HVX31E_2023-11.md",
    "Protokoll der außerordentlichen Mitgliederversammlung des Kleingartenvereins vom 14. März 2024.md",
]
TEXTS = [
    "Der Wasserdruck der Zuleitung beträgt höchstens 10 bar. Das Gerät wiegt 41 Kilogramm.",
    "Die Versammlung wählt Frau Krüger zur Vorsitzenden. Der Beitrag bleibt bei 85 Euro.",
]
QUESTION = "Wie hoch ist der Wasserdruck der Zuleitung zu dem Gerät höchstens?"
WINDOWS = {"desktop": (1440, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def named_app(empty_app: App, browser: Browser) -> App:
    """A library of documents with long names, and a conversation about them."""
    with tab(browser, Watch(), "de-DE") as page:
        page.goto(empty_app.url)
        files = zip(NAMES, TEXTS, strict=True)
        drop(page, *(payload(name, content.encode()) for name, content in files))
        row(page, NAMES[1]).wait_for()
        wait_until_read(page)
        page.goto(f"{empty_app.url}/chat")
        page.locator(".st-key-empty_chat").wait_for()
        settled(page)
        ask(page, QUESTION)
        answered(page)
        empty_app.environment["conversation"] = page.url
    return empty_app


def is_cut_in_its_middle(name: Locator, end: str) -> bool:
    """Whether a part of the name is hidden, while its end is in view within it."""
    return bool(
        name.evaluate(
            """(name, end) => {
              const isCut = (part) => part.scrollWidth > part.clientWidth + 1;
              const cut = [...name.querySelectorAll("*")].some(isCut);
              const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
              let last;
              while (texts.nextNode())
                if (texts.currentNode.nodeValue.includes(end)) last = texts.currentNode;
              if (!last) return false;
              const range = document.createRange(), at = last.nodeValue.indexOf(end);
              range.setStart(last, at);
              range.setEnd(last, at + end.length);
              const seen = range.getBoundingClientRect(), box = name.getBoundingClientRect();
              return cut && seen.width > 0 && seen.right <= box.right + 1 && seen.bottom <= box.bottom + 1;
            }""",
            end,
        )
    )


def open_conversation(page: Page, app: App, size: str) -> None:
    width, height = WINDOWS[size]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(app.environment["conversation"])
    page.locator('[class*="st-key-chips_"] a').first.wait_for()
    settled(page)


def test_long_names_keep_their_end_and_are_whole_on_touch(
    browser: Browser, watch: Watch, named_app: App
) -> None:
    with tab(browser, watch, "de-DE") as page:
        for size in WINDOWS:
            chip_and_panel(page, named_app, size)
            row_and_scope(page, named_app, size)
        open_conversation(page, named_app, "desktop")
        assert shown_letters(page) > 40
        page.goto(named_app.url)  # where another page is open, the list of conversations is folded
        assert shown_letters(page) > 40


def chip_and_panel(page: Page, app: App, size: str) -> None:
    open_conversation(page, app, size)
    chip = page.locator('[class*="st-key-chips_"] a', has_text="Bedienungsanleitung").first
    assert chip.get_attribute("title") == NAMES[0]
    assert size == "desktop" or is_cut_in_its_middle(chip, "2023-11.md")
    chip.click()
    name = page.locator(".st-key-panel_head b")
    name.wait_for()
    settled(page)
    assert is_cut_in_its_middle(name, "2023-11.md")
    assert (name.get_attribute("title") or "").endswith(NAMES[0])
    low = name.bounding_box()
    name.click()  # touched, it is shown in as many lines as it needs
    until(page, lambda: not is_cut_in_its_middle(name, "2023-11.md"))
    high = name.bounding_box()
    assert low is not None
    assert high is not None
    assert high["height"] > 1.5 * low["height"]
    assert name.evaluate("el => el.scrollWidth <= el.clientWidth + 1")
    assert page.locator(".st-key-panel").evaluate("el => el.scrollWidth <= el.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def row_and_scope(page: Page, app: App, size: str) -> None:
    """The name in the list of files, and in the menu of what is searched."""
    width, height = WINDOWS[size]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(app.url)
    name = row(page, NAMES[1]).locator(".name")
    name.wait_for()
    settled(page)
    assert is_cut_in_its_middle(name, "2024.md")
    assert NAMES[1] in (name.get_attribute("title") or "")
    name.click()
    page.locator(".st-key-ask_about button").click()
    page.locator(".st-key-empty_chat").wait_for()
    settled(page)
    scope = page.locator(".st-key-scope_popover button").first
    until(page, lambda: is_cut_in_its_middle(scope.locator("p"), "2024.md"))


def shown_letters(page: Page) -> int:
    """How much of a conversation's name fits the room that it has, which is two lines."""
    name = page.locator('[data-testid="stSidebar"] button.title .name').first
    name.wait_for()
    settled(page)
    return int(
        name.evaluate(
            """name => {
              const text = name.firstChild, range = document.createRange();
              const box = name.getBoundingClientRect();
              let count = 0;
              for (let at = 0; at < text.length; at++) {
                range.setStart(text, at);
                range.setEnd(text, at + 1);
                if (range.getBoundingClientRect().bottom <= box.bottom + 1) count++;
              }
              return count;
            }"""
        )
    )
