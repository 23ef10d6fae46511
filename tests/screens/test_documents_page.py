"""The list of documents: what is added is read or says why not, from a file, a text, a link, a folder or a
database."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.jobs.worker import Worker
from ragcore.embeddings.hashing import HashEmbedding
from tests.making import make_pdf
from tests.ragcore.readers.ocr.test_tesseract import SENTENCES, scanned, with_tesseract
from tests.ragcore.readers.web.test_download import Site
from tests.sample_library import SAMPLE
from tests.screens.conftest import Screen

if TYPE_CHECKING:
    from ragcore.schema import Vectors


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def reaching(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Links may lead to this machine, and this folder may be added."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "note.md").write_text("# Note\n\nThe harbour was built in 1902.")
    monkeypatch.setenv("LECTERN_PRIVATE_NETWORK", "allow")
    monkeypatch.setenv("LECTERN_FOLDERS", str(folder))
    return folder


def open_form(screen: Screen, way: str) -> Screen:
    """Choose another source than files: "link", "text", "folder" or "database"."""
    return screen.send("dropzone", "way", {"name": way})


def add_links(screen: Screen, *links: str) -> Screen:
    open_form(screen, "link").tab.text_area(key="pasted_link").set_value("\n".join(links))
    return screen.press("Add to my documents")


def act(screen: Screen, do: str, name: str) -> Screen:
    """Press a button in the row of a file."""
    return screen.send("files", "act", {"do": do, "id": screen.row(name)["id"]})


def reason(screen: Screen, name: str) -> str:
    return str(screen.row(name)["problem"]["what"])


@pytest.mark.smoke
def test_the_first_screen_says_what_to_do_and_what_is_ready(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen(real=True)
    assert [title.value for title in screen.tab.title] == [
        "Ask your documents. Nothing\N{NO-BREAK SPACE}leaves this computer."
    ]
    assert screen.data("dropzone")["words"]["drop"] == "Drop your files here"
    assert "none: quoting exact passages" in screen.words("lights")
    assert [(link.label, link.page) for link in screen.tab.page_link if link.label == "Add one"] == [
        ("Add one", "settings")
    ]
    screen.library.embedder_loader.load()
    assert re.search(r"Search\s*ready", screen.run().words("lights"))


def test_one_button_adds_the_sample_documents(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen().press("Try it with a sample")
    assert sorted(screen.rows()) == sorted(path.name for path in SAMPLE.iterdir())
    assert "Try it with a sample" not in screen.buttons()


class Halting(HashEmbedding):
    """Stops in the middle of a document until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.batches, self.halted, self.goes_on = 0, threading.Event(), threading.Event()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.batches += 1
        if self.batches == 4:
            self.halted.set()
            assert self.goes_on.wait(60)
        return super().embed_passages(texts)


def test_question_before_the_first_document_is_read_says_so(open_screen: Callable[..., Screen]) -> None:
    screen, embedder = open_screen(), Halting()
    text = "".join(f"The harbour of town {town} was built in 1902. " for town in range(20_000))
    screen.add("slow.txt", text, read=False)
    library = screen.library
    worker = Worker(library.files, library.store, embedder, lambda: library.settings.ingest)
    reading = threading.Thread(target=worker.run_once)
    reading.start()
    try:
        assert embedder.halted.wait(60)
        told = r"Indexing · [\d,]+ of [\d,]+ passages · .* left · \d{3}\sKB"
        screen.until(lambda: re.fullmatch(told, screen.row("slow.txt")["facts"]))
        row = screen.row("slow.txt")
        assert (row["kind"], row["state"]) == ("TXT", "active")
        assert 0 < row["fraction"] < 1
        screen.open("chat")
        assert "You can ask as soon as the first one is ready." in screen.words()
        screen.ask("When was the harbour of town 7 built?")
        assert "Nothing can be answered yet: 1 document is still being read." in screen.words()
        assert "Try again" in screen.buttons()
        act(screen.open("home"), "stop", "slow.txt")
    finally:
        embedder.goes_on.set()
        reading.join()
    assert screen.run().row("slow.txt")["state"] == "stopped"
    act(screen, "delete", "slow.txt")
    assert screen.toasts() == ["slow.txt was deleted."]
    assert screen.library.files.all() == []


def test_file_read_except_a_page_is_ready_and_can_be_retried(
    open_screen: Callable[..., Screen], tmp_path: Path
) -> None:
    whole = make_pdf(tmp_path / "a.pdf", ["The first page.", "The second page."]).read_bytes()
    screen = open_screen().add("torn.pdf", whole.replace(b"/Type /Page\n", b"/Type /Pear\n", 1))
    said = "torn.pdf was read without page 1, which could not be opened."
    assert (screen.row("torn.pdf")["state"], reason(screen, "torn.pdf")) == ("ready", said)
    assert screen.row("torn.pdf")["retry"]
    act(screen, "retry", "torn.pdf")
    assert screen.row("torn.pdf")["state"] == "active"
    screen.read()
    assert (screen.row("torn.pdf")["state"], reason(screen, "torn.pdf")) == ("ready", said)


def test_all_that_a_file_was_read_without_is_in_its_details(open_screen: Callable[..., Screen]) -> None:
    broken = '{"a": "ünd"}\n{"a": "one"}\n{"a": "two'.encode() + b"\xff\xfe"
    screen = open_screen().add("events.jsonl", broken)
    assert reason(screen, "events.jsonl").endswith(" And 1 more, see Details.")
    assert [text.split(". ")[0] for text in screen.row("events.jsonl")["problem"]["left_out"]] == [
        "events.jsonl has broken characters in 1 place, shown as �",
        "Line 3 of events.jsonl is not valid JSON and was not read",
    ]


def test_pasted_text_becomes_a_document_once(open_screen: Callable[..., Screen]) -> None:
    screen = open_form(open_screen(), "text")
    screen.tab.text_input(key="pasted_title").set_value("Notes from Tuesday")
    screen.tab.text_area(key="pasted").set_value("The kettle was moved to the upper station on Tuesday.")
    screen.press("Add to my documents").read()
    assert screen.row("Notes from Tuesday.txt")["state"] == "ready"
    open_form(screen, "text").tab.text_input(key="pasted_title").set_value("Tuesday")
    screen.tab.text_area(key="pasted").set_value("The kettle was moved to the upper station on Tuesday.")
    screen.press("Add to my documents")
    assert screen.toasts() == ["Tuesday.txt (as Notes from Tuesday.txt) is already in your library."]


def test_page_behind_a_link_becomes_a_document_or_says_why_not(
    open_screen: Callable[..., Screen], site: Site, reaching: Path
) -> None:
    kettle = site.page("/kettle", "<title>The kettle</title><p>The kettle is at the upper station.")
    screen = add_links(open_screen(), kettle, site.link("/no")).read()
    assert screen.row("The kettle.html")["state"] == "ready"
    assert "has no such page (404)" in reason(screen, site.link("/no"))
    site.page("/kettle", "<title>The old kettle</title><p>The kettle is at the lower station.")
    add_links(screen, kettle).read()
    assert set(screen.rows()) == {"The old kettle.html", site.link("/no")}  # the same link took its place


def test_stopped_link_resumes_and_failed_link_is_retried(
    open_screen: Callable[..., Screen], site: Site, reaching: Path
) -> None:
    screen = add_links(open_screen(), site.link("/slow"), site.link("/missing"))
    act(screen, "stop", site.link("/slow"))
    assert screen.read().row(site.link("/slow"))["state"] == "stopped"
    assert "has no such page (404)" in reason(screen, site.link("/missing"))
    assert site.asked == [("/missing", f"127.0.0.1:{site.port}")]
    site.page("/slow", "<title>The crane</title><p>The crane was built in spring.")
    site.page("/missing", "<title>The mast</title><p>The mast was set up in autumn.")
    for path in ("/slow", "/missing"):
        assert screen.row(site.link(path))["retry"]
        act(screen, "retry", site.link(path))
    assert set(screen.read().rows()) == {"The crane.html", "The mast.html"}


def test_link_to_this_computer_is_refused_unless_allowed(
    open_screen: Callable[..., Screen], site: Site
) -> None:
    screen = add_links(open_screen(), site.page("/", "<p>Secret.")).read()
    assert "is an address of this computer" in reason(screen, site.link("/"))
    assert site.asked == []
    more = [way["name"] for way in screen.data("dropzone")["more"]]
    assert "database" in more
    assert "folder" not in more


def test_folder_and_its_database_are_added(open_screen: Callable[..., Screen], reaching: Path) -> None:
    screen = open_form(open_screen(), "folder")
    screen.tab.text_input(key="folder").set_value(str(SAMPLE.parent))
    screen.press("Add to my documents")
    screen.until(lambda: str(SAMPLE.parent) in screen.rows())
    assert "is not among the folders that may be added" in reason(screen, str(SAMPLE.parent))
    open_form(screen, "folder").tab.text_input(key="folder").set_value(str(reaching))
    screen.press("Add to my documents").until(lambda: "note.md" in screen.rows())
    with closing(sqlite3.connect(reaching / "boats.db")) as db, db:
        db.execute("CREATE TABLE ferries (name TEXT, leaves TEXT)")
        db.execute("INSERT INTO ferries VALUES ('Nessay', 'at noon')")
    open_form(screen, "database").tab.text_input(key="database").set_value(
        f"sqlite:///{reaching / 'boats.db'}"
    )
    screen.tab.text_area(key="database_query").set_value("SELECT * FROM ferries")
    screen.press("Add to my documents").until(lambda: "ferries from boats.txt" in screen.rows())
    assert screen.read().row("ferries from boats.txt")["state"] == "ready"
    assert screen.row("note.md")["state"] == "ready"


def test_file_name_with_markup_is_plain_below_an_answer(open_screen: Callable[..., Screen]) -> None:
    name = "![x](www.evil.example) [l](http:evil.example) :red[hot] :material:home: $x$ **b** `c`.txt"
    screen = open_screen({name: "A plain sentence about herrings, and nothing else at all."})
    screen.open("chat").ask("What is said about herrings?")
    (line,) = [line for line in screen.tab.markdown if "evil" in line.value]
    assert re.findall(r"(?<!\\)\]\(([^ )]*)", line.value) == [f"#passage-{screen.message_id()}.1"]
    whole = line.value.partition('"')[2].rpartition('"')[0]
    shown = re.sub(r"\\(\W)", r"\1", whole).replace("\u2060", "")  # word joiners
    assert shown.replace("`", "") == name.replace("`", "")  # an address is code


def test_other_chunkings_show_their_cost_and_run_in_the_page(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"harbour.txt": "The harbour was built in 1902 by the town. " * 100}, real=True)
    screen.open("settings", s="reading")
    assert "The search uses “Built-in, for English” (embedding model)." in screen.words()
    length = next(field for field in screen.tab.number_input if field.label.startswith("Length of a passage"))
    length.set_value(60)
    assert "passage length: 200 → 60 tokens" in screen.run().words()
    rebuild = next(label for label in screen.buttons() if label.startswith("Rebuild the index ("))
    (harbour,) = screen.library.store.documents()
    screen.press(rebuild)
    assert screen.tab.get("progress")[0].proto.text.startswith("Rebuilding the index")
    screen.rebuild()
    assert screen.library.store.documents()[0].passages > 2 * harbour.passages
    assert not [label for label in screen.buttons() if label.startswith("Rebuild the index (")]
    assert [
        (link.label, link.page) for link in screen.tab.page_link if link.label == "Choose another one"
    ] == [("Choose another one", "indexes")]


def test_several_documents_join_a_group_that_their_rows_name(open_screen: Callable[..., Screen]) -> None:
    names = ("roof.txt", "stairs.txt", "garden.txt")
    screen = open_screen({name: f"The {name} is about {name}." for name in names}).press("Select documents")
    chosen = [screen.row(name)["id"] for name in names[:2]]
    screen.choose("files", "chosen", chosen)
    assert "2 chosen" in screen.words("tally")
    screen.tab.text_input(key="new_group").set_value("House")
    screen.press("Create the group")
    assert [screen.row(name)["groups"] for name in names] == [["House"], ["House"], []]


def test_deleted_document_s_passages_close_on_the_map(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen({"roof.txt": "A roof of slate.", "stairs.txt": "Stairs of oak."})
    roof = screen.row("roof.txt")["id"]
    assert screen.open("map", d=roof).has("viewer_head")
    act(screen.open("home"), "delete", "roof.txt")
    assert screen.rows() == ["stairs.txt"]
    screen.open("map")
    assert not screen.has("viewer_head")
    assert "This document no longer exists." not in screen.words()


def test_thousands_of_documents_are_drawn_some_at_a_time(open_screen: Callable[..., Screen]) -> None:
    screen, many = open_screen(), 5000
    columns = "id, name, path, hash, size, added, stage, passages"
    with screen.library.files.transaction() as db:
        for number in range(many):
            db.execute(
                f"INSERT INTO files ({columns}) VALUES (?, ?, ?, ?, 1000, ?, 'ready', 1)",
                (
                    f"{number:016x}",
                    f"report-{number:04d}.txt",
                    f"files/{number}/x.txt",
                    str(number),
                    time.time() + number,
                ),
            )
    assert "5,000 files · 5,000 ready" in screen.run().words("tally")
    assert len(screen.rows()) == 200
    assert screen.rows()[0] == "report-4999.txt"
    screen.press("Show 200 more documents")
    assert len(screen.rows()) == 400
    assert screen.rows()[-1] == "report-4600.txt"
    assert "1 to 50 of 5,000" in screen.open("indexes").words()
    assert "51 to 100 of 5,000" in screen.press("Next").words()
    screen.tab.text_input(key="document_search").set_value("report-0042")
    screen.run()
    assert not screen.has("document_pages")
    assert [row["name"] for row in screen.data("document_table")["rows"]] == ["report-0042.txt"]


@with_tesseract
def test_passage_of_a_scan_opens_its_page_with_marked_words(
    open_screen: Callable[..., Screen], tmp_path: Path
) -> None:
    scan = scanned(tmp_path / "scan.pdf", " ".join(SENTENCES)).read_bytes()
    screen = open_screen({"scan.pdf": scan}, real=True)
    screen.open("chat").ask("Who built the tower of the cliff railway?")
    screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.1"})
    page = screen.data("passage")
    assert (page["kind"], page["index"], page["unmarked"]) == ("page", 0, "")
    left, top, width, height = page["quoted"][0][0]  # percent of the page
    assert top == pytest.approx(13, abs=4)
    assert 0 < left < left + width <= 100
    assert 0 < height < 10
