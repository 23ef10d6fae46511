"""What several tests of the application begin with."""

from __future__ import annotations

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
