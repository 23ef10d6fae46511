"""Every cause has a sentence and a button, with all their places filled."""

from __future__ import annotations

import pytest

from lectern.explain.missed_cause import Cause, Missed
from lectern.jobs.file_rows import FileRow, Stage
from lectern.schema import Ask, Source
from lectern.ui.widgets.missed_passages import _snippet, button_text, cause_text

FILE = FileRow("f", "notes_[1].pdf", "", "", 1, 0.0, Stage.FAILED, 0, 0, 0, 0, None)
SOURCE = Source(1, "n", "f", "notes_[1].pdf", 0, 4, "text")


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize("ask", [None, Ask("Who?", top_k=12)])
def test_a_cause_has_a_sentence_and_a_button(cause: Cause, ask: Ask | None) -> None:
    missed = Missed(cause, "Who built it?", 6, SOURCE, 9, ask, FILE, "3", ("en", "de"))
    told, button = cause_text(missed), button_text(missed)
    assert told.startswith("**")
    assert told.endswith((".", ".**"))
    assert button
    assert not set("{}") & set(told + button)
    assert "None" not in told.replace("None of your documents", "")
    assert "notes_[1]" not in told  # a file's name is no Markdown


def test_a_word_of_no_document_is_named() -> None:
    missed = Missed(Cause.ABSENT, "Who?", 6, unknown="[Zeppelin]")
    assert cause_text(missed) == "**“\\[Zeppelin\\]” is in none of your documents.**"


def test_a_long_question_is_labelled_by_its_beginning() -> None:
    told = cause_text(Missed(Cause.CONDENSED, "tower " * 1000, None, SOURCE, 6, None, FILE))
    assert len(told) < 400
    assert "…”" in told


def test_long_passage_starts_at_the_expected_sentence() -> None:
    text = "The sea is wide. " * 40 + "Ada Penrose built the tower. " + "The sand is warm. " * 40
    shown = _snippet(text, "Who built the tower?")
    assert shown.startswith("… Ada Penrose built the tower.")
    assert shown.endswith(" …")
    assert _snippet("The sea is wide.", "tower") == "The sea is wide."
