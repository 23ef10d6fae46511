"""What several tests of the application begin with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.base import LLM
from tests import postgres
from tests.databases import KINDS


@pytest.fixture(params=KINDS)
def open_library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Library]]:
    folder = tmp_path / "library"
    where = postgres.fresh() if request.param == "postgres" else folder
    opened: list[Library] = []

    def open_it(llm: LLM | None = None) -> Library:
        library = Library(where, embedder=HashEmbedding(), llm=llm, local=folder)
        opened.append(library)
        return library

    yield open_it
    for library in opened:
        library.close()


@pytest.fixture(autouse=True, scope="module")
def main_module() -> Iterator[None]:
    """A script that `AppTest` ran stays the main module, which the processes of a later test's pool would run
    again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
