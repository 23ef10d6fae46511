"""Thousands of documents: every list shows some of them and leads to the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lectern.library import Library
from tests.app.conftest import App, settled, started, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

MANY = 5000


@pytest.fixture(scope="module")
def full_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """With so many rows of documents; what they say is not asked for."""
    folder = tmp_path_factory.mktemp("many")
    library = Library(folder / "library")
    with library.files.transaction() as db:
        for number in range(MANY):
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage, passages)"
                " VALUES (?, ?, ?, ?, 1000, ?, 'ready', 1)",
                (
                    f"{number:016x}",
                    f"report-{number:04d}.txt",
                    f"files/{number}/x.txt",
                    str(number),
                    time.time() + number,
                ),
            )
    library.close()
    yield from started(folder)


def test_the_documents_page_draws_more_rows_on_request(page: Page, full_app: App) -> None:
    page.goto(full_app.url)
    rows = page.locator(".st-key-files li.row")
    rows.first.wait_for()
    page.get_by_text("5,000 files · 5,000 ready").wait_for()
    assert rows.count() == 200
    assert rows.first.locator(".name").inner_text() == "report-4999.txt"
    page.get_by_role("button", name="Show 200 more documents").click()
    until(page, lambda: rows.count() == 400)
    assert rows.last.locator(".name").inner_text() == "report-4600.txt"


def test_the_table_of_an_index_turns_pages_and_finds_one_by_name(page: Page, full_app: App) -> None:
    page.goto(f"{full_app.url}/indexes")
    page.get_by_text("1 to 50 of 5,000").wait_for()
    settled(page)
    page.get_by_role("button", name="Next").click()
    page.get_by_text("51 to 100 of 5,000").wait_for()
    page.locator(".st-key-document_search input").fill("report-0042")
    page.locator(".st-key-document_search input").press("Enter")
    page.locator(".st-key-document_pages").wait_for(state="detached")
    page.locator(".st-key-document_table").get_by_text("report-0042.txt").wait_for()
