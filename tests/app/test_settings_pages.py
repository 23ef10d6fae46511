"""The six pages of the settings: each within one screen, named in its address, and reached by old links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.app.conftest import App, Watch, resting, settled, until
from tests.app.test_languages import tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PARTS = (
    "model",
    "answers",
    "reading",
    "privacy",
    "prompts",
    "prompts.react",
    "prompts.faithfulness",
    "display",
)
PROVIDERS = ("none", "llama_cpp", "ollama", "openai", "openai_compatible")  # in the order of the screen
HEIGHT = """document.querySelector('[data-testid="stMainBlockContainer"]').scrollHeight"""


def show(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".st-key-settings_page").wait_for()
    settled(page)


def chosen(page: Page) -> str:
    return page.locator('.st-key-settings_page [aria-checked="true"]').inner_text()


def test_no_page_is_higher_than_a_screen(browser: Browser, watch: Watch, app: App) -> None:
    """In German, whose texts are longer than the English ones."""
    heights = {}
    with tab(browser, watch, "de-DE") as page:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.on("dialog", lambda dialog: dialog.accept())
        for part in PARTS:
            show(page, f"{app.url}/settings?s={part}")
            heights[part] = resting(page, lambda: page.evaluate(HEIGHT))
        page.goto(f"{app.url}/settings")
        for provider in ("llama_cpp", "ollama", "openai", "openai_compatible"):
            page.locator(".st-key-llm_provider button").nth(PROVIDERS.index(provider)).click()
            settled(page)
            heights[provider] = resting(page, lambda: page.evaluate(HEIGHT))
    assert {name: height for name, height in heights.items() if height > 900} == {}


def test_address_names_the_page_and_old_links_and_unsaved_input_are_heeded(page: Page, app: App) -> None:
    show(page, f"{app.url}/settings")
    assert chosen(page) == "Model"
    page.locator(".st-key-settings_page").get_by_text("Reading").click()
    page.get_by_label("Length of a passage in tokens", exact=True).wait_for()
    until(page, lambda: page.url == f"{app.url}/settings?s=reading")
    page.reload()
    page.get_by_label("Length of a passage in tokens", exact=True).wait_for()
    assert page.locator(".st-key-llm_provider, .st-key-set_top_k").count() == 0
    page.locator(".st-key-settings_page").get_by_text("Instructions").click()
    page.get_by_role("button", name="Summarise").click()
    until(page, lambda: page.url == f"{app.url}/settings?s=prompts.tree_summarize")
    page.go_back()
    page.get_by_role("button", name="Just talk").wait_for()
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    page.get_by_role("link", name="Settings").click()
    page.locator(".st-key-llm_provider").wait_for()
    assert chosen(page) == "Model"

    # Links to the sections of the single page that there was before lead to where they are now.
    page.goto("about:blank")
    page.goto(f"{app.url}/settings#copy")
    page.get_by_role("button", name="Download a copy").wait_for()
    assert page.url == f"{app.url}/settings?s=privacy"
    page.goto("about:blank")
    page.goto(f"{app.url}/settings#language")
    page.locator(".st-key-set_language input").click()
    # read also where there is no font for Chinese
    page.get_by_role("option", name="中文 (Chinese)", exact=True).wait_for()
    page.keyboard.press("Escape")
    assert page.url == f"{app.url}/settings?s=display"

    # What is not saved on one page is warned of on another.
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    show(page, f"{app.url}/settings")
    page.locator(".st-key-llm_provider").get_by_text("Ollama").click()
    page.get_by_text("Press Test to see the server’s models, then choose one.").wait_for()
    page.locator(".st-key-settings_page").get_by_text("Answers").click()
    page.locator(".st-key-set_top_k").wait_for()
    settled(page)
    page.reload()
    assert asked == ["beforeunload"]


def test_appearance_applies_on_every_page_and_the_menu_only_prints(page: Page, app: App) -> None:
    screen = page.get_by_test_id("stApp")

    def until_scheme(scheme: str) -> None:
        until(page, lambda: screen.evaluate("el => getComputedStyle(el).colorScheme") == scheme, 20)

    def choose(name: str) -> None:
        page.locator(".st-key-set_appearance input").click()
        page.get_by_role("option", name=name, exact=True).click()

    show(page, f"{app.url}/settings?s=display")
    until_scheme("light")
    choose("Dark")
    until_scheme("dark")
    for address in ("query", "settings?s=display"):
        page.goto(f"{app.url}/{address}")
        screen.wait_for()
        until_scheme("dark")
    page.locator(".st-key-set_appearance").get_by_text("Dark").wait_for()
    choose("Same as the browser")
    until_scheme("light")

    button, menu = page.get_by_test_id("stMainMenuButton"), page.get_by_test_id("stMainMenuPopover")
    button.focus()
    page.keyboard.press("Enter")
    menu.wait_for()
    assert menu.inner_text().split() == ["Print"]
    until(page, lambda: page.evaluate("document.activeElement.innerText") == "Print")
    page.keyboard.press("Shift+Tab")  # leads out of it, and not to what is hidden
    menu.wait_for(state="detached")
    assert button.evaluate("el => el === document.activeElement")
