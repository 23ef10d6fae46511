"""The list of documents: several are grouped and deleted together, and it stays where it is while they are
read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from lectern.library import Library
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


def choose(page: Page, *names: str) -> None:
    page.get_by_role("button", name="Select documents").click()
    for name in names:
        row(page, name).get_by_role("checkbox").check()
    page.get_by_text(f"{len(names)} chosen").wait_for()


def test_several_documents_join_a_group_that_their_rows_name(page: Page, empty_app: App) -> None:
    read(page, empty_app, "roof.txt", "stairs.txt", "garden.txt")
    choose(page, "roof.txt", "stairs.txt")
    page.locator(".st-key-groups_popover button").click()
    box = page.get_by_role("textbox", name="Name of a new group")
    box.fill("House")
    page.get_by_role("button", name="Create the group").click()
    row(page, "roof.txt").locator(".group", has_text="House").wait_for()
    row(page, "stairs.txt").locator(".group", has_text="House").wait_for()
    assert row(page, "garden.txt").locator(".group").count() == 0
    page.locator(".st-key-document_groups button", has_text="House").click()
    until(page, lambda: page.locator(".group").count() == 0)


def test_several_documents_are_deleted_together(page: Page, empty_app: App) -> None:
    read(page, empty_app, "roof.txt", "stairs.txt", "garden.txt")
    page.get_by_role("button", name="Select documents").click()
    page.get_by_role("checkbox", name="All").check()
    page.get_by_text("3 chosen").wait_for()
    row(page, "garden.txt").get_by_role("checkbox").uncheck()
    page.get_by_text("2 chosen").wait_for()
    page.locator(".st-key-delete_popover button").click()
    page.get_by_text("Answers, notes and the results in Evaluate keep what they quote from them.").wait_for()
    page.locator(".st-key-delete_files button").click()
    page.get_by_text("2 files were deleted.").wait_for()
    until(page, lambda: page.locator("li.row").count() == 1)
    row(page, "garden.txt").get_by_role("button", name="Delete garden.txt").wait_for()


@pytest.mark.parametrize("width", [1440, 390])
def test_the_list_stays_where_it_is_while_documents_are_read(
    browser: Browser, empty_app: App, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    let_in(context)
    page = context.new_page()
    page.goto(empty_app.url)
    names = [f"{name}.txt" for name in ("attic", "cellar", "kitchen")]
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


def test_deleted_document_s_passages_close_on_the_map(page: Page, empty_app: App) -> None:
    read(page, empty_app, "roof.txt", "stairs.txt")
    with closing(Library(empty_app.home)) as library:
        file = next(file for file in library.files.all() if file.name == "roof.txt")
    page.goto(f"{empty_app.url}/map?d={file.id}")
    page.locator(".st-key-viewer").wait_for()
    page.get_by_role("link", name="Documents").click()
    row(page, "roof.txt").get_by_role("button", name="Delete roof.txt").click()
    row(page, "roof.txt").get_by_role("button", name="Delete", exact=True).click()
    until(page, lambda: page.locator("li.row").count() == 1)
    page.get_by_role("link", name="Map").click()
    page.get_by_role("heading", name="Map").wait_for()
    settled(page)
    assert page.get_by_text("This document no longer exists.").count() == 0


def test_where_nothing_can_be_dropped_files_are_added(browser: Browser, empty_app: App) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    let_in(context)
    page = context.new_page()
    page.goto(empty_app.url)
    page.locator(".area .big", has_text="Add your files").wait_for()
    context.close()
