"""An index that is made in the background says how far it is, and leaves nothing behind when it is stopped or
fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.indexes import MAIN, Index, Indexes
from lectern.library import Library
from lectern.ui.index_creation import IndexCreation, IndexCreations
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError


def opened(where: Path | str) -> Library:
    return Library(where, embedder=HashEmbedding())


@pytest.fixture
def shelf(tmp_path: Path) -> Indexes:
    return Indexes(tmp_path, opened)


def ended(creations: IndexCreations, id_: str) -> IndexCreation:
    deadline = time.monotonic() + 30
    while creations.busy and time.monotonic() < deadline:
        time.sleep(0.01)
    creation = creations.get(id_)
    assert creation is not None
    assert creation.ended
    return creation


def with_files(where: Path, count: int) -> Library:
    library = opened(where)
    for number in range(count):
        path = library.incoming / "given"
        path.write_text(f"The tower number {number} is high.", "utf-8")
        library.intake.add(path, f"{number}.txt")
    return library


def test_an_index_is_copied_file_by_file(shelf: Indexes, tmp_path: Path) -> None:
    library, seen = with_files(tmp_path, 4), []

    def make(told: Callable[[float], None]) -> tuple[Index, None]:
        return shelf.duplicate(
            MAIN, library, "Twin", lambda fraction: (seen.append(fraction), told(fraction))[1]
        ), None

    creations = IndexCreations()
    creation = ended(creations, creations.start("Twin", make))
    assert creation.index is not None
    assert creation.problem is None
    assert seen == sorted(seen)
    assert {0, 0.125, 0.25, 0.375, 0.5, 0.75, 0.8125, 0.875, 0.9375} <= set(seen)
    twin = opened(creation.index.where)
    assert sorted(file.name for file in twin.files.all()) == ["0.txt", "1.txt", "2.txt", "3.txt"]
    twin.close()
    library.close()


def test_one_that_is_stopped_halfway_leaves_nothing(shelf: Indexes, tmp_path: Path) -> None:
    library, creations, half, go_on = (
        with_files(tmp_path, 4),
        IndexCreations(),
        threading.Event(),
        threading.Event(),
    )

    def make(told: Callable[[float], None]) -> tuple[Index, None]:
        def slow(fraction: float) -> None:
            if fraction > 0.6:
                half.set()
                assert go_on.wait(30)
            told(fraction)

        return shelf.duplicate(MAIN, library, "Twin", slow), None

    id_ = creations.start("Twin", make)
    assert half.wait(30)
    assert creations.busy
    creations.stop(id_)
    go_on.set()
    creation = ended(creations, id_)
    assert (creation.index, creation.problem) == (None, None)
    assert [index.id for index in shelf.all()] == [MAIN]
    assert not list((tmp_path / "indexes").iterdir())
    assert not list(library.incoming.iterdir())
    library.close()


@pytest.mark.parametrize(
    "error", [InputError("There is already an index called Twin.", hint="Choose another."), KeyError("x")]
)
def test_one_that_fails_says_why_and_is_not_busy_any_more(error: Exception) -> None:
    def make(told: Callable[[float], None]) -> tuple[Index, None]:
        raise error

    creations = IndexCreations()
    creation = ended(creations, creations.start("Twin", make))
    assert creation.problem is not None
    assert creation.problem.what == (
        "This could not be finished." if isinstance(error, KeyError) else error.what
    )  # type: ignore[attr-defined]
    creations.forget(creation.id)
    assert creations.get(creation.id) is None
