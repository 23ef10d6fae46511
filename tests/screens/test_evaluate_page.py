"""Evaluate: question sets that are changed and deleted, and measurements that ask first and go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1.element_tree import TextArea

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Setting
from lectern.schema import Ask
from lectern.settings import PriceSettings
from ragcore.evaluation.question_sets import Question
from tests.screens.conftest import Screen
from tests.scripted_server import FAULTS, Fault, ScriptedServer

STAIR = "How many steps has the Herring Stair?"


@pytest.fixture
def screen(sample_screen: Screen) -> Screen:
    return sample_screen.open("evaluate")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(models=("tiny",), slots=4) as server:
        yield server


def upload(screen: Screen, *lines: str) -> None:
    (uploader,) = screen.tab.file_uploader
    uploader.set_value(("mine.csv", "\n".join(lines).encode(), "text/csv"))
    screen.run()


def press_of(screen: Screen, start: str) -> None:
    """Press the last button whose key begins so."""
    screen.press([button.key for button in screen.tab.button if (button.key or "").startswith(start)][-1])


def show_questions(screen: Screen) -> None:
    """Open the list of questions, which is drawn only while it is open."""
    screen.tab.session_state[f"look_{screen.tab.query_params['s']}"] = True
    screen.run()


def figure_heads(screen: Screen) -> list[str]:
    """The names of the settings above the table of figures."""
    heads = screen.words("figures").splitlines()[0]
    return [head.strip() for head in heads.split("|")][2:-1]


def test_a_question_that_is_being_edited_survives_other_pages(screen: Screen) -> None:
    upload(screen, "question,answer", "Who built it?,Penrose", "When?,1893")
    assert screen.toasts() == ["2 questions were imported."]
    show_questions(screen)
    press_of(screen, "edit_")
    (answers,) = answers_fields(screen)
    answers.set_value("In 1897")
    screen.run()
    screen.open("query").open("evaluate")
    show_questions(screen)
    (answers,) = answers_fields(screen)
    assert answers.value == "In 1897"
    screen.press("Cancel")
    assert not answers_fields(screen)
    press_of(screen, "edit_")
    (answers,) = answers_fields(screen)
    assert answers.value == "1893"


def answers_fields(screen: Screen) -> list[TextArea]:
    return [area for area in screen.tab.text_area if area.label == "Right answers, one per line"]


def test_a_question_set_is_deleted_once_that_is_agreed_to(screen: Screen) -> None:
    upload(screen, "question,answer", "Who built it?,Penrose", "When?,1893")
    screen.press("delete_set")
    assert "Delete mine with all its measurements?" in screen.words()
    screen.press("keep_set").press("delete_set").press("delete_set_now")
    assert screen.toasts() == ["Question set deleted."]
    assert "There are no questions yet." in screen.words()


def test_a_killed_servers_measurement_resumes_on_request(screen: Screen) -> None:
    kept = screen.library.evaluations
    made = kept.add_set("Left behind", [Question(STAIR, ("214",))])
    setting = Setting("Three passages", Ask("", None, top_k=3))
    run = kept.begin_run(made.id, setting, answering=False, model="")
    kept.claim_run(run.id)
    kept.end_run(run.id, "stopped")
    assert "Three passages: stopped after 0 questions." in screen.open("evaluate").words()
    screen.press("Continue")
    screen.until(lambda: screen.has("more_figures"))
    assert figure_heads(screen) == ["Three passages"]
    assert not screen.has("ended_")


def test_what_another_model_began_is_measured_anew(screen: Screen) -> None:
    kept = screen.library.evaluations
    questions = [Question(STAIR, ("214",)), Question("Who built it?", ("Edwin Rusk",))]
    made = kept.add_set("Half done", questions)
    setting = Setting("Three passages", Ask("", None, top_k=3))
    run = kept.begin_run(made.id, setting, answering=True, model="another")
    kept.claim_run(run.id)
    kept.add_result(run.id, Result(questions[0], {"hit_rate": 1.0}, 0.1, answer="214 [1]"))
    kept.end_run(run.id, "stopped")
    screen.open("evaluate")
    assert "The language model has changed." in screen.words()
    screen.press("Start over")
    screen.until(lambda: len(kept.runs(made.id)) == 2 and not screen.has("bar_"))
    first, second = figure_heads(screen)
    assert first.startswith("Three passages, ")
    assert second.startswith("Three passages, ")
    assert "Three passages: stopped after 1 question." in screen.words()


def test_measurement_over_the_limit_needs_consent_first(screen: Screen, server: ScriptedServer) -> None:
    screen.connect(server)
    library = screen.library
    price = PriceSettings(ask_above_calls=5)
    library.update_settings(library.settings.model_copy(update={"price": price}))
    upload(screen.open("evaluate"), "question", STAIR, "Who built the cliff railway?")
    screen.press("measure")
    assert "The 2 answers take 6 calls" in screen.words("confirm_price")
    screen.press("confirm_cancel")
    assert not screen.has("confirm_price")
    assert not server.chats
    screen.press("measure").press("confirm_run")
    screen.until(lambda: screen.has("more_figures") and not screen.has("bar_"))
    assert len(server.chats) == 6


def test_questions_that_a_model_could_not_make_are_tried_again(
    screen: Screen, server: ScriptedServer
) -> None:
    screen.connect(server)
    server.always = FAULTS["500"]
    screen.open("evaluate").tab.number_input(key="make_number").set_value(2)
    screen.press("make_set")
    screen.until(lambda: screen.has("problem_set_problem"))
    server.always = Fault()
    server.reply = lambda messages: f"Who built part {len(server.requests)} of the railway?"
    screen.press("Try again")
    screen.until(lambda: "2 questions · made from your documents" in screen.words())
    assert not screen.has("problem_set_problem")
