"""Notes and files of conversations: kept from an answer and from a passage, edited, deleted and put back,
exported, printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.db.conversations import Conversations
from lectern.db.notes import Notes
from lectern.schema import Source
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import App, Look, settled, until
from tests.app.test_chat import ask_anew, transcript
from tests.app.test_conversations import button, menu

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

DOG = "May I bring a large dog?"
GONE = Source(1, "n1", "gone", "gone.pdf", 0, 27, "The tower was built by Ada.", 0.5, "4", "page", 3)


@pytest.fixture(autouse=True)
def notes(app: App) -> Iterator[Notes]:
    """Of the application, without any before and after."""
    database = SQLiteDatabase(app.home / "library.db")
    notes, conversations = Notes(database), Conversations(database)
    yield notes
    for note in notes.all():
        notes.delete(note.id)
    for talk in conversations.all():
        conversations.delete(talk.id)
    database.close()


def link(page: Page) -> Locator:
    return page.get_by_test_id("stSidebarNav").get_by_role("link", name="Notes", exact=True)


def keep_answer(page: Page) -> None:
    button(page, "More").last.click()
    page.get_by_role("menuitem", name="Keep as a note").click()


def read_text_of(path: Path) -> str:
    return " ".join(read_file(path, ReadOptions(path.name)).text.split())


def test_a_saved_answer_that_is_unsure_retains_its_mark(page: Page, app: App, notes: Notes) -> None:
    ask_anew(page, app, "Where can I park my own bicycle?")
    keep_answer(page)
    page.get_by_text("Added to your notes.").wait_for()
    (note,) = notes.all()
    assert note.text.startswith("*Not sure*\n\nClosest passages:")


def test_answer_note_is_opened_edited_and_saved_as_files(
    page: Page, app: App, notes: Notes, look: Look, tmp_path: Path
) -> None:
    ask_anew(page, app, DOG)
    keep_answer(page)
    page.get_by_text("Added to your notes.").wait_for()
    keep_answer(page)
    page.get_by_text("This is already in your notes.").wait_for()
    answer = transcript(page)[1]
    link(page).click()
    page.get_by_role("heading", name="Notes").wait_for()
    page.reload()  # without what was said at the edge of the screen
    settled(page)
    (note,) = notes.all()
    assert note.question == DOG
    shown = page.locator(f".st-key-note_{note.id}")
    assert answer.split("[")[0][:40] in " ".join(shown.inner_text().split())
    look(page, "notes")

    shown.locator('[class*="st-key-chips_"] a').first.click()
    page.locator(".st-key-panel mark").first.wait_for()
    page.reload()
    page.locator(".st-key-panel mark").first.wait_for()
    look(page, "a passage of a note")
    button(page, "Close").click()
    page.locator(".st-key-panel").wait_for(state="detached")

    button(page, "Edit").click()
    field = page.get_by_label("Note text")
    until(page, lambda: field.input_value() == note.text)
    field.fill("## Dogs\n\nOnly **small** ones [1].\n\n![x](http://evil/) <b>bold</b>")
    button(page, "Save").click()
    shown.get_by_text(re.compile(", edited$")).wait_for()
    assert shown.locator("img, b").count() == 0
    assert "![x](http://evil/) <b>bold</b>" in shown.inner_text()

    button(page, "Export").click()
    files = {}
    for name, suffix in (("Word", "docx"), ("Markdown", "md")):
        with page.expect_download() as begun:
            button(page, name).click()
        assert begun.value.suggested_filename == f"Notes.{suffix}"
        files[suffix] = tmp_path / f"Notes.{suffix}"
        begun.value.save_as(files[suffix])
    source = note.sources[0]
    for part in (DOG, "Only small ones [1].", "![x](http://evil/) <b>bold</b>", source.file_name):
        assert part in read_text_of(files["docx"])
    assert "## Dogs\n\nOnly **small** ones [1]." in files["md"].read_text("utf-8")


def test_a_quote_is_saved_from_its_passage(page: Page, app: App, notes: Notes) -> None:
    ask_anew(page, app, DOG)
    page.locator('[class*="st-key-chips_"] a').first.click()
    panel = page.locator(".st-key-panel")
    panel.locator("mark").first.wait_for()
    quoted = " ".join(panel.locator(".quoted").all_inner_texts() or panel.locator("mark").all_inner_texts())
    button(page, "Keep as a note").click()
    page.get_by_text("Added to your notes.").wait_for()
    (note,) = notes.all()
    lines = [line.removeprefix("> ") for line in note.text.splitlines()]
    assert "".join(lines).endswith(" [1]")
    assert re.findall(r"\w+", "\n".join(lines)) == [*re.findall(r"\w+", quoted), "1"]
    assert [source.number for source in note.sources] == [1]


def test_a_note_outlives_its_document_and_says_so(page: Page, app: App, notes: Notes) -> None:
    notes.keep("It was **Ada** [1].", [GONE], question="Who built it?")
    page.goto(f"{app.url}/notes")
    page.locator('[class*="st-key-chips_"] a').click()
    panel = page.locator(".st-key-panel")
    panel.get_by_text("gone.pdf has been deleted").wait_for()
    assert panel.locator("mark").inner_text() == GONE.text


def test_a_deleted_note_is_restored(page: Page, app: App, notes: Notes) -> None:
    for text in ("one", "two"):
        notes.keep(text, [])
    before = notes.all()
    page.goto(f"{app.url}/notes")
    button(page, "Delete").last.click()
    page.get_by_text("Note deleted.").wait_for()
    until(page, lambda: notes.all() == before[:1])
    button(page, "Undo").click()
    page.get_by_text("Note deleted.").wait_for(state="detached")
    assert notes.all() == before


def test_searched_and_ticked_notes_are_exported(page: Page, app: App, notes: Notes, tmp_path: Path) -> None:
    for number in range(9):
        notes.keep(
            f"Page {number} of the {'harbour' if number % 3 else 'tower'}.",
            [],
            question=f"Question {number}?",
        )
    page.goto(f"{app.url}/notes")
    page.get_by_role("searchbox", name="Search notes").fill("tower")
    until(page, lambda: page.locator('[class*="st-key-note_foot_"]').count() == 3)
    button(page, "Export").click()
    page.get_by_text("3 notes").wait_for()
    page.get_by_text("Choose notes").click()
    page.get_by_text("Select notes in the list.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("Question 3?").click()
    settled(page)
    button(page, "Export").click()
    page.get_by_text("1 note", exact=True).wait_for()
    with page.expect_download() as begun:
        button(page, "Markdown").click()
    begun.value.save_as(tmp_path / "notes.md")
    assert (tmp_path / "notes.md").read_text("utf-8") == "# Notes\n\n## Question 3?\n\nPage 3 of the tower.\n"


def test_conversation_as_word_and_as_pdf_say_the_same(page: Page, app: App, tmp_path: Path) -> None:
    page.context.add_init_script("window.print = () => { window.printed = true; }")
    ask_anew(page, app, DOG)
    answer = " ".join(re.sub(r"\[?\d\]?", "", transcript(page)[1]).split())[:40]
    whole = page.locator('[class*="st-key-chips_"] a').first.get_attribute("title") or ""
    source = whole.partition(" · ")[0]
    menu(page, DOG)
    with page.expect_download() as begun:
        page.get_by_role("link", name="Export as Word").click()
    begun.value.save_as(tmp_path / "talk.docx")
    assert begun.value.suggested_filename == "May I bring a large dog.docx"
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Print, or save as PDF").click()
    tab = opened.value
    until(tab, lambda: tab.evaluate("window.printed"))
    assert tab.title() == DOG
    tab.pdf(path=tmp_path / "talk.pdf")
    tab.close()
    for saved in (tmp_path / "talk.docx", tmp_path / "talk.pdf"):
        said = read_text_of(saved)
        assert DOG in said
        assert re.sub(r"\W", "", answer) in re.sub(r"\W|\d", "", said)
        assert source in said


def test_menu_starts_with_the_basics_and_toasts_cover_no_button(page: Page, app: App) -> None:
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        ask_anew(page, app, DOG)
        button(page, "More").last.click()
        opened = page.get_by_role("menu")
        # a line between two groups has none
        entries = opened.evaluate("el => [...el.children].map((one) => one.textContent)")
        assert entries[:6] == [
            "Keep as a note",
            "Edit question",
            "Good answer",
            "Bad answer",
            "Save the whole conversation",
            "",
        ]
        assert entries[-3:] == ["", "Replay in other modes", "Save this answer with details"]
        first = opened.get_by_role("menuitem").first
        assert first.evaluate(  # not below the head of the page, either
            "el => { const { x, y, width, height } = el.getBoundingClientRect();"
            " return el.getRootNode().elementFromPoint(x + width / 2, y + height / "
            "2)?.closest('button') === el }"
        )
        first.click()
        toast = page.get_by_test_id("stToast").first
        toast.wait_for()
        page.locator('[data-testid="stSidebarNav"] a[href*="notes"]').evaluate("el => el.click()")
        button(page, "Export").wait_for()
        settled(page)
        covered = toast.bounding_box()
        assert covered is not None
        assert covered["x"] >= 0
        assert covered["x"] + covered["width"] <= width
        box = button(page, "Export").bounding_box()
        assert box is not None
        assert box["y"] >= covered["y"] + covered["height"] or box["x"] >= covered["x"] + covered["width"]


def test_what_is_printed_is_the_conversation_alone(page: Page, app: App) -> None:
    ask_anew(page, app, DOG)
    page.emulate_media(media="print")
    for hidden in ("stSidebar", "stHeader", "stBottom"):
        assert not page.get_by_test_id(hidden).is_visible()
    assert not button(page, "More").last.is_visible()
    assert page.locator(".stMain").evaluate("el => getComputedStyle(el).overflowY") == "visible"
    assert page.get_by_test_id("stChatMessage").last.is_visible()
    page.emulate_media(media="screen")
