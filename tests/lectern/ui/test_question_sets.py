"""The question sets of the Evaluate page: the place of an answer has the word of its document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Setting
from lectern.library import Library
from lectern.schema import Ask
from lectern.ui import resources
from lectern.ui.i18n import set_request_language
from lectern.ui.widgets.question_sets import expected_answer
from ragcore.evaluation.question_sets import ExpectedSource, Question
from tests.lectern.test_library import worker_of
from tests.making import make_any


def screen() -> None:
    from lectern.ui.widgets.measurements import measurements
    from lectern.ui.widgets.question_sets import question_set

    chosen = question_set()
    if chosen is not None:
        measurements(chosen)


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


def test_own_questions_come_before_those_made_from_documents(library: Library) -> None:
    mine = library.evaluations.add_set("Mine", [Question("Where?")])
    made = library.evaluations.begin_set("Made", "documents", 1)
    library.evaluations.add_questions(made.id, [Question("What?")])
    library.evaluations.end_set(made.id, "done")
    page = AppTest.from_function(screen, default_timeout=60)
    page.run()
    assert not page.exception
    (chooser,) = [box for box in page.selectbox if box.label == "Question set"]
    assert chooser.options == ["Mine", "Made"]
    assert chooser.value == mine.id


def test_figures_of_made_questions_say_what_they_measure(library: Library) -> None:
    made = library.evaluations.begin_set("Made", "documents", 1)
    question = Question("What?", expected=(ExpectedSource("talk.pptx", ("1",)),))
    library.evaluations.add_questions(made.id, [question])
    library.evaluations.end_set(made.id, "done")
    setting = Setting("As in Settings", Ask("", None))
    run = library.evaluations.begin_run(made.id, setting, answering=False, model="")
    library.evaluations.add_result(run.id, Result(question, {"hit_rate": 1.0}, 0.1))
    library.evaluations.end_run(run.id, "done")
    page = AppTest.from_function(screen, default_timeout=60)
    page.run()
    assert not page.exception
    small = [str(caption.value) for caption in page.caption]
    assert any(text.startswith("**The search finds its own sentences** · ") for text in small)
    assert not any("a right passage was among" in str(text.value) for text in page.markdown)
    assert "Results" not in [str(header.value) for header in page.header]
