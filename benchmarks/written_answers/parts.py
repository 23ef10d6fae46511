"""The parts of the benchmark. Each asks its questions, without those that have a row already."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.datasets.data_set import DataSet, Trial
from benchmarks.written_answers import tasks
from benchmarks.written_answers.answers import Answers, Asker, Questions, Row, language_model, library_of
from benchmarks.written_answers.figures import REFINING
from benchmarks.written_answers.model_server import ModelServer
from benchmarks.written_answers.peer import PeerProcess
from benchmarks.written_answers.questions import (
    TestQuestion,
    documents_of,
    draw_questions,
    household,
    household_documents,
)
from ragcore.embeddings.huggingface import HuggingFaceEmbedding

FULL = {
    "squad2": (40, 100),  # questions with an answer, and without
    "clapnq": (40, 60),
    "household": (34,),
    "modes": (10,),
    "tools": (10,),
    "select": (10,),
    "latency": (5,),
}
QUICK = {
    "squad2": (10, 10),
    "clapnq": (10, 10),
    "household": (8,),
    "modes": (2,),
    "tools": (4,),
    "select": (4,),
    "latency": (3,),
}
FOLDERS = {"squad2": "squad2_500", "clapnq": "clapnq_dev", "modes": "squad2_500", "latency": "squad2_500"}


@dataclass(frozen=True)
class Session:
    """A running server, and the `options` of the command line."""

    server: ModelServer
    options: Namespace
    deadline: float
    peer: PeerProcess | None

    def counts(self, part: str) -> list[int]:
        counts = (QUICK if self.options.quick else FULL)[part]
        return [count if self.options.count is None else min(count, self.options.count) for count in counts]

    def questions(self, part: str, answerable: int, unanswerable: int = 0) -> list[TestQuestion]:
        return draw_questions(self.options.data / FOLDERS[part], self.options.half, answerable, unanswerable)

    def documents(self, part: str) -> DataSet:
        return (
            household_documents(self.options.data)
            if part == "household"
            else documents_of(self.options.data / FOLDERS[part])
        )

    def fill(self, part: str, questions: Questions) -> list[Row]:
        return Answers(self.options.answers, part, self.server.model, self.deadline).fill(questions)


def data_set(session: Session, part: str) -> None:
    """Questions with and without an answer, each with the model's verdict on that."""
    with library_of(session.documents(part), session.server) as library:
        asker = Asker(library, session.server, session.options.passages)

        def ask(one: TestQuestion) -> Row:
            gold = {
                "gold": list(one.gold),
                "gold_documents": list(one.documents),
                "development": one.development,
            }
            return {"part": part, "id": one.id, **gold, **asker.ask(one.question, verdict=True)}

        drawn_questions = session.questions(part, *session.counts(part))
        rows = session.fill(part, [(each.id, partial(ask, each)) for each in drawn_questions])
    ask_peer(session, part, rows)


def home(session: Session, part: str) -> None:
    """What people ask about their own papers, with the default number of passages."""
    with library_of(session.documents(part), session.server) as library:
        asker = Asker(library, session.server, None)
        (count,) = session.counts(part)
        trials = household(session.options.data, count)
        questions: Questions = [
            (f"household {each.question.id}", partial(_at_home, asker, each)) for each in trials
        ]
        rows = session.fill(part, questions)
    ask_peer(session, part, [row for row in rows if not row["before"]])


def _at_home(asker: Asker, trial: Trial) -> Row:
    must = trial.must if trial.answerable else None
    return {
        "gold": [],
        "must": must,
        "before": trial.previous,
        **asker.ask(trial.question.text, before=trial.previous),
    }


def modes(session: Session, part: str) -> None:
    """The modes of several calls compared with compact, for questions with an answer, with the full number of
    passages."""
    with library_of(session.documents(part), session.server) as library:
        asker = Asker(library, session.server, session.options.passages)

        def ask(question: TestQuestion, mode: str) -> Row:
            facts = {"mode": mode, "gold": list(question.gold), "development": question.development}
            return {**facts, **asker.ask(question.question, mode=mode, weaker=True)}

        questions: Questions = [
            (f"{mode} {each.id}", partial(ask, each, mode))
            for each in session.questions(part, *session.counts(part))
            for mode in ("compact", *REFINING)
        ]
        rows = session.fill(part, questions)
    ask_peer(session, part, rows)


def agents(session: Session, part: str) -> None:
    llm, tools = language_model(session.server, calls_functions=True), tasks.Tools(HuggingFaceEmbedding())
    questions: Questions = [
        (f"{agent} {number}", partial(tasks.work_on, task, agent, llm, tools))
        for number, task in enumerate(tasks.TASKS[: session.counts(part)[0]])
        for agent in ("function calling", "ReAct")
    ]
    session.fill(part, questions)


def choices(session: Session, part: str) -> None:
    llm = language_model(session.server)
    pairs = list(enumerate(tasks.SELECTIONS[: session.counts(part)[0]]))
    ours = {"selection": tasks.select, "sub-questions": tasks.divide}
    session.fill(
        part,
        [
            (f"{kind} {number}", partial(ask, *each, llm))
            for number, each in pairs
            for kind, ask in ours.items()
        ],
    )
    if (peer := session.peer) is None:
        return

    def theirs(kind: str, question: str, gold: Sequence[str]) -> Row:
        request, began = "select" if kind == "selection" else "divide", time.perf_counter()
        outcome = peer.ask(do=request, question=question, choices=tasks.ABOUT)
        facts = {"kind": kind, "question": question, "gold": gold, "chosen": []}
        return {**facts, **outcome, "seconds": time.perf_counter() - began}

    session.fill(
        f"{part}-peer",
        [(f"{kind} {number}", partial(theirs, kind, *each)) for number, each in pairs for kind in ours],
    )


def latency(session: Session, part: str) -> None:
    """One question after the other, with nothing in parallel, after everything is loaded."""
    with library_of(session.documents(part), session.server) as library:
        asker = Asker(library, session.server, None)
        drawn_questions = session.questions(part, *session.counts(part))
        library.passages(asker.default_ask("Which model is loaded by this question?"))
        session.fill(
            part, [(each.id, partial(asker.measure_latency, each.question)) for each in drawn_questions]
        )


def ask_peer(session: Session, part: str, rows: Sequence[Row]) -> None:
    """The same questions, with the passages that ours were answered from."""
    if (peer := session.peer) is None:
        return

    def ask(row: Row) -> Row:
        passages, began = [each["text"] for each in row["passages"]], time.perf_counter()
        outcome = peer.ask(
            do="answer", question=row["question"], passages=passages, mode=row.get("mode", "compact")
        )
        same = {name: row[name] for name in SAME if name in row}
        facts: dict[str, Any] = {
            "answer": "",
            "instructions": [],
            "state": "failed" if "problem" in outcome else "done",
        }
        return {**same, **facts, **outcome, "seconds": time.perf_counter() - began}

    session.fill(f"{part}-peer", [(row["key"], partial(ask, row)) for row in rows])


SAME = ("question", "passages", "gold", "must", "mode", "development")
PARTS: dict[str, Callable[[Session, str], None]] = {
    "squad2": data_set,
    "clapnq": data_set,
    "household": home,
    "modes": modes,
    "tools": agents,
    "select": choices,
    "latency": latency,
}
