"""What is said about an answer follows from its outcome alone, whatever its words are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.schema import AnswerFacts, AnswerPart, Ask, Message, Source
from lectern.ui import resources
from lectern.ui.widgets.actions import ACTIONS
from ragcore.extractive.fixed_replies import NOTHING_FOUND, closest_passages
from ragcore.schema import Outcome

ROOT = Path(__file__).parents[2]
SOURCE = Source(1, "n", "f", "lease.pdf", 0, 9, "The rent.")
TEXTS = ("The rent is 950 euros. [1]", closest_passages("Dogs?", "Dogs. [1]"), f"{NOTHING_FOUND['de']} [1]")
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
UNSURE = ":material/contrast: Not sure"
DOUBT = "Your documents may not answer this. Check the passages."


def answer(
    text: str,
    outcome: Outcome,
    *,
    extractive: bool = True,
    parts: tuple[AnswerPart, ...] = (),
    passages: int = 3,
) -> Message:
    facts = AnswerFacts(
        "compact", "compact", 1, 0.1, passages, 3, extractive=extractive, outcome=outcome, parts=parts
    )
    ask = Ask("Are dogs allowed?", chat_mode="context")
    return Message("m", "c", "assistant", text, "done", 0.0, ask, facts, (SOURCE,))


def draw() -> None:
    import streamlit as st

    from lectern.ui.widgets.answer import answer

    answer(st.session_state.message, last=False)


@pytest.mark.parametrize("extractive", [True, False])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_marks_of_doubt_follow_the_outcome(
    outcome: Outcome, extractive: bool, open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)
    for text in TEXTS:
        page = AppTest.from_function(draw, default_timeout=60)
        page.session_state.message = answer(text, outcome, extractive=extractive)
        page.run()
        assert not page.exception
        captions = [caption.value for caption in page.caption]
        assert (UNSURE in captions) == (outcome == "closest" and extractive)
        assert (DOUBT in captions) == (outcome == "closest" and not extractive)


@pytest.mark.parametrize("text", TEXTS)
def test_the_question_why_stands_in_words_below_closest_passages(text: str) -> None:
    (why,) = [action for action in ACTIONS if action.do == "why"]
    labelled = {outcome: why.labelled(answer(text, outcome)) for outcome in OUTCOMES}
    assert labelled == {"answer": False, "closest": True, "nothing": False}
    assert not why.labelled(answer(text, "closest", extractive=False))
    assert not why.labelled(answer(text, "closest", parts=(AnswerPart(0, 4, "closest"),)))


def test_the_names_of_the_documents_raise_no_question_why() -> None:
    (why,) = [action for action in ACTIONS if action.do == "why"]
    assert not why.labelled(answer("2 documents.", "answer", passages=0))
    assert why.labelled(answer("It was red.", "answer", passages=3, extractive=False))


@pytest.mark.parametrize("text", TEXTS)
def test_a_turn_without_passages_is_not_remembered(text: str) -> None:
    assert answer(text, "answer", passages=0).is_remembered
    assert answer(text, "nothing").is_remembered
    assert not answer(text, "nothing", passages=0).is_remembered
    assert not answer("", "answer").is_remembered


def test_only_the_migration_recognises_a_reply_by_its_words() -> None:
    """The application imports no function that does. The migration has words of its own."""
    recognisers = {"is_refusal", "is_closest", "without_heading", "outcome_of_reply"}
    importing = []
    for folder in ("lectern", "pages"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and recognisers & {name.name for name in node.names}:
                    importing.append(path.relative_to(ROOT).as_posix())
    assert importing == []
