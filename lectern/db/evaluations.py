"""Question sets, named settings and measurements, kept in the library's database.

What is being made or measured is signed every few seconds; what nobody has signed for a while was stopped, and can go on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lectern.db.evaluation_scores import Found, Result
from lectern.schema import Ask
from ragcore.errors import InputError, Problem
from ragcore.evaluation.question_sets import Question, Wanted
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

SILENT_SECONDS = 15.0
NAME_CHARS = 80

State = Literal["queued", "running", "done", "stopped", "failed"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS question_sets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,            -- documents, upload
    created REAL NOT NULL,           -- seconds since the epoch
    state TEXT NOT NULL,             -- of making it: running, done, stopped, failed
    wanted INTEGER NOT NULL,         -- questions
    signed REAL NOT NULL,
    problem TEXT                     -- JSON of a Problem
);
CREATE TABLE IF NOT EXISTS set_questions (
    id TEXT PRIMARY KEY,
    set_id TEXT NOT NULL REFERENCES question_sets (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    body TEXT NOT NULL               -- JSON of a Question
);
CREATE INDEX IF NOT EXISTS set_questions_by_set ON set_questions (set_id, place);
CREATE TABLE IF NOT EXISTS eval_settings (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    ask TEXT NOT NULL                -- JSON of an Ask without a question
);
CREATE TABLE IF NOT EXISTS eval_runs (
    id TEXT PRIMARY KEY,
    set_id TEXT NOT NULL REFERENCES question_sets (id) ON DELETE CASCADE,
    name TEXT NOT NULL,              -- of the setting
    ask TEXT NOT NULL,               -- JSON of an Ask without a question
    answering INTEGER NOT NULL,      -- 1: questions are answered, and the answers judged
    model TEXT NOT NULL,             -- that answers and judges; "" is the reader that quotes
    created REAL NOT NULL,
    state TEXT NOT NULL,
    signed REAL NOT NULL,
    problem TEXT
);
CREATE TABLE IF NOT EXISTS eval_results (
    run_id TEXT NOT NULL REFERENCES eval_runs (id) ON DELETE CASCADE,
    question_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    question TEXT NOT NULL,          -- as it was asked
    scores TEXT NOT NULL,            -- JSON: metric -> 0 to 1
    seconds REAL NOT NULL,
    detail TEXT NOT NULL,            -- JSON: question, found, answer, reasons, problem
    PRIMARY KEY (run_id, question_id)
);
"""

_SET = "id, name, origin, created, state, wanted, signed, problem"
_RUN = "id, set_id, name, ask, answering, model, created, state, signed, problem"
_TABLES: Mapping[str, tuple[str, ...]] = {  # as they are copied, what is referred to first
    "question_sets": ("id", "name", "origin", "created", "state", "wanted", "signed", "problem"),
    "set_questions": ("id", "set_id", "place", "body"),
    "eval_settings": ("id", "name", "ask"),
    "eval_runs": ("id", "set_id", "name", "ask", "answering", "model", "created", "state", "signed", "problem"),
    "eval_results": ("run_id", "question_id", "place", "question", "scores", "seconds", "detail"),
}


@dataclass(frozen=True, slots=True)
class QuestionSet:
    id: str
    name: str
    origin: Literal["documents", "upload"]
    created: float
    state: State
    size: int  # questions
    wanted: int  # questions that were asked for
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A way of finding and answering under a name. `id` is "" where it is not kept."""

    name: str
    ask: Ask
    id: str = ""


@dataclass(frozen=True, slots=True)
class EvalRun:
    """A set measured with one setting. `done` of the set's questions have a result."""

    id: str
    set_id: str
    name: str
    ask: Ask
    answering: bool
    model: str
    created: float
    state: State
    done: int
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """The figures of a result, without what was found."""

    question_id: str
    question: str
    scores: Mapping[str, float]
    seconds: float


class Evaluations:
    """Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    # Question sets.

    def sets(self) -> list[QuestionSet]:
        """The newest first."""
        rows = self._read(
            f"SELECT {_SET}, (SELECT count(*) FROM set_questions q WHERE q.set_id = s.id) AS size"
            " FROM question_sets s ORDER BY created DESC, id"
        )
        return [self._set(row) for row in rows]

    def find_set(self, set_id: str) -> QuestionSet | None:
        return next((one for one in self.sets() if one.id == set_id), None)

    def begin_set(self, name: str, origin: Literal["documents", "upload"], wanted: int) -> QuestionSet:
        """An empty set, which is being made."""
        id_, now = new_id()[:16], self._clock()
        self._change(
            f"INSERT INTO question_sets ({_SET}) VALUES (?, ?, ?, ?, 'running', ?, ?, NULL)",
            (id_, _name(name), origin, now, wanted, now),
        )
        return QuestionSet(id_, _name(name), origin, now, "running", 0, wanted)

    def add_set(self, name: str, questions: Sequence[Question]) -> QuestionSet:
        """One that was uploaded."""
        with self._database.transaction():
            made = self.begin_set(name, "upload", len(questions))
            self.add_questions(made.id, questions)
            self.end_set(made.id, "done")
        return made

    def add_questions(self, set_id: str, questions: Sequence[Question]) -> bool:
        """Add to a set that is being made, and sign it; False when it was stopped or deleted."""
        with self._database.transaction() as db:
            if not self._sign(db, "question_sets", set_id):
                return False
            query = "SELECT coalesce(max(place), 0) AS last FROM set_questions WHERE set_id = ?"
            last = db.execute(query, (set_id,)).fetchone()["last"]
            db.executemany(
                "INSERT INTO set_questions (id, set_id, place, body) VALUES (?, ?, ?, ?)",
                [[one.id, set_id, last + number, _said(one)] for number, one in enumerate(questions, 1)],
            )
        return True

    def end_set(self, set_id: str, state: State, problem: Problem | None = None) -> None:
        self._end("question_sets", set_id, state, problem)

    def rename_set(self, set_id: str, name: str) -> None:
        self._change("UPDATE question_sets SET name = ? WHERE id = ?", (_name(name), set_id))

    def delete_set(self, set_id: str) -> None:
        """With everything measured with it."""
        self._change("DELETE FROM question_sets WHERE id = ?", (set_id,))

    def questions(self, set_id: str) -> list[Question]:
        return [
            _question(row) for row in self._read("SELECT id, body FROM set_questions WHERE set_id = ? ORDER BY place", set_id)
        ]

    def replace_question(self, question_id: str, question: Question) -> None:
        """Put another in its place: under an id of its own, so that what was measured is not taken for it."""
        self._change("UPDATE set_questions SET id = ?, body = ? WHERE id = ?", (question.id, _said(question), question_id))

    def remove_question(self, question_id: str) -> None:
        self._change("DELETE FROM set_questions WHERE id = ?", (question_id,))

    # Settings.

    def settings(self) -> list[Setting]:
        rows = self._read("SELECT id, name, ask FROM eval_settings ORDER BY name, id")
        return [Setting(row["name"], Ask.from_json(row["ask"]), row["id"]) for row in rows]

    def keep_setting(self, setting: Setting) -> Setting:
        """Add it, or put it in the place of the one of its name."""
        name, id_ = _name(setting.name), new_id()[:16]
        with self._database.transaction() as db:
            db.execute("DELETE FROM eval_settings WHERE name = ?", (name,))
            db.execute("INSERT INTO eval_settings (id, name, ask) VALUES (?, ?, ?)", (id_, name, setting.ask.to_json()))
        return Setting(name, setting.ask, id_)

    def delete_setting(self, setting_id: str) -> None:
        """What was measured with it stays."""
        self._change("DELETE FROM eval_settings WHERE id = ?", (setting_id,))

    # Runs.

    def runs(self, set_id: str) -> list[EvalRun]:
        """The newest first."""
        rows = self._read(
            f"SELECT {_RUN}, (SELECT count(*) FROM eval_results e WHERE e.run_id = r.id) AS done"
            " FROM eval_runs r WHERE set_id = ? ORDER BY created DESC, id",
            set_id,
        )
        return [self._run(row) for row in rows]

    def run(self, run_id: str) -> EvalRun | None:
        rows = self._read(
            f"SELECT {_RUN}, (SELECT count(*) FROM eval_results e WHERE e.run_id = r.id) AS done FROM eval_runs r WHERE id = ?",
            run_id,
        )
        return self._run(rows[0]) if rows else None

    def begin_run(self, set_id: str, setting: Setting, *, answering: bool, model: str) -> EvalRun:
        """Note a run that is to be. InputError when the set was deleted, or holds no question."""
        id_, now = new_id()[:16], self._clock()
        with self._database.transaction() as db:
            if not db.execute("SELECT 1 FROM set_questions WHERE set_id = ?", (set_id,)).fetchone():
                raise InputError("There are no questions in this set.", hint="Choose another one, or create one.")
            db.execute(
                f"INSERT INTO eval_runs ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, NULL)",
                (id_, set_id, _name(setting.name), setting.ask.to_json(), int(answering), model, now, now),
            )
        return EvalRun(id_, set_id, _name(setting.name), setting.ask, answering, model, now, "queued", 0)

    def resume_run(self, run_id: str) -> bool:
        """Note that it is to go on; False when it was deleted, or goes on already."""
        run = self.run(run_id)
        if run is None or run.state in ("queued", "running", "done"):
            return False
        change = "UPDATE eval_runs SET state = 'queued', problem = NULL, signed = ? WHERE id = ?"
        return self._change(change, (self._clock(), run_id)) == 1

    def take_up(self, run_id: str) -> bool:
        """Let a queued run begin; False when it was stopped or deleted meanwhile."""
        change = "UPDATE eval_runs SET state = 'running', signed = ? WHERE id = ? AND state = 'queued'"
        return self._change(change, (self._clock(), run_id)) == 1

    def sign(self, ids: Sequence[str]) -> None:
        """A sign of life of whoever makes these sets and runs."""
        with self._database.transaction() as db:
            for id_ in ids:
                self._sign(db, "question_sets", id_)
                self._sign(db, "eval_runs", id_)

    def left(self, run_id: str) -> list[Question]:
        """The questions of a run's set that it has no result for."""
        rows = self._read(
            "SELECT q.id, q.body FROM set_questions q JOIN eval_runs r ON r.set_id = q.set_id WHERE r.id = ?"
            " AND NOT EXISTS (SELECT 1 FROM eval_results e WHERE e.run_id = r.id AND e.question_id = q.id) ORDER BY q.place",
            run_id,
        )
        return [_question(row) for row in rows]

    def add_result(self, run_id: str, result: Result) -> bool:
        """Note a result, and sign the run; False when it was stopped or deleted."""
        detail = {
            "question": asdict(result.question), "found": [asdict(one) for one in result.found], "answer": result.answer,
            "reasons": dict(result.reasons), "problem": asdict(result.problem) if result.problem else None,
        }  # fmt: skip
        with self._database.transaction() as db:
            if not self._sign(db, "eval_runs", run_id):
                return False
            done = db.execute("SELECT count(*) AS done FROM eval_results WHERE run_id = ?", (run_id,)).fetchone()["done"]
            question = result.question
            db.execute(
                "INSERT INTO eval_results (run_id, question_id, place, question, scores, seconds, detail)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (run_id, question.id, done + 1, question.text, _json(dict(result.scores)), result.seconds, _json(detail)),
            )
        return True

    def end_run(self, run_id: str, state: State, problem: Problem | None = None) -> None:
        """Of a run that is on its way; another keeps its state."""
        self._end("eval_runs", run_id, state, problem)

    def delete_run(self, run_id: str) -> None:
        self._change("DELETE FROM eval_runs WHERE id = ?", (run_id,))

    def scores(self, run_id: str) -> list[Scored]:
        """In the order they were measured."""
        query = "SELECT question_id, question, scores, seconds FROM eval_results WHERE run_id = ? ORDER BY place"
        rows = self._read(query, run_id)
        return [Scored(row["question_id"], row["question"], json.loads(row["scores"]), row["seconds"]) for row in rows]

    def result(self, run_id: str, question_id: str) -> Result | None:
        rows = self._read("SELECT * FROM eval_results WHERE run_id = ? AND question_id = ?", run_id, question_id)
        return _result(rows[0]) if rows else None

    # Copies of the library.

    def dump(self) -> Iterator[dict[str, Any]]:
        """All rows as plain values for `load`, each with its table's name."""
        for table, columns in _TABLES.items():
            for row in self._read(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}, {columns[1]}"):
                yield {"table": table, **{column: row[column] for column in columns}}

    def load(self, dumped: Iterator[Mapping[str, Any]]) -> None:
        """Add what is not here. What was on its way when the copy was made is stopped."""
        with self._database.transaction() as db:
            for row in dumped:
                columns = _TABLES[row["table"]]
                values = {column: row[column] for column in columns}
                if values.get("state") in ("queued", "running"):
                    values["state"] = "stopped"
                db.execute(
                    f"INSERT INTO {row['table']} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
                    " ON CONFLICT DO NOTHING",
                    list(values.values()),
                )

    def _sign(self, db: Connection, table: str, id_: str) -> bool:
        change = f"UPDATE {table} SET signed = ? WHERE id = ? AND state IN ('queued', 'running')"
        return db.execute(change, (self._clock(), id_)).rowcount == 1

    def _end(self, table: str, id_: str, state: State, problem: Problem | None) -> None:
        self._change(
            f"UPDATE {table} SET state = ?, problem = ? WHERE id = ? AND state IN ('queued', 'running')",
            (state, _json(asdict(problem)) if problem else None, id_),
        )

    def _state(self, row: Any) -> State:
        # A signature from the future is silence too: the clock was set back, and who signed may be gone.
        silent = abs(self._clock() - row["signed"]) > SILENT_SECONDS
        return "stopped" if silent and row["state"] in ("queued", "running") else row["state"]

    def _set(self, row: Any) -> QuestionSet:
        return QuestionSet(
            row["id"], row["name"], row["origin"], row["created"], self._state(row), row["size"], row["wanted"], _problem(row)
        )

    def _run(self, row: Any) -> EvalRun:
        return EvalRun(
            row["id"], row["set_id"], row["name"], Ask.from_json(row["ask"]), bool(row["answering"]), row["model"],
            row["created"], self._state(row), row["done"], _problem(row),
        )  # fmt: skip

    def _read(self, query: str, *values: object) -> list[Any]:
        with self._database.snapshot() as db:
            return db.execute(query, values).fetchall()

    def _change(self, statement: str, values: Sequence[object]) -> int:
        with self._database.transaction() as db:
            return db.execute(statement, values).rowcount


def _name(name: str) -> str:
    return " ".join(writable(name).split())[:NAME_CHARS] or "Questions"


def _json(value: object) -> str:
    return writable(json.dumps(value, ensure_ascii=False))


def _said(question: Question) -> str:
    return _json({"text": question.text, "answers": question.answers, "wanted": [asdict(one) for one in question.wanted]})


def _question(row: Any) -> Question:
    return _read_question({**json.loads(row["body"]), "id": row["id"]})


def _read_question(said: Mapping[str, Any]) -> Question:
    wanted = tuple(Wanted(**{**one, "pages": tuple(one["pages"])}) for one in said["wanted"])
    return Question(said["text"], tuple(said["answers"]), wanted, said["id"])


def _problem(row: Any) -> Problem | None:
    return Problem(**json.loads(row["problem"])) if row["problem"] else None


def _result(row: Any) -> Result:
    detail = json.loads(row["detail"])
    return Result(
        _read_question(detail["question"]),
        json.loads(row["scores"]),
        row["seconds"],
        tuple(Found(**{**one, "pages": tuple(one["pages"])}) for one in detail["found"]),
        detail["answer"],
        detail["reasons"],
        Problem(**detail["problem"]) if detail["problem"] else None,
    )
