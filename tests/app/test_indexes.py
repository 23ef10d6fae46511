"""Indexes: a second one answers alone; documents are found, read again and deleted; passages and their map
are shown."""

from __future__ import annotations

import math
import os
import re
import signal
from itertools import combinations
from typing import TYPE_CHECKING

from tests.app.conftest import (
    App,
    Watch,
    answered,
    drop,
    payload,
    row,
    settled,
    until,
    wait_until_read,
)
from tests.app.test_chat import ask, ask_anew, transcript

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

BARRELS = (
    "The cellar of the mill holds three hundred barrels. Nobody has counted them since the flood of 1911."
)


LINES = """el => {
  const range = document.createRange();
  range.selectNodeContents(el);
  return range.getClientRects().length;
}"""
INKS = """canvas => {
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return [0xff0f1214, 0xffe1e8ec].filter((ink) => pixels.includes(ink));
}"""  # of light and of dark, each as alpha, blue, green, red


def open_indexes(page: Page, app: App) -> None:
    page.goto(f"{app.url}/indexes")
    page.locator(".st-key-index_figures").wait_for()
    settled(page)


def index_buttons(page: Page) -> Locator:
    """And the one for a new index, last."""
    return page.locator(".st-key-shelf").get_by_role("button")


def picked(page: Page) -> str:
    return page.locator(".st-key-index_picker input").input_value()


def figure(page: Page, name: str) -> str:
    one = page.locator(".st-key-index_figures").get_by_test_id("stMetric").filter(has_text=name)
    return one.get_by_test_id("stMetricValue").inner_text()


def table_row(page: Page, name: str) -> Locator:
    return page.locator(
        ".st-key-document_table tbody tr", has=page.get_by_role("button", name=name, exact=True)
    )


def part(page: Page, name: str) -> None:
    page.locator(".st-key-index_part").get_by_text(name, exact=True).click()
    settled(page)


def open_map(page: Page) -> None:
    page.get_by_role("link", name="Map").click()
    page.get_by_role("heading", name="Map", exact=True).wait_for()
    settled(page)


def rename_box(page: Page) -> Locator:
    return page.locator('[class*="st-key-rename_popover"] button').first


def name_field(page: Page) -> Locator:
    return page.locator('[class*="st-key-index_name"] input')


def test_second_index_answers_leaves_as_a_copy_and_returns(
    page: Page, app: App, tmp_path: Path, watch: Watch
) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused copy
    open_indexes(page, app)
    assert "i=" not in page.url
    name = page.get_by_label("Name", exact=True)
    open_form = page.locator('[class*="st-key-make_index_"] button').first
    open_form.click()
    name.wait_for()
    settled(page)
    page.get_by_role("link", name="Chat").click()  # an open form is in the way of no link
    page.get_by_role("heading", name="Ask your documents").wait_for()
    page.get_by_role("link", name="Indexes").click()
    open_form.click()
    name.fill("Mill")
    page.locator(".st-key-create_index button").click()
    until(page, lambda: picked(page) == "Mill")
    until(page, lambda: "i=" in page.url)
    until(page, lambda: figure(page, "Documents") == "0")
    name.wait_for(state="detached")
    settled(page)
    page.get_by_test_id("stMain").get_by_role("link", name="Add documents").click()
    page.get_by_text("Drop your files here").wait_for()
    drop(page, payload("mill.txt", (BARRELS + "\n\n" + "The wheel turned all day. " * 1500).encode()))
    row(page, "mill.txt").wait_for()
    page.get_by_role("link", name="Indexes").click()
    until(page, lambda: figure(page, "Documents") == "1")  # by itself, as all that is drawn here
    page.get_by_role("link", name="Chat").click()
    page.get_by_text("Every answer shows the passages").wait_for()
    ask(page, "How many barrels does the cellar of the mill hold?")
    answered(page)
    said = transcript(page)
    assert "three hundred barrels" in said[1]
    page.reload()
    answered(page)
    assert transcript(page) == said
    assert picked(page) == "Mill"

    page.get_by_role("link", name="Indexes").click()
    before = int(figure(page, "Passages"))
    part(page, "Rebuild")
    length = page.get_by_role("spinbutton", name="Length of a passage")
    length.fill("100")
    length.press("Enter")
    page.get_by_role("button", name="Rebuild the index").click()
    page.get_by_text("The index has been rebuilt: all documents use the new passages.").wait_for()
    until(page, lambda: int(figure(page, "Passages")) > 1.5 * before)
    page.locator(".st-key-export_popover button").first.click()
    with page.expect_download() as begun:
        page.locator(".st-key-library_copy button").click()
    copy = tmp_path / begun.value.suggested_filename
    begun.value.save_as(copy)
    assert copy.suffix == ".lectern"
    page.reload()
    delete_index(page)

    broken = tmp_path / "broken.lectern"
    broken.write_bytes(copy.read_bytes()[:200])
    import_copy(page, broken)
    refused = page.locator(".st-key-problem_indexes").or_(page.locator(".st-key-import_index [role=status]"))
    refused.get_by_text("broken.lectern").first.wait_for()
    page.reload()
    page.locator(".st-key-index_figures").wait_for()
    settled(page)
    import_copy(page, copy)
    offered = page.locator('[class*="st-key-offered_"]')
    offered.get_by_text("1 conversation").wait_for()
    offered.get_by_role("button", name="Create an index from it").click()
    until(
        page, lambda: page.locator(".st-key-index_picker").count() == 1 and figure(page, "Documents") == "1"
    )
    page.get_by_text("1 file and 1 conversation added.").first.wait_for()
    table_row(page, "mill.txt").get_by_text("Ready").wait_for()
    page.get_by_role("region", name="Conversations").get_by_role(
        "button", name="How many barrels"
    ).first.click()
    answered(page)
    assert transcript(page) == said
    page.locator('[class*="st-key-chips_"] a').first.click()
    around, passage = page.locator(".st-key-panel .text"), page.locator(".st-key-panel .text mark")
    passage.wait_for()
    # the document that came with it, not the passage kept alone
    assert len(around.inner_text()) > len(passage.inner_text())
    page.get_by_role("link", name="Indexes").click()
    delete_index(page)
    table_row(page, "history-of-the-railway.pdf").wait_for()
    assert "i=" not in page.url
    assert not list((app.home / "indexes").iterdir())


def delete_index(page: Page) -> None:
    """The one that is open; only the first is left."""
    page.locator(".st-key-delete_popover button").first.click()
    page.locator(".st-key-delete_index button").click()
    until(page, lambda: page.locator(".st-key-index_picker").count() == 0)
    settled(page)


def import_copy(page: Page, copy: Path) -> None:
    page.locator('[class*="st-key-make_index_"] button').first.click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import a copy").click()
    chooser.value.set_files(copy)


def test_name_typed_before_a_slow_server_answers_is_saved(page: Page, app: App) -> None:
    open_indexes(page, app)
    page.locator('[class*="st-key-make_index_"] button').first.click()
    page.get_by_label("Name", exact=True).wait_for()  # the browser has what it needs for such a field
    page.keyboard.press("Escape")
    settled(page)
    assert app.process is not None
    before = first = index_buttons(page).first.inner_text().splitlines()[-1]
    for name in ("Old railway", "New railway", first):
        os.kill(app.process.pid, signal.SIGSTOP)
        try:
            rename_box(page).click()
            # drawn first, filled then; both without the server
            until(page, lambda before=before: name_field(page).input_value(timeout=5_000) == before, 5)
            name_field(page).fill(name)
            page.locator(".st-key-rename_index button").click()
        finally:
            os.kill(app.process.pid, signal.SIGCONT)
        index_buttons(page).filter(has_text=name).wait_for()
        name_field(page).wait_for(state="detached")
        settled(page)
        before = name


def test_documents_are_found_replaced_deleted_and_opened_at_passages(page: Page, app: App) -> None:
    page.goto(app.url)
    page.locator(".st-key-ask_here").wait_for()
    drop(page, payload("zebra.txt", b"Zebras are not allowed on the railway. " * 3))
    row(page, "zebra.txt").wait_for()
    wait_until_read(page)
    open_indexes(page, app)
    rows = page.locator(".st-key-document_table tbody tr")
    until(page, lambda: rows.count() == 11)
    page.get_by_role("button", name="Name", exact=True).click()
    until(page, lambda: rows.first.inner_text().startswith("brakesmans-log"))
    page.get_by_role("button", name="Name ↑").click()
    until(page, lambda: rows.first.inner_text().startswith("zebra"))
    page.locator(".st-key-document_search input").fill("railWAY")
    page.keyboard.press("Enter")
    until(page, lambda: rows.count() == 1)
    assert rows.first.inner_text().startswith("history-of-the-railway.pdf")
    page.locator(".st-key-document_search input").fill("zeb")
    page.keyboard.press("Enter")
    table_row(page, "zebra.txt").wait_for()
    until(page, lambda: rows.count() == 1)
    page.get_by_role("button", name="More about zebra.txt").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Replace with a newer version").click()
    newer = "\n\n".join(f"Zebra number {number} was seen on the line again. " * 12 for number in range(12))
    chooser.value.set_files({"name": "other.txt", "mimeType": "", "buffer": newer.encode()})
    until(page, lambda: int(rows.first.locator("td.passages").inner_text() or 0) > 2)
    rows.first.get_by_text("Ready").wait_for()
    page.get_by_role("button", name="More about zebra.txt").click()
    page.get_by_role("button", name="Read again").click()
    rows.first.get_by_text("Ready").wait_for()
    settled(page)
    page.get_by_role("button", name="More about zebra.txt").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("Delete this file, its text and its passages?").wait_for()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("No documents match.").wait_for()
    until(page, lambda: figure(page, "Documents") == "10")

    open_indexes(page, app)
    passages_of_document(page)
    page.set_viewport_size({"width": 390, "height": 844})
    states = page.locator("tr.ready td.status")
    states.first.wait_for()
    # a state of one word stands in one line
    assert {(state.inner_text(), state.evaluate(LINES)) for state in states.all()} == {("Ready", 1)}
    table = page.locator(".root:has(> table)")
    assert table.evaluate("el => el.scrollWidth <= el.clientWidth")


def passages_of_document(page: Page) -> None:
    page.get_by_role("button", name="history-of-the-railway.pdf", exact=True).click()
    text = page.locator(".st-key-viewer .text")
    text.wait_for()
    settled(page)
    badges = page.locator(".st-key-viewer .badge")
    numbers = [int(number) for number in badges.all_inner_texts()]
    assert numbers == list(range(1, len(numbers) + 1))
    kinds = [
        str(kind).split()[1]
        for kind in page.locator(".st-key-viewer .piece").evaluate_all("all => all.map(el => el.className)")
    ]
    assert {"odd", "even"} <= set(kinds)
    badges.nth(1).click()
    details = page.locator(".st-key-passage_details")
    details.get_by_text("Passage 2").wait_for()
    assert re.search(r"\d+ tokens · characters [\d,]+ to [\d,]+ · p\. \d", details.inner_text())
    page.locator(".st-key-passage_after button").click()
    details.get_by_text("Passage 3").wait_for()
    third = page.get_by_role("button", name="Passage 3", exact=True)
    until(page, lambda: third.get_attribute("aria-pressed") == "true")
    page.locator(".st-key-viewer_search input").fill("fish rate")
    page.keyboard.press("Enter")
    page.locator(".st-key-viewer mark").first.wait_for()
    assert page.locator(".st-key-viewer mark").first.inner_text().lower() == "fish rate"
    page.reload()
    text.wait_for()
    page.go_back()  # undoes what opened it
    page.locator(".st-key-viewer").wait_for(state="detached")
    page.go_forward()
    page.locator(".st-key-viewer").wait_for()
    settled(page)
    page.locator(".st-key-close_viewer button").click()
    page.locator(".st-key-document_table table").wait_for()


def test_the_map_has_a_point_for_each_passage_and_opens_them(page: Page, app: App) -> None:
    ask_anew(page, app, "How high did the water stand in the lower station in the flood of 1953?")
    page.get_by_role("link", name="Indexes").click()
    page.locator(".st-key-index_figures").wait_for()
    settled(page)
    passages = int(figure(page, "Passages").replace(",", ""))
    open_map(page)
    root = page.locator(".st-key-passage_map .root")
    page.locator(".st-key-passage_map .root[data-drawn]").wait_for(timeout=120_000)
    assert int(root.get_attribute("data-points") or 0) == passages
    assert int(root.get_attribute("data-hits") or 0) >= 1
    assert (
        page.locator(".st-key-passage_map .asked")
        .inner_text()
        .startswith("Found for “How high did the water")
    )
    assert page.locator(".st-key-passage_map .legend button").count() == 10
    canvas = page.locator(".st-key-passage_map canvas")
    assert f"Map of {passages} passages from 10 documents" in (canvas.get_attribute("aria-label") or "")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    tip = page.locator(".st-key-passage_map .tip")
    found = None
    for step in range(24 * 24):  # until the pointer is over a point
        found = (
            box["x"] + box["width"] * (0.2 + 0.025 * (step % 24)),
            box["y"] + box["height"] * (0.15 + 0.03 * (step // 24)),
        )
        page.mouse.move(*found)
        if canvas.evaluate("el => el.style.cursor") == "pointer":
            break
    assert found is not None
    tip.wait_for()
    told = tip.locator("span").inner_text()
    page.mouse.click(*found)
    chosen = page.locator(".st-key-viewer .piece.chosen")
    chosen.first.wait_for()
    assert " ".join(told.split())[:40] in " ".join(" ".join(chosen.all_inner_texts()).split())
    page.locator(".st-key-close_viewer button").click()
    page.locator(".st-key-viewer").wait_for(state="detached")
    page.locator(".st-key-near_1 button").press("Enter")  # the same with the keyboard
    chosen.first.wait_for()
    page.locator(".st-key-close_viewer button").click()
    page.locator(".st-key-viewer").wait_for(state="detached")
    overlapping_hits(page)
    rings_in_both_schemes(page)


def overlapping_hits(page: Page) -> None:
    """Their numbers stand apart on the map, and each opens its own passage."""
    root = page.locator(".st-key-passage_map .root[data-drawn]")
    root.wait_for(timeout=120_000)
    for _ in range(4):
        page.get_by_role("button", name="Zoom out").click()  # as near each other as can be
    numbers = page.locator('[class*="st-key-near_"] button').count()
    until(page, lambda: len((root.get_attribute("data-numbers") or "").split()) == numbers > 3)
    places = [
        tuple(map(float, place.split(","))) for place in (root.get_attribute("data-numbers") or "").split()
    ]
    assert all(math.dist(one, other) > 18 for one, other in combinations(places, 2)), places
    canvas = page.locator(".st-key-passage_map canvas")
    for number in (1, 2, numbers):
        told = page.locator(f".st-key-near_{number} button").inner_text()
        canvas.scroll_into_view_if_needed()
        x, y = places[number - 1]
        canvas.hover(position={"x": x, "y": y})
        page.locator(".st-key-passage_map .tip span").wait_for()
        canvas.click(position={"x": x, "y": y})
        chosen = page.locator(".st-key-viewer .piece.chosen")
        chosen.first.wait_for()
        start = " ".join(told.partition(": ")[2].rstrip("…").split())[:50]
        assert start in " ".join(" ".join(chosen.all_inner_texts()).split())
        page.locator(".st-key-close_viewer button").click()
        page.locator(".st-key-viewer").wait_for(state="detached")


def rings_in_both_schemes(page: Page) -> None:
    """They have the colour of the screen's text."""
    page.locator(".st-key-passage_map .root[data-drawn]").wait_for(timeout=120_000)
    canvas = page.locator(".st-key-passage_map canvas")
    until(page, lambda: canvas.evaluate(INKS) == [0xFF0F1214])
    page.emulate_media(color_scheme="dark")
    until(page, lambda: canvas.evaluate(INKS) == [0xFFE1E8EC])
    page.emulate_media(color_scheme="light")
    until(page, lambda: canvas.evaluate(INKS) == [0xFF0F1214])
