"""The list of documents: several are grouped and deleted together, and it stays where it is while they are
read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, drop, let_in, payload, row, settled, until, wait_until_read

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PLACES = """
window.places = [];
(function look() {
  const within = [...document.querySelectorAll(".st-key-files *")].map((each) => each.shadowRoot);
  const list = within.map((each) => each?.querySelector("ul")).find(Boolean);
  if (list?.children.length) {
    const { top, height } = list.getBoundingClientRect();
    window.places.push(`${Math.round(top + scrollY)} ${Math.round(height)}`);
  }
  requestAnimationFrame(look);
})();
"""


@pytest.fixture(autouse=True)
def emptied(empty_app: App) -> Iterator[None]:
    yield
    empty_app.clear()


def read(page: Page, app: App, *names: str) -> None:
    page.goto(app.url)
    drop(page, *[payload(name, f"The {name} is about {name}. ".encode() * 30) for name in names])
    for name in names:
        row(page, name).wait_for()
    wait_until_read(page)


def test_several_documents_join_a_group_and_are_deleted_together(page: Page, empty_app: App) -> None:
    read(page, empty_app, "roof.txt", "stairs.txt", "garden.txt")
    page.get_by_role("button", name="Select documents").click()
    page.get_by_role("checkbox", name="All").check()
    page.get_by_text("3 chosen").wait_for()
    row(page, "garden.txt").get_by_role("checkbox").uncheck()
    page.get_by_text("2 chosen").wait_for()
    page.locator(".st-key-groups_popover button").click()
    page.get_by_role("textbox", name="Name of a new group").fill("House")
    page.get_by_role("button", name="Create the group").click()
    row(page, "roof.txt").locator(".group", has_text="House").wait_for()
    row(page, "stairs.txt").locator(".group", has_text="House").wait_for()
    assert row(page, "garden.txt").locator(".group").count() == 0
    page.locator(".st-key-document_groups button", has_text="House").click()
    until(page, lambda: page.locator(".group").count() == 0)
    page.keyboard.press("Escape")
    page.locator(".st-key-delete_popover button").click()
    page.get_by_text("Answers, notes and the results in Evaluate keep what they quote from them.").wait_for()
    page.locator(".st-key-delete_files button").click()
    page.get_by_text("2 files were deleted.").wait_for()
    until(page, lambda: page.locator("li.row").count() == 1)
    row(page, "garden.txt").get_by_role("button", name="Delete garden.txt").wait_for()


def test_the_list_stays_where_it_is_while_documents_are_read(browser: Browser, empty_app: App) -> None:
    names = [f"{name}.txt" for name in ("attic", "cellar", "kitchen")]
    for width in (1440, 390):
        context = browser.new_context(viewport={"width": width, "height": 900})
        let_in(context)
        page = context.new_page()
        page.goto(empty_app.url)
        drop(page, *[payload(name, f"The {name} is about {name}. ".encode() * 30) for name in names])
        for name in names:
            row(page, name).wait_for()
        settled(page)
        page.evaluate(PLACES)
        wait_until_read(page)
        page.locator(".st-key-suggested button").first.wait_for()
        settled(page)
        places = set(page.evaluate("() => window.places"))
        context.close()
        assert len(places) == 1, places
        empty_app.clear()


def test_where_nothing_can_be_dropped_files_are_added(browser: Browser, empty_app: App) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    let_in(context)
    page = context.new_page()
    page.goto(empty_app.url)
    page.locator(".area .big", has_text="Add your files").wait_for()
    context.close()
