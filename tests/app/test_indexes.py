"""Indexes: a second one answers alone; documents are found, read again and deleted; passages and their map
are shown."""

from __future__ import annotations

import math
import os
import re
import signal
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from lectern.indexes import Indexes
from lectern.library import Library
from tests.app.conftest import (
    App,
    Watch,
    answered,
    drop,
    facts_of,
    payload,
    row,
    settled,
    until,
    wait_until_read,
)
from tests.app.test_chat import ask, ask_anew, transcript
from tests.faults.test_replicas import until as wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

BARRELS = (
    "The cellar of the mill holds three hundred barrels. Nobody has counted them since the flood of 1911."
)


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


def test_second_index_answers_and_can_be_renamed_copied_deleted(page: Page, app: App) -> None:
    open_indexes(page, app)
    assert page.locator(".st-key-index_picker").count() == 0, "one index needs no picker"
    assert "i=" not in page.url
    page.locator('[class*="st-key-make_index_"] button').first.click()
    page.get_by_label("Name", exact=True).fill("Mill")
    page.locator(".st-key-create_index button").click()
    picker = page.locator(".st-key-index_picker")
    until(page, lambda: picked(page) == "Mill")
    until(page, lambda: "i=" in page.url)
    until(page, lambda: figure(page, "Documents") == "0")
    add = page.get_by_test_id("stMain").get_by_role("link", name="Add documents")
    for shown, told in (("Rebuild", "no passages yet"), ("Documents", "No documents yet")):
        part(page, shown)
        page.get_by_text(told).wait_for()
        settled(page)
        assert add.count() == 1
    add.click()
    page.get_by_text("Drop your files here").wait_for()
    drop(page, payload("mill.txt", BARRELS.encode()))
    row(page, "mill.txt").wait_for()
    wait_until_read(page)
    assert page.locator("li.row").count() == 1
    page.get_by_role("link", name="Chat").click()
    page.get_by_text("Every answer shows the passages").wait_for()
    ask(page, "How many barrels does the cellar of the mill hold?")
    answered(page)
    assert "three hundred barrels" in transcript(page)[1]
    assert {
        chip.split("·")[0].split()[-1]
        for chip in page.locator('[class*="st-key-chips_"] a').all_inner_texts()
    } == {"mill.txt"}
    said = transcript(page)
    page.reload()
    answered(page)
    assert transcript(page) == said
    assert picked(page) == "Mill"

    page.get_by_role("link", name="Indexes").click()
    rename_box(page).click()
    name_field(page).fill("Old mill")
    page.locator(".st-key-rename_index button").click()
    until(page, lambda: picked(page) == "Old mill")
    settled(page)
    page.get_by_role("button", name="Duplicate", exact=True).click()
    until(page, lambda: picked(page) == "Copy of Old mill")
    table_row(page, "mill.txt").get_by_text("Ready").wait_for()
    settled(page)
    assert page.get_by_role("region", name="Conversations").get_by_role("listitem").count() == 1
    for left in (2, 1):
        settled(page)
        page.locator(".st-key-delete_popover button").first.click()
        page.locator(".st-key-delete_index button").click()
        until(page, lambda left=left: index_buttons(page).count() == left + 1)
        page.get_by_text(re.compile(r"[1-9][\d.]* [KM]B freed")).first.wait_for()
        if left > 1:
            index_buttons(page).nth(1).click()
            until(page, lambda: picked(page) == "Old mill")
            settled(page)
    assert not list((app.home / "indexes").iterdir())
    until(page, lambda: picker.count() == 0)
    table_row(page, "history-of-the-railway.pdf").wait_for()
    assert "i=" not in page.url


def worker_now(library: Library, file_id: str) -> int:
    """The process that reads the file; 0 when none does."""
    with library.database.snapshot() as db:
        (name,) = db.execute("SELECT worker FROM files WHERE id = ?", (file_id,)).fetchone()
    return int((name or "0").split("-")[0])


@pytest.mark.beside("test_the_old_index_answers_until_the_new_one_takes_its_place")
def test_index_reads_on_after_start_and_answers_until_rebuilt(page: Page, tmp_path: Path) -> None:
    app = App(tmp_path / "library")
    index = Indexes(app.home).create("Cellar")
    library = Library(index.where)
    (library.incoming / "given").write_text(BARRELS + "\n\n" + "The wheel turned all day. " * 100, "utf-8")
    file = library.intake.add(library.incoming / "given", "barrels.txt").file
    app.start()
    worker = 0
    try:
        wait_until(lambda: library.files.get(file.id).active and worker_now(library, file.id))  # type: ignore[union-attr]
        worker = worker_now(library, file.id)
        os.kill(worker, signal.SIGSTOP)
        page.goto(f"{app.url}/indexes?i={index.id}")
        until(page, lambda: figure(page, "Documents") == "0")
        settled(page)
        os.kill(worker, signal.SIGCONT)
        until(page, lambda: figure(page, "Documents") == "1")  # by itself, as all that is drawn here
        os.kill(worker, signal.SIGSTOP)  # so that the rebuild does not end before it was looked at
        before = figure(page, "Passages")
        settled(page)
        part(page, "Rebuild")
        length = page.get_by_role("spinbutton", name="Length of a passage")
        length.fill("40")
        length.press("Enter")
        page.get_by_text("Passage length: 200 → 40 tokens.").wait_for()
        page.get_by_role("button", name="Rebuild the index").click()
        page.get_by_text("Rebuilding the index").wait_for()
        page.get_by_text("You can keep asking questions meanwhile.").wait_for()
        page.locator(".st-key-stop_rebuild button").click()
        page.get_by_text("Rebuilding stopped").wait_for()
        settled(page)
        page.get_by_role("link", name="Chat").click()
        ask(page, "How many barrels does the cellar of the mill hold?")
        answered(page)
        assert "three hundred barrels" in transcript(page)[1]
        assert f"of {before} passages" in facts_of(page)
        page.get_by_role("link", name="Indexes").click()
        assert figure(page, "Passages") == before
        settled(page)
        part(page, "Rebuild")
        page.locator(".st-key-resume_rebuild button").click()
        page.locator(".st-key-stop_rebuild").wait_for()
        os.kill(worker, signal.SIGCONT)
        page.get_by_text("The index has been rebuilt: all documents use the new passages.").wait_for()
        until(page, lambda: int(figure(page, "Passages")) > 3 * int(before))
        assert page.get_by_role("spinbutton", name="Length of a passage").input_value() == "40"
        page.close()
    finally:
        if worker:
            os.kill(worker, signal.SIGCONT)
        app.stop()
        library.close()


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
            assert name_field(page).input_value(timeout=5_000) == before
            name_field(page).fill(name)
            page.locator(".st-key-rename_index button").click()
        finally:
            os.kill(app.process.pid, signal.SIGCONT)
        index_buttons(page).filter(has_text=name).wait_for()
        name_field(page).wait_for(state="detached")
        settled(page)
        before = name


def test_links_work_from_an_open_form_and_after_a_new_index(page: Page, app: App) -> None:
    open_indexes(page, app)
    page.locator('[class*="st-key-make_index_"] button').first.click()
    name = page.get_by_label("Name", exact=True)
    name.wait_for()
    settled(page)
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    page.get_by_role("link", name="Indexes").click()
    page.locator('[class*="st-key-make_index_"] button').first.click()
    name.fill("Mill")
    page.locator(".st-key-create_index button").click()
    until(page, lambda: picked(page) == "Mill")
    name.wait_for(state="detached")
    settled(page)
    page.get_by_test_id("stMain").get_by_role("link", name="Add documents").click()
    page.get_by_text("Drop your files here").wait_for()
    page.get_by_role("link", name="Indexes").click()
    page.locator(".st-key-delete_popover button").first.click()
    page.locator(".st-key-delete_index button").click()
    until(page, lambda: page.locator(".st-key-index_picker").count() == 0)


@pytest.mark.beside("test_library_moves_by_a_download_and_a_drop")
def test_exported_index_returns_with_its_documents_and_answers(
    page: Page, app: App, tmp_path: Path, watch: Watch
) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused copy
    open_indexes(page, app)
    page.locator('[class*="st-key-make_index_"] button').first.click()
    page.get_by_label("Name", exact=True).fill("Mill")
    page.locator(".st-key-create_index button").click()
    until(page, lambda: figure(page, "Documents") == "0")
    page.get_by_role("link", name="Documents", exact=True).click()
    page.get_by_text("Drop your files here").wait_for()
    drop(page, payload("mill.txt", (BARRELS + "\n\n" + "The wheel turned all day. " * 100).encode()))
    row(page, "mill.txt").wait_for()
    wait_until_read(page)
    page.get_by_role("link", name="Chat").click()
    page.get_by_text("Every answer shows the passages").wait_for()
    ask(page, "How many barrels does the cellar of the mill hold?")
    answered(page)
    said = transcript(page)

    page.get_by_role("link", name="Indexes").click()
    page.locator(".st-key-export_popover button").first.click()
    with page.expect_download() as begun:
        page.locator(".st-key-library_copy button").click()
    copy = tmp_path / begun.value.suggested_filename
    begun.value.save_as(copy)
    assert copy.suffix == ".lectern"
    page.reload()
    page.locator(".st-key-delete_popover button").first.click()
    page.locator(".st-key-delete_index button").click()
    until(page, lambda: page.locator(".st-key-index_picker").count() == 0)
    settled(page)

    broken = tmp_path / "broken.lectern"
    broken.write_bytes(copy.read_bytes()[:200])
    for chosen in (broken, copy):
        page.locator('[class*="st-key-make_index_"] button').first.click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Import a copy").click()
        chooser.value.set_files(chosen)
        if chosen is broken:
            refused = page.locator(".st-key-problem_indexes").or_(
                page.locator(".st-key-import_index [role=status]")
            )
            refused.get_by_text("broken.lectern").first.wait_for()
            page.reload()
            page.locator(".st-key-index_figures").wait_for()
            settled(page)
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
    page.locator(".st-key-delete_popover button").first.click()
    page.locator(".st-key-delete_index button").click()
    until(page, lambda: page.locator(".st-key-index_picker").count() == 0)


def test_documents_can_be_filtered_sorted_replaced_and_deleted(page: Page, app: App) -> None:
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


def test_document_shows_boundaries_and_overlaps_of_its_passages(page: Page, app: App) -> None:
    open_indexes(page, app)
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


def test_overlapping_map_hits_have_separate_numbers_that_open(page: Page, app: App) -> None:
    ask_anew(page, app, "How high did the water stand in the lower station in the flood of 1953?")
    open_map(page)
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


INKS = """canvas => {
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return [0xff0f1214, 0xffe1e8ec].filter((ink) => pixels.includes(ink));
}"""  # of light and of dark, each as alpha, blue, green, red


def test_map_rings_follow_light_and_dark_scheme(page: Page, app: App) -> None:
    ask_anew(page, app, "How high did the water stand in the lower station in the flood of 1953?")
    open_map(page)
    page.locator(".st-key-passage_map .root[data-drawn]").wait_for(timeout=120_000)
    canvas = page.locator(".st-key-passage_map canvas")
    until(page, lambda: canvas.evaluate(INKS) == [0xFF0F1214])
    page.emulate_media(color_scheme="dark")
    until(page, lambda: canvas.evaluate(INKS) == [0xFFE1E8EC])
    page.emulate_media(color_scheme="light")
    until(page, lambda: canvas.evaluate(INKS) == [0xFF0F1214])


def test_the_cost_of_a_rebuild_is_displayed_before_it_starts(page: Page, app: App) -> None:
    open_indexes(page, app)
    part(page, "Rebuild")
    page.get_by_text("Change a setting to see").wait_for()
    overlap = page.get_by_role("spinbutton", name="Repeated by the next one")
    overlap.fill("500")
    overlap.press("Enter")
    page.get_by_text("Passages of 200 tokens cannot overlap by 500.").wait_for()
    assert page.locator(".st-key-rebuild_now").count() == 0
    overlap.fill("50")
    overlap.press("Enter")
    page.get_by_text(
        re.compile(r"Overlap: 0 → 50 tokens\. That makes about \d+ passages instead of \d+")
    ).wait_for()
    page.locator(".st-key-rebuild_fields [data-testid=stSelectbox]", has_text="Where to split").locator(
        "input"
    ).click()
    page.get_by_role("option", name="At headings, then sentences").click()
    page.get_by_text("Cut at: sentences → headings").wait_for()
    assert page.get_by_role("button", name="Rebuild the index").is_enabled()


def test_on_a_phone_a_state_of_one_word_stands_in_one_line(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_indexes(page, app)
    states = page.locator("tr.ready td.status")
    states.first.wait_for()
    lines = (
        "el => { const range = document.createRange(); range.selectNodeContents(el); return "
        "range.getClientRects().length }"
    )
    assert {(state.inner_text(), state.evaluate(lines)) for state in states.all()} == {("Ready", 1)}
    table = page.locator(".root:has(> table)")
    assert table.evaluate("el => el.scrollWidth <= el.clientWidth")
