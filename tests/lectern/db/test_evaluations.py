"""Question sets, settings and measurements in the database: read back whole, edited, stopped, copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.conversations import SCHEMA as CONVERSATIONS_SCHEMA
from lectern.db.evaluation_scores import Result, RetrievedPassage
from lectern.db.evaluations import SCHEMA, SILENT_SECONDS, Evaluations, Setting
from lectern.schema import Ask, Retrieval
from ragcore.errors import InputError, Problem
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.sql.base import Database
from tests.databases import KINDS, opening

WHO = Question("Who built it?", ("Ada",), (ExpectedSource("a.pdf", ("3", "4")),))
WHEN = Question("When?", expected=(ExpectedSource("b.txt", start=3, end=9),))
SETTING = Setting("Ten", Ask("", None, "refine", 10, retrieval=Retrieval(0.5, diverse=True)))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, CONVERSATIONS_SCHEMA, SCHEMA)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(open_database: Callable[[], Database], clock: Clock) -> Evaluations:
    return Evaluations(open_database(), clock=clock)


def test_sets_settings_and_results_are_readable_elsewhere(
    kept: Evaluations, open_database: Callable[[], Database], clock: Clock
) -> None:
    made = kept.add_set("Towers", [WHO, WHEN])
    setting = kept.keep_setting(SETTING)
    run = kept.begin_run(made.id, setting, answering=True, model="tiny")
    assert kept.claim_run(run.id)
    found = RetrievedPassage("a.pdf", 1, 9, "the text", ("3",), 0.5, True)
    result = Result(WHO, {"mrr": 0.5}, 1.5, (found,), "Ada.", {"faithfulness": "YES"})
    assert kept.add_result(run.id, result)
    other = Evaluations(open_database(), clock=clock)
    assert other.questions(made.id) == [WHO, WHEN]
    assert [(one.name, one.state, one.size) for one in other.sets()] == [("Towers", "done", 2)]
    assert other.settings() == [setting]
    assert other.unmeasured(run.id) == [WHEN]
    (read,) = other.runs(made.id)
    assert (read.state, read.done, read.ask, read.answering, read.model) == (
        "running",
        1,
        SETTING.ask,
        True,
        "tiny",
    )
    assert other.result(run.id, WHO.id) == result
    assert [(one.question, one.scores, one.seconds) for one in other.scores(run.id)] == [
        (WHO.text, {"mrr": 0.5}, 1.5)
    ]


def test_an_edited_question_is_another_one_in_its_place(kept: Evaluations) -> None:
    made = kept.add_set("Towers", [WHO, WHEN])
    changed = Question("Who built the tower?")
    kept.replace_question(WHO.id, changed)
    kept.remove_question(WHEN.id)
    assert kept.questions(made.id) == [changed]


def test_what_nobody_signs_was_stopped_and_can_go_on(kept: Evaluations, clock: Clock) -> None:
    made = kept.add_set("Towers", [WHO])
    run = kept.begin_run(made.id, SETTING, answering=False, model="")
    making = kept.begin_set("More", "documents", 9)
    assert not kept.resume_run(run.id)
    clock.now += SILENT_SECONDS + 1
    kept.sign([run.id])
    assert kept.run(run.id) is not None
    assert [one.state for one in kept.runs(made.id)] == ["queued"]
    stopped = kept.find_set(making.id)
    assert stopped is not None
    assert stopped.state == "stopped"
    clock.now += SILENT_SECONDS + 1
    assert [one.state for one in kept.runs(made.id)] == ["stopped"]
    assert kept.resume_run(run.id)
    assert [one.state for one in kept.runs(made.id)] == ["queued"]


def test_stopped_run_keeps_its_results_and_accepts_no_more(kept: Evaluations) -> None:
    made = kept.add_set("Towers", [WHO, WHEN])
    run = kept.begin_run(made.id, SETTING, answering=False, model="")
    assert kept.claim_run(run.id)
    assert kept.add_result(run.id, Result(WHO, {}, 1.0))
    kept.end_run(run.id, "stopped")
    assert not kept.add_result(run.id, Result(WHEN, {}, 1.0))
    kept.end_run(run.id, "done")
    (read,) = kept.runs(made.id)
    assert (read.state, read.done) == ("stopped", 1)


def test_a_failure_has_a_message_until_the_evaluation_resumes(kept: Evaluations) -> None:
    made = kept.add_set("Towers", [WHO])
    run = kept.begin_run(made.id, SETTING, answering=False, model="")
    kept.end_run(run.id, "failed", Problem("The server is gone.", "Start it."))
    (read,) = kept.runs(made.id)
    assert (read.state, read.problem) == ("failed", Problem("The server is gone.", "Start it."))
    kept.resume_run(run.id)
    assert kept.runs(made.id)[0].problem is None


def test_a_set_goes_with_all_that_was_measured_with_it(kept: Evaluations) -> None:
    made = kept.add_set("Towers", [WHO])
    run = kept.begin_run(made.id, SETTING, answering=False, model="")
    kept.claim_run(run.id)
    kept.add_result(run.id, Result(WHO, {}, 1.0))
    kept.delete_set(made.id)
    assert (kept.sets(), kept.run(run.id), kept.scores(run.id)) == ([], None, [])
    assert not kept.add_questions(made.id, [WHEN])
    with pytest.raises(InputError, match="no questions"):
        kept.begin_run(made.id, SETTING, answering=False, model="")


def test_names_are_cleaned_and_a_setting_replaces_its_namesake(kept: Evaluations) -> None:
    made = kept.add_set("  Many \n words \ud83d ", [WHO])
    assert kept.sets()[0].name == "Many words �"
    kept.rename_set(made.id, "Towers")
    assert kept.sets()[0].name == "Towers"
    kept.keep_setting(SETTING)
    again = kept.keep_setting(Setting("Ten", Ask("", None, top_k=11)))
    assert kept.settings() == [again]
    kept.delete_setting(again.id)
    assert kept.settings() == []


def test_copy_adds_missing_items_and_stops_running_ones(kept: Evaluations, clock: Clock) -> None:
    made = kept.add_set("Towers", [WHO, WHEN])
    run = kept.begin_run(made.id, SETTING, answering=False, model="")
    kept.claim_run(run.id)
    kept.add_result(run.id, Result(WHO, {"mrr": 1.0}, 1.0))
    dumped = list(kept.dump())
    kept.load(iter(dumped))
    assert kept.runs(made.id)[0].state == "running"
    kept.delete_set(made.id)
    kept.load(iter(dumped))
    assert kept.questions(made.id) == [WHO, WHEN]
    (read,) = kept.runs(made.id)
    assert (read.state, read.done, kept.scores(run.id)[0].scores) == ("stopped", 1, {"mrr": 1.0})
