"""Rows of the library's database that cannot be read: each is left out and logged, and the others stay."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from lectern.db.evaluation_scores import Result
from lectern.db.evaluations import Setting
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import LATEST, AnswerFacts, Ask, Source
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.evaluation.question_sets import Question
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.observe import Span
from tests.lectern.test_library import TOWER, finished, take_in

FACTS = AnswerFacts("compact", "Compact", 1, 2.0, 3, 4)
SOURCE = Source(1, "node", "file", "tower.txt", 0, 5, "Tower")
BROKEN_JSON = [
    pytest.param("{", id="half"),
    pytest.param("[" * 100_000, id="deep"),
    pytest.param("[]", id="list"),
    pytest.param("7", id="number"),
    pytest.param('{"mode": 1}', id="types"),
    pytest.param(json.dumps(asdict(FACTS) | {"recorded": 1e300}), id="date"),
    pytest.param(json.dumps(asdict(FACTS) | {"seconds": float("nan")}), id="nan"),
    pytest.param(json.dumps(asdict(FACTS) | {"calls": 10**40}), id="huge"),
]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as opened:
        yield opened


def change(library: Library, statement: str, *values: object) -> None:
    with library.database.transaction() as db:
        db.execute(statement, values)


def answer_in(library: Library, **parts: object) -> tuple[str, str]:
    """The ids of a conversation and its finished answer."""
    talk = library.conversations.create()
    answer = library.conversations.begin(talk.id, Ask("Who built the tower?"))
    library.conversations.write(answer.id, text="Ada [1].", state="done", sources=[SOURCE], facts=FACTS)
    for name, value in parts.items():
        change(library, f"UPDATE messages SET {name} = ? WHERE id = ?", value, answer.id)
    return talk.id, answer.id


@pytest.mark.parametrize("column", ["ask", "facts", "sources", "problem", "trace"])
@pytest.mark.parametrize("text", BROKEN_JSON)
def test_a_broken_column_of_an_answer_leaves_its_text(
    library: Library, caplog: pytest.LogCaptureFixture, column: str, text: str
) -> None:
    caplog.set_level(logging.WARNING)
    talk, answer = answer_in(library, **{column: text})
    library.conversations.trace(answer)
    question, message = library.conversations.messages(talk)
    assert (question.text, message.text) == ("Who built the tower?", "Ada [1].")
    assert isinstance(library.conversations.latest_facts(), list)
    if getattr(message, column, None) is None and not (column == "facts" and message.facts):
        assert answer in caplog.text


def test_unknown_fields_in_stored_json_are_ignored(library: Library) -> None:
    facts = json.dumps(asdict(FACTS) | {"colour": "red", "rows": []})
    ask = json.dumps(asdict(Ask("Who?", retrieval=Ask("").retrieval)) | {"mood": "good"})
    sources = json.dumps([asdict(SOURCE) | {"smell": "tar"}])
    problem = json.dumps({"what": "It broke.", "weight": 3})
    talk, _ = answer_in(library, facts=facts, ask=ask, sources=sources, problem=problem)
    message = library.conversations.messages(talk)[1]
    assert (message.facts, message.ask, message.sources) == (FACTS, Ask("Who?"), (SOURCE,))
    assert message.problem is not None
    assert message.problem.what == "It broke."


@pytest.mark.parametrize("name", ["chat_mode", "response_mode"])
def test_an_unknown_mode_is_an_ask_that_cannot_be_read(library: Library, name: str) -> None:
    talk, answer = answer_in(library, ask=json.dumps(asdict(Ask("Who?")) | {name: "spy"}))
    message = library.conversations.message(answer)
    assert message is not None
    assert (message.text, message.ask) == ("Ada [1].", None)
    assert len(library.conversations.messages(talk)) == 2


def test_only_the_broken_sources_of_an_answer_are_left_out(library: Library) -> None:
    talk, _ = answer_in(library, sources=json.dumps([{"number": 1}, asdict(SOURCE), 7]))
    assert library.conversations.messages(talk)[1].sources == (SOURCE,)


@pytest.mark.parametrize("moment", [1e300, -1e300, -5.0, float("inf"), "yesterday"])
def test_a_date_that_no_calendar_has_does_not_hide_the_rest(library: Library, moment: object) -> None:
    talk, _ = answer_in(library, created=moment)
    library.notes.keep("A note.", [])
    library.prompts.reset("text_qa")
    change(library, "UPDATE conversations SET created = ?, updated = ?", moment, moment)
    change(library, "UPDATE notes SET created = ?, edited = ?", moment, moment)
    change(library, "UPDATE prompt_versions SET saved = ?", moment)
    (conversation,), (note,) = library.conversations.all(), library.notes.all()
    times = [conversation.created, conversation.updated, note.created, note.edited]
    times += [message.created for message in library.conversations.messages(talk)]
    times += [version.saved for version in library.prompts.history("text_qa")]
    assert all(time is not None and 0 <= time <= LATEST for time in times)


def test_asking_goes_on_in_a_conversation_with_a_broken_answer(library: Library) -> None:
    take_in(library, TOWER, "tower.txt")
    runs = AnswerRuns(library)
    message = library.conversations.message(finished(library, runs, Ask("Who built the tower?", "context")))
    assert message is not None
    talk = message.conversation_id
    change(library, "UPDATE messages SET facts = '{\"x\": 1}', ask = '[', sources = '{}', created = 1e300")
    run = runs.start(talk, Ask("When was the tower built?", "context"))
    assert run.wait(60)
    assert [message.state for message in library.conversations.messages(talk)] == ["done"] * 4


def test_a_fact_of_an_unexpected_type_is_left_out_of_a_trace(library: Library) -> None:
    facts = {"prompt_tokens": "many", "messages": [3], "found": [{"number": 1}], "prompt": "text_qa"}
    call = Span("llm", facts | {"completion_tokens": 7}, 1.0, 0.5)
    _, answer = answer_in(library, trace=json.dumps(Span("query", {}, 1.0, 1.0, children=[call]).to_dict()))
    trace = library.conversations.trace(answer)
    assert trace is not None
    assert trace.children[0].facts == {"prompt": "text_qa", "completion_tokens": 7}
    assert trace.total_tokens().completion == 7


def test_a_broken_check_of_sentences_leaves_the_others(library: Library) -> None:
    talk, answer = answer_in(library)
    again = library.conversations.begin(talk, Ask("Who?"))
    for id_, text in ((answer, "Ada [1]."), (again.id, "")):
        library.checks.keep(id_, text, [CheckedSentence(0, 3, "Ada")])
    change(library, "UPDATE sentence_checks SET found = '[{\"start\": 1}]' WHERE message_id = ?", answer)
    assert library.checks.of(talk) == {again.id: [CheckedSentence(0, 3, "Ada")]}


def test_a_prompt_version_without_texts_leaves_the_others(library: Library) -> None:
    for number in (1, 2):
        library.prompts.save("generation", (f"{number}: {{query_str}}",))
    change(library, "UPDATE prompt_versions SET texts = '{\"a\": 1}' WHERE number = 2")
    assert [version.number for version in library.prompts.history("generation")] == [1, 0]
    assert library.prompts.current() == {}
    assert library.prompts.save("generation", ("3: {query_str}",)).number == 3


def break_questions(library: Library) -> None:
    change(library, "UPDATE set_questions SET body = '{\"text\": 3}' WHERE id = 'a'")


def break_settings(library: Library) -> None:
    change(library, "UPDATE eval_settings SET ask = 'null' WHERE name = 'First'")


def break_results(library: Library) -> None:
    change(library, "UPDATE eval_results SET scores = '{\"mrr\": 1e999}', detail = '[]'"
           " WHERE question_id = 'a'")  # fmt: skip


@pytest.mark.parametrize("damage", [break_questions, break_settings, break_results])
def test_a_broken_row_of_an_evaluation_leaves_the_others(
    library: Library, damage: Callable[[Library], None]
) -> None:
    kept, broken = library.evaluations, damage.__name__.removeprefix("break_")
    questions = [Question("Who?", ("Ada",), id="a"), Question("When?", ("1871",), id="b")]
    question_set = kept.add_set("Mine", questions)
    for name in ("First", "Second"):
        kept.keep_setting(Setting(name, Ask("")))
    run = kept.begin_run(question_set.id, kept.settings()[0], answering=False, model="")
    kept.claim_run(run.id)
    for question in questions:
        kept.add_result(run.id, Result(question, {"mrr": 1.0}, 1.0))
    damage(library)
    rest = questions[1:]
    assert kept.questions(question_set.id) == (rest if broken == "questions" else questions)
    names = [setting.name for setting in kept.settings()]
    assert names == (["Second"] if broken == "settings" else ["First", "Second"])
    ids = [scored.question_id for scored in kept.scores(run.id)]
    assert ids == (["b"] if broken == "results" else ["a", "b"])
    assert (kept.result(run.id, "a") is None) == (broken == "results")
    change(library, "UPDATE eval_runs SET ask = '7'")
    assert kept.runs(question_set.id) == []
    assert kept.run(run.id) is None


def test_a_broken_problem_of_a_file_leaves_its_row(library: Library) -> None:
    file = take_in(library, TOWER, "tower.txt")
    change(library, "UPDATE files SET problem = '{\"z\": 1}', left_out = '[7]' WHERE id = ?", file.id)
    (row,) = library.files.all()
    assert (row.name, row.problem, row.left_out) == ("tower.txt", None, ())
