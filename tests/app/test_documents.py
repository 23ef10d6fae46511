"""Adding documents: what a person drops in is read, or says why not, and goes when it is told to go."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.library import Library
from tests.app.conftest import (
    App,
    Look,
    Watch,
    answered,
    drop,
    facts_of,
    payload,
    row,
    settled,
    started,
    until,
    wait_until_read,
)
from tests.ragcore.readers.office.test_encrypted_ooxml import locked

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

SAMPLE = Path(__file__).parents[2] / "sample" / "documents"
MARKUP = "![x](www.evil.example) [l](http:evil.example) :red[hot] :material:home: $x$ **b** `c`.txt"
WIDGETS = Path(__file__).parents[2] / "lectern" / "ui" / "widgets"


def is_read(app: App, name: str) -> bool:
    with closing(sqlite3.connect(app.home / "library.db")) as db:
        return bool(db.execute("SELECT 1 FROM files WHERE name = ? AND stage = 'ready'", (name,)).fetchone())


def file_names(app: App) -> list[str]:
    with closing(Library(app.home)) as library:
        return [file.name for file in library.files.all()]


def state(page: Page, name: str) -> str | None:
    return row(page, name).get_attribute("data-state")


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[App, float]]:
    """The application as it is installed, without a key, a model or a network, and when it was started."""
    for name in (
        name
        for name in os.environ
        if name.endswith("_API_KEY") or name.startswith(("LECTERN_", "OLLAMA_", "HF_"))
    ):
        monkeypatch.delenv(name)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody is there
    began = time.monotonic()
    for app in started(tmp_path):
        yield app, began


@pytest.mark.late("it starts the application and loads the embedder, within a minute")
def test_first_cited_answer_comes_within_a_minute_without_setup(page: Page, begun: tuple[App, float]) -> None:
    app, began = begun
    page.goto(app.url)
    page.get_by_text("Drop your files here").wait_for()
    with page.expect_file_chooser():
        page.get_by_role("button", name="Choose files").click()  # there is one alone
    drop(page, SAMPLE / "staff-handbook-2021.docx")
    box = page.locator(".st-key-ask_here textarea")
    box.fill("May I bring a large dog?")  # there is a place to ask as soon as it is read
    box.press("Enter")
    page.locator('[data-testid="stChatMessage"] a[href^="#passage-"]').first.wait_for()
    assert time.monotonic() - began < 60
    answered(page)
    page.get_by_text("Show more", exact=True).click()
    assert "small enough to sit on a lap" in page.get_by_test_id("stChatMessageContent").last.inner_text()
    assert "no language model: quoting your documents" in facts_of(page)
    page.close()  # before the application that it would look for


def test_good_files_are_read_while_bad_ones_say_why_not(
    page: Page, empty_app: App, watch: Watch, look: Look, tmp_path: Path
) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused uploads
    for folder in ("north", "south"):
        (tmp_path / "all" / folder).mkdir(parents=True)
        (tmp_path / "all" / folder / "report.txt").write_text(f"The {folder} reports 40 faults.")
    page.goto(empty_app.url)
    drop(
        page,
        SAMPLE / "brakesmans-log-2022.txt",
        SAMPLE / "committee-minutes-2022-2024.md",
        SAMPLE / "mercury-2-september-2022.pdf",
        payload("setup.exe", b"MZ\x90\x00\x03\x00\x00\x00\x04\x00" * 40),
        payload("empty.txt", b""),
        payload("cut off.lectern", b"PK\x03\x04 and no more"),
        payload("events.jsonl", '{"a": "ünd"}\n{"a": "one"}\n{"a": "two'.encode() + b"\xff\xfe"),
        payload(MARKUP, b"A plain sentence about herrings, and nothing else at all."),
    )
    for name in ("mercury-2-september-2022.pdf", "events.jsonl", "evil.example"):
        row(page, name).wait_for()
    drop(page, *sorted((tmp_path / "all").rglob("*.txt")))
    row(page, "report (2).txt").wait_for()  # both are stored
    row(page, "report.txt").wait_for()
    page.goto("about:blank")  # they are read while no page of the application is open
    until(page, lambda: is_read(empty_app, "report (2).txt") and is_read(empty_app, MARKUP))
    page.goto(empty_app.url)
    row(page, "report.txt").wait_for()
    wait_until_read(page)
    for name in ("brakesmans-log-2022.txt", "committee-minutes-2022-2024.md", "mercury-2-september-2022.pdf"):
        assert state(page, name) == "ready"
        assert "passages" in row(page, name).locator(".facts").inner_text()
    assert state(page, "setup.exe") == "failed"
    assert "setup.exe is a program" in row(page, "setup.exe").locator(".what").inner_text()
    assert state(page, "empty.txt") == "failed"
    assert row(page, "empty.txt").locator(".what").inner_text() == "empty.txt is empty."
    cut_off = row(page, "cut off.lectern").locator(".what")
    assert cut_off.inner_text() == "cut off.lectern is not a complete copy of a library."
    assert row(page, "evil.example").locator(".name").text_content() == MARKUP
    row(page, "events.jsonl").get_by_text("Details", exact=True).click()
    assert row(page, "events.jsonl").locator(".left-out li").count() == 2
    look(page, "failed files")

    drop(page, payload("a copy of the log.txt", (SAMPLE / "brakesmans-log-2022.txt").read_bytes()))
    page.get_by_text("is already in your library, as brakesmans-log-2022.txt.").wait_for()
    assert row(page, "a copy of the log").count() == 0
    log = row(page, "brakesmans-log-2022.txt")
    log.get_by_role("button", name="Delete brakesmans-log-2022.txt").click()
    log.get_by_text("Answers, notes and the results in Evaluate keep what they quote from it.").wait_for()
    log.get_by_role("button", name="Keep").click()
    log.get_by_role("button", name="Delete brakesmans-log-2022.txt").click()
    log.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_test_id("stToast").get_by_text("brakesmans-log-2022.txt was deleted.").wait_for()
    page.reload()
    page.wait_for_selector("li.row")
    assert log.count() == 0


def test_encrypted_file_asks_for_a_password_if_one_could_open_it(
    page: Page, empty_app: App, look: Look, tmp_path: Path
) -> None:
    sealed = (
        b"Content-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: application/pgp-encrypted\n"
        b"\nVersion: 1\n--x--\n"
    )
    page.goto(empty_app.url)
    drop(
        page,
        payload("secret.pdf", encrypted_pdf("open sesame")),
        payload("letter.doc", locked(tmp_path, ".docx", "open sesame").read_bytes()),
        payload("sealed.eml", sealed),
    )
    row(page, "sealed.eml").get_by_text("sealed.eml is an encrypted message.").wait_for()
    assert row(page, "sealed.eml").get_by_label("Password of sealed.eml").count() == 0
    row(page, "secret.pdf").get_by_label("Password of secret.pdf").fill("wrong")
    row(page, "secret.pdf").get_by_role("button", name="Unlock").click()
    page.wait_for_timeout(300)
    wait_until_read(page)
    look(page, "password")
    for name in ("secret.pdf", "letter.doc"):
        row(page, name).get_by_label(f"Password of {name}").fill("open sesame")
        row(page, name).get_by_role("button", name="Unlock").click()
    for name in ("secret.pdf", "letter.doc"):
        row(page, name).get_by_text("Ready").wait_for(timeout=60_000)


def test_forms_open_as_files_land_and_typing_stays_as_files_are_read(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    drop(page, payload("notes.txt", b"The kettle is at the upper station."))
    row(page, "notes.txt").wait_for()
    settled(page)
    link = page.get_by_role("textbox", name="Link")
    for milliseconds in (20, 40, 45, 49, 50, 55):  # after the last; the screen is told of it after 50
        page.get_by_role("button", name="Paste a link").evaluate(
            """(button, milliseconds) => {
              const send = XMLHttpRequest.prototype.send;
              XMLHttpRequest.prototype.send = function (body) {
                XMLHttpRequest.prototype.send = send;
                this.addEventListener("load", () => setTimeout(() => button.click(), milliseconds));
                send.call(this, body);
              };
            }""",
            milliseconds,
        )
        drop(page, payload("notes.txt", b"The kettle is at the upper station."))
        link.wait_for()
        settled(page)
        page.keyboard.press("Escape")
        link.wait_for(state="detached")
        settled(page)

    page.get_by_role("button", name="Paste text").click()
    page.get_by_label("Text", exact=True).fill("The lamp is lit at dusk.")
    path = empty_app.home.parent / "note.md"
    path.write_text("# Note\n\nThe harbour was built in 1902.")
    with closing(Library(empty_app.home)) as library:
        library.intake.add(path, "note.md")  # as another tab does
    until(page, lambda: is_read(empty_app, "note.md"))
    page.wait_for_timeout(1500)  # the screen would have been drawn anew by now
    until(page, lambda: page.get_by_label("Text", exact=True).input_value() == "The lamp is lit at dusk.")
    page.get_by_role("button", name="Add to my documents").click()
    row(page, "note.md").wait_for()
    row(page, "The lamp is lit at dusk.txt").wait_for()


def test_remounted_file_list_has_no_duplicates_and_keeps_typing(page: Page) -> None:
    script = "".join((WIDGETS / f"{name}.js").read_text("utf-8") for name in ("base", "files"))
    page.set_content("<div id='host'></div>")
    shown, typed = page.evaluate(
        """async (script) => {
          const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
          const { default: begin } = await import(address);
          const parentElement = document.getElementById("host").attachShadow({ mode: "open" });
          parentElement.innerHTML = "<label class='all'><input><span></span></label><ul></ul>";
          const words = { list: "Files", password: "Password", password_of: "Of {name}", unlock: "Open" };
          words.choose_of = words.delete_of = "";
          const problem = { what: "It is locked.", hint: "", needs_password: true, details: "" };
          const common = { kind: "PDF", facts: "", groups: [], state: "failed" };
          const file = (id, problem) => ({ id, name: id, parts: ["", id], ...common, problem });
          const data = { words, files: [file("a.pdf", problem), file("b.pdf", null)] };
          const end = begin({ data, parentElement, setTriggerValue: () => {} });
          parentElement.querySelector("form input").value = "open sesame";
          end();
          begin({ data, parentElement, setTriggerValue: () => {} });
          const names = [...parentElement.querySelectorAll(".name")].map((name) => name.textContent);
          return [names, parentElement.querySelector("form input").value];
        }""",
        script,
    )
    assert shown == ["a.pdf", "b.pdf"]
    assert typed == "open sesame"


def test_file_counts_agree_between_tabs_while_reading(
    page: Page, context: BrowserContext, empty_app: App, watch: Watch
) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused uploads
    page.goto(empty_app.url)
    drop(
        page,
        payload(
            "long.txt",
            b"".join(b"The harbour of town %d was built in 1902. " % town for town in range(20_000)),
        ),
    )
    row(page, "long.txt").get_by_role("button", name="Stop").wait_for()
    other = context.new_page()
    other.goto(empty_app.url)
    other.wait_for_selector("li.row")
    assert other.locator(".name").all_inner_texts() == page.locator(".name").all_inner_texts()
    drop(page, *(payload(f"nothing-{number}.txt", b"") for number in range(8)))
    row(other, "nothing-7.txt").wait_for()
    counted = f"{len(other.locator('li.row').all())} files"
    other.locator(".st-key-tally").get_by_text(counted).wait_for(timeout=30_000)
    assert state(other, "long.txt") == "active"
    other.get_by_role("button", name="Remove").click()
    other.get_by_text("removed from the list.").wait_for()
    row(page, "long.txt").get_by_role("button", name="Stop").click()
    row(page, "long.txt").get_by_role("button", name="Delete long.txt").click()
    row(page, "long.txt").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("long.txt was deleted").wait_for()


def test_library_moves_by_a_copy_which_goes_if_nobody_waits_for_it(
    page: Page, app: App, empty_app: App, tmp_path: Path
) -> None:
    page.goto(f"{app.url}/settings?s=privacy")
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download a copy").click()
    assert begun.value.suggested_filename.endswith(".lectern")
    copy = tmp_path / "vita.lectern"
    begun.value.save_as(copy)
    until(page, lambda: not list((app.home / "incoming").iterdir()))  # no second library stays on the disk
    page.goto(app.url)
    page.wait_for_selector("li.row")
    names = set(page.locator("li.row .name").all_text_contents())
    page.goto(empty_app.url)
    settled(page)
    before = file_names(empty_app)
    drop(page, copy)
    offered = page.locator('[class*="st-key-offered_"]')
    offered.get_by_text("is a copy of a library. It contains:").wait_for()
    assert file_names(empty_app) == before  # nothing is added yet
    offered.get_by_role("button", name="Add to this index").click()
    page.get_by_text("already in your library.").or_(page.get_by_text("added.")).first.wait_for()
    until(page, lambda: names <= set(page.locator("li.row .name").all_text_contents()))
    wait_until_read(page)
    assert all(state(page, name) == "ready" for name in names)

    noise = tmp_path / "noise.bin"
    noise.write_bytes(os.urandom(40_000_000))  # of which a copy takes a while
    drop(page, noise)
    row(page, "noise.bin").wait_for()
    wait_until_read(page)
    page.goto(f"{empty_app.url}/settings?s=privacy")
    incoming = empty_app.home / "incoming"
    others = set(incoming.iterdir())
    page.get_by_role("button", name="Download a copy").click()
    deadline = time.monotonic() + 30
    while set(incoming.iterdir()) <= others:
        assert time.monotonic() < deadline
    page.close()  # which deletes the copy
    while not set(incoming.iterdir()) <= others:
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def encrypted_pdf(password: str) -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    made = BytesIO()
    canvas = Canvas(made, encrypt=StandardEncryption(password, strength=128))
    canvas.drawString(72, 720, "The combination of the safe is known to the brakesman alone.")
    canvas.save()
    return made.getvalue()
