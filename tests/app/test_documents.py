"""Adding documents: what a person drops in is read, or says why not, and goes when it is told to go."""

from __future__ import annotations

import http.client
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
from tests.making import make_pdf
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, scanned, with_tesseract
from tests.ragcore.readers.office.test_encrypted_ooxml import locked
from tests.ragcore.readers.web.test_download import Site

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

SAMPLE = Path(__file__).parents[2] / "sample" / "documents"
WIDGETS = Path(__file__).parents[2] / "lectern" / "ui" / "widgets"


@pytest.fixture(scope="module")
def reaching_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The application where links may lead to this machine, and one folder may be added."""
    folder = tmp_path_factory.mktemp("reaching")
    (folder / "papers").mkdir()
    (folder / "papers" / "note.md").write_text("# Note\n\nThe harbour was built in 1902.")
    opened = {"LECTERN_PRIVATE_NETWORK": "allow", "LECTERN_FOLDERS": str(folder / "papers")}
    apps = started(folder)
    # while it starts: the other applications of this module stay closed
    with pytest.MonkeyPatch.context() as environment:
        for name, value in opened.items():
            environment.setenv(name, value)
        app = next(apps)
    yield app
    next(apps, None)


def is_read(app: App, name: str) -> bool:
    with closing(sqlite3.connect(app.home / "library.db")) as db:
        return bool(db.execute("SELECT 1 FROM files WHERE name = ? AND stage = 'ready'", (name,)).fetchone())


def done_of(app: App, name: str) -> float:
    """How much of a file is read, 0 to 1."""
    with closing(sqlite3.connect(app.home / "library.db")) as db:
        return float(db.execute("SELECT share FROM files WHERE name = ?", (name,)).fetchone()[0])


def last_signed(app: App, name: str) -> float:
    """When a worker last had the file in hand."""
    with closing(sqlite3.connect(app.home / "library.db")) as db:
        return float(db.execute("SELECT heartbeat FROM files WHERE name = ?", (name,)).fetchone()[0])


def state(page: Page, name: str) -> str | None:
    return row(page, name).get_attribute("data-state")


def test_the_first_screen_says_what_to_do_and_what_is_ready(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    assert page.get_by_role("heading", level=1).inner_text().replace("\xa0", " ").split("\n") == [
        "Ask your documents. Nothing leaves this computer."
    ]
    page.get_by_text("Drop your files here").wait_for()
    with page.expect_file_chooser():
        page.get_by_role("button", name="Choose files").click()  # there is one alone
    page.get_by_text("none: quoting exact passages").wait_for()
    page.locator(".light", has_text="Search").get_by_text("ready", exact=True).wait_for(timeout=90_000)
    page.get_by_role("link", name="Add one").click()
    page.get_by_role("heading", name="Settings").wait_for()


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


@pytest.mark.main
def test_first_cited_answer_comes_within_a_minute_without_setup(page: Page, begun: tuple[App, float]) -> None:
    app, began = begun
    page.goto(app.url)
    page.get_by_text("Drop your files here").wait_for()
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


def test_question_before_the_first_document_is_read_says_so(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    drop(
        page,
        payload(
            "slow.txt",
            b"".join(b"The harbour of town %d was built in 1902. " % town for town in range(20_000)),
        ),
    )
    row(page, "slow.txt").get_by_role("button", name="Stop").wait_for()
    told = r"Indexing · [\d,]+ of [\d,]+ passages · .* left · \d{3}\sKB"
    until(page, lambda: re.fullmatch(told, row(page, "slow.txt").locator(".facts").inner_text()))
    assert row(page, "slow.txt").locator(".kind").inner_text() == "TXT"
    # It is read while no page of the application is open.
    bar = row(page, "slow.txt").get_by_role("progressbar")
    until(page, lambda: bar.get_attribute("aria-valuenow") not in ("0", None))
    far = int(bar.get_attribute("aria-valuenow") or 0) / 100
    page.goto("about:blank")
    until(page, lambda: done_of(empty_app, "slow.txt") > far + 0.02)
    page.goto(empty_app.url)
    page.get_by_role("link", name="Chat", exact=True).click()
    page.get_by_text("You can ask as soon as the first one is ready.").wait_for()
    page.locator(".st-key-ask textarea").fill("When was the harbour of town 7 built?")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing can be answered yet: 1 document is still being read.").wait_for(timeout=30_000)
    page.get_by_role("button", name="Try again").wait_for()
    page.get_by_role("link", name="Documents", exact=True).click()
    row(page, "slow.txt").get_by_role("button", name="Stop").click()
    row(page, "slow.txt").get_by_role("button", name="Delete slow.txt").click()
    row(page, "slow.txt").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("slow.txt was deleted").wait_for()


@pytest.mark.main
def test_good_files_are_read_while_bad_ones_say_why_not(
    page: Page, empty_app: App, watch: Watch, look: Look
) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused upload
    page.goto(empty_app.url)
    drop(
        page,
        SAMPLE / "brakesmans-log-2022.txt",
        SAMPLE / "committee-minutes-2022-2024.md",
        SAMPLE / "mercury-2-september-2022.pdf",
        payload("setup.exe", b"MZ\x90\x00\x03\x00\x00\x00\x04\x00" * 40),
        payload("empty.txt", b""),
    )
    row(page, "mercury-2-september-2022.pdf").wait_for()
    wait_until_read(page)
    for name in ("brakesmans-log-2022.txt", "committee-minutes-2022-2024.md", "mercury-2-september-2022.pdf"):
        assert state(page, name) == "ready"
        assert "passages" in row(page, name).locator(".facts").inner_text()
    assert state(page, "setup.exe") == "failed"
    assert "setup.exe is a program" in row(page, "setup.exe").locator(".what").inner_text()
    assert state(page, "empty.txt") == "failed"
    assert row(page, "empty.txt").locator(".what").inner_text() == "empty.txt is empty."
    # The file's own words outlive the page.
    page.reload()
    assert row(page, "empty.txt").locator(".what").inner_text() == "empty.txt is empty."
    look(page, "failed files")


def test_a_file_that_is_there_already_is_not_added_again(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    drop(page, payload("a copy of the log.txt", (SAMPLE / "brakesmans-log-2022.txt").read_bytes()))
    page.get_by_text("is already in your library, as brakesmans-log-2022.txt.").wait_for()
    assert row(page, "a copy of the log").count() == 0


def test_an_encrypted_file_asks_for_its_password_in_its_row(page: Page, empty_app: App, look: Look) -> None:
    page.goto(empty_app.url)
    drop(page, payload("secret.pdf", encrypted_pdf("open sesame")))
    row(page, "secret.pdf").get_by_label("Password of secret.pdf").fill("wrong")
    row(page, "secret.pdf").get_by_role("button", name="Unlock").click()
    page.wait_for_timeout(300)
    wait_until_read(page)
    look(page, "password")
    row(page, "secret.pdf").get_by_label("Password of secret.pdf").fill("open sesame")
    row(page, "secret.pdf").get_by_role("button", name="Unlock").click()
    row(page, "secret.pdf").get_by_text("Ready").wait_for(timeout=60_000)


def test_encrypted_file_asks_for_a_password_if_one_could_open_it(
    page: Page, empty_app: App, tmp_path: Path
) -> None:
    sealed = (
        b"Content-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: application/pgp-encrypted\n"
        b"\nVersion: 1\n--x--\n"
    )
    page.goto(empty_app.url)
    drop(
        page,
        payload("letter.doc", locked(tmp_path, ".docx", "open sesame").read_bytes()),
        payload("sealed.eml", sealed),
    )
    row(page, "sealed.eml").get_by_text("sealed.eml is an encrypted message.").wait_for()
    row(page, "letter.doc").get_by_label("Password of letter.doc").fill("open sesame")
    row(page, "letter.doc").get_by_role("button", name="Unlock").click()
    row(page, "letter.doc").get_by_text("Ready").wait_for(timeout=60_000)
    assert row(page, "sealed.eml").get_by_label("Password of sealed.eml").count() == 0


def test_file_read_except_a_page_is_ready_and_can_be_retried(
    page: Page, empty_app: App, tmp_path: Path
) -> None:
    whole = make_pdf(tmp_path / "a.pdf", ["The first page.", "The second page."]).read_bytes()
    page.goto(empty_app.url)
    drop(page, payload("torn.pdf", whole.replace(b"/Type /Page\n", b"/Type /Pear\n", 1)))
    row(page, "torn.pdf").locator(".what").wait_for()
    assert state(page, "torn.pdf") == "ready"
    said = "torn.pdf was read without page 1, which could not be opened."
    assert row(page, "torn.pdf").locator(".what").inner_text() == said
    before = last_signed(empty_app, "torn.pdf")
    page.get_by_role("button", name="Retry torn.pdf").click()
    until(page, lambda: last_signed(empty_app, "torn.pdf") > before)
    wait_until_read(page)
    assert row(page, "torn.pdf").locator(".what").inner_text() == said


def test_all_that_a_file_was_read_without_is_in_its_details(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    drop(page, payload("events.jsonl", '{"a": "ünd"}\n{"a": "one"}\n{"a": "two'.encode() + b"\xff\xfe"))
    row(page, "events.jsonl").locator(".what").wait_for()
    assert row(page, "events.jsonl").locator(".what").inner_text().endswith(" And 1 more, see Details.")
    row(page, "events.jsonl").get_by_text("Details", exact=True).click()
    sentences = row(page, "events.jsonl").locator(".left-out li").all_inner_texts()
    assert [sentence.split(". ")[0] for sentence in sentences] == [
        "events.jsonl has broken characters in 1 place, shown as �",
        "Line 3 of events.jsonl is not valid JSON and was not read",
    ]


def test_files_of_one_name_from_two_folders_are_both_stored(
    page: Page, empty_app: App, tmp_path: Path
) -> None:
    for place in ("north", "south"):
        (tmp_path / "all" / place).mkdir(parents=True)
        (tmp_path / "all" / place / "report.txt").write_text(f"The {place} reports 40 faults.")
    page.goto(empty_app.url)
    drop(page, *sorted((tmp_path / "all").rglob("*.txt")))
    row(page, "report (2).txt").wait_for()
    row(page, "report.txt").wait_for()


def test_pasted_text_becomes_a_document(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    page.get_by_role("button", name="Paste text").click()
    page.get_by_label("Name", exact=True).fill("Notes from Tuesday")
    page.get_by_label("Text", exact=True).fill("The kettle was moved to the upper station on Tuesday.")
    page.get_by_role("button", name="Add to my documents").click()
    row(page, "Notes from Tuesday.txt").get_by_text("Ready").wait_for(timeout=60_000)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def reason(page: Page, name: str) -> str:
    """Why there is only a row of this name, and no document."""
    return row(page, name).locator(".what").inner_text(timeout=60_000)


def add_link(page: Page, *links: str) -> None:
    page.get_by_role("button", name="Paste a link").click()
    page.get_by_role("textbox", name="Link").fill("\n".join(links))
    assert not page.get_by_text("to apply").is_visible()  # the button does that
    page.get_by_role("button", name="Add to my documents").click()


def test_upload_mode_chosen_as_files_land_opens(page: Page, empty_app: App) -> None:
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


def test_page_behind_a_link_becomes_a_document_or_says_why_not(
    page: Page, reaching_app: App, site: Site
) -> None:
    page.goto(reaching_app.url)
    add_link(
        page,
        site.page("/kettle", "<title>The kettle</title><p>The kettle is at the upper station."),
        site.link("/no"),
    )
    row(page, "The kettle.html").wait_for()
    assert "has no such page (404)" in reason(page, site.link("/no"))
    add_link(
        page, site.page("/kettle", "<title>The old kettle</title><p>The kettle is at the lower station.")
    )
    row(page, "The old kettle.html").wait_for()
    assert row(page, "The kettle.html").count() == 0  # the same link took its place


def test_stopped_link_resumes_and_failed_link_is_retried(page: Page, reaching_app: App, site: Site) -> None:
    page.goto(reaching_app.url)
    over = threading.Event()
    site.answers["/slow"] = lambda handler: over.wait(60)
    add_link(page, site.link("/slow"), site.link("/missing"))
    row(page, site.link("/slow")).get_by_role("button", name="Stop").click()
    row(page, site.link("/slow")).get_by_text("Stopped").wait_for()
    site.page("/slow", "<title>The crane</title><p>The crane was built in spring.")
    over.set()
    row(page, site.link("/slow")).get_by_role("button", name="Resume").click()
    row(page, "The crane.html").wait_for()
    assert "has no such page (404)" in reason(page, site.link("/missing"))
    site.page("/missing", "<title>The mast</title><p>The mast was set up in autumn.")
    row(page, site.link("/missing")).get_by_role("button", name="Retry").click()
    row(page, "The mast.html").wait_for()
    assert row(page, site.link("/")).count() == 0


def test_folder_and_its_database_are_added_and_typing_stays(
    page: Page, reaching_app: App, site: Site
) -> None:
    page.goto(reaching_app.url)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Folder on this server").click()
    page.get_by_role("textbox", name="Folder").fill(str(SAMPLE.parent))
    page.get_by_role("button", name="Add to my documents").click()
    assert "is not among the folders that may be added" in reason(page, str(SAMPLE.parent))
    page.get_by_role("button", name="Folder on this server").click()
    page.get_by_role("textbox", name="Folder").fill(str(reaching_app.home.parent / "papers"))
    page.get_by_role("button", name="Add to my documents").click()
    page.get_by_role("button", name="Paste text").click()
    page.get_by_label("Text", exact=True).fill("The lamp is lit at dusk.")
    until(page, lambda: is_read(reaching_app, "note.md"))
    page.wait_for_timeout(1500)  # the screen would have been drawn anew by now
    assert page.get_by_label("Text", exact=True).input_value() == "The lamp is lit at dusk."
    page.get_by_role("button", name="Add to my documents").click()
    row(page, "note.md").wait_for()
    with closing(sqlite3.connect(reaching_app.home.parent / "papers" / "boats.db")) as db, db:
        db.execute("CREATE TABLE ferries (name TEXT, leaves TEXT)")
        db.execute("INSERT INTO ferries VALUES ('Nessay', 'at noon')")
    page.get_by_role("button", name="Database query").click()
    page.get_by_label("Address of the database").fill(
        f"sqlite:///{reaching_app.home.parent / 'papers' / 'boats.db'}"
    )
    page.get_by_role("textbox", name="Query").fill("SELECT * FROM ferries")
    page.get_by_role("button", name="Add to my documents").click()
    row(page, "ferries from boats.txt").get_by_text("Ready").wait_for()
    row(page, "The lamp is lit at dusk.txt").wait_for()
    page.get_by_role("button", name="Paste text").click()
    page.get_by_label("Text", exact=True).fill("The lamp is lit at dusk.")
    page.get_by_label("Name", exact=True).fill("Dusk")
    page.get_by_role("button", name="Add to my documents").click()
    page.get_by_text("Dusk.txt (as The lamp is lit at dusk.txt) is already in your library.").wait_for()


def test_link_to_this_computer_is_refused_unless_allowed(page: Page, empty_app: App, site: Site) -> None:
    page.goto(empty_app.url)
    add_link(page, site.page("/", "<p>Secret."))
    assert "is an address of this computer" in reason(page, site.link("/"))
    assert site.asked == []
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Database query").wait_for()
    assert page.get_by_role("button", name="Folder on this server").count() == 0


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


def test_a_second_tab_sees_the_same_files(page: Page, context: BrowserContext, empty_app: App) -> None:
    page.goto(empty_app.url)
    page.wait_for_selector("li.row")
    wait_until_read(page)
    other = context.new_page()
    other.goto(empty_app.url)
    other.wait_for_selector("li.row")
    assert other.locator(".name").all_inner_texts() == page.locator(".name").all_inner_texts()


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


def test_deleting_asks_once_and_says_what_stays(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
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


def test_file_name_with_markup_is_plain_and_loads_nothing(page: Page, empty_app: App) -> None:
    name = "![x](www.evil.example) [l](http:evil.example) :red[hot] :material:home: $x$ **b** `c`.txt"
    page.goto(empty_app.url)
    drop(page, payload(name, b"A plain sentence about herrings, and nothing else at all."))
    row(page, "evil.example").get_by_text("Ready").wait_for(timeout=60_000)
    assert row(page, "evil.example").locator(".name").text_content() == name
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("textbox", name="Question").fill("What is said about herrings?")
    page.get_by_role("button", name="Ask", exact=True).click()
    chip = page.locator('[class*="st-key-chips_"] a').first
    chip.wait_for(timeout=60_000)
    assert name in (chip.text_content() or "").replace("\u2060", "")  # word joiners


@with_tesseract
def test_passage_of_a_scan_opens_its_page_with_marked_words(
    page: Page, empty_app: App, tmp_path: Path
) -> None:
    page.goto(empty_app.url)
    drop(page, scanned(tmp_path / "scan.pdf", " ".join(SENTENCES)))
    row(page, "scan.pdf").get_by_text("Ready").wait_for(timeout=60_000)
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("textbox", name="Question").fill("Who built the tower of the cliff railway?")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator('[class*="st-key-chips_"] a', has_text="scan.pdf").click(timeout=60_000)
    image = page.locator(".st-key-panel img")
    until(page, lambda: image.evaluate("el => el.naturalWidth") > 300)
    mark = page.locator(".st-key-panel mark.quoted").first
    mark.wait_for()
    sheet, box = image.bounding_box(), mark.bounding_box()
    assert sheet is not None
    assert box is not None
    assert (box["y"] - sheet["y"]) / sheet["height"] == pytest.approx(0.13, abs=0.04)


def test_other_chunkings_show_their_cost_and_run_in_the_page(page: Page, empty_app: App) -> None:
    page.goto(empty_app.url)
    drop(page, payload("harbour.txt", b"The harbour was built in 1902 by the town. " * 100))
    wait_until_read(page)
    page.goto(f"{empty_app.url}/settings?s=reading")
    page.get_by_text("The search uses “Built-in, for English” (embedding model).").wait_for()
    page.get_by_role("spinbutton", name="Length of a passage in tokens").fill("60")
    page.keyboard.press("Enter")
    page.get_by_text("passage length: 200 → 60 tokens").wait_for()
    page.get_by_role("button", name="Rebuild the index (").click()
    page.get_by_text("The index has been rebuilt").wait_for()
    assert page.get_by_role("button", name="Rebuild the index (").count() == 0
    page.get_by_role("link", name="Choose another one").click()
    page.get_by_role("heading", name="Indexes").first.wait_for()


def test_library_moves_by_a_download_and_a_drop(page: Page, app: App, empty_app: App, tmp_path: Path) -> None:
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
    before = page.locator("li.row .name").all_text_contents()
    drop(page, copy)
    offered = page.locator('[class*="st-key-offered_"]')
    offered.get_by_text("is a copy of a library. It contains:").wait_for()
    assert page.locator("li.row .name").all_text_contents() == before  # nothing is added yet
    offered.get_by_role("button", name="Add to this index").click()
    page.get_by_text("already in your library.").or_(page.get_by_text("added.")).first.wait_for()
    until(page, lambda: names <= set(page.locator("li.row .name").all_text_contents()))
    wait_until_read(page)
    assert all(state(page, name) == "ready" for name in names)


def test_closing_the_page_during_a_copy_deletes_the_copy(page: Page, empty_app: App, tmp_path: Path) -> None:
    noise = tmp_path / "noise.bin"
    noise.write_bytes(os.urandom(40_000_000))  # of which a copy takes a while
    page.goto(empty_app.url)
    drop(page, noise)
    row(page, "noise.bin").wait_for()
    wait_until_read(page)
    page.goto(f"{empty_app.url}/settings?s=privacy")
    incoming = empty_app.home / "incoming"
    before = set(incoming.iterdir())
    page.get_by_role("button", name="Download a copy").click()
    deadline = time.monotonic() + 30
    while set(incoming.iterdir()) <= before:
        assert time.monotonic() < deadline
    page.close()
    while not set(incoming.iterdir()) <= before:
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def test_a_copy_that_is_not_whole_says_so_in_its_row(page: Page, empty_app: App, watch: Watch) -> None:
    watch.forgiven.append("status of 422")  # the browser notes the refused upload
    page.goto(empty_app.url)
    drop(page, payload("cut off.lectern", b"PK\x03\x04 and no more"))
    assert reason(page, "cut off.lectern") == "cut off.lectern is not a complete copy of a library."


@pytest.mark.parametrize(("method", "address"), [("PUT", "/api/upload?name=x.txt"), ("POST", "/api/copy")])
def test_library_requests_need_a_page_ticket_and_our_host(method: str, address: str, empty_app: App) -> None:
    def status(headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", empty_app.port, timeout=20)
        connection.request(method, address, body=b"text", headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    assert status({}) == 403
    assert status({"X-Lectern-Ticket": "1.abc"}) == 403
    assert status({"Host": "evil.example"}) == 421


def test_the_pages_headers_let_it_load_from_nowhere_else(page: Page, empty_app: App, watch: Watch) -> None:
    watch.forgiven += ["Content Security Policy", "violates"]
    answer = page.goto(empty_app.url)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src "))
    assert "unsafe-inline" not in scripts
    assert "unsafe-eval" not in scripts.replace("wasm-unsafe-eval", "")
    settled(page)
    with pytest.raises(Exception, match="Failed to fetch"):
        page.evaluate("fetch('https://example.com')")


def encrypted_pdf(password: str) -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    made = BytesIO()
    canvas = Canvas(made, encrypt=StandardEncryption(password, strength=128))
    canvas.drawString(72, 720, "The combination of the safe is known to the brakesman alone.")
    canvas.save()
    return made.getvalue()
