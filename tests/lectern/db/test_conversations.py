"""Conversations on disk: what is kept of an answer, and what is read of one that was cut short."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from lectern.db import conversations as conversations_module
from lectern.db.conversations import SCHEMA, Conversations
from lectern.db.copied_rows import check_row
from lectern.export import backup, restore
from lectern.library import Library
from lectern.schema import AnswerFacts, Ask, Kind, Retrieval, Source
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError, Problem
from ragcore.observe import Span, span
from ragcore.sql.base import Database
from tests.databases import KINDS, opening

SOURCE = Source(1, "n1", "f1", "handbook.pdf", 10, 20, "ten letters", 0.5, "iv", "page", 3)
FACTS = AnswerFacts("compact", "compact", 2, 1.8, 6, 340, 900, 80, condensed="Who built the tower?")


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, SCHEMA)


@pytest.fixture
def conversations(open_database: Callable[[], Database]) -> Conversations:
    return Conversations(open_database())


@pytest.mark.smoke
def test_a_finished_answer_is_read_back_whole_after_a_restart(
    conversations: Conversations, open_database: Callable[[], Database]
) -> None:
    with span("query") as trace, span("llm", reply="It was Ada."):
        pass
    talk = conversations.create()
    how = Retrieval(dense_share=0.25, cutoff=0.1, reranker="folder/of one", diverse=True)
    ask = Ask("Who built it?", file_ids=("f1", "f2"), top_k=4, node_ids=("n2", "n1"), retrieval=how)
    answer = conversations.begin(talk.id, ask)
    conversations.write(
        answer.id, text="It was Ada. [1]", state="done", sources=[SOURCE], facts=FACTS, trace=trace
    )

    kept = Conversations(open_database())
    question, read = kept.messages(talk.id)
    assert (question.role, question.text) == ("user", "Who built it?")
    assert (read.text, read.state, read.sources, read.facts, read.ask) == (
        "It was Ada. [1]",
        "done",
        (SOURCE,),
        FACTS,
        ask,
    )
    read_trace = kept.trace(answer.id)
    assert isinstance(read_trace, Span)
    assert [step.facts for step in read_trace.spans("llm")] == [{"reply": "It was Ada."}]


def test_an_ask_of_an_earlier_version_has_the_same_meaning() -> None:
    kept = (
        '{"question": "Who?", "chat_mode": null, "response_mode": "refine", "top_k": 3, "file_ids": '
        '["f"], "extractive": true}'
    )
    assert Ask.from_json(kept) == Ask("Who?", None, "refine", 3, ("f",), extractive=True)
    assert Ask.from_json('{"question": "Who?"}') == Ask("Who?")


def test_a_failure_is_stored_with_the_text_before_it(conversations: Conversations) -> None:
    answer = conversations.begin(conversations.create().id, Ask("Who?"))
    problem = Problem("The server is gone.", "Start it.", retryable=True)
    conversations.write(answer.id, text="It was", state="failed", problem=problem)
    read = conversations.message(answer.id)
    assert read is not None
    assert (read.text, read.state, read.problem) == ("It was", "failed", problem)


def test_an_answer_whose_writer_fell_silent_was_interrupted(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = conversations.begin(conversations.create().id, Ask("Who?"))
    conversations.write(answer.id, text="It was", state="writing")
    assert conversations.message(answer.id).state == "writing"  # type: ignore[union-attr]
    monkeypatch.setattr(conversations_module, "SILENT_SECONDS", -1.0)
    assert conversations.message(answer.id).state == "interrupted"  # type: ignore[union-attr]


def test_regenerated_answer_forgets_the_old_one_and_keeps_place(conversations: Conversations) -> None:
    talk = conversations.create()
    first = conversations.begin(talk.id, Ask("One?"))
    conversations.begin(talk.id, Ask("Two?"))
    conversations.write(first.id, text="x", state="done", sources=[SOURCE], facts=FACTS)
    conversations.begin_again(first.id, Ask("One?", extractive=True))
    texts = [(m.role, m.text, m.state) for m in conversations.messages(talk.id)]
    assert texts == [
        ("user", "One?", "done"),
        ("assistant", "", "writing"),
        ("user", "Two?", "done"),
        ("assistant", "", "writing"),
    ]
    again = conversations.message(first.id)
    assert again is not None
    assert (again.sources, again.facts) == ((), None)


def test_title_is_the_shortened_first_question_until_renamed(conversations: Conversations) -> None:
    talk = conversations.create()
    conversations.begin(talk.id, Ask("  Why   is\nthe sky blue? " + "x" * 100))
    conversations.begin(talk.id, Ask("And green?"))
    titled = conversations.get(talk.id)
    assert titled is not None
    assert titled.title.startswith("Why is the sky blue? x")
    assert len(titled.title) == 60
    conversations.rename(talk.id, "Half \ud83d a sign")  # as a browser may send it
    conversations.rename(talk.id, " Sky ")
    assert conversations.get(talk.id).title == "Sky"  # type: ignore[union-attr]


def test_long_question_becomes_a_title_of_whole_words(conversations: Conversations) -> None:
    german, chinese = conversations.create(), conversations.create()
    conversations.begin(
        german.id, Ask("Wie hoch stand das Wasser in der unteren Station der Bahn bei der Flut?")
    )
    conversations.begin(chinese.id, Ask("水" * 61))
    assert conversations.get(german.id).title == "Wie hoch stand das Wasser in der unteren Station der Bahn…"  # type: ignore[union-attr]
    assert conversations.get(chinese.id).title == "水" * 59 + "…"  # type: ignore[union-attr]


def test_list_is_latest_first_without_empty_ones_and_searchable(conversations: Conversations) -> None:
    old, new, empty, query = (conversations.create(kind) for kind in ("chat", "chat", "chat", "query"))
    conversations.begin(old.id, Ask("About Lighthouses"))
    conversations.begin(new.id, Ask("About 100% of ships"))
    conversations.begin(query.id, Ask("A query"))
    assert [c.id for c in conversations.all()] == [new.id, old.id]
    assert [c.id for c in conversations.all(search="lighthouse")] == [old.id]
    assert [c.id for c in conversations.all(search="0% o")] == [new.id]
    assert [c.id for c in conversations.all("query")] == [query.id]
    conversations.begin(old.id, Ask("More?"))
    assert conversations.texts(old.id) == ["About Lighthouses", "", "More?", ""]
    assert [c.id for c in conversations.all()] == [old.id, new.id]
    assert empty.id not in [c.id for c in conversations.all()]


def test_pinned_conversations_are_listed_apart_until_unpinned(
    conversations: Conversations, open_database: Callable[[], Database]
) -> None:
    old, middle, new = (conversations.create() for _ in range(3))
    for talk, question in ((old, "About tides"), (middle, "ÜBER EBBE"), (new, "Aber Flut")):
        conversations.begin(talk.id, Ask(question))
    for _ in range(2):
        conversations.pin(old.id, True)
    conversations.pin("nobody's", True)
    again = Conversations(open_database())
    assert [c.id for c in again.all(pinned=True)] == [old.id]
    assert [c.id for c in again.all(pinned=True, search="flut")] == []
    assert [c.id for c in again.all(pinned=False)] == [new.id, middle.id]
    assert [c.id for c in again.all(pinned=False, limit=1)] == [new.id]
    assert [c.id for c in again.all(search="über", limit=1)] == [middle.id]
    assert [c.id for c in again.all()] == [new.id, middle.id, old.id]
    conversations.pin(new.id, True)
    conversations.pin(old.id, False)
    assert [c.id for c in again.all(pinned=True)] == [new.id]
    conversations.delete(new.id)
    assert again.all(pinned=True) == []


def test_library_copy_includes_pins_and_changes_no_existing_one(tmp_path: Path) -> None:
    here, there = (Library(tmp_path / name, embedder=HashEmbedding(8)) for name in ("here", "there"))
    pinned, other = here.conversations.create(), here.conversations.create()
    for talk in (pinned, other):
        here.conversations.begin(talk.id, Ask("Who?"))
    here.conversations.pin(pinned.id, True)
    backup.write_copy(here, tmp_path / "copy.lectern")
    restore.read_copy(there, tmp_path / "copy.lectern")
    assert [c.id for c in there.conversations.all(pinned=True)] == [pinned.id]
    assert [c.id for c in there.conversations.all(pinned=False)] == [other.id]
    there.conversations.pin(pinned.id, False)
    restore.read_copy(there, tmp_path / "copy.lectern")
    assert there.conversations.all(pinned=True) == []
    here.close()
    there.close()


def test_deleting_a_conversation_deletes_its_messages(conversations: Conversations) -> None:
    talk = conversations.create()
    answer = conversations.begin(talk.id, Ask("Who?"))
    conversations.delete(talk.id)
    assert conversations.get(talk.id) is None
    assert conversations.message(answer.id) is None


def test_all_kinds_of_conversations_are_deleted(conversations: Conversations) -> None:
    answers = [conversations.begin(conversations.create(kind).id, Ask("Who?")) for kind in get_args(Kind)]
    conversations.delete_all()
    assert not any(conversations.all(kind) for kind in get_args(Kind))
    assert not any(conversations.message(answer.id) for answer in answers)


def test_the_last_messages_are_the_end_of_all_of_them(conversations: Conversations) -> None:
    talk, other = conversations.create(), conversations.create()
    for number in range(3):
        answer = conversations.begin(talk.id, Ask(f"{number}?"))
        conversations.write(answer.id, text=f"{number}!", state="done")
    conversations.begin(other.id, Ask("Else?"))
    assert [message.text for message in conversations.messages(talk.id)] == [
        "0?",
        "0!",
        "1?",
        "1!",
        "2?",
        "2!",
    ]
    for count in range(8):
        assert (
            conversations.messages(talk.id, last=count)
            == conversations.messages(talk.id)[max(6 - count, 0) :]
        )
    assert [conversations.size(each) for each in (talk.id, other.id, "nobody's")] == [6, 2, 0]


def test_messages_stay_in_order_when_the_clock_is_set_back(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = conversations.create()
    now = time.time()
    for number, seconds in enumerate((0, -3600, -7200)):
        monkeypatch.setattr(time, "time", lambda at=now + seconds: at)
        conversations.begin(talk.id, Ask(f"{number}?"))
    said = [message.text for message in conversations.messages(talk.id)]
    assert said == ["0?", "", "1?", "", "2?", ""]


@pytest.mark.parametrize(
    ("words", "found"), [("50%", True), ("5_%", False), ("a!b", True), ("%", True), ("'", False)]
)
def test_a_search_term_is_matched_literally(conversations: Conversations, words: str, found: bool) -> None:
    talk = conversations.create()
    conversations.begin(talk.id, Ask("Is 50% of a!b more?"))
    assert [one.id for one in conversations.all(search=words)] == ([talk.id] if found else [])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Übung", True),
        ("übung", True),
        ("ÜBUNG", True),
        ("IM ÉTAT", True),
        ("京都 ÉT", False),
        ("東京 üb", True),
        ("äbung", False),
    ],
)
def test_search_ignores_case_in_every_language(conversations: Conversations, words: str, found: bool) -> None:
    talk, titled = conversations.create(), conversations.create()
    for one, question, title in ((talk, "Die 東京 Übung IM état?", "x"), (titled, "x", "東京 übung im ÉTAT")):
        conversations.begin(one.id, Ask(question))
        conversations.rename(one.id, title)
    assert {one.id for one in conversations.all(search=words)} == ({talk.id, titled.id} if found else set())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("dog large", True),
        (" dog ", True),
        ("stair dog", True),
        ("DOG\tÜBER", True),
        ("large cat", False),
        ("dog x" * 999, False),
    ],
)
def test_search_matches_conversations_with_all_words_anywhere(
    conversations: Conversations, words: str, found: bool
) -> None:
    talk = conversations.create()
    conversations.begin(talk.id, Ask("May I bring a large dog?"))
    conversations.write(
        conversations.begin(talk.id, Ask("And über the Herring Stair?")).id, text="No.", state="done"
    )
    conversations.begin(conversations.create().id, Ask("Has it a cat?"))
    assert [one.id for one in conversations.all(search=words)] == ([talk.id] if found else [])


def test_a_stopped_answer_is_not_written_to_any_more(conversations: Conversations) -> None:
    talk = conversations.create()
    answer = conversations.begin(talk.id, Ask("Who?"))
    assert conversations.being_answered(talk.id)
    assert conversations.write(answer.id, text="It was", state="writing")
    conversations.stop(answer.id)
    assert not conversations.being_answered(talk.id)
    assert not conversations.write(answer.id, text="It was Ada.", state="done")
    kept = conversations.message(answer.id)
    assert kept is not None
    assert (kept.text, kept.state) == ("It was", "stopped")


def test_answer_dated_in_the_future_counts_as_interrupted(
    open_database: Callable[[], Database],
) -> None:
    now = [1_700_000_000.0]
    conversations = Conversations(open_database(), clock=lambda: now[0])
    talk = conversations.create()
    first = conversations.begin(talk.id, Ask("Who built the tower?"))
    now[0] -= 5
    assert conversations.being_answered(talk.id)
    now[0] -= 3600
    assert not conversations.being_answered(talk.id)
    assert conversations.message(first.id).state == "interrupted"  # type: ignore[union-attr]
    second = conversations.begin(talk.id, Ask("And when?"))
    assert conversations.being_answered(talk.id)
    # its writer lives, and signs by the new clock
    assert conversations.write(first.id, text="It was Ada.", state="writing")
    assert [message.text for message in conversations.messages(talk.id)] == [
        "Who built the tower?", "It was Ada.", "And when?", "",
    ]  # fmt: skip
    assert conversations.message(second.id).state == "writing"  # type: ignore[union-attr]


def test_a_conversation_whose_writer_fell_silent_is_free(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = conversations.create()
    conversations.begin(talk.id, Ask("Who?"))
    monkeypatch.setattr(conversations_module, "SILENT_SECONDS", -1.0)
    assert not conversations.being_answered(talk.id)


def list_texts(conversations: Conversations, conversation_id: str) -> list[str]:
    return [message.text for message in conversations.messages(conversation_id)]


def with_turns(conversations: Conversations, *turns: str) -> tuple[str, list[str]]:
    """A conversation and the ids of its answers."""
    talk, answers = conversations.create(), []
    for question in turns:
        answers.append(conversations.begin(talk.id, Ask(question)).id)
        conversations.write(
            answers[-1], text=f"To {question} [1]", state="done", sources=[SOURCE], facts=FACTS
        )
    return talk.id, answers


def test_a_duplicate_has_all_messages_and_is_independent(conversations: Conversations) -> None:
    talk, _ = with_turns(conversations, "Who?", "When?")
    made = conversations.duplicate(talk)
    assert made.title == "Who? (2)"
    old, new = conversations.messages(talk), conversations.messages(made.id)
    assert [(m.role, m.text, m.state, m.sources, m.facts, m.ask) for m in new] == [
        (m.role, m.text, m.state, m.sources, m.facts, m.ask) for m in old
    ]
    assert not {message.id for message in old} & {message.id for message in new}
    conversations.begin(made.id, Ask("Why?"))
    conversations.delete(made.id)
    assert list_texts(conversations, talk) == ["Who?", "To Who? [1]", "When?", "To When? [1]"]
    assert conversations.origin(made.id) is None


def test_a_duplicate_takes_the_next_free_number(conversations: Conversations) -> None:
    talk, _ = with_turns(conversations, "Who?")
    second = conversations.duplicate(talk)
    assert [conversations.duplicate(second.id).title, conversations.duplicate(talk).title] == [
        "Who? (3)",
        "Who? (4)",
    ]


def test_what_is_still_being_written_is_stopped_in_a_duplicate(conversations: Conversations) -> None:
    talk = conversations.create()
    answer = conversations.begin(talk.id, Ask("Who?"))
    conversations.write(answer.id, text="It was", state="writing")
    made = conversations.duplicate(talk.id)
    assert not conversations.being_answered(made.id)
    assert [(m.text, m.state) for m in conversations.messages(made.id)][1] == ("It was", "stopped")
    assert conversations.being_answered(talk.id)


def test_branch_has_the_turns_before_and_both_link_to_each_other(conversations: Conversations) -> None:
    talk, answers = with_turns(conversations, "Who?", "When?", "Why?")
    made = conversations.branch(answers[1])
    assert (made.title, list_texts(conversations, made.id)) == ("Who? (2)", ["Who?", "To Who? [1]"])
    assert len(list_texts(conversations, talk)) == 6
    assert conversations.origin(made.id) == conversations.get(talk)
    assert conversations.branches(talk) == [made]
    conversations.delete(talk)
    assert conversations.origin(made.id) is None
    assert len(list_texts(conversations, made.id)) == 2


def test_a_branch_at_the_first_question_is_named_by_its_own(conversations: Conversations) -> None:
    talk, answers = with_turns(conversations, "Who?")
    made = conversations.branch(answers[0])
    assert (made.title, list_texts(conversations, made.id)) == ("", [])
    conversations.begin(made.id, Ask("Who was it?"))
    named = conversations.get(made.id)
    assert named is not None
    assert named.title == "Who was it?"
    assert conversations.origin(made.id) == conversations.get(talk)


def test_what_was_deleted_is_neither_duplicated_nor_branched(conversations: Conversations) -> None:
    talk, answers = with_turns(conversations, "Who?")
    conversations.delete(talk)
    with pytest.raises(InputError, match="has been deleted"):
        conversations.duplicate(talk)
    with pytest.raises(InputError, match="has been deleted"):
        conversations.branch(answers[0])


def test_branch_survives_a_copy_and_older_copies_are_read(
    conversations: Conversations, open_database: Callable[[], Database]
) -> None:
    talk, answers = with_turns(conversations, "Who?", "When?")
    branch = conversations.branch(answers[1])
    dumped = list(conversations.dump())
    for one in (talk, branch.id):
        conversations.delete(one)
    for row in dumped:
        assert conversations.restore(row)
    assert conversations.origin(branch.id) == conversations.get(talk)
    conversations.delete(branch.id)
    old = next(row for row in dumped if row["id"] == branch.id)
    assert conversations.restore(check_row("conversations", {**old, "origin": None}))
    assert conversations.origin(branch.id) is None
