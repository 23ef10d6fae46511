"""A phone with German texts, which are longer than the English ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.app.conftest import App, let_in, settled
from tests.app.test_chat import ask_anew

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

    from tests.app.conftest import Watch


def box(place: Locator) -> Any:
    place.wait_for()
    return place.bounding_box()


def logo(page: Page) -> Any:
    return box(page.get_by_test_id("stHeaderLogo"))


def test_logo_sizes_menus_and_details_have_their_places(browser: Browser, watch: Watch, app: App) -> None:
    context = browser.new_context(
        locale="de-DE", viewport={"width": 390, "height": 844}, reduced_motion="reduce"
    )
    let_in(context)
    watch.follow(context)
    try:
        page = context.new_page()
        page.goto(app.url)
        facts = page.locator(".st-key-files .row .facts")
        facts.first.wait_for()
        assert all(facts.evaluate_all("all => all.map((one) => one.scrollWidth <= one.clientWidth)"))
        first = logo(page)
        ask_anew(page, app, "May I bring a large dog?")
        settled(page)
        assert logo(page) == first
        menus = page.locator(".st-key-composer_options button")
        assert len({menu["y"] for menu in map(box, menus.all())}) == 1
        details = page.locator('[class*="st-key-facts_"] a')
        assert box(details)["height"] >= 32
        below = box(page.locator('[class*="st-key-below_"]'))
        assert below["height"] <= 44 + 1  # the padding of the link moves nothing
        page.goto(f"{app.url}/settings?s=prompts")
        prompt, following = (page.locator('[class*="st-key-prompt_row_"]').nth(number) for number in (0, 1))
        name, use = (
            box(prompt.locator(part).first) for part in ("button p", '[data-testid="stCaptionContainer"]')
        )
        next_name = box(following.locator("button p").first)
        assert use["y"] - (name["y"] + name["height"]) < next_name["y"] - (use["y"] + use["height"])
    finally:
        context.close()
