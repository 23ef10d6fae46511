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
KEEPER = " ".join(f"The keeper oiled gate {number}." for number in range(12))
BUILT = "The lock at Ossing was dug in 1911 by Nathan Crewe."
LOCK = f"{KEEPER} {BUILT}"
GONE = Source(1, "n1", "gone", "gone.txt", 0, len(LOCK), LOCK, 0.5)


@pytest.fixture(autouse=True)
def notes(app: App) -> Iterator[Notes]:
    """Of the application, without any before and after."""
    database = SQLiteDatabase(app.home / "library.db")
    notes, conversations = Notes(database), Conversations(database)
    for note in notes.all():
        notes.delete(note.id)
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


def test_answer_note_is_opened_edited_and_saved_as_files(
    page: Page, app: App, notes: Notes, look: Look, tmp_path: Path
) -> None:
    ask_anew(page, app, DOG)
    keep_answer(page)
    page.get_by_text("Added to your notes.").wait_for()
    keep_answer(page)
    page.get_by_text("This is already in your notes.").wait_for()
    answer = transcript(page)[1]
    (note,) = notes.all()
    notes.keep("This one stays here.", [], question="Which one?")
    link(page).click()
    page.get_by_role("heading", name="Notes").wait_for()
    page.reload()  # without what was said at the edge of the screen
    settled(page)
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

    shown.get_by_role("button", name="Edit").click()
    field = page.get_by_label("Note text")
    until(page, lambda: field.input_value() == note.text)
    field.fill("## Dogs\n\nOnly **small** ones [1].\n\n![x](http://evil/) <b>bold</b>")
    button(page, "Save").click()
    shown.get_by_text(re.compile(", edited$")).wait_for()
    assert shown.locator("img, b").count() == 0
    assert "![x](http://evil/) <b>bold</b>" in shown.inner_text()

    button(page, "Export").click()
    page.get_by_text("2 notes").wait_for()
    page.get_by_text("Choose notes").click()
    page.get_by_text("Select notes in the list.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_test_id("stMain").get_by_text(DOG).first.click()
    settled(page)
    button(page, "Export").click()
    page.get_by_text("1 note", exact=True).wait_for()
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
    assert "This one stays here." not in files["md"].read_text("utf-8")


def test_conversation_is_printed_alone_and_says_the_same_in_word_and_pdf(
    page: Page, app: App, tmp_path: Path
) -> None:
    page.context.add_init_script("window.print = () => { window.printed = true; }")
    ask_anew(page, app, DOG)
    answer = " ".join(re.sub(r"\[?\d\]?", "", transcript(page)[1]).split())[:40]
    whole = page.locator('[class*="st-key-chips_"] a').first.get_attribute("title") or ""
    source = whole.partition(" · ")[0]
    page.emulate_media(media="print")
    for hidden in ("stSidebar", "stHeader", "stBottom"):
        assert not page.get_by_test_id(hidden).is_visible()
    assert not button(page, "More").last.is_visible()
    assert page.locator(".stMain").evaluate("el => getComputedStyle(el).overflowY") == "visible"
    assert page.get_by_test_id("stChatMessage").last.is_visible()
    page.emulate_media(media="screen")
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


def test_quote_of_a_deleted_document_is_in_sight_on_a_phone(page: Page, app: App, notes: Notes) -> None:
    notes.keep(f"{BUILT} [1]", [GONE], question="Who dug the lock at Ossing?")
    page.set_viewport_size({"width": 390, "height": 600})
    page.goto(f"{app.url}/notes")
    page.locator('[class*="st-key-chips_"] a').click()
    panel = page.locator(".st-key-panel")
    gone = panel.get_by_text("gone.txt has been deleted")
    gone.wait_for()
    quoted = panel.locator("mark .quoted")
    assert (panel.locator("mark").inner_text(), quoted.inner_text()) == (LOCK, BUILT)
    settled(page)
    head = page.locator(".st-key-panel_head")
    for shown in (gone, quoted):  # wholly within the window, below the head of the panel
        until(
            page,
            lambda shown=shown: (
                bottom(head) <= bottom(shown) - height(shown)
                and bottom(shown) <= page.evaluate("innerHeight")
            ),
        )


def bottom(shown: Locator) -> float:
    return float(shown.evaluate("el => el.getBoundingClientRect().bottom"))


def height(shown: Locator) -> float:
    return float(shown.evaluate("el => el.getBoundingClientRect().height"))


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
