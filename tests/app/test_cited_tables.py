"""The grid of a table: what the pointer does in it, and where it scrolls to."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from lectern.library import Library
from tests.app.conftest import App, until, wait_without_page
from tests.app.test_chat import ask_anew

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROWS = 300
LINES = [
    "Tool,Shelf,Price",
    *(f"Tool {number},{'Z9' if number == 250 else 'A1'},{ROWS - number}.50" for number in range(ROWS)),
]


def test_all_rows_scroll_to_the_answer_and_sort_by_number(page: Page, empty_app: App) -> None:
    with closing(Library(empty_app.home)) as library:
        path = library.incoming / "given"
        path.write_text("\n".join(LINES), "utf-8")
        library.intake.add(path, "tools.csv")
    wait_without_page(empty_app)
    ask_anew(page, empty_app, "Which tools are on shelf Z9?")
    page.locator('[class*="st-key-chips_"] a').first.click()
    # What a screen reader reads of the canvas: the rows in sight.
    rows = page.locator(".st-key-panel canvas tbody tr")
    until(page, lambda: rows.all_text_contents() == ["251Tool 250Z950.5"])
    page.locator(".st-key-panel").get_by_text("All rows").click()
    until(page, lambda: "251●Tool 250Z950.5" in rows.all_text_contents())
    # a click on the name of the last column
    head = page.locator(".st-key-panel canvas").first.bounding_box()
    assert head is not None
    page.mouse.click(head["x"] + head["width"] - 60, head["y"] + 17)
    page.locator(".st-key-panel .dvn-scroller").evaluate("el => { el.scrollTop = 0; }")
    until(page, lambda: rows.all_text_contents()[:1] == ["300Tool 299A11.5"])
