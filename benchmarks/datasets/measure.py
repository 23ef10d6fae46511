"""Measures a data set with one setting: for each question the scores that apply to it.

Retrieval with graded documents: nDCG@10, recall@10 and hit@1 of the documents of the first RANKED passages,
each document at its first passage. Retrieval with expected pages or parts of texts: among the first FIRST_K
passages. A conversation is searched for three times: with its last message, with the application's standalone
question, and with that of a person.

Answers without a language model: whether the reader's best sentence has a right answer, and its best three;
the share of the answer's tokens in those three, and in the answer; whether it is refused; and whether each
sentence of it is in the passage that it cites. For conversations with must-words see `outcomes`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.datasets.data_set import DataSet, Trial
from benchmarks.datasets.graded_ranking import ndcg_at, recall_at
from benchmarks.datasets.index import OpenedIndex
from benchmarks.datasets.outcomes import outcome_scores, reply_to
from benchmarks.datasets.settings import TrialSetting
from benchmarks.datasets.token_overlap import Stretch, measure_overlap, token_recall
from lectern.db.evaluation_scores import retrieval_scores
from lectern.evaluate.jobs import measure, retrieved_passages, try_question
from lectern.schema import Ask, Source
from ragcore.errors import InputError
from ragcore.evaluation.answer_match import contains_answer, plain
from ragcore.evaluation.significance import RESAMPLES, Mean, mean
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.citations import CITATION
from ragcore.text.quotable_sentences import quotes_in

RANKED = 30  # passages that are retrieved, to have AT documents
AT = 10
FIRST_K = 5  # one of them must be the right one
BEST_SENTENCES = 3  # sentences
CONDENSED_CHAT = "condense_plus_context"  # the default of the application

LAST_MESSAGE, OURS, REWRITTEN = "ndcg@10 last message", f"ndcg@{AT}", "ndcg@10 rewritten"
RECOVERED = "recovered"  # of the way from the last message to the rewritten one

_MARKS = re.compile(rf"\s*{CITATION.pattern}")
_HEADING = re.compile(r"^\*\*.+\*\*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a question. `seconds`: to retrieve and answer, without `embedding`, the seconds to embed
    the question. `cpu_seconds`: processor time for the same, independent of other programs; None if judging
    is included.

    `passages`: their documents and positions; `searched`: the search text for the last message of a
    conversation.
    """

    trial: Trial
    scores: dict[str, float]
    seconds: float
    embedding: float
    cpu_seconds: float | None
    passages: tuple[str, ...] = ()
    answer: str = ""
    searched: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """All questions of a data set with one setting."""

    data_set: DataSet
    setting: TrialSetting
    results: tuple[TrialResult, ...]
    documents: int
    passages: int
    indexing: float  # seconds
    means: dict[str, Mean] = field(default_factory=dict)

    def scores(self, metric: str) -> dict[str, float]:
        """By the id of the question; of those that have it."""
        return {one.trial.question.id: one.scores[metric] for one in self.results if metric in one.scores}


def measure_data_set(
    data_set: DataSet,
    setting: TrialSetting,
    opened: OpenedIndex,
    *,
    answering: bool,
    tell: Callable[[int], None],
) -> Measurement:
    """Ask every question. `answering`: also answer those that a right answer, or none, is known of.
    RagErrors."""
    if data_set.conversations and not answering:
        raise InputError(f"{data_set.name} has no graded documents to find.", hint="Leave out: --finding")
    results = []
    for number, trial in enumerate(data_set.trials, 1):
        if data_set.conversations:
            results.append(_measure_conversation(opened, trial, setting.ask))
        elif data_set.own:
            results.append(_measure_own_question(opened, trial, setting.ask, answering))
        else:
            results.append(_measure_trial(opened, trial, setting.ask, answering))
        tell(number)
    documents = len(data_set.texts) or len(data_set.files)
    measurement = Measurement(
        data_set, setting, tuple(results), documents, len(opened.library.store), opened.seconds
    )
    return replace(measurement, means=_means(measurement))


def _means(measurement: Measurement) -> dict[str, Mean]:
    """In the order in which the scores come."""
    names = list(dict.fromkeys(name for one in measurement.results for name in one.scores))
    figures = {name: mean(list(measurement.scores(name).values())) for name in names}
    means = {name: figure for name, figure in figures.items() if figure is not None}
    if LAST_MESSAGE in means:
        share = share_recovered(
            *(list(measurement.scores(name).values()) for name in (LAST_MESSAGE, OURS, REWRITTEN))
        )
        if share is not None:
            means[RECOVERED] = share
    return means


def _measure_own_question(opened: OpenedIndex, trial: Trial, ask: Ask, answering: bool) -> TrialResult:
    """As the Evaluate screen does it."""
    opened.embedder.begin()
    result = measure(opened.library, trial.question, ask, answering=answering)
    embedding = opened.embedder.seconds
    passages = tuple(f"{one.document} {one.start}-{one.end}" for one in result.passages)
    return TrialResult(
        trial, dict(result.scores), result.seconds - embedding, embedding, None, passages, result.answer
    )


def _measure_conversation(opened: OpenedIndex, trial: Trial, ask: Ask) -> TrialResult:
    """As the Chat screen does it, after the questions that come before it."""
    history: list[ChatMessage] = []
    for question in trial.previous:
        reply = reply_to(opened, replace(ask, question=question, chat_mode=CONDENSED_CHAT), history)
        history += [ChatMessage(MessageRole.USER, question), ChatMessage(MessageRole.ASSISTANT, reply.text)]
    opened.embedder.begin()
    began, cpu = time.perf_counter(), time.process_time()
    reply = reply_to(opened, replace(ask, question=trial.question.text, chat_mode=CONDENSED_CHAT), history)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    embedding = opened.embedder.seconds
    return TrialResult(
        trial, outcome_scores(trial, reply), seconds - embedding, embedding,
        cpu_seconds - opened.embedder.cpu_seconds, reply.passages, reply.text,
    )  # fmt: skip


def _measure_trial(opened: OpenedIndex, trial: Trial, ask: Ask, answering: bool) -> TrialResult:
    answering = answering and trial.answerable is not None
    library, question = opened.library, trial.question
    opened.embedder.begin()
    opened.quoter.last = None
    # If neither answers nor positions need the passages, one search retrieves as many as the ranking of
    # documents needs.
    wide = replace(ask, top_k=max(RANKED, ask.top_k), retrieval=replace(ask.retrieval, weaker=True))
    ranking = bool(trial.grades) and not answering and not question.expected
    began = time.process_time()
    got = try_question(library, question.text, wide if ranking else ask, answering=answering)
    cpu_seconds = time.process_time() - began - opened.embedder.cpu_seconds
    embedding = opened.embedder.seconds
    scores: dict[str, float] = {}
    searched = ""
    if trial.previous or trial.rewritten:
        ranked, searched = _in_conversation(opened, trial, wide)
        scores |= {
            LAST_MESSAGE: _ndcg(
                trial, _documents(opened, question.text, wide, got.sources if ranking else ())
            ),
            OURS: _ndcg(trial, ranked),
            REWRITTEN: _ndcg(trial, _documents(opened, trial.rewritten, wide)),
        }
    elif trial.grades:
        ranked = _documents(opened, question.text, wide, got.sources if ranking else ())
        scores |= {
            f"ndcg@{AT}": _ndcg(trial, ranked),
            f"recall@{AT}": recall_at(AT, trial.grades, ranked),
            "hit@1": float(trial.grades.get(ranked[0], 0) > 0) if ranked else 0.0,
        }
    scores |= _place_scores(opened, trial, got.sources[:FIRST_K])
    if answering:
        scores |= _answer_scores(opened, trial, got.answer, got.sources)
    passages = tuple(f"{source.file_id} {source.start}-{source.end}" for source in got.sources)
    return TrialResult(
        trial, scores, got.seconds - embedding, embedding, cpu_seconds, passages, got.answer, searched
    )


def _ndcg(trial: Trial, ranked: Sequence[str]) -> float:
    return ndcg_at(AT, trial.grades, ranked)


def _documents(opened: OpenedIndex, question: str, wide: Ask, passages: Sequence[Source] = ()) -> list[str]:
    """Ids of documents, each at its first passage. `passages`: if they are known."""
    sources = passages or try_question(opened.library, question, wide, answering=False).sources
    return list(dict.fromkeys(source.file_id for source in sources))


def _in_conversation(opened: OpenedIndex, trial: Trial, wide: Ask) -> tuple[list[str], str]:
    """The documents for the last message, and what was looked up."""
    talk = [ChatMessage(MessageRole.USER, message) for message in trial.previous]
    ask = replace(wide, question=trial.question.text, chat_mode=CONDENSED_CHAT)
    stream = opened.library.answer(ask, talk)
    stream.close()  # the passages are known, and the answer is not needed
    condensed = stream.trace.spans("condense") if stream.trace is not None else []
    searched = str(condensed[0].facts.get("question", "")) if condensed else trial.question.text
    return list(dict.fromkeys(str(hit.node.ref_doc_id) for hit in stream.source_nodes)), searched


def _place_scores(opened: OpenedIndex, trial: Trial, sources: Sequence[Source]) -> dict[str, float]:
    expected = trial.question.expected
    if not expected:
        return {}
    if expected[0].start is None:
        scores, _ = retrieval_scores(
            trial.question, retrieved_passages(opened.library, trial.question, sources)
        )
        return {f"page@{FIRST_K}": scores["hit_rate"]}
    places = [Stretch(one.document, one.start or 0, one.end or 0) for one in expected]
    share = measure_overlap(places, [Stretch(source.file_id, source.start, source.end) for source in sources])
    return {
        f"token recall@{FIRST_K}": share.recall,
        f"token precision@{FIRST_K}": share.precision,
        f"IoU@{FIRST_K}": share.iou,
    }


def _answer_scores(
    opened: OpenedIndex, trial: Trial, answer: str, sources: Sequence[Source]
) -> dict[str, float]:
    refused = is_refusal(answer)
    quoted = {} if refused else {"cited passage says it": _share_cited_correctly(answer, sources)}
    if not trial.answerable:
        return {"refused, unanswerable": float(refused), **quoted}
    answers = trial.question.answers
    best = _likeliest(opened)
    first = " ".join(best[:BEST_SENTENCES])
    plain_text = "" if refused else _MARKS.sub("", answer)
    return {
        "best sentence": float(bool(best) and contains_answer(best[0], answers)),
        f"best {BEST_SENTENCES}": float(contains_answer(first, answers)),
        f"tokens in best {BEST_SENTENCES}": token_recall(first, answers),
        "answer": float(contains_answer(plain_text, answers)),
        "tokens in answer": token_recall(plain_text, answers),
        "refused, answerable": float(refused),
        **quoted,
    }


def _likeliest(opened: OpenedIndex) -> list[str]:
    """The sentences that the last answer was chosen from, refused or not."""
    if opened.quoter.last is None:
        return []
    question, passages = opened.quoter.last
    return [quote.text for quote in opened.quoter.quote(question, passages).best_first]


def _share_cited_correctly(answer: str, sources: Sequence[Source]) -> float:
    """The share of the sentences that are word for word in a passage that they cite. A sentence without a
    citation has the next one after it. The headings of a summary are not sentences."""
    quotes = quotes_in(_HEADING.sub("", answer), number=None)
    if not quotes:
        return 0.0
    texts = {source.number: plain(source.text) for source in sources}
    right = 0
    marks: tuple[int, ...] = ()
    for quote in reversed(quotes):
        marks = quote.marks or marks
        right += any(plain(quote.text) in texts.get(mark, "") for mark in marks)
    return right / len(quotes)


def share_recovered(low: Sequence[float], between: Sequence[float], high: Sequence[float]) -> Mean | None:
    """Where the mean of `between` is, from the mean of `low` (0) to that of `high` (1). Scores of the same
    questions in the same order. None without scores, or if the two means are equal."""
    rows = np.asarray([low, between, high])  # (3, n)
    if not rows.size or abs(rows[2].mean() - rows[0].mean()) < 1e-9:
        return None
    random = np.random.default_rng(0)
    # (3, RESAMPLES)
    drawn = rows[:, random.integers(rows.shape[1], size=(RESAMPLES, rows.shape[1]))].mean(axis=2)
    way = drawn[2] - drawn[0]
    shares = (drawn[1] - drawn[0])[np.abs(way) > 1e-9] / way[np.abs(way) > 1e-9]
    lowest, highest = np.quantile(shares, (0.025, 0.975))
    value = (rows[1].mean() - rows[0].mean()) / (rows[2].mean() - rows[0].mean())
    return Mean(float(value), float(lowest), float(highest), rows.shape[1])
