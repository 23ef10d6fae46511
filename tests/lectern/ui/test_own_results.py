"""The results of a few own questions: found and answered are two things."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Setting
from lectern.library import Library
from lectern.schema import Ask
from lectern.ui import resources
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.extractive.fixed_replies import closest_passages
from ragcore.schema import Outcome


def screen() -> None:
    import streamlit as st

    from lectern.ui import resources
    from lectern.ui.widgets.own_results import own_results

    run = resources.library().evaluations.run(st.session_state.run_id)
    assert run
    own_results(run)


@pytest.fixture
def results(open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the screen says of results: answers with their scores."""
    library = open_library()
    monkeypatch.setattr(resources, "library", lambda: library)

    def draw(*answers: tuple[str, Outcome, dict[str, float]], answering: bool = True) -> str:
        questions = [
            Question(f"Question {n}?", expected=(ExpectedSource("a.pdf", ("2",)),))
            for n in range(len(answers))
        ]
        set_id = library.evaluations.add_set("Mine", questions).id
        setting = Setting("As in Settings", Ask("", None))
        run = library.evaluations.begin_run(set_id, setting, answering=answering, model="")
        for question, (answer, outcome, scores) in zip(questions, answers, strict=True):
            result = Result(question, scores, 0.1, answer=answer, outcome=outcome)
            library.evaluations.add_result(run.id, result)
        page = AppTest.from_function(screen, default_timeout=60)
        page.session_state.run_id = run.id
        page.run()
        assert not page.exception
        return "\n".join(str(each.value) for each in [*page.markdown, *page.caption])

    return draw


def test_only_an_answered_question_has_a_tick(results: Callable[..., str]) -> None:
    closest = closest_passages("Question 1?", "Dogs need consent. [1]")
    screen = results(  # the outcomes count, and not the words
        (closest, "answer", {"hit_rate": 1.0, "answered": 1.0}),
        ("It has 214 steps. [1]", "closest", {"hit_rate": 1.0, "answered": 0.0}),
    )
    assert "**Passage found: 2 of 2. Answered: 1 of 2.**" in screen
    assert screen.count(":material/check_circle: ") == 1
    assert ":material/contrast: **Question 1" in screen
    assert "Passage found, but no sure answer · Expected: " in screen
    assert screen.count(":material/contrast: Not sure") == 1


def test_a_refusal_is_neither_a_tick_nor_unsure(results: Callable[..., str]) -> None:
    screen = results(("It has 214 steps. [1]", "nothing", {"hit_rate": 1.0, "answered": 0.0}))
    assert "Answered: 0 of 1." in screen
    assert "check_circle" not in screen
    assert "Not sure" not in screen


def test_only_the_search_is_reported_if_only_it_was_measured(results: Callable[..., str]) -> None:
    screen = results(("", "answer", {"hit_rate": 1.0}), ("", "answer", {"hit_rate": 0.0}), answering=False)
    assert "**Passage found: 1 of 2.**" in screen
    assert screen.count(":material/check_circle: ") == screen.count(":material/cancel: ") == 1
    assert "Passage not found · " in screen
