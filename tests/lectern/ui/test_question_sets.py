"""The question sets of the Evaluate page: the place of an answer has the word of its document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.library import Library
from lectern.ui import resources
from lectern.ui.i18n import set_request_language
from lectern.ui.widgets.question_sets import expected_answer
from ragcore.evaluation.question_sets import ExpectedSource, Question
from tests.lectern.test_library import worker_of
from tests.making import make_any


@pytest.fixture
def library(open_library: Callable[..., Library], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    library = open_library()
    for name in ("Book.epub", "figures.xlsx", "handbook.pdf", "mails.mbox", "talk.pptx"):
        library.intake.add(make_any(tmp_path / name, ["The harbour is old.", "The quay is new."]), name)
        assert worker_of(library).run_once()
    monkeypatch.setattr(resources, "library", lambda: library)
    return library


@pytest.mark.parametrize(
    ("document", "english", "german"),
    [
        ("talk.pptx", "talk.pptx, slide 8", "talk.pptx, Folie 8"),
        ("handbook.pdf", "handbook.pdf, p. 8", "handbook.pdf, S. 8"),
        ("figures.xlsx", "figures.xlsx, sheet 8", "figures.xlsx, Blatt 8"),
        ("Book.epub", "Book.epub, chapter 8", "Book.epub, Kapitel 8"),
        ("mails.mbox", "mails.mbox, message 8", "mails.mbox, Nachricht 8"),
        ("TALK.pptx", "TALK.pptx, slide 8", "TALK.pptx, Folie 8"),
        ("gone.pdf", "gone.pdf, p. 8", "gone.pdf, S. 8"),
    ],
)
def test_a_place_has_the_word_of_its_document(
    library: Library, document: str, english: str, german: str
) -> None:
    question = Question("Where?", expected=(ExpectedSource(document, ("8",)),))
    assert expected_answer(question) == english
    set_request_language("de")
    assert expected_answer(question) == german
    set_request_language("en")
