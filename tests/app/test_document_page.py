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


def test_click_on_a_pdf_shows_pages_to_turn_and_zoom(page: Page, app: App) -> None:
    opened(page, app, PDF.name)
    assert "/document?" in page.url
    sheet = page.locator(".sheet:not(.waiting)")
    sheet.wait_for()
    before = sheet.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    after = sheet.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] * 1.2
    page.get_by_role("button", name="Next page").click()
    page.get_by_text("Page 2 of").wait_for()
    page.reload()
    page.get_by_role("heading", name=PDF.name, exact=True).wait_for()


def test_a_search_lists_its_places_and_a_click_marks_one(page: Page, app: App) -> None:
    opened(page, app, TEXT.name)
    word = max(TEXT.read_text("utf-8").split()[:80], key=lambda some: len(some) if some.isalpha() else 0)
    box = page.get_by_role("textbox", name="Search in this document")
    box.fill(word)
    box.press("Enter")
    hit = page.locator(".st-key-found_0 button")
    assert hit.locator("strong").inner_text().casefold() == word.casefold()
    words = TEXT.read_text("utf-8").split()
    assert all(shown in words for shown in hit.inner_text().strip("…").split())  # none is cut
    hit.click()
    page.locator(".text mark").filter(has_text=word).first.wait_for()


def test_pdf_search_hit_names_its_page_and_links_back(page: Page, app: App) -> None:
    opened(page, app, PDF.name)
    box = page.get_by_role("textbox", name="Search in this document")
    box.fill("brake")
    box.press("Enter")
    hit = page.locator(".st-key-found_0 button")
    assert hit.inner_text().startswith("p. ")
    settled(page)
    assert 0 < box.evaluate("el => el.getBoundingClientRect().top") < 800
    page.get_by_test_id("stMain").get_by_role("link", name="Documents").click()
    row(page, PDF.name).wait_for()


def test_an_enlarged_page_fills_the_space_next_to_it(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened(page, app, PDF.name)
    page.locator(".sheet:not(.waiting)").wait_for()
    scroll, sheet = page.locator(".scroll"), page.locator(".sheet")
    page.get_by_role("button", name="Zoom in").click()
    assert sheet.evaluate("el => el.offsetWidth") > 900
    assert scroll.evaluate("el => el.scrollWidth <= el.clientWidth + 1")


def test_the_original_is_saved_byte_for_byte_and_never_displayed(page: Page, app: App) -> None:
    opened(page, app, PDF.name)
    address = page.get_by_role("link", name="Download").get_attribute("href")
    answer = page.request.get(page.url.split("/document")[0] + str(address))
    assert answer.body() == PDF.read_bytes()
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"


def test_a_chat_about_a_document_asks_it_alone(page: Page, app: App) -> None:
    opened(page, app, PDF.name)
    page.get_by_role("button", name="Ask about this document").click()
    page.locator(".st-key-scope_popover button", has_text=PDF.name).wait_for()


def test_a_long_text_is_read_on_to_its_end(page: Page, app: App) -> None:
    from playwright.sync_api import expect

    name = "history of a long road.txt"
    page.goto(app.url)
    drop(page, payload(name, ("A line about the road. " * 40 + "\n").encode() * 30 + b"Here the road ends."))
    row(page, name).wait_for()
    wait_until_read(page)
    opened(page, app, name)
    shown, on = page.locator(".text"), page.locator(".st-key-document_on button")
    while on.count():
        before = shown.inner_text()
        on.click()
        expect(shown).not_to_have_text(before)
        settled(page)
    expect(shown).to_contain_text("Here the road ends.")


def test_the_headings_of_a_text_are_its_contents_and_lead_there(page: Page, app: App) -> None:
    name = "walks by the sea.md"
    page.goto(app.url)
    parts = [
        "# Walks",
        "```\n# of the script\n```",
        *["A line about the sea. " * 40] * 20,
        "## The *long* way",
        "It begins here.",
    ]
    drop(page, payload(name, "\n\n".join(parts).encode()))
    row(page, name).wait_for()
    wait_until_read(page)
    opened(page, app, name)
    page.get_by_role("button", name="Contents").click()
    page.get_by_role("button", name="The long way", exact=True).wait_for()
    assert not page.get_by_role("button", name="of the script").count()
    page.get_by_role("button", name="The long way", exact=True).click()
    page.locator(".cards", has_text="It begins here.").wait_for()
    page.locator(".cards h3", has_text="The *long* way").wait_for()
    page.locator(".cards pre", has_text="# of the script").wait_for(state="detached")


def test_slides_are_cards_and_a_match_is_marked_on_its_slide(page: Page, app: App) -> None:
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


def test_web_page_shows_its_headings_and_tables_and_runs_nothing(page: Page, app: App) -> None:
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


def test_sheet_shows_as_a_grid_and_search_shows_its_text(page: Page, app: App) -> None:
    opened(page, app, SHEETS.name)
    grid = page.locator("[data-testid=stDataFrame] canvas [role=grid]")  # what stands for the drawn one
    grid.locator("[role=columnheader]", has_text="Month").wait_for(state="attached")
    grid.locator("[role=gridcell]", has_text="28,914").wait_for(state="attached")
    page.get_by_role("button", name="By month").click()
    page.get_by_role("button", name="By year").click()
    grid.locator("[role=columnheader]", has_text="Year").wait_for(state="attached")
    page.keyboard.press("Escape")
    box = page.get_by_role("textbox", name="Search in this document")
    box.fill("28,914")
    box.press("Enter")
    page.locator(".st-key-found_0 button").click()
    page.locator(".text mark").filter(has_text="28,914").wait_for()
    page.get_by_text("As text").click()
    grid.locator("[role=columnheader]", has_text="Month").wait_for(state="attached")


def test_new_group_of_a_document_can_be_used_in_chat(page: Page, app: App) -> None:
    opened(page, app, TEXT.name)
    page.locator(".st-key-groups_popover button").click()
    box = page.get_by_role("textbox", name="Name of a new group")
    box.fill("Our meetings")
    box.press("Enter")
    page.locator(".st-key-document_groups button[aria-pressed=true]", has_text="Our meetings").wait_for()
    page.locator(".st-key-groups_popover button", has_text="Our meetings").wait_for()
    page.goto(f"{app.url}/chat")
    chip = page.locator(".st-key-scope_popover button").first
    chip.click()
    page.locator(".st-key-scope_group_0 button").click()
    chip.filter(has_text="Our meetings").wait_for()
    page.get_by_role("button", name=TEXT.name).or_(
        page.locator('[class*="_chat_files"]', has_text=TEXT.name)
    ).first.wait_for()
