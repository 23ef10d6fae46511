"""The search and the orders of a long list of files, and the list with them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.jobs.file_rows import FileRow, Stage
from lectern.library import Library
from lectern.ui import resources
from lectern.ui.widgets.file_order import filter_files, order_names, sort_files
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import Problem
from tests.lectern.jobs.libraries import add


def file(name: str, *, size: int = 1, added: float = 0.0, failed: bool = False) -> FileRow:
    stage = Stage.FAILED if failed else Stage.READY
    problem = Problem("It is damaged.") if failed else None
    return FileRow(name, name, "", "", size, added, stage, 0, 0, 0, 0, problem)


FILES = [
    file("page 10.txt", size=5, added=3),
    file("Page 9.txt", size=7, added=2, failed=True),
    file("annual report 2025.pdf", size=6, added=1),
]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("newest", ["page 10.txt", "Page 9.txt", "annual report 2025.pdf"]),
        ("oldest", ["annual report 2025.pdf", "Page 9.txt", "page 10.txt"]),
        ("name", ["annual report 2025.pdf", "Page 9.txt", "page 10.txt"]),
        ("largest", ["Page 9.txt", "annual report 2025.pdf", "page 10.txt"]),
        ("type", ["annual report 2025.pdf", "Page 9.txt", "page 10.txt"]),
        ("problems", ["Page 9.txt", "page 10.txt", "annual report 2025.pdf"]),
    ],
)
def test_each_order_sorts_as_it_says(order: str, names: list[str]) -> None:
    assert [each.name for each in sort_files(FILES, order)] == names
    assert order in order_names()


def test_search_needs_every_word_in_any_case_and_order() -> None:
    assert [each.name for each in filter_files(FILES, " REPORT annual ")] == ["annual report 2025.pdf"]
    assert filter_files(FILES, "report 2024") == []
    assert filter_files(FILES, " ") == FILES


def test_odd_digits_in_names_do_not_break_the_order() -> None:
    odd = [file(name) for name in ("²", "٣.txt", "9" * 5000, "", "10", "9")]
    names = [each.name for each in sort_files(odd, "name")]
    assert names.index("9") < names.index("10")
    assert sorted(names) == sorted(each.name for each in odd)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    monkeypatch.setattr(resources, "library", lambda: opened)
    yield opened
    opened.close()


def the_list() -> None:
    from lectern.ui.widgets.files import file_rows

    file_rows()


def names(page: AppTest) -> list[str]:
    """The names in the list of files."""
    (component,) = [each for each in page.main if each.type == "bidi_component"]
    data = json.loads(component.proto.json)
    return [row["name"] for row in data["files"]]


def test_ten_files_have_no_search_and_eleven_have_one(library: Library) -> None:
    for number in range(10):
        add(library, f"The text of file {number}.", f"file {number}.txt")
    page = AppTest.from_function(the_list, default_timeout=60).run()
    assert not page.text_input
    assert not page.selectbox
    add(library, "One more text.", "report.txt")
    page.run()
    assert not page.exception
    assert page.text_input[0].proto.placeholder == "Search by name"
    assert page.selectbox[0].options[0] == "Newest first"


def test_a_thousand_files_are_searched_and_sorted_quickly(library: Library) -> None:
    columns = "id, name, path, hash, size, added, stage"
    with library.database.transaction() as db:
        db.executemany(
            f"INSERT INTO files ({columns}) VALUES (?, ?, '', ?, ?, ?, 'ready')",
            [(f"{n}", f"letter {n}.txt", f"{n}", n, float(n)) for n in range(1000)],
        )
    page = AppTest.from_function(the_list, default_timeout=60).run()
    begun = time.monotonic()
    page.text_input[0].set_value("letter 99").run()
    page.selectbox[0].set_value("name").run()
    assert time.monotonic() - begun < 10
    assert not page.exception
    assert names(page) == [f"letter {n}.txt" for n in range(1000) if "99" in str(n)]
    page.text_input[0].set_value("nothing").run()
    assert [each.value for each in page.caption][-1] == "No documents match."
    page.text_input[0].set_value("").run()
    assert len(names(page)) == 200
    (more,) = [each for each in page.button if each.key == "more_files"]
    assert more.label == "Show 200 more documents"
    more.click().run()
    assert len(names(page)) == 400


def the_table() -> None:
    from lectern.ui.widgets.documents import documents

    documents()


def test_table_of_documents_has_a_choice_of_the_order(library: Library) -> None:
    for name, text in (("page 10.txt", "Some words."), ("page 9.txt", "Some more words.")):
        add(library, text, name)
    page = AppTest.from_function(the_table, default_timeout=60).run()
    assert not page.exception
    order = page.selectbox(key="document_order")
    assert (order.value, order.options[0]) == ("-added", "Newest first")
    pages = ["page 9.txt", "page 10.txt"]
    for chosen, names_in_order in (("name", pages), ("added", pages[::-1])):
        page.selectbox(key="document_order").set_value(chosen).run()
        assert not page.exception
        (component,) = [each for each in page.main if each.type == "bidi_component"]
        assert [row["name"] for row in json.loads(component.proto.json)["rows"]] == names_in_order
