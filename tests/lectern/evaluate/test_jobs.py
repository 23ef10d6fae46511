"""Measuring a library from end to end: sets made from its documents, runs that stop, fail and go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.evaluations import EvalRun, Setting
from lectern.evaluate import jobs
from lectern.evaluate.jobs import MAX_FAILURES, EvaluationJobs, measure
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask, Retrieval
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError, LLMTimeoutError
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from tests.making import make_pdf, make_pptx

TOWER = (
    "The tower was built by Ada Penrose in 1871, of granite. "
    "It is forty metres high, and its great lamp burns the oil of whales."
)
ADA = "Dr Penrose recommended that the lamp be moved."
CELLAR = (
    "The cellar holds three hundred barrels of herring. Nobody has counted them since the flood, which "
    "was in 1953, they say."
)
USUAL = Setting("Usual", Ask("", None, retrieval=Retrieval(weaker=True)))


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Callable[..., Library]]:
    opened: list[Library] = []

    def open_it(llm: LLM | None = None, **texts: str) -> Library:
        library = Library(tmp_path / "library", embedder=HashEmbedding(), llm=llm)
        opened.append(library)
        for name, text in texts.items():
            path = library.incoming / "given"
            path.write_text(text, "utf-8")
            add(library, path, f"{name}.txt")
        return library

    yield open_it
    for library in opened:
        library.close()


def add(library: Library, path: Path, name: str) -> None:
    library.intake.add(path, name)
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


def ended(library: Library, run: EvalRun) -> EvalRun:
    def now() -> EvalRun:
        found = library.evaluations.run(run.id)
        assert found is not None
        return found

    until(lambda: now().state not in ("queued", "running"))
    return now()


def test_question_set_without_a_model_asks_what_passages_answer(open_library: Callable[..., Library]) -> None:
    library = open_library(tower=f"{TOWER} {ADA}", cellar=CELLAR)
    made = EvaluationJobs(library).make_set("Mine", 5)
    until(lambda: library.evaluations.sets()[0].state != "running")
    (kept,) = library.evaluations.sets()
    # none of stray words
    assert (kept.id, kept.state, kept.size, kept.target_size) == (made.id, "done", 1, 5)
    (question,) = library.evaluations.questions(made.id)
    assert question.text == "What did Dr Penrose recommend?"
    (wanted,) = question.expected
    document = next(one for one in library.files.all() if one.name == wanted.document)
    assert library.store.document(document.id).text[wanted.start : wanted.end] == f"{TOWER} {ADA}"

    library.evaluations.remove_question(question.id)
    assert library.evaluations.sets()[0].target_size == 4


def test_a_set_written_by_a_model_has_its_words(open_library: Callable[..., Library]) -> None:
    llm = ScriptedLLM(
        lambda call: (
            "1. Who built the tower?" if "tower" in str(call.variables) else "How many barrels are there?"
        )
    )
    library = open_library(llm, tower=TOWER, cellar=CELLAR)
    made = EvaluationJobs(library).make_set("Mine", 9)
    until(lambda: library.evaluations.sets()[0].state == "done")
    asked = {one.text: one.expected[0].document for one in library.evaluations.questions(made.id)}
    assert asked == {"Who built the tower?": "tower.txt", "How many barrels are there?": "cellar.txt"}


def test_an_empty_library_makes_no_questions(open_library: Callable[..., Library]) -> None:
    with pytest.raises(InputError, match="no documents"):
        EvaluationJobs(open_library()).make_set("Mine", 2)


@pytest.mark.smoke
def test_scores_are_those_of_the_passages_and_answers(open_library: Callable[..., Library]) -> None:
    replies = {"faithfulness": "YES\nIt does.", "relevancy": "NO\nIt does not."}
    llm = ScriptedLLM(lambda call: replies.get(call.prompt.name, "Ada built it. [1]"))
    library = open_library(llm, tower=TOWER, cellar=CELLAR)
    question = Question("Who built the tower?", ("Ada Penrose",), (ExpectedSource("cellar.txt"),))
    result = measure(
        library, question, Ask("", None, top_k=2, retrieval=Retrieval(weaker=True)), answering=True
    )
    assert [one.document for one in result.passages] == ["tower.txt", "cellar.txt"]
    assert [one.right for one in result.passages] == [False, True]
    assert result.scores["mrr"] == 0.5
    assert (result.scores["faithfulness"], result.scores["relevancy"], result.scores["recall"]) == (
        1.0,
        0.0,
        0.5,
    )
    assert result.reasons["relevancy"].endswith("It does not.")
    assert result.answer == "Ada built it. [1]"
    assert measure(library, question, Ask("", None, top_k=1), answering=False).scores["hit_rate"] == 0.0


def test_a_passage_is_on_every_page_that_it_reaches(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library()
    make_pdf(
        tmp_path / "two.pdf", ["The tower was built by Ada Penrose", "in the year 1871 and it still stands."]
    )
    add(library, tmp_path / "two.pdf", "two.pdf")
    result = measure(
        library,
        Question("Who built the tower?", (), (ExpectedSource("two.pdf", ("2",)),)),
        Ask("", None),
        answering=False,
    )
    assert {page for one in result.passages if one.right for page in one.pages} >= {"2"}
    assert result.scores["hit_rate"] == 1.0


def test_two_settings_are_measured_one_after_the_other(open_library: Callable[..., Library]) -> None:
    library = open_library(tower=TOWER, cellar=CELLAR)
    questions = [
        Question("Who built the tower?", (), (ExpectedSource("tower.txt"),)),
        Question("How many barrels?", ("three hundred",)),
    ]
    made = library.evaluations.add_set("Mine", questions)
    one, other = EvaluationJobs(library).start(
        made.id, [USUAL, Setting("One", Ask("", None, top_k=1))], answering=False
    )
    assert [ended(library, run).done for run in (one, other)] == [2, 2]
    assert [
        len(found.passages)
        for run in (one, other)
        if (found := library.evaluations.result(run.id, questions[0].id))
    ] == [
        2,
        1,
    ]


def test_a_stopped_run_goes_on_where_it_was(open_library: Callable[..., Library]) -> None:
    first, go_on = threading.Event(), threading.Event()

    def reply(call: LLMCall) -> str:
        if call.prompt.name == "chat_text_qa" and not first.is_set():
            first.set()
            assert go_on.wait(20)
        return "YES"

    library = open_library(ScriptedLLM(reply), tower=TOWER)
    questions = [Question(f"Who built tower {number}?", ("Ada",)) for number in range(3)]
    made = library.evaluations.add_set("Mine", questions)
    measuring = EvaluationJobs(library)
    (run,) = measuring.start(made.id, [USUAL], answering=True)
    assert first.wait(20)
    measuring.stop(run.id)
    assert ended(library, run).state == "stopped"
    go_on.set()
    until(lambda: not measuring.busy)
    assert ended(library, run).done == 0
    measuring.resume(run.id)
    assert (ended(library, run).state, ended(library, run).done) == ("done", 3)
    assert len({one.question_id for one in library.evaluations.scores(run.id)}) == 3


def test_what_another_model_began_is_begun_anew_and_never_mixed(open_library: Callable[..., Library]) -> None:
    before = open_library(ScriptedLLM(lambda call: "YES", model_name="first"), tower=TOWER)
    questions = [Question(f"Who built tower {number}?", ("Ada",)) for number in range(2)]
    made = before.evaluations.add_set("Mine", questions)
    begun = [
        before.evaluations.begin_run(made.id, USUAL, answering=answers, model="first")
        for answers in (True, False, True)
    ]
    for run in begun:
        before.evaluations.claim_run(run.id)
        if run is not begun[2]:
            before.evaluations.add_result(
                run.id, measure(before, questions[0], USUAL.ask, answering=run.answering)
            )
        before.evaluations.end_run(run.id, "stopped")

    library = open_library(ScriptedLLM(lambda call: "YES", model_name="second"))
    measuring = EvaluationJobs(library)
    answered, found, nothing = begun
    assert [measuring.has_another_model(run) for run in begun] == [True, False, True]
    measuring.resume(answered.id)
    until(lambda: not measuring.busy)
    anew = next(run for run in library.evaluations.runs(made.id) if run.model == "second")
    assert (anew.state, anew.done, anew.name, anew.ask) == ("done", 2, USUAL.name, USUAL.ask)
    assert (ended(library, answered).state, ended(library, answered).done) == ("stopped", 1)

    measuring.resume(found.id)  # no model has a part in what is found
    assert (ended(library, found).state, ended(library, found).done) == ("done", 2)
    measuring.resume(nothing.id)
    until(lambda: not measuring.busy)
    assert library.evaluations.run(nothing.id) is None  # it held nothing
    assert [run.model for run in library.evaluations.runs(made.id)].count("second") == 2


def test_an_evaluation_of_a_killed_process_can_resume(
    open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library(tower=TOWER)
    made = library.evaluations.add_set("Mine", [Question("Who?", ("Ada",))])
    run = library.evaluations.begin_run(made.id, USUAL, answering=False, model="")
    library.evaluations.claim_run(run.id)
    now = time.time()
    monkeypatch.setattr(library.evaluations, "_clock", lambda: now + 60)
    assert ended(library, run).state == "stopped"
    EvaluationJobs(library).resume(run.id)
    assert ended(library, run).state == "done"


def test_a_model_that_is_gone_ends_the_run_in_words(open_library: Callable[..., Library]) -> None:
    def gone(call: LLMCall) -> Exception:
        return LLMTimeoutError("The model is silent.", hint="Wait.")

    library = open_library(ScriptedLLM(gone), tower=TOWER)
    made = library.evaluations.add_set(
        "Mine", [Question(f"Who built it, {n}?", ("Ada",)) for n in range(MAX_FAILURES + 2)]
    )
    (run,) = EvaluationJobs(library).start(made.id, [USUAL], answering=True)
    failed = ended(library, run)
    assert failed.state == "failed"
    assert failed.problem is not None
    assert failed.problem.what == "The model is silent."
    assert failed.done == MAX_FAILURES - 1  # each with what went wrong


def test_a_bug_is_reported_and_nobody_waits_for_it(
    open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(jobs, "measure", broken)
    library = open_library(tower=TOWER)
    made = library.evaluations.add_set("Mine", [Question("Who?", ("Ada",))])
    (run,) = EvaluationJobs(library).start(made.id, [USUAL], answering=False)
    failed = ended(library, run)
    assert failed.problem is not None
    assert failed.problem.what == "This could not be finished."


SLIDES = [(f"Part {number}", f"The harbour of Oldport has a quay number {number}.") for number in range(1, 8)]


@pytest.mark.parametrize("written", [False, True], ids=["by rule", "by a model"])
def test_a_question_names_the_slides_of_its_answer(
    open_library: Callable[..., Library], tmp_path: Path, *, written: bool
) -> None:
    question = "What did Dr Penrose recommend?"
    library = open_library(ScriptedLLM(lambda call: question) if written else None)
    make_pptx(tmp_path / "talk.pptx", [*SLIDES, ("The lamp", ADA), ("The end", "Thank you.")])
    add(library, tmp_path / "talk.pptx", "talk.pptx")
    made = EvaluationJobs(library).make_set("Mine", 1)
    until(lambda: library.evaluations.sets()[0].state != "running")
    (wanted,) = [one for one in library.evaluations.questions(made.id) if one.text == question]
    ((document, pages),) = [(source.document, source.pages) for source in wanted.expected]
    (file,) = library.files.all()
    text = library.store.document(file.id)
    reached = [
        page.label for page in text.pages if wanted.expected[0].start <= page.start < wanted.expected[0].end
    ]
    assert document == "talk.pptx"
    assert list(pages) == (reached if written else ["8"])
    assert len(reached) > 1
