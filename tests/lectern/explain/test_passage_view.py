"""A stretch of a document is the text itself, cut where passages begin and end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.explain.passage_view import Span, cut, find, window
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.settings import IngestSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import UnknownDocumentError
from tests.lectern.test_indexes import take_in
from tests.making import make_pdf

TEXT = "\n\n".join(
    f"Sentence {number} tells of the harbour. Sentence {number} tells of the boats too. And of the lamp."
    for number in range(150)
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path, embedder=HashEmbedding())
    library.update_settings(
        library.settings.model_copy(update={"ingest": IngestSettings(chunk_size=60, chunk_overlap=20)})
    )
    take_in(library, TEXT, "harbour.txt")
    yield library
    library.close()


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_pieces_are_the_text_with_the_passages_around_them(
    bounds: list[tuple[int, int]], one: int, two: int
) -> None:
    text = "".join(chr(65 + index % 26) for index in range(60))
    spans = [Span(number, str(number), *sorted(pair)) for number, pair in enumerate(bounds, 1)]
    start, end = sorted((one, two))
    pieces = cut(text, spans, start, end)
    assert "".join(piece.text for piece in pieces) == text[start:end]
    at = start
    for piece in pieces:
        for offset in range(len(piece.text)):
            holding = tuple(span.number for span in spans if span.start <= at + offset < span.end)
            assert piece.numbers == holding
        at += len(piece.text)


@pytest.mark.parametrize("at", [0, 1, 777, 5000, 10**9])
def test_stretch_has_exactly_the_passages_that_overlap_it(library: Library, at: int) -> None:
    id_ = library.files.all()[0].id
    shown = window(library.store, id_, at, size=900)
    text = library.store.document(id_).text
    nodes = list(library.store.passages(id_))
    expected = [
        (number, node.id_)
        for number, node in enumerate(nodes, 1)
        if (node.start_char_idx or 0) < shown.end and (node.end_char_idx or 0) > shown.start
    ]
    assert [(span.number, span.id) for span in shown.spans] == expected
    assert "".join(piece.text for piece in shown.segments) == text[shown.start : shown.end]
    assert (shown.total, shown.passages) == (len(text), len(nodes))
    if at < 6000:
        assert any(len(piece.numbers) > 1 for piece in shown.segments), "passages overlap"


def test_stretch_names_its_first_and_last_page(library: Library, tmp_path: Path) -> None:
    pages = [f"Page {number} is about the harbour." for number in (1, 2, 3)]
    id_ = library.intake.add(make_pdf(tmp_path / "harbour.pdf", pages), "harbour.pdf").file.id
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    assert window(library.store, id_, 0).pages == "1–3"
    assert window(library.store, id_, 0).page_word == "page"
    assert window(library.store, id_, 0, size=5).pages == "1"
    assert window(library.store, library.files.all()[-1].id, 0).pages == ""


def test_a_deleted_document_is_reported(library: Library) -> None:
    with pytest.raises(UnknownDocumentError):
        window(library.store, "gone", 0)


def test_a_stretch_of_ten_megabytes_is_there_at_once(tmp_path: Path) -> None:
    library = Library(tmp_path / "large", embedder=HashEmbedding())
    library.update_settings(library.settings.model_copy(update={"ingest": IngestSettings(chunk_size=1000)}))
    take_in(library, "\n\n".join(f"{number}: {TEXT[:4000]}" for number in range(2500)), "large.txt")
    id_ = library.files.all()[0].id
    began = time.process_time()
    shown = window(library.store, id_, 5_000_000)
    assert time.process_time() - began < 1.5
    assert shown.total > 9_900_000
    assert 1 < len(shown.spans) < 20
    library.close()


@given(st.text("aB ß", max_size=30), st.text("aB", min_size=1, max_size=3), st.integers(0, 30))
def test_words_match_after_a_position_or_from_the_start(text: str, words: str, after: int) -> None:
    places = [found.start() for found in re.finditer(f"(?=({re.escape(words)}))", text, re.IGNORECASE)]
    behind = [place for place in places if place >= after]
    assert find(text, words, after) == (behind or places or [None])[0]
