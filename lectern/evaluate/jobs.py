"""Writes question sets from a library's documents, and measures settings with them, in threads of this
process.

Each result is stored at once, so a reload or a closed tab loses nothing, and work can be resumed after the
server was killed.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lectern.ask.answer_parts import find_parts
from lectern.ask.suggested_questions import clear_questions, text_of_passages
from lectern.db.evaluation_scores import Result, RetrievedPassage, answer_recall, retrieval_scores
from lectern.db.evaluations import EvalRun, QuestionSet, Setting
from lectern.library import Library
from lectern.schema import AnswerPart, Ask, Source, build_sources
from ragcore.errors import InputError, Problem, RagError
from ragcore.evaluation.judges import FaithfulnessEvaluator, RelevancyEvaluator
from ragcore.evaluation.question_generation import generate_questions, source_of
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.extractive.answerer import as_llm
from ragcore.extractive.question_generation import prose_sentences
from ragcore.extractive.quoter import Quoter
from ragcore.llms.base import LLM
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import FAITHFULNESS, QUESTIONS, RELEVANCY
from ragcore.schema import Outcome, TextNode
from ragcore.text.quote_places import place_of
from ragcore.vector_stores.base import Store

logger = logging.getLogger(__name__)

SIGN_SECONDS = 3.0  # between two signatures, which show that this process still works on an evaluation
MAX_FAILURES = 3  # A run ends after so many questions in a row that could not be measured.
TEXT_CHARS = 700  # A stored result has so much of the text of each passage.
MIN_CHARS = 120  # A shorter passage is not used for a question.
PASSAGES_PER_QUESTION = 4  # More passages than questions, because not every passage yields a question.
PASSAGES_WITHOUT_MODEL = (
    40  # read at most, per question: each takes milliseconds, and few have a clear sentence
)


class EvaluationJobs:
    """The evaluations of this process, one after another, so that their durations can be compared."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._evaluations = library.evaluations
        self._one_at_a_time = threading.Semaphore(1)
        self._lock = threading.Lock()
        self._unfinished: set[str] = set()  # ids of question sets and of runs, in work or waiting

    def make_set(self, name: str, number: int) -> QuestionSet:
        """Start a set of `number` questions about the documents, by the language model if there is one.
        InputError."""
        if not len(self._library.store):
            raise InputError("There are no documents to make questions from.", hint="Add a document first.")
        question_set = self._evaluations.begin_set(name, "documents", number)
        self._begin(question_set.id, partial(self._write_questions, question_set))
        return question_set

    def stop_set(self, set_id: str) -> None:
        """Stop writing questions. The questions so far stay."""
        self._evaluations.end_set(set_id, "stopped")

    def start(self, set_id: str, settings: Sequence[Setting], *, answering: bool) -> list[EvalRun]:
        """Start to measure the settings in order. InputError for a set without questions."""
        model = self._model()
        runs = [
            self._evaluations.begin_run(set_id, setting, answering=answering, model=model)
            for setting in settings
        ]
        for run in runs:
            self._begin(run.id, partial(self._measure, run))
        return runs

    def resume(self, run_id: str) -> None:
        """Resume a run that was stopped or has failed; its results stay. If another model would answer now,
        start a new run instead. RagErrors."""
        run = self._evaluations.run(run_id)
        if run is None:
            return
        if self.has_another_model(run):
            self.start(run.set_id, [Setting(run.name, run.ask)], answering=True)
            if not run.done:
                self._evaluations.delete_run(run_id)
        elif self._evaluations.resume_run(run_id):
            self._begin(run_id, partial(self._measure, run))

    def has_another_model(self, run: EvalRun) -> bool:
        """Whether another model than that of the run would answer now. The figures of two models must not be
        mixed."""
        return run.answering and run.model != self._model()

    def _model(self) -> str:
        """The name of the language model; "" without one."""
        writer = self._library.writer()
        return "" if isinstance(writer, Quoter) else writer.metadata.model_name

    def stop(self, run_id: str) -> None:
        """Stop a run. Its results stay."""
        self._evaluations.end_run(run_id, "stopped")

    @property
    def busy(self) -> bool:
        """Whether an evaluation is in work, or waits for another one."""
        with self._lock:
            return bool(self._unfinished)

    def stop_all(self) -> None:
        with self._lock:
            ids = list(self._unfinished)
        for id_ in ids:
            self.stop_set(id_)  # changes nothing if this is the id of a run
            self.stop(id_)

    def _begin(self, id_: str, work: Callable[[], None]) -> None:
        with self._lock:
            self._unfinished.add(id_)
            if len(self._unfinished) == 1:
                threading.Thread(
                    target=self._sign_until_finished, name="sign-evaluations", daemon=True
                ).start()
        threading.Thread(
            target=self._run_in_thread, args=(id_, work), name=f"evaluate-{id_}", daemon=True
        ).start()

    def _run_in_thread(self, id_: str, work: Callable[[], None]) -> None:
        try:
            with self._one_at_a_time:
                work()
        except RagError as error:
            self._fail(id_, Problem.of(error))
        except Exception:  # a bug must end the evaluation, or the screen waits forever
            logger.exception("the evaluation %s failed", id_)
            problem = Problem(
                "This could not be finished.", "Try again. If it happens again, please report it."
            )
            self._fail(id_, self._library.integrity.explain(problem))
        finally:
            with self._lock:
                self._unfinished.discard(id_)

    def _fail(self, id_: str, problem: Problem) -> None:
        try:
            self._evaluations.end_set(id_, "failed", problem)
            self._evaluations.end_run(id_, "failed", problem)
        except RagError:
            logger.exception(
                "the end of the evaluation %s could not be written; it will be read as stopped", id_
            )

    def _sign_until_finished(self) -> None:
        while True:
            time.sleep(SIGN_SECONDS)
            with self._lock:
                ids = list(self._unfinished)
                if not ids:
                    return
            try:
                self._evaluations.sign(ids)
            except RagError as error:  # the next signature may succeed
                logger.warning("evaluations could not be signed: %s", error)

    def _write_questions(self, question_set: QuestionSet) -> None:
        writer = self._library.writer()
        per_question = PASSAGES_WITHOUT_MODEL if isinstance(writer, Quoter) else PASSAGES_PER_QUESTION
        nodes = _sample_passages(self._library, question_set.target_size * per_question)
        wording = self._library.prompts.current().get(QUESTIONS.name, QUESTIONS)
        questions = (
            _questions_by_rule(self._library, nodes)
            if isinstance(writer, Quoter)
            else _questions_by_model(self._library, nodes, writer, wording)
        )
        texts: set[str] = set()
        for question in questions:
            if question.text.casefold() in texts:
                continue
            texts.add(question.text.casefold())
            if not self._evaluations.add_questions(question_set.id, [question]):
                return
            if len(texts) == question_set.target_size:
                break
        if not texts:
            raise InputError(
                "No questions could be made from these documents.", hint="Upload questions of your own."
            )
        self._evaluations.end_set(question_set.id, "done")

    def _measure(self, run: EvalRun) -> None:
        if not self._evaluations.claim_run(run.id):
            return
        failures = 0  # in a row
        for question in self._evaluations.unmeasured(run.id):
            result = measure(self._library, question, run.ask, answering=run.answering)
            failures = failures + 1 if result.problem else 0
            if failures >= MAX_FAILURES and result.problem:
                self._evaluations.end_run(run.id, "failed", result.problem)
                return
            if not self._evaluations.add_result(run.id, result):
                return
        self._evaluations.end_run(run.id, "done")


@dataclass(frozen=True, slots=True)
class Trial:
    """The passages, best first, and the answer, "" without one. Both together took `seconds`."""

    sources: list[Source]
    answer: str
    seconds: float
    outcome: Outcome = "answer"
    parts: tuple[AnswerPart, ...] = ()


def try_question(library: Library, question: str, ask: Ask, *, answering: bool) -> Trial:
    """Retrieve passages with the settings of `ask`, outside any conversation; `answering`: also answer.
    RagErrors."""
    ask = replace(ask, question=question, chat_mode=None)
    began, answer = time.perf_counter(), ""
    outcome: Outcome = "answer"
    parts: tuple[AnswerPart, ...] = ()
    if answering and ask.writes:
        stream = library.answer(ask)
        answer, sources, outcome = "".join(stream), build_sources(stream.source_nodes), stream.outcome
        parts = find_parts(stream.trace, answer)
    else:
        sources = build_sources(library.passages(ask))
    return Trial(sources, answer, time.perf_counter() - began, outcome, parts)


def measure(library: Library, question: Question, ask: Ask, *, answering: bool) -> Result:
    """Score the result of `try_question`, and let the model judge its answer. An error becomes the
    `problem`."""
    began = time.perf_counter()
    try:
        trial = try_question(library, question.text, ask, answering=answering)
        passages = retrieved_passages(library, question, trial.sources)
        scores, are_right = retrieval_scores(question, passages)
        reasons: dict[str, str] = {}
        if trial.answer:
            verdicts, reasons = _judge(
                library, replace(ask, question=question.text), trial.answer, trial.sources
            )
            recall = answer_recall(question.answers, trial.answer)
            scores |= verdicts if recall is None else {**verdicts, "recall": recall}
            # other models record no outcome
            if isinstance(library.writer(extractive=ask.extractive), Quoter):
                scores["answered"] = float(trial.outcome == "answer")
    except RagError as error:
        return Result(question, {}, time.perf_counter() - began, problem=Problem.of(error))
    passages = [
        replace(passage, right=is_right) for passage, is_right in zip(passages, are_right, strict=True)
    ]
    return Result(
        question, scores, trial.seconds, tuple(passages), trial.answer, reasons, None, trial.outcome,
        trial.parts,
    )  # fmt: skip


def retrieved_passages(
    library: Library, question: Question, sources: Sequence[Source]
) -> list[RetrievedPassage]:
    """The passages to score, with all their pages if the question expects pages, else the first."""
    with_pages = any(source.pages for source in question.expected)
    passages = []
    for source in sources:
        labels = page_labels(library.store, source.file_id, source.start, source.end) if with_pages else ()
        if not labels and source.page_label:
            labels = (source.page_label,)
        text = source.text[:TEXT_CHARS]
        passages.append(
            RetrievedPassage(source.file_name, source.start, source.end, text, labels, source.score)
        )
    return passages


def page_labels(store: Store, document_id: str, start: int, end: int) -> tuple[str, ...]:
    """The labels of the pages that these characters of a document are on."""
    pages = store.document(document_id).pages
    return tuple(page.label for page in pages if page.start < end and start < page.end)


def expected_source(store: Store, node: TextNode, sentence: str = "") -> ExpectedSource:
    """The passage, with the page of this sentence of it; without a sentence, with all its pages."""
    start = node.start_char_idx or 0
    first, last = place_of(sentence, node.text) or (0, len(node.text))
    labels = page_labels(store, str(node.ref_doc_id), start + first, start + last)
    return replace(source_of(node), pages=labels)


def _judge(
    library: Library, ask: Ask, answer: str, sources: Sequence[Source]
) -> tuple[dict[str, float], dict[str, str]]:
    """The scores and the reasons of each judge, by metric. A reply that cannot be parsed has only a
    reason."""
    llm, wording = as_llm(library.writer(extractive=ask.extractive)), library.prompts.current()
    contexts = [source.text for source in sources]
    results = {
        "faithfulness": FaithfulnessEvaluator(llm, wording.get(FAITHFULNESS.name)).evaluate(
            None, answer, contexts
        ),
        "relevancy": RelevancyEvaluator(llm, wording.get(RELEVANCY.name)).evaluate(
            ask.question, answer, contexts
        ),
    }
    scores = {name: result.score for name, result in results.items() if result.score is not None}
    return scores, {name: result.feedback or "" for name, result in results.items()}


def _questions_by_model(
    library: Library, nodes: Iterable[TextNode], llm: LLM, wording: Prompt
) -> Iterator[Question]:
    """The model's questions about passages with a sentence of prose, as menus and tables give no sensible
    ones."""
    for node in nodes:
        if any(prose_sentences(node.text)):
            expected = (expected_source(library.store, node),)
            for question in generate_questions([node], llm, wording):
                yield replace(question, expected=expected)


def _questions_by_rule(library: Library, nodes: Iterable[TextNode]) -> Iterator[Question]:
    """The questions that sentences answer: first one per passage, then the others."""
    texts, others = dict[str, str](), list[Question]()
    for node in nodes:
        document = str(node.ref_doc_id)
        if document not in texts:
            texts[document] = text_of_passages(library.store, document)
        found = [
            Question(answered.text, expected=(expected_source(library.store, node, answered.sentence),))
            for answered in clear_questions(node.text, texts[document])
        ]
        yield from found[:1]
        others += found[1:]
    yield from others


def _sample_passages(library: Library, number: int) -> Iterator[TextNode]:
    """Passages long enough for a question: from each document in turn, at random places, but the same in
    every call."""
    generator = random.Random(0)
    ids_by_document = [library.store.passage_ids(document.id_) for document in library.store.documents()]
    for ids in ids_by_document:
        generator.shuffle(ids)
    count = 0
    while any(ids_by_document) and count < number:
        one_of_each = [ids.pop() for ids in ids_by_document if ids]
        for node in library.store.nodes(one_of_each):
            if len(node.text) >= MIN_CHARS:
                count += 1
                yield node
