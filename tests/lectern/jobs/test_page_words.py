"""Places of recognised words in a library: stored with the file, forgotten with it, and missing in old
libraries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lectern.jobs.page_words import PageWordsTable
from lectern.library import Library
from ragcore.readers.ocr.page_words import PageWords

ONE = PageWords(90, [("cliff", 10, 20, 30, 40)])


def test_the_words_of_a_page_come_back_and_go_with_their_file(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    (tmp_path / "a.txt").write_text("text", "utf-8")
    file = library.intake.add(tmp_path / "a.txt", "a.txt").file
    table = library.files.page_words
    table.replace(file.id, {0: ONE, 2: PageWords(0, [])})
    assert table.of(file.id, [0, 1, 2]) == {0: ONE, 2: PageWords(0, [])}
    table.replace(file.id, {1: ONE})
    assert table.of(file.id, range(3)) == {1: ONE}
    library.files.remove(file.id)
    assert table.of(file.id, range(3)) == {}


def test_old_library_gets_the_page_words_table_on_opening(tmp_path: Path) -> None:
    with_table = Library(tmp_path / "library")
    with with_table.database.transaction() as db:
        db.execute("DROP TABLE page_words")
    with_table.close()
    library = Library(tmp_path / "library")
    assert PageWordsTable(library.database).of("any", [0]) == {}
    library.close()


def test_a_full_page_takes_few_kilobytes() -> None:
    words = [
        (f"word{number}", 17 * number % 9000, number, 17 * number % 9000 + 400, number + 90)
        for number in range(500)
    ]
    page = PageWords(0, words)
    assert len(page.to_bytes()) < 10_000 < len(json.dumps(page.as_json()))
