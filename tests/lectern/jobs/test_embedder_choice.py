"""A new library is made with the embedder that knows its language, and stays with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.export.backup import write_copy
from lectern.export.restore import read_copy
from lectern.jobs.embedders import BUILT_IN, MULTILINGUAL
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from tests.lectern.jobs.libraries import add, worker_of
from tests.multilingual import ENGLISH, GERMAN, needs_multilingual_e5

pytestmark = needs_multilingual_e5


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library")
    yield opened
    opened.close()


def read(library: Library, *texts: str) -> None:
    for number, text in enumerate(texts):
        add(library, text, f"{number} {text[:6]}.txt")
    worker = worker_of(library, library._embedders.of(BUILT_IN))
    while worker.run_once():
        pass
    assert len(library.store) >= len(texts)


def embed_model(library: Library) -> str:
    return library.store.versions.current().embed_model


@pytest.mark.parametrize(("first", "chosen"), [(GERMAN, MULTILINGUAL), (ENGLISH, BUILT_IN)])
def test_the_first_document_decides(library: Library, first: str, chosen: str) -> None:
    read(library, first, ENGLISH if first == GERMAN else GERMAN)
    assert embed_model(library) == chosen
    assert [hit.node.text for hit in library.retriever(1).retrieve("heron fish" if chosen else "Reiher")]
    assert library.rebuilds.current_settings().chunk_size == library.settings.ingest.chunk_size


@pytest.mark.parametrize(
    ("language", "chosen"),
    [("de-AT", MULTILINGUAL), ("pl", MULTILINGUAL), ("en-GB", BUILT_IN), ("", BUILT_IN)],
)
def test_the_language_of_the_first_reader_decides(library: Library, language: str, chosen: str) -> None:
    library.suit_reader(language)
    read(library, ENGLISH)
    assert embed_model(library) == chosen


def test_a_library_with_passages_does_not_change(library: Library) -> None:
    read(library, ENGLISH)
    library.suit_reader("de")
    assert embed_model(library) == BUILT_IN


def test_what_was_decided_stays(library: Library) -> None:
    library.store.choose(BUILT_IN)
    library.suit_reader("de")
    read(library, GERMAN)
    assert embed_model(library) == BUILT_IN


def test_sizes_are_those_of_the_first_passages(library: Library) -> None:
    library.suit_reader("de")
    ingest = library.settings.ingest.model_copy(update={"chunk_size": 100, "chunk_overlap": 0})
    library.update_settings(library.settings.model_copy(update={"ingest": ingest}))
    read(library, GERMAN)
    library.update_settings(
        library.settings.model_copy(update={"ingest": ingest.model_copy(update={"chunk_size": 300})})
    )
    assert library.rebuilds.current_settings().chunk_size == 100
    assert embed_model(library) == MULTILINGUAL


def test_replaced_built_in_embedder_serves_every_language(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    read(library, GERMAN)
    assert embed_model(library) == BUILT_IN
    library.close()


def test_a_copy_keeps_its_embedder_and_its_vectors(library: Library, tmp_path: Path) -> None:
    library.suit_reader("de")
    read(library, ENGLISH)
    write_copy(library, tmp_path / "copy.lectern")
    other = Library(tmp_path / "other")
    read_copy(other, tmp_path / "copy.lectern")
    assert embed_model(other) == MULTILINGUAL
    assert len(other.files.drafts.vectors(other.files.all()[0].id)) == 1
    other.close()
