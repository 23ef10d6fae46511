"""What several tests of the application begin with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.jobs import lease
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.base import LLM


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Callable[..., Library]]:
    opened: list[Library] = []

    def open_it(llm: LLM | None = None) -> Library:
        library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
        opened.append(library)
        return library

    yield open_it
    for library in opened:
        library.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a small file is not moved to the queue of large ones unless a test says so."""
    monkeypatch.setattr(lease, "SMALL_SECONDS", 300.0)


@pytest.fixture(autouse=True, scope="module")
def main_module() -> Iterator[None]:
    """A script that `AppTest` ran stays the main module, which the processes of a later test's pool would run
    again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
