"""Question sets, named settings and measurements in the library's database.

Sets and runs in work are signed every few seconds. One that was not signed for a while counts as stopped, and
can be resumed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lectern.db.evaluation_scores import Result, RetrievedPassage
from lectern.db.stored_json import parse_problem, read_rows, read_stored, stored_moment
from lectern.db.tables import Tables
from lectern.schema import Amount, AnswerPart, Ask, parse_json
from ragcore.errors import InputError, Problem
from ragcore.evaluation.question_sets import ExpectedSource, Question
from ragcore.schema import Outcome, new_id
from ragcore.sql.base import Connection, writable

SILENT_SECONDS = 15.0
NAME_CHARS = 80

State = Literal["queued", "running", "done", "stopped", "failed"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS question_sets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,            -- documents, upload
    created REAL NOT NULL,           -- seconds since the epoch
    state TEXT NOT NULL,             -- see State
    wanted INTEGER NOT NULL,         -- number of questions to write
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
    model TEXT NOT NULL,             -- that answers and judges; "" is the extractive reader
    created REAL NOT NULL,
    state TEXT NOT NULL,
    signed REAL NOT NULL,
    problem TEXT
);
CREATE TABLE IF NOT EXISTS eval_results (
    run_id TEXT NOT NULL REFERENCES eval_runs (id) ON DELETE CASCADE,
    question_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    question TEXT NOT NULL,          -- its text at that time
    scores TEXT NOT NULL,            -- JSON: metric -> 0 to 1
    seconds REAL NOT NULL,
    detail TEXT NOT NULL,            -- JSON: question, found, answer, reasons, problem
    PRIMARY KEY (run_id, question_id)
);
"""

_TABLES: Mapping[str, tuple[str, ...]] = {  # in the order for copies: referenced tables first
    "question_sets": ("id", "name", "origin", "created", "state", "wanted", "signed", "problem"),
    "set_questions": ("id", "set_id", "place", "body"),
    "eval_settings": ("id", "name", "ask"),
    "eval_runs": (
        "id",
        "set_id",
        "name",
        "ask",
        "answering",
        "model",
        "created",
        "state",
        "signed",
        "problem",
    ),
    "eval_results": ("run_id", "question_id", "place", "question", "scores", "seconds", "detail"),
}
_INSERT = {
    table: f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for table, columns in _TABLES.items()
}
_SELECT_SETS = (
    "SELECT *, (SELECT count(*) FROM set_questions q WHERE q.set_id = s.id) AS size FROM question_sets s"
)
_SELECT_RUNS = (
    "SELECT *, (SELECT count(*) FROM eval_results e WHERE e.run_id = r.id) AS done FROM eval_runs r"
)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    id: str
    name: str
    origin: Literal["documents", "upload"]
    created: float
    state: State
    size: int  # number of questions
    target_size: int  # number of questions to write
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of retrieval and answers, with a name. `id` is "" if it is not stored."""

    name: str
    ask: Ask
    id: str = ""


@dataclass(frozen=True, slots=True)
class EvalRun:
    """Measures a set with one setting. `done` of the set's questions have a result."""

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
    """The figures of a result."""

    question_id: str
    question: str
    scores: Mapping[str, float]
    seconds: float


class Evaluations(Tables):
    # Question sets.

    def sets(self) -> list[QuestionSet]:
        """The newest first."""
        rows = self._read(f"{_SELECT_SETS} ORDER BY created DESC, id")
        return read_rows(self._set, rows, table="question set")

    def find_set(self, set_id: str) -> QuestionSet | None:
        return next((one for one in self.sets() if one.id == set_id), None)

    def begin_set(self, name: str, origin: Literal["documents", "upload"], size: int) -> QuestionSet:
        """Add an empty set in state "running", for so many questions."""
        id_, now = new_id()[:16], self._clock()
        self._change(_INSERT["question_sets"], id_, _name(name), origin, now, "running", size, now, None)
        return QuestionSet(id_, _name(name), origin, now, "running", 0, size)

    def add_set(self, name: str, questions: Sequence[Question]) -> QuestionSet:
        """Add an uploaded set."""
        with self._database.transaction():
            question_set = self.begin_set(name, "upload", len(questions))
            self.add_questions(question_set.id, questions)
            self.end_set(question_set.id, "done")
        return question_set

    def add_questions(self, set_id: str, questions: Sequence[Question]) -> bool:
        """Add to a running set, and sign it; False if it was stopped or deleted."""
        with self._database.transaction() as db:
            if not self._sign(db, "question_sets", set_id):
                return False
            query = "SELECT coalesce(max(place), 0) AS last FROM set_questions WHERE set_id = ?"
            last = db.execute(query, (set_id,)).fetchone()["last"]
            db.executemany(
                _INSERT["set_questions"],
                [
                    [one.id, set_id, last + number, _json(_question_fields(one))]
                    for number, one in enumerate(questions, 1)
                ],
            )
        return True

    def end_set(self, set_id: str, state: State, problem: Problem | None = None) -> None:
        self._end("question_sets", set_id, state, problem)

    def rename_set(self, set_id: str, name: str) -> None:
        self._change("UPDATE question_sets SET name = ? WHERE id = ?", _name(name), set_id)

    def delete_set(self, set_id: str) -> None:
        """Delete a set and its runs."""
        self._change("DELETE FROM question_sets WHERE id = ?", set_id)

    def questions(self, set_id: str) -> list[Question]:
        rows = self._read("SELECT id, body FROM set_questions WHERE set_id = ? ORDER BY place", set_id)
        return read_rows(_question, rows, table="question")

    def replace_question(self, question_id: str, question: Question) -> None:
        """Replace a question by one with another id, which old results do not have."""
        change = "UPDATE set_questions SET id = ?, body = ? WHERE id = ?"
        self._change(change, question.id, _json(_question_fields(question)), question_id)

    def remove_question(self, question_id: str) -> None:
        """Its set is then one question smaller, not one that lacks a question."""
        with self._database.transaction() as db:
            smaller = (
                "UPDATE question_sets SET wanted = wanted - 1 WHERE id = (SELECT set_id FROM "
                "set_questions WHERE id = ?)"
            )
            db.execute(smaller, (question_id,))
            db.execute("DELETE FROM set_questions WHERE id = ?", (question_id,))

    # Settings.

    def settings(self) -> list[Setting]:
        rows = self._read("SELECT id, name, ask FROM eval_settings ORDER BY name, id")
        return read_rows(_setting, rows, table="setting")

    def keep_setting(self, setting: Setting) -> Setting:
        """Store a setting; it replaces one with the same name."""
        name, id_ = _name(setting.name), new_id()[:16]
        with self._database.transaction() as db:
            db.execute("DELETE FROM eval_settings WHERE name = ?", (name,))
            db.execute(_INSERT["eval_settings"], (id_, name, setting.ask.to_json()))
        return Setting(name, setting.ask, id_)

    def delete_setting(self, setting_id: str) -> None:
        """Delete a setting, but not its runs."""
        self._change("DELETE FROM eval_settings WHERE id = ?", setting_id)

    # Runs.

    def runs(self, set_id: str) -> list[EvalRun]:
        """The newest first."""
        rows = self._read(f"{_SELECT_RUNS} WHERE set_id = ? ORDER BY created DESC, id", set_id)
        return read_rows(self._run, rows, table="evaluation")

    def run(self, run_id: str) -> EvalRun | None:
        """None for an unknown run, or one that cannot be read."""
        runs = read_rows(self._run, self._read(_SELECT_RUNS + " WHERE id = ?", run_id), table="evaluation")
        return runs[0] if runs else None

    def begin_run(self, set_id: str, setting: Setting, *, answering: bool, model: str) -> EvalRun:
        """Add a queued run. InputError if the set was deleted, or has no question."""
        id_, now = new_id()[:16], self._clock()
        with self._database.transaction() as db:
            if not db.execute("SELECT 1 FROM set_questions WHERE set_id = ?", (set_id,)).fetchone():
                raise InputError(
                    "There are no questions in this set.", hint="Choose another one, or create one."
                )
            db.execute(
                _INSERT["eval_runs"],
                (
                    id_,
                    set_id,
                    _name(setting.name),
                    setting.ask.to_json(),
                    int(answering),
                    model,
                    now,
                    "queued",
                    now,
                    None,
                ),
            )
        return EvalRun(id_, set_id, _name(setting.name), setting.ask, answering, model, now, "queued", 0)

    def resume_run(self, run_id: str) -> bool:
        """Queue a run again; False if it was deleted, or is not stopped."""
        run = self.run(run_id)
        if run is None or run.state in ("queued", "running", "done"):
            return False
        change = "UPDATE eval_runs SET state = 'queued', problem = NULL, signed = ? WHERE id = ?"
        return self._change(change, self._clock(), run_id) == 1

    def claim_run(self, run_id: str) -> bool:
        """Start a queued run; False if it was stopped or deleted meanwhile."""
        change = "UPDATE eval_runs SET state = 'running', signed = ? WHERE id = ? AND state = 'queued'"
        return self._change(change, self._clock(), run_id) == 1

    def sign(self, ids: Sequence[str]) -> None:
        """Record that these sets and runs are in work."""
        with self._database.transaction() as db:
            for id_ in ids:
                self._sign(db, "question_sets", id_)
                self._sign(db, "eval_runs", id_)

    def unmeasured(self, run_id: str) -> list[Question]:
        """The questions of a run's set without a result."""
        rows = self._read(
            "SELECT q.id, q.body FROM set_questions q JOIN eval_runs r ON r.set_id = q.set_id WHERE r.id = ?"
            " AND NOT EXISTS (SELECT 1 FROM eval_results e WHERE e.run_id = r.id AND e.question_id = "
            "q.id) ORDER BY q.place",
            run_id,
        )
        return read_rows(_question, rows, table="question")

    def add_result(self, run_id: str, result: Result) -> bool:
        """Add a result, and sign the run; False if it was stopped or deleted."""
        detail = {
            "question": {**_question_fields(result.question), "id": result.question.id},
            "found": [asdict(one) for one in result.passages], "answer": result.answer,
            "reasons": dict(result.reasons), "problem": asdict(result.problem) if result.problem else None,
            "outcome": result.outcome, "parts": [asdict(part) for part in result.parts],
        }  # fmt: skip
        with self._database.transaction() as db:
            if not self._sign(db, "eval_runs", run_id):
                return False
            done = db.execute(
                "SELECT count(*) AS done FROM eval_results WHERE run_id = ?", (run_id,)
            ).fetchone()["done"]
            question = result.question
            db.execute(
                _INSERT["eval_results"],
                (
                    run_id, question.id, done + 1, question.text, _json(dict(result.scores)), result.seconds,
                    _json(detail),
                ),
            )  # fmt: skip
        return True

    def end_run(self, run_id: str, state: State, problem: Problem | None = None) -> None:
        """End a run that is queued or running."""
        self._end("eval_runs", run_id, state, problem)

    def delete_run(self, run_id: str) -> None:
        self._change("DELETE FROM eval_runs WHERE id = ?", run_id)

    def scores(self, run_id: str) -> list[Scored]:
        """In the order of measurement."""
        query = (
            "SELECT question_id, question, scores, seconds FROM eval_results WHERE run_id = ? ORDER BY place"
        )
        rows = self._read(query, run_id)
        return read_rows(_scored, rows, table="result of question", key="question_id")

    def result(self, run_id: str, question_id: str) -> Result | None:
        """None for an unknown result, or one that cannot be read."""
        query = "SELECT * FROM eval_results WHERE run_id = ? AND question_id = ?"
        rows = self._read(query, run_id, question_id)
        results = read_rows(_result, rows, table="result of question", key="question_id")
        return results[0] if results else None

    # Copies of the library.

    def dump(self) -> Iterator[dict[str, Any]]:
        """All rows as plain values for `load`, each with its table's name."""
        for table, columns in _TABLES.items():
            for row in self._read(
                f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}, {columns[1]}"
            ):
                yield {"table": table, **{column: row[column] for column in columns}}

    def load(self, dumped: Iterable[Mapping[str, Any]]) -> int:
        """Add the missing sets and settings, and the questions, runs and results of these sets. Returns how
        many sets. Runs that were in work are stopped."""
        sets: set[str] = set()
        runs: set[str] = set()
        with self._database.transaction() as db:
            for row in dumped:
                table, columns = row["table"], _TABLES[row["table"]]
                values = {column: row[column] for column in columns}
                # Nothing is added to a set or a run that was there before.
                if ("set_id" in row and row["set_id"] not in sets) or (
                    "run_id" in row and row["run_id"] not in runs
                ):
                    continue
                if values.get("state") in ("queued", "running"):
                    values["state"] = "stopped"
                if "answering" in values:
                    values["answering"] = int(values["answering"])
                change = db.execute(f"{_INSERT[table]} ON CONFLICT DO NOTHING", list(values.values()))
                if change.rowcount and table == "question_sets":
                    sets.add(values["id"])
                if change.rowcount and table == "eval_runs":
                    runs.add(values["id"])
        return len(sets)

    def _sign(self, db: Connection, table: str, id_: str) -> bool:
        change = f"UPDATE {table} SET signed = ? WHERE id = ? AND state IN ('queued', 'running')"
        return db.execute(change, (self._clock(), id_)).rowcount == 1

    def _end(self, table: str, id_: str, state: State, problem: Problem | None) -> None:
        change = f"UPDATE {table} SET state = ?, problem = ? WHERE id = ? AND state IN ('queued', 'running')"
        self._change(change, state, _json(asdict(problem)) if problem else None, id_)

    def _state(self, row: Any) -> State:
        # A signature from the future counts as silence too: the clock was set back, and its process may have
        # ended.
        silent = abs(self._clock() - row["signed"]) > SILENT_SECONDS
        return "stopped" if silent and row["state"] in ("queued", "running") else row["state"]

    def _set(self, row: Any) -> QuestionSet:
        return QuestionSet(
            row["id"],
            row["name"],
            row["origin"],
            stored_moment(row["created"]),
            self._state(row),
            row["size"],
            row["wanted"],
            _problem(row),
        )

    def _run(self, row: Any) -> EvalRun:
        return EvalRun(
            row["id"], row["set_id"], row["name"], Ask.from_json(row["ask"]), bool(row["answering"]),
            row["model"], stored_moment(row["created"]), self._state(row), row["done"], _problem(row),
        )  # fmt: skip


def _name(name: str) -> str:
    return " ".join(writable(name).split())[:NAME_CHARS] or "Questions"


def _json(value: object) -> str:
    return writable(json.dumps(value, ensure_ascii=False))


def _question_fields(question: Question) -> dict[str, Any]:
    return {
        "text": question.text,
        "answers": question.answers,
        "wanted": [asdict(one) for one in question.expected],
    }


def _setting(row: Any) -> Setting:
    return Setting(row["name"], Ask.from_json(row["ask"]), row["id"])


def _scored(row: Any) -> Scored:
    return Scored(row["question_id"], row["question"], _scores(row), row["seconds"])


def _scores(row: Any) -> dict[str, float]:
    return parse_json(dict[str, Amount], row["scores"])


@dataclass(frozen=True, slots=True)
class _StoredQuestion:
    """A question in JSON. In a result it has an id."""

    text: str
    answers: tuple[str, ...]
    wanted: tuple[ExpectedSource, ...]
    id: str = ""


@dataclass(frozen=True, slots=True)
class _StoredDetail:
    question: _StoredQuestion
    found: tuple[RetrievedPassage, ...]
    answer: str
    reasons: dict[str, str]
    problem: Problem | None
    outcome: Outcome = "answer"
    parts: tuple[AnswerPart, ...] = ()


def parse_question(text: str, id_: str) -> Question:
    """ValueError."""
    stored = parse_json(_StoredQuestion, text)
    return Question(stored.text, stored.answers, stored.wanted, id_)


def parse_detail(text: str) -> _StoredDetail:
    """ValueError."""
    return parse_json(_StoredDetail, text)


def _question(row: Any) -> Question:
    return parse_question(row["body"], row["id"])


def _problem(row: Any) -> Problem | None:
    return read_stored(parse_problem, row["problem"], None, row=f"problem of {row['id']}")


def _result(row: Any) -> Result:
    detail = parse_detail(row["detail"])
    stored = detail.question
    question = Question(stored.text, stored.answers, stored.wanted, stored.id)
    return Result(
        question, _scores(row), row["seconds"], detail.found, detail.answer, detail.reasons, detail.problem,
        detail.outcome, detail.parts,
    )  # fmt: skip
