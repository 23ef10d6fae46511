"""A document's own page: it opens from the list, is searched, saved, and asked about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.app.conftest import App, drop, payload, row, settled, until, wait_until_read

if TYPE_CHECKING:
    from playwright.sync_api import Page

SAMPLE = Path(__file__).parents[2] / "sample" / "documents"
PDF = next(path for path in sorted(SAMPLE.iterdir()) if path.suffix == ".pdf")
SHEETS = SAMPLE / "passenger-figures.xlsx"
SLIDES = SAMPLE / "school-visit-2025.pptx"
TEXT = next(path for path in sorted(SAMPLE.iterdir()) if path.suffix in (".md", ".txt"))


def opened(page: Page, app: App, name: str) -> None:
    page.goto(app.url)
    row(page, name).locator("button.name").click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def test_pages_of_a_pdf_are_turned_enlarged_searched_and_saved(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, app, PDF.name)
    assert "/document?" in page.url
    scroll, sheet = page.locator(".scroll"), page.locator(".sheet:not(.waiting)")
    sheet.wait_for()
    width = sheet.evaluate("el => el.offsetWidth")
    page.get_by_role("button", name="Zoom in").click()
    assert sheet.evaluate("el => el.offsetWidth") > max(width * 1.2, 900)
    assert scroll.evaluate("el => el.scrollWidth <= el.clientWidth + 1")  # it fills the space next to it
    page.get_by_role("button", name="Next page").click()
    page.get_by_text("Page 2 of").wait_for()
    page.reload()
    page.get_by_role("heading", name=PDF.name, exact=True).wait_for()

    box = page.get_by_role("textbox", name="Search in this document")
    box.fill("brake")
    box.press("Enter")
    assert page.locator(".st-key-found_0 button").inner_text().startswith("p. ")
    settled(page)
    assert 0 < box.evaluate("el => el.getBoundingClientRect().top") < 800

    address = page.get_by_role("link", name="Download").get_attribute("href")
    answer = page.request.get(f"{app.url}{address}")
    assert answer.body() == PDF.read_bytes()
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    page.get_by_test_id("stMain").get_by_role("link", name="Documents").click()
    row(page, PDF.name).wait_for()


def test_slides_and_web_pages_are_cards_that_mark_matches_and_run_nothing(page: Page, app: App) -> None:
    opened(page, app, SLIDES.name)
    first = page.locator(".card.slide").first
    first.get_by_text("Slide 1", exact=True).wait_for()
    assert first.get_by_role("heading").inner_text() == "How a bucket of water climbs a cliff"
    assert first.locator(".item").count() == 2
    first.locator(".note", has_text="Bring the model").get_by_text("Speaker notes").wait_for()
    box = page.get_by_role("textbox", name="Search in this document")
    box.fill("limescale")
    box.press("Enter")
    page.locator(".st-key-found_0 button").click()
    mark = page.locator(".card", has_text="Slide 6").locator("mark")
    mark.wait_for()
    assert mark.all_inner_texts() == ["limescale"]
    until(page, lambda: mark.evaluate("el => el.getBoundingClientRect().top < innerHeight"))

    name = "opening <i>hours.html"
    page.goto(app.url)
    code = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    body = (
        f"<h1>Museum</h1><p>Welcome. {code.replace('<', '&lt;')}</p><h2>Times</h2><table><tr><th>Day</th>"
        "<th>From</th></tr><tr><td>Monday</td><td>10:00</td></tr></table>"
    )
    drop(page, payload(name, body.encode()))
    row(page, name).wait_for()
    wait_until_read(page)
    opened(page, app, name)
    card = page.locator(".card")
    card.get_by_role("heading", name="Times").wait_for()
    assert card.locator("th").all_inner_texts() == ["Day", "From"]
    assert card.locator("td").all_inner_texts() == ["Monday", "10:00"]
    assert code in card.inner_text()
    page.get_by_role("button", name="Contents").click()
    page.get_by_role("button", name="Times", exact=True).wait_for()
    page.keyboard.press("Escape")
    assert not card.locator("script, img").count()
    assert "ran" not in page.title()
