"""Answers that earlier versions stored, in all languages and modes, get outcomes and parts once a library is
opened. `earlier_answers.jsonl` has what an earlier version wrote: its outcomes, and those of the parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lectern.db import conversations, evaluations
from lectern.db.copied_rows import check_row
from lectern.db.earlier_replies import migrate, outcome_of_text, update_copied_row, update_facts
from lectern.db.evaluations import Evaluations
from lectern.schema import AnswerFacts
from lectern.settings import SCHEMA as SETTINGS_SCHEMA
from ragcore.evaluation.question_sets import Question
from ragcore.observe import Span
from ragcore.schema import Outcome
from ragcore.sql.base import Database
from tests.databases import KINDS, opening

ANSWERS = [
    json.loads(line)
    for line in Path(__file__).with_name("earlier_answers.jsonl").read_text("utf-8").splitlines()
]
CLOSEST = "Ähnlichste Passagen:\n\nHunde brauchen die Zustimmung. [1]"
NOTHING = "No he encontrado nada sobre esto en sus documentos. He buscado: loros."


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    schemas = (conversations.SCHEMA, evaluations.SCHEMA, SETTINGS_SCHEMA)
    opened: Iterator[Callable[[], Database]] = opening(request.param, tmp_path, *schemas)
    for open_database in opened:
        yield open_database()


def store(database: Database, number: int, text: str, facts: object, trace: Span | None = None) -> None:
    """Adds an answer as an earlier version stored it."""
    traced = json.dumps(trace.to_dict()) if trace else None
    with database.transaction() as db:
        db.execute("INSERT INTO conversations VALUES ('c', 'chat', '', 1, 1) ON CONFLICT DO NOTHING")
        db.execute(
            "INSERT INTO messages (id, conversation_id, role, text, state, created, signed, facts, trace, "
            "place) VALUES (?, 'c', 'assistant', ?, 'done', 1, 1, ?, ?, ?)",
            (f"m{number}", text, facts if isinstance(facts, str) else json.dumps(facts), traced, number),
        )


def read(database: Database) -> list[AnswerFacts]:
    facts = [message.facts for message in conversations.Conversations(database).messages("c")]
    return [each for each in facts if each is not None]


def without_outcome(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as the first versions stored them."""
    return {name: value for name, value in facts.items() if name != "outcome"}


@pytest.mark.parametrize("with_outcome", [True, False])
def test_answers_of_earlier_versions_get_their_outcome_and_parts(
    database: Database, with_outcome: bool
) -> None:
    for number, answer in enumerate(ANSWERS):
        facts = answer["facts"] if with_outcome else without_outcome(answer["facts"])
        store(database, number, answer["text"], facts)
    migrate(database)
    migrated = read(database)
    assert len(migrated) == len(ANSWERS) == 130
    for answer, facts in zip(ANSWERS, migrated, strict=True):
        assert facts.outcome == answer["facts"]["outcome"], answer
        assert [part.outcome for part in facts.parts] == answer["parts"], answer
        end = 0
        for number, part in enumerate(facts.parts, 1):
            separator = "\n---------------------\n" if number > 1 else ""
            assert answer["text"][end : part.start] == f"{separator}Response {number}: "
            end = part.end
        assert end in (0, len(answer["text"]))
    assert {answer["language"] for answer in ANSWERS} == {"de", "en", "es", "fr", "zh"}
    assert {answer["facts"]["outcome"] for answer in ANSWERS} == {"answer", "closest", "nothing"}


def test_answers_for_single_documents_have_the_fixed_words_apart(database: Database) -> None:
    rows = [
        {"file_name": "a.txt", "text": CLOSEST, "found": "closest", "pages": ["2"]},
        {"file_name": "b.txt", "text": NOTHING, "found": "nothing"},
        {"file_name": "c.txt", "text": "No fare is named.", "found": "nothing"},
        {"file_name": "d.txt", "text": NOTHING, "found": "failed", "hint": "Try again."},
    ]
    store(database, 1, "**a.txt**\n\n...", {**without_outcome(ANSWERS[0]["facts"]), "rows": rows})
    migrate(database)
    (facts,) = read(database)
    assert facts.outcome == "answer"  # c.txt, in words of its own
    assert [(row.text, row.notice, row.found) for row in facts.rows] == [
        ("Hunde brauchen die Zustimmung. [1]", "Ähnlichste Passagen:", "closest"),
        ("", NOTHING, "nothing"),
        ("No fare is named.", "", "nothing"),
        (NOTHING, "", "failed"),
    ]
    assert facts.rows[0].pages == ("2",)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Je n’ai pas trouvé cela dans vos documents.", "nothing"),
        ("Je n’ai pas trouvé cela dans vos documents. Le plus proche :\n\nLes chiens. [1]", "closest"),
        ("Pasajes más cercanos:\n\nLos perros. [1]", "closest"),
        ("我在您的文档中没有找到任何相关内容。我查找的内容：鹦鹉。", "nothing"),
        ("Je n’ai pas trouvé cela dans vos documents. Mais voici.", "answer"),
        ("Ich habe in Ihren Dokumenten nichts dazu gefunden. Aber hier steht es.", "answer"),
        (f"{NOTHING}\nBut it stands here.", "answer"),
        ("我查找的内容：鹦鹉。", "nothing"),
        (
            "Response 1: Closest passages:\n\nDogs. [1]\n---------------------\nResponse 2: It rains.",
            "answer",
        ),
        ("", "answer"),
    ],
)
def test_words_of_the_first_versions(text: str, outcome: Outcome) -> None:
    assert outcome_of_text(text) == outcome


def test_a_language_model_s_words_are_no_closest_passages() -> None:
    facts = json.dumps({**without_outcome(ANSWERS[0]["facts"]), "extractive": False})
    assert update_facts(CLOSEST, facts) == facts
    parts = "Response 1: Closest passages:\n\nDogs. [1]"
    assert update_facts(parts, facts) == facts


def test_calls_of_the_first_versions_get_their_outcome(database: Database) -> None:
    calls = [
        Span("llm", {"model": "extractive", "reply": CLOSEST}),
        Span("llm", {"model": "scripted", "reply": CLOSEST}),
    ]
    store(database, 1, CLOSEST, without_outcome(ANSWERS[0]["facts"]), Span("query", children=calls))
    migrate(database)
    trace = conversations.Conversations(database).trace("m1")
    assert trace is not None
    assert [call.facts.get("outcome") for call in trace.spans("llm")] == ["closest", None]


@pytest.mark.parametrize(
    ("answer", "answered", "outcome", "parts"),
    [
        (CLOSEST, 0.0, "closest", []),
        (NOTHING, 0.0, "nothing", []),
        (f"Response 1: {CLOSEST}\n---------------------\nResponse 2: {NOTHING}", 0.0, "closest",
         ["closest", "nothing"]),
        ("It has 214 steps. [1]", 1.0, "answer", []),
        ("It has 214 steps.", None, "answer", []),
        (NOTHING, None, "nothing", []),
    ],
)  # fmt: skip
def test_results_of_measurements_get_their_outcome(
    database: Database, answer: str, answered: float | None, outcome: Outcome, parts: list[Outcome]
) -> None:
    measured = Evaluations(database)
    chosen = measured.add_set("Mine", [Question("Who?")])
    setting = evaluations.Setting("As in Settings", evaluations.Ask("", None))
    run = measured.begin_run(chosen.id, setting, answering=True, model="")
    (question,) = measured.questions(chosen.id)
    scores = {} if answered is None else {"answered": answered}
    measured.add_result(run.id, evaluations.Result(question, scores, 0.1, answer=answer))
    with database.transaction() as db:
        (detail,) = db.execute("SELECT detail FROM eval_results").fetchone()
        earlier = {
            name: value for name, value in json.loads(detail).items() if name not in ("outcome", "parts")
        }
        db.execute("UPDATE eval_results SET detail = ?", (json.dumps(earlier),))
    migrate(database)
    result = measured.result(run.id, question.id)
    assert result is not None
    assert (result.outcome, [part.outcome for part in result.parts]) == (outcome, parts)
    assert (result.answer, result.question) == (answer, question)


def test_a_library_is_brought_up_to_date_once(database: Database) -> None:
    migrate(database)
    store(database, 1, CLOSEST, without_outcome(ANSWERS[0]["facts"]))
    migrate(database)
    (facts,) = read(database)
    assert facts.outcome == "answer"


@pytest.mark.parametrize("facts", ["{", "[1]", '{"rows": [1]}', '{"rows": [{"text": 1}]}', "7"])
def test_unreadable_facts_stay_as_they_are(facts: str) -> None:
    assert update_facts(NOTHING, facts) in (facts, json.dumps({**as_object(facts), "outcome": "nothing"}))


def as_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def test_answers_in_a_copy_of_an_earlier_version_are_updated() -> None:
    row = {
        "id": "m",
        "conversation_id": "c",
        "role": "assistant",
        "text": NOTHING,
        "state": "done",
        "created": 1.0,
        "signed": 1.0,
        "facts": json.dumps(without_outcome(ANSWERS[0]["facts"])),
    }
    updated = update_copied_row("messages", check_row("messages", row))
    assert AnswerFacts.from_json(updated["facts"]).outcome == "nothing"
    assert update_copied_row("messages", updated) == updated
