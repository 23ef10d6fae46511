"""What a file costs does not depend on how many there are: no statement looks through a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.jobs.file_rows import Lane
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError
from ragcore.sql.sqlite import SQLiteDatabase
from tests.lectern.jobs.libraries import add, worker_of

GROWING = ("files", "links", "other_names", "drafts", "documents", "passages", "texts", "removed_files")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    yield opened
    opened.close()


def from_folder(library: Library) -> None:
    for number in range(3):
        path = library.incoming / "given"
        path.write_text(f"Lamp {number}.", "utf-8")
        library.intake.add(path, "readme.txt", origin=f"/notes/{number}/readme.txt")


def read(library: Library) -> None:
    for number in range(3):
        add(library, f"Lamp {number}.", f"{number}.txt")
    add(library, "Lamp. " * 20_000, "large.txt")
    worker = worker_of(library)
    while worker.run_once():
        pass


def fetch(library: Library) -> None:
    row = library.intake.add_link("http://192.0.2.1/lamp")
    assert library.files.queue.claim("w", link=True) is not None
    library.files.claimed.fail(row.id, "w", InputError("It is not there."))
    library.files.remove(row.id)


def move(library: Library) -> None:
    file = add(library, "Lamp.", "lamp.txt")
    assert library.files.queue.claim("w") is not None
    assert library.files.queue.move(file.id, "w", Lane.LARGE)
    library.files.queue.stop(file.id)
    library.files.queue.retry(file.id)
    assert library.files.queue.has_waiting()


def refuse(library: Library) -> None:
    library.files.refuse("empty.txt", 0, InputError("It is empty."))


@pytest.mark.parametrize("work", [from_folder, read, fetch, move, refuse])
def test_no_statement_looks_through_a_table_or_sorts_the_queue(
    work: Callable[[Library], None], library: Library
) -> None:
    assert isinstance(library.database, SQLiteDatabase)
    connection = library.database.connection()
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    work(library)
    connection.set_trace_callback(None)
    asked = {text for text in statements if text.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))}
    assert len(asked) > 3
    for text in sorted(asked):
        for row in connection.execute(f"EXPLAIN QUERY PLAN {text}").fetchall():
            assert not any(row["detail"].startswith(f"SCAN {table}") for table in GROWING), (
                f"{row['detail']}: {text}"
            )
            sorts = row["detail"].startswith("USE TEMP B-TREE FOR ORDER BY")
            assert not (sorts and "stage = 'queued'" in text), text


def test_many_namesakes_get_own_names_with_few_queries(library: Library) -> None:
    connection = library.database.connection()
    names: set[str] = set()
    asked: list[str] = []
    for number in itertools.count():
        path = library.incoming / "given"
        path.write_text(f"Lamp {number}.", "utf-8")
        asked.clear()
        connection.set_trace_callback(asked.append)  # type: ignore[union-attr]
        names.add(library.intake.add(path, "readme.txt", origin=f"/notes/{number}/readme.txt").file.name)
        connection.set_trace_callback(None)  # type: ignore[union-attr]
        if number == 99:
            break
    assert names == {"readme.txt", *(f"readme ({number}).txt" for number in range(2, 101))}
    assert sum("readme (" in text for text in asked) < 25
