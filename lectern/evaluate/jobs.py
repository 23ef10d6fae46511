"""Evaluating a library: question sets made from its documents, and settings measured with them, in threads of this process.

Everything is written to the library as it comes, so that a reload or a closed tab loses nothing, and what a killed server
leaves can go on where it was.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lectern.db.evaluation_scores import Found, Result, answer_recall, finding_scores
from lectern.db.evaluations import EvalRun, QuestionSet, Setting
from lectern.library import Library
from lectern.schema import Ask, Source, build_sources
from ragcore.errors import InputError, Problem, RagError
from ragcore.evaluation.judges import FaithfulnessEvaluator, RelevancyEvaluator
from ragcore.evaluation.question_generation import asked_by_model, asked_by_rule
from ragcore.evaluation.question_sets import Question
from ragcore.prompts.wording import FAITHFULNESS, QUESTIONS, RELEVANCY
from ragcore.schema import Document, Outcome, TextNode

logger = logging.getLogger(__name__)

SIGN_SECONDS = 3.0
FAILURES = 3  # questions in a row that cannot be answered, before a run is given up
TEXT_CHARS = 700  # of a passage, as a result keeps it
LEAST_CHARS = 120  # of a passage that a question is made from
PASSES = 4  # passages tried for each question wanted


class EvaluationJobs:
    """What this process makes and measures; one thing after another, so that seconds can be compared."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._kept = library.evaluations
        self._room = threading.Semaphore(1)
        self._lock = threading.Lock()
        self._mine: set[str] = set()

    def make_set(self, name: str, number: int) -> QuestionSet:
        """Begin a set of `number` questions made from the documents: by the language model, where there is one. InputError."""
        if not len(self._library.store):
            raise InputError("There are no documents to make questions from.", hint="Add a document first.")
        made = self._kept.begin_set(name, "documents", number)
        self._begin(made.id, partial(self._make, made))
        return made

    def stop_set(self, set_id: str) -> None:
        """The questions made so far are kept."""
        self._kept.end_set(set_id, "stopped")

    def start(self, set_id: str, settings: Sequence[Setting], *, answering: bool) -> list[EvalRun]:
        """Begin to measure each setting, the first one first. InputError for a set without questions."""
        model = self._model()
        runs = [self._kept.begin_run(set_id, setting, answering=answering, model=model) for setting in settings]
        for run in runs:
            self._begin(run.id, partial(self._measure, run))
        return runs

    def resume(self, run_id: str) -> None:
        """Go on with a run that was stopped, or has failed; what it has measured is kept. Where another model would answer the
        rest, a run of its own begins anew instead. RagErrors."""
        run = self._kept.run(run_id)
        if run is None:
            return
        if self.has_another_model(run):
            self.start(run.set_id, [Setting(run.name, run.ask)], answering=True)
            if not run.done:
                self._kept.delete_run(run_id)
        elif self._kept.resume_run(run_id):
            self._begin(run_id, partial(self._measure, run))

    def has_another_model(self, run: EvalRun) -> bool:
        """Whether a run was answered by another model than would answer now, so that its figures would be of neither."""
        return run.answering and run.model != self._model()

    def _model(self) -> str:
        """ "" is the reader that quotes."""
        metadata = self._library.llm().metadata
        return "" if metadata.is_extractive else metadata.model_name

    def stop(self, run_id: str) -> None:
        """What is measured so far is kept."""
        self._kept.end_run(run_id, "stopped")

    @property
    def busy(self) -> bool:
        """Whether anything is being made or measured."""
        with self._lock:
            return bool(self._mine)

    def stop_all(self) -> None:
        with self._lock:
            mine = list(self._mine)
        for id_ in mine:
            self.stop_set(id_)
            self.stop(id_)

    def _begin(self, id_: str, work: Callable[[], None]) -> None:
        with self._lock:
            self._mine.add(id_)
            if len(self._mine) == 1:
                threading.Thread(target=self._keep_signed, name="sign-evaluations", daemon=True).start()
        threading.Thread(target=self._work, args=(id_, work), name=f"evaluate-{id_}", daemon=True).start()

    def _work(self, id_: str, work: Callable[[], None]) -> None:
        try:
            with self._room:
                work()
        except RagError as error:
            self._fail(id_, Problem.of(error))
        except Exception:  # nobody must be left waiting for a thread that has died; the log has the trace of our bug
            logger.exception("the evaluation %s failed", id_)
            self._fail(id_, Problem("This could not be finished.", "Try again. If it happens again, please report it."))
        finally:
            with self._lock:
                self._mine.discard(id_)

    def _fail(self, id_: str, problem: Problem) -> None:
        try:
            self._kept.end_set(id_, "failed", problem)
            self._kept.end_run(id_, "failed", problem)
        except RagError:
            logger.exception("the end of the evaluation %s could not be written; it will be read as stopped", id_)

    def _keep_signed(self) -> None:
        while True:
            time.sleep(SIGN_SECONDS)
            with self._lock:
                mine = list(self._mine)
                if not mine:
                    return
            try:
                self._kept.sign(mine)
            except RagError as error:
                logger.warning("evaluations could not be signed: %s", error)  # the next time

    def _make(self, made: QuestionSet) -> None:
        llm = self._library.llm()
        nodes = _passages(self._library, made.wanted * PASSES)
        wording = self._library.prompts.current().get(QUESTIONS.name, QUESTIONS)
        asked = asked_by_rule(nodes) if llm.metadata.is_extractive else asked_by_model(nodes, llm, wording)
        said: set[str] = set()
        for question in asked:
            if question.text.casefold() in said:
                continue
            said.add(question.text.casefold())
            if not self._kept.add_questions(made.id, [question]):
                return
            if len(said) == made.wanted:
                break
        if not said:
            raise InputError("No questions could be made from these documents.", hint="Upload questions of your own.")
        self._kept.end_set(made.id, "done")

    def _measure(self, run: EvalRun) -> None:
        if not self._kept.take_up(run.id):
            return
        failed = 0
        for question in self._kept.left(run.id):
            result = measure(self._library, question, run.ask, answering=run.answering)
            failed = failed + 1 if result.problem else 0
            if failed >= FAILURES and result.problem:
                self._kept.end_run(run.id, "failed", result.problem)
                return
            if not self._kept.add_result(run.id, result):
                return
        self._kept.end_run(run.id, "done")


@dataclass(frozen=True, slots=True)
class Given:
    """The passages that were found, best first, and the answer, "" where none was asked for. `seconds`: for both."""

    sources: list[Source]
    answer: str
    seconds: float
    outcome: Outcome = "answer"


def given(library: Library, question: str, ask: Ask, *, answering: bool) -> Given:
    """What the library finds, and with `answering` says, as `ask` says, outside any conversation. RagErrors."""
    asked = replace(ask, question=question, chat_mode=None)
    began, answer = time.perf_counter(), ""
    outcome: Outcome = "answer"
    if answering and ask.response_mode != "no_text":
        stream = library.answer(asked)
        answer, sources, outcome = "".join(stream), build_sources(stream.source_nodes), stream.outcome
    else:
        sources = build_sources(library.passages(asked))
    return Given(sources, answer, time.perf_counter() - began, outcome)


def measure(library: Library, question: Question, ask: Ask, *, answering: bool) -> Result:
    """Find, and with `answering` also answer and have the answer judged, as `ask` says. A failure is the result's `problem`."""
    began = time.perf_counter()
    try:
        got = given(library, question.text, ask, answering=answering)
        found = found_for(library, question, got.sources)
        scores, right = finding_scores(question, found)
        reasons: dict[str, str] = {}
        if got.answer:
            judged, reasons = _judged(library, replace(ask, question=question.text), got.answer, got.sources)
            recall = answer_recall(question.answers, got.answer)
            scores |= judged if recall is None else {**judged, "recall": recall}
            if library.llm(extractive=ask.extractive).metadata.is_extractive:  # a model does not tell
                scores["answered"] = float(got.outcome == "answer")
    except RagError as error:
        return Result(question, {}, time.perf_counter() - began, problem=Problem.of(error))
    marked = tuple(replace(one, right=fits) for one, fits in zip(found, right, strict=True))
    return Result(question, scores, got.seconds, marked, got.answer, reasons)


def found_for(library: Library, question: Question, sources: Sequence[Source]) -> list[Found]:
    """Passages as they are scored; with all their pages where the question wants pages."""
    paged = any(one.pages for one in question.wanted)
    return [_found(library, source, paged=paged) for source in sources]


def _judged(library: Library, asked: Ask, answer: str, sources: Sequence[Source]) -> tuple[dict[str, float], dict[str, str]]:
    """Scores and reasons; a verdict that could not be understood gives a reason alone."""
    llm, wording = library.llm(extractive=asked.extractive), library.prompts.current()
    contexts = [source.text for source in sources]
    results = {
        "faithfulness": FaithfulnessEvaluator(llm, wording.get(FAITHFULNESS.name)).evaluate(None, answer, contexts),
        "relevancy": RelevancyEvaluator(llm, wording.get(RELEVANCY.name)).evaluate(asked.question, answer, contexts),
    }
    scores = {name: result.score for name, result in results.items() if result.score is not None}
    return scores, {name: result.feedback or "" for name, result in results.items()}


def _found(library: Library, source: Source, *, paged: bool) -> Found:
    pages = _pages(library.store.document(source.file_id), source) if paged else ()
    shown = source.page_label
    return Found(
        source.file_name,
        source.start,
        source.end,
        source.text[:TEXT_CHARS],
        pages or ((shown,) if shown else ()),
        source.score,
    )


def _pages(document: Document, source: Source) -> tuple[str, ...]:
    return tuple(page.label for page in document.pages if page.start < source.end and source.start < page.end)


def _passages(library: Library, number: int) -> Iterator[TextNode]:
    """Passages long enough to ask something of: of each document in turn, at random places that are the same every time."""
    chance = random.Random(0)
    queues = [library.store.passage_ids(document.id_) for document in library.store.documents()]
    for ids in queues:
        chance.shuffle(ids)
    given = 0
    while any(queues) and given < number:
        turn = [ids.pop() for ids in queues if ids]
        for node in library.store.nodes(turn):
            if len(node.text) >= LEAST_CHARS:
                given += 1
                yield node
