"""No page shows English words to a person who has chosen another language."""

from __future__ import annotations

import re
from pprint import pformat
from typing import TYPE_CHECKING

import pytest

from lectern.ui import labels
from lectern.ui.i18n import entries, message_texts, read_catalogue
from tests.app.conftest import App, Watch, answered, drop, payload, settled, wait_until_read
from tests.app.test_chat import ask
from tests.app.test_languages import tab, text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# A document without a word of English.
DOCUMENT = (
    "Bibliotheca vetus anno millesimo aedificata est. Tres custodes ibi laborant. Custos bibliothecae "
    "Livia Fabia nominatur. Horae apertae sunt ab hora nona ad horam quintam."
)
QUESTION = "Livia Fabia custos?"
WORD = re.compile(r"[^\W\d_]{4,}")
# Everything that is seen or read aloud, also within components.
WORDS_ON_PAGE = """() => {
  const found = [document.title];
  const visit = (root) => {
    for (const node of root.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        const parent = node.parentElement ?? root.host;
        if (parent?.checkVisibility({ visibilityProperty: true }) && !parent.closest("script, style"))
          found.push(node.nodeValue);
      } else if (node.nodeType === Node.ELEMENT_NODE && node.dataset.testid !== "stIconMaterial") {
        if (node.checkVisibility({ visibilityProperty: true }))
          for (const name of ["aria-label", "title", "placeholder", "alt", "value"])
            found.push(node.getAttribute(name) ?? "");
        if (node.shadowRoot) visit(node.shadowRoot);
        visit(node);
      }
    }
  };
  visit(document.body);
  return found;
}"""


def english_words(code: str) -> set[str]:
    """The words of the English screens that those in this language do not have. What the field calls a mode
    stands behind its name in every language."""
    english, translated = set[str](), set[str]()
    for message in entries(read_catalogue(code)):
        texts, own_texts = message_texts(message)
        english.update(WORD.findall(" ".join(texts).lower()))
        translated.update(WORD.findall(" ".join(own_texts).lower()))
    modes = " ".join(labels.field_name(mode) for mode in [*labels.chat_modes(), *labels.response_modes()])
    return english - translated - {*WORD.findall(f"{DOCUMENT} {QUESTION} {modes}".lower())}


@pytest.fixture(scope="module")
def foreign_app(empty_app: App, browser: Browser) -> App:
    """A library with a document and a conversation without English words."""
    watch = Watch()
    with tab(browser, watch, "de-DE") as page:
        page.goto(empty_app.url)
        drop(page, payload("bibliotheca.txt", DOCUMENT.encode()))
        wait_until_read(page)
        page.goto(f"{empty_app.url}/chat")
        page.locator(".st-key-empty_chat").wait_for()
        settled(page)
        ask(page, QUESTION)
        answered(page)
    return empty_app


def shown_english(page: Page, words: set[str]) -> set[str]:
    page.wait_for_timeout(500)  # the browser translates what Streamlit says with the next frame
    return {
        f"{word}: {shown.strip()[:60]}"
        for shown in page.evaluate(WORDS_ON_PAGE)
        if not shown.startswith("/")  # where the library is
        for word in WORD.findall(shown.lower())
        if word in words
    }


@pytest.mark.timeout(300)
def test_no_page_shows_english_words(browser: Browser, watch: Watch, foreign_app: App) -> None:
    """In Chinese, whose words share no letters with English ones, so that each of those is noticed. What the
    pages say in the other languages is in tests/screens/test_translated_words.py."""
    code = "zh"
    words, found = english_words(code), dict[str, set[str]]()
    with tab(browser, watch, code) as page:
        for address in (
            *("", "chat", "notes", "query", "replay", "map", "indexes", "evaluate"),
            *(f"settings?s={name}" for name in ("", "answers", "reading", "privacy", "prompts", "display")),
        ):
            page.goto(f"{foreign_app.url}/{address}")
            page.locator("h1").first.wait_for()
            settled(page)
            for folded in page.locator('[data-testid="stExpander"] details:not([open]) summary').all():
                folded.click()
            settled(page)
            found[address] = shown_english(page, words)
        page.goto(foreign_app.url)
        page.locator("li.row .name").first.click()
        page.locator(".st-key-document_facts").wait_for()
        settled(page)
        found["document"] = shown_english(page, words)
        page.locator('[data-testid="stSidebar"] button.title').first.click()
        page.locator('[class*="st-key-facts_"] a').first.wait_for()
        settled(page)
        found["conversation"] = shown_english(page, words)
        page.get_by_role("button", name=text(code, "More"), exact=True).last.click()
        found["menu of an answer"] = shown_english(page, words)
        page.keyboard.press("Escape")
        page.locator('[class*="st-key-chips_"] a').first.click()
        page.locator(".st-key-panel_head").wait_for()
        settled(page)
        found["passage"] = shown_english(page, words)
        page.get_by_role("button", name=text(code, "Close"), exact=True).click()
        page.locator('[class*="st-key-facts_"] a').first.click()
        page.locator(".st-key-panel_head").wait_for()
        settled(page)
        found["how it was made"] = shown_english(page, words)
        page.get_by_role("button", name=text(code, "Close"), exact=True).click()
        for menu in ("scope", "mode", "chat_reading"):
            page.locator(f".st-key-{menu}_popover button").first.click()
            page.get_by_test_id("stPopoverBody").wait_for()
            settled(page)
            found[f"menu {menu}"] = shown_english(page, words)
            page.keyboard.press("Escape")
            page.get_by_test_id("stPopoverBody").wait_for(state="detached")
        page.get_by_test_id("stMainMenuButton").click()
        page.get_by_test_id("stMainMenuList").wait_for()
        found["main menu"] = shown_english(page, words)
    assert not any(found.values()), pformat(found, width=200)
