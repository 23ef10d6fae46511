"""Languages: the browser's, or the one that was chosen; and words that run from right to left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lectern.settings import read_settings, write_settings
from lectern.ui.i18n import read_catalogue
from tests.app.conftest import (
    App,
    Watch,
    answered,
    drop,
    let_in,
    payload,
    row,
    settled,
    until,
    wait_until_read,
)
from tests.app.test_chat import ask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ARABIC = "تأسست المكتبة القديمة في عام ألف وتسعمئة. يعمل فيها ثلاثة أمناء. أمينة المكتبة اسمها ليلى حداد."
QUESTION = "ما اسم أمينة المكتبة؟"


@contextmanager
def tab(browser: Browser, watch: Watch, locale: str) -> Iterator[Page]:
    """A page of a browser that is set to this language."""
    context = browser.new_context(
        locale=locale, viewport={"width": 1280, "height": 860}, reduced_motion="reduce"
    )
    let_in(context)
    watch.follow(context)
    try:
        yield context.new_page()
    finally:
        context.close()


def text(code: str, english: str) -> str:
    message = read_catalogue(code).get(english)
    assert message is not None
    return str(message.string)


def page_language_is(page: Page, code: str) -> bool:
    return page.evaluate("document.documentElement.lang") == code


def test_screens_speak_the_browsers_language(
    browser: Browser, watch: Watch, empty_app: App, app: App
) -> None:
    watch.forgiven.append("status of 422")  # the file is refused, as it should be
    with tab(browser, watch, "zh-CN") as page:
        first_screen_is_in(page, empty_app, "zh")
    with tab(browser, watch, "de-DE") as page:
        first_screen_is_in(page, empty_app, "de")
        messages_about_files(page, empty_app)
        what_streamlit_says(page, app)
        run_card(page, app)


def first_screen_is_in(page: Page, app: App, code: str) -> None:
    page.goto(app.url)
    page.locator(".st-key-sample").get_by_text(text(code, "Try it with a sample")).wait_for()
    page.get_by_text(text(code, "Drop your files here")).wait_for()
    until(page, lambda: page_language_is(page, code))


def messages_about_files(page: Page, app: App) -> None:
    drop(page, payload("leer.txt", b""))
    refused = row(page, "leer.txt")
    refused.get_by_text(text("de", "{name} is empty.").format(name="leer.txt")).wait_for()
    refused.get_by_role("button", name=text("de", "Delete {name}").format(name="leer.txt")).click()
    refused.get_by_role("button", name=text("de", "Delete"), exact=True).click()
    refused.wait_for(state="detached")
    set_file_limit(app, 3)
    page.reload()
    drop(page, payload("riesig.txt", b"x" * 3_000_001))
    too_large = "{name} is {size}; the limit is {limit}. Split it, or raise the limit in Settings."
    megabytes = "3\N{NO-BREAK SPACE}MB"
    told = text("de", too_large).format(name="riesig.txt", size=megabytes, limit=megabytes)
    page.get_by_text(told).wait_for()
    set_file_limit(app, 500)


def set_file_limit(app: App, megabytes: int) -> None:
    settings = read_settings(app.home)
    ingest = settings.ingest.model_copy(update={"max_file_mb": megabytes})
    write_settings(app.home, settings.model_copy(update={"ingest": ingest}))


def run_card(page: Page, app: App) -> None:
    page.goto(f"{app.url}/chat")
    page.locator(".st-key-empty_chat").wait_for()
    ask(page, "How many steps has the Herring Stair?")
    answered(page)
    page.get_by_role("button", name=text("de", "More"), exact=True).last.click()
    with page.expect_download() as begun:
        page.get_by_role("menuitem", name=text("de", "Save this answer with details")).click()
    card = Path(begun.value.path()).read_text("utf-8")
    assert '<html lang="de">' in card
    for told in ("Answer", "Settings", "Passages", "Calls", "Time", "Documents", "Versions"):
        assert f"<h2>{text('de', told)}</h2>" in card
        assert text("de", told) == told or f"<h2>{told}</h2>" not in card


def what_streamlit_says(page: Page, app: App) -> None:
    page.goto(f"{app.url}/settings")
    page.locator(".st-key-llm_provider").get_by_text("OpenAI").click()
    key = page.get_by_label(text("de", "Key"), exact=True)
    key.fill("sk-abc")
    page.get_by_text(text("de", "Press {name} to apply").format(name="Enter")).wait_for()
    page.get_by_role("button", name=text("de", "Show what is typed")).click()
    page.get_by_role("button", name=text("de", "Hide what is typed")).wait_for()
    page.get_by_label(text("de", "Model"), exact=True).fill("abc")
    page.get_by_text(text("de", "Add: {name}").format(name="abc")).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=text("de", "Help for {name}").format(name=text("de", "Key"))).wait_for()
    assert page.get_by_test_id("stSkipToContent").inner_text() == text("de", "Skip to main content")
    page.get_by_role("button", name=text("de", "Discard")).click()
    page.goto(f"{app.url}/evaluate")
    page.get_by_test_id("stFileUploaderDropzone").get_by_text(text("de", "Upload"), exact=True).wait_for()
    page.get_by_text(text("de", "{name} MB per file").format(name="500")).wait_for()
    page.get_by_role("button", name=text("de", "Main menu")).click()
    page.get_by_test_id("stMainMenuItem-print").get_by_text(text("de", "Print")).wait_for()
    page.keyboard.press("Escape")
    page.goto(f"{app.url}/indexes")
    page.locator(".st-key-open_main").get_by_text(text("de", "My documents")).first.wait_for()
    page.keyboard.press("Escape")


def test_a_chosen_language_is_remembered(browser: Browser, watch: Watch, empty_app: App) -> None:
    with tab(browser, watch, "de-AT") as page:
        page.goto(f"{empty_app.url}/settings?s=display")
        choose_language(page, "Français")
        title = page.get_by_role("heading", name=text("fr", "Settings"), exact=True)
        title.wait_for()
        until(page, lambda: page_language_is(page, "fr"))
        page.reload()
        title.wait_for()
        page.get_by_role("link", name=text("fr", "Documents"), exact=True).wait_for()
        skip = page.get_by_test_id("stSkipToContent")
        for name, code in (("English", "en"), ("Deutsch", "de")):
            choose_language(page, name)
            until(page, lambda code=code: page_language_is(page, code))
            english = "Skip to main content"
            expected = english if code == "en" else text(code, english)
            until(page, lambda expected=expected: skip.inner_text() == expected)
            page.get_by_role(
                "button", name=text(code, "Main menu") if code != "en" else "Main menu"
            ).wait_for()
        choose_language(page, text("de", "Same as the browser"))
        page.get_by_role("heading", name=text("de", "Settings"), exact=True).wait_for()


def choose_language(page: Page, name: str) -> None:
    from playwright.sync_api import TimeoutError as NotInTime

    box = page.locator(".st-key-set_language")
    box.wait_for()
    settled(page)
    option = page.get_by_role("option", name=name, exact=True)
    box.scroll_into_view_if_needed()

    def chosen() -> bool:  # a list closes while the page scrolls
        if not option.is_visible():
            box.locator("input").click()
            page.wait_for_timeout(300)
        try:
            option.click(timeout=1000)
        except NotInTime:
            return False
        return True

    until(page, chosen)


def test_arabic_questions_and_answers_are_rtl(browser: Browser, watch: Watch, empty_app: App) -> None:
    with tab(browser, watch, "en-US") as page:
        page.goto(empty_app.url)
        drop(page, payload("maktaba.txt", ARABIC.encode()))
        row(page, "maktaba.txt").wait_for()
        wait_until_read(page)
        page.goto(f"{empty_app.url}/chat")
        page.locator(".st-key-empty_chat").wait_for()
        settled(page)
        page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
        assert (
            page.get_by_test_id("stChatInputTextArea").evaluate("el => getComputedStyle(el).unicodeBidi")
            == "plaintext"
        )
        ask(page, QUESTION)
        answered(page)
        reply = page.get_by_test_id("stChatMessageContent").nth(1).locator("p").first
        assert at_the_right(reply)
        page.locator('[class*="st-key-chips_"] a').first.click()
        quoted = page.locator(".st-key-panel mark")
        quoted.wait_for()
        assert quoted.evaluate("el => getComputedStyle(el.closest('.text')).unicodeBidi") == "plaintext"
        assert page.evaluate("document.documentElement.lang") == "en"

        page.goto(f"{empty_app.url}/query")
        page.locator(".st-key-query_ask").wait_for()
        settled(page)
        page.get_by_role("textbox", name="Question").fill(QUESTION)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator('[class*="st-key-hit_"]').first.wait_for()
        answered(page, 1)
        assert at_the_right(page.locator(".st-key-query_question p").first)
        assert at_the_right(page.locator('[class*="st-key-hit_"] p', has_text="المكتبة").first)


def at_the_right(paragraph: Locator) -> bool:
    """Whether its last line, which is not full, ends at the right edge and begins away from the left one."""
    return bool(
        paragraph.evaluate(
            """el => {
              const range = document.createRange();
              range.selectNodeContents(el);
              const lines = [...range.getClientRects()].filter((line) => line.width > 1);
              const bottom = Math.max(...lines.map((line) => line.bottom));
              const last = lines.filter((line) => line.bottom > bottom - 4);
              const box = el.getBoundingClientRect();
              const left = Math.min(...last.map((line) => line.left));
              const right = Math.max(...last.map((line) => line.right));
              return box.right - right < 12 && left - box.left > 24;
            }"""
        )
    )
