"""Prompts worded anew: what is refused, what is kept, and that the next call says the new words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lectern.db.prompt_versions import EDITABLE, SCHEMA, PromptVersions, WordingError, built_in, check, fits
from lectern.export.backup import write_copy
from lectern.export.restore import read_copy
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.schema import Ask, Retrieval
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.prompt import Prompt
from ragcore.schema import ChatMessage, MessageRole
from ragcore.sql.base import Database
from tests.databases import KINDS, opening

QA = ("Be kind.", "In {context_str} look for {query_str}.")


@pytest.fixture(params=KINDS)
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    yield from opening(request.param, tmp_path, SCHEMA)


@pytest.fixture
def versions(open_database: Callable[[], Database]) -> PromptVersions:
    return PromptVersions(open_database(), clock=lambda: 7.0)


def test_the_newest_version_is_used_and_all_are_stored(
    versions: PromptVersions, open_database: Callable[[], Database]
) -> None:
    assert versions.current() == {}
    assert [version.number for version in versions.history("text_qa")] == [0]
    versions.save("text_qa", QA)
    versions.save("text_qa", ("Be brief.", QA[1]))
    elsewhere = PromptVersions(open_database())
    assert [(version.number, version.texts) for version in elsewhere.history("text_qa")] == [
        (2, ("Be brief.", QA[1])), (1, QA), (0, built_in("text_qa").texts),
    ]  # fmt: skip
    assert elsewhere.in_use("text_qa").saved == 7.0
    said = elsewhere.current()["text_qa"]
    assert [message.content for message in said.messages] == ["Be brief.", QA[1]]
    assert (said.name, said.task) == ("text_qa", EDITABLE["text_qa"].task)


def test_earlier_and_built_in_prompts_can_be_restored(versions: PromptVersions) -> None:
    versions.save("text_qa", QA)
    versions.reset("text_qa")
    assert versions.current() == {}
    assert versions.in_use("text_qa").built_in
    versions.restore(versions.history("text_qa")[1])
    assert versions.in_use("text_qa").texts == QA
    assert [version.number for version in versions.history("text_qa")] == [3, 2, 1, 0]


def test_saving_what_is_in_use_makes_no_version(versions: PromptVersions) -> None:
    versions.save("text_qa", built_in("text_qa").texts)
    versions.reset("text_qa")
    assert len(versions.history("text_qa")) == 1
    versions.save("text_qa", QA)
    versions.save("text_qa", QA)
    assert len(versions.history("text_qa")) == 2


def test_invalid_prompt_is_refused_by_name_and_not_stored(versions: PromptVersions) -> None:
    with pytest.raises(WordingError, match=r"\{kontext\}") as refused:
        versions.save("text_qa", ("Be kind.", "{kontext} {query_str}"))
    assert (refused.value.unknown, refused.value.missing) == (("kontext",), ("context_str",))
    with pytest.raises(WordingError, match=r"\{query_str\} is missing") as refused:
        versions.save("text_qa", ("", "{context_str}"))
    assert (refused.value.unknown, refused.value.missing) == ((), ("query_str",))
    with pytest.raises(WordingError, match="2 texts were given for questions; it takes 1"):
        versions.save("questions", ("Be kind.", "{num_questions} of {context_str}"))
    assert versions.in_use("text_qa").number == versions.in_use("questions").number == 0


def test_built_in_prompts_pass_their_check_and_json_is_text() -> None:
    for name in EDITABLE:
        check(name, built_in(name).texts)
    check("generation", ('{query_str} as {"answer": "..."}',))


def rendered(prompt: Prompt, query: str) -> list[str]:
    values = {**dict.fromkeys(prompt.variables, ""), "query_str": query}
    return [message.content for message in prompt.render(values)]


def test_doubled_braces_of_a_saved_prompt_are_sent_as_one(versions: PromptVersions) -> None:
    versions.save("generation", ['{query_str} Write {{"answer": {{}}}} for {{query_str}}.'])
    assert rendered(versions.current()["generation"], "Why {{x}}?") == [
        'Why {{x}}? Write {"answer": {}} for {query_str}.'
    ]
    with pytest.raises(WordingError, match=r"\{query_str\} is missing"):
        versions.save("generation", ["Write {{query_str}}"])


@pytest.mark.parametrize(
    ("stored", "sent", "shown"),
    [
        (
            '{{"a": {"b": 1}}} {{query_str}}',
            '{{"a": {"b": 1}}} {Q}',
            '{{{{"a": {{"b": 1}}}}}} {{{query_str}}}',
        ),
        ('{"a": {"b": 1}} {query_str}', '{"a": {"b": 1}} Q', '{"a": {"b": 1}} {query_str}'),
        ("}}{query_str}{{", "}}Q{{", "}}}}{query_str}{{{{"),
    ],
)
def test_prompts_of_earlier_versions_send_what_they_sent(
    open_database: Callable[[], Database], versions: PromptVersions, stored: str, sent: str, shown: str
) -> None:
    row = {"name": "generation", "number": 1, "texts": json.dumps([stored]), "saved": 1.0}
    versions.load([row])  # as a copy of an earlier version has it
    assert rendered(versions.current()["generation"], "Q") == [sent]
    assert versions.in_use("generation").texts == (shown,)
    assert versions.save("generation", [shown]).number == 1  # it is what is in use
    assert versions.save("generation", [f"Be brief. {shown}"]).number == 2
    assert rendered(versions.current()["generation"], "Q") == [f"Be brief. {sent}"]
    copied = list(versions.dump())
    with open_database().transaction() as db:
        db.execute("DELETE FROM prompt_versions")
    versions.load(copied)
    assert rendered(versions.current()["generation"], "Q") == [f"Be brief. {sent}"]


def test_a_version_of_another_program_is_not_used_and_not_lost(versions: PromptVersions) -> None:
    row = {"name": "text_qa", "number": 1, "texts": '["{gone}", "{context_str} {query_str}"]', "saved": 1.0}
    versions.load([row, {**row, "name": "no_longer_a_prompt"}])
    assert versions.current() == {}
    assert not fits(versions.in_use("text_qa"))
    assert {dumped["name"] for dumped in versions.dump()} == {"text_qa", "no_longer_a_prompt"}


def library_of(folder: Path, llm: ScriptedLLM) -> Library:
    library = Library(folder, embedder=HashEmbedding(), llm=llm)
    path = library.incoming / "given"
    path.write_text("The tower was built by Ada Penrose in 1871.", "utf-8")
    library.intake.add(path, "tower.txt")
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    return library


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("text_qa", Ask("Who built the tower?", None)),
        ("text_qa", Ask("Who built the tower?", "condense_question")),
        ("tree_summarize", Ask("Who built the tower?", None, "tree_summarize")),
        ("generation", Ask("Who built the tower?", None, "generation")),
        ("context_chat", Ask("Who built the tower?", "context")),
        ("context_chat", Ask("Who built the tower?", "condense_plus_context")),
        ("condense_question", Ask("Who built it?", "condense_plus_context")),
        ("condense_question", Ask("Who built it?", "condense_question")),
        ("simple_chat", Ask("Who built the tower?", "simple")),
        ("react", Ask("Who built the tower?", "react")),
    ],
)
def test_next_answer_uses_the_new_prompt_and_its_trace_shows_it(tmp_path: Path, name: str, ask: Ask) -> None:
    llm = ScriptedLLM(
        lambda call: (
            "Thought: I can answer now.\nAnswer: It was Ada." if ask.chat_mode == "react" else "It was Ada."
        )
    )
    library = library_of(tmp_path / "library", llm)
    *first, last = built_in(name).texts
    library.prompts.save(name, (*first, last + " ZEBRA"))
    history = [ChatMessage(MessageRole.USER, "The tower?"), ChatMessage(MessageRole.ASSISTANT, "A tall one.")]
    answer = library.answer(ask, history)
    assert "Ada" in "".join(answer)
    said = [message.content for call in llm.calls for message in call.messages]
    assert any("ZEBRA" in text for text in said)
    assert answer.trace is not None
    shown = [
        part["text"]
        for call in answer.trace.spans("llm")
        for m in call.facts["messages"]
        for part in m["parts"]
    ]
    assert any("ZEBRA" in text for text in shown)
    library.close()


def test_refining_says_the_new_words_on_its_own_and_in_a_chat(tmp_path: Path) -> None:
    llm = ScriptedLLM(lambda call: "It was Ada.")
    library = library_of(tmp_path / "library", llm)
    path = library.incoming / "given"
    path.write_text("The tower has a lamp that Ada Penrose lit.", "utf-8")
    library.intake.add(path, "lamp.txt")
    assert Worker(library.files, library.store, library.embedder, lambda: library.settings.ingest).run_once()
    library.prompts.save("refine", ("", " ".join(built_in("refine").texts) + " ZEBRA"))
    for mode in (None, "condense_question"):
        llm.calls.clear()
        "".join(library.answer(Ask("Who built the tower?", mode, "refine", retrieval=Retrieval(weaker=True))))
        assert "ZEBRA" in llm.calls[-1].messages[-1].content
        assert len(llm.calls) == 2
    library.close()


def test_a_copy_brings_prompts_along_only_on_request(tmp_path: Path) -> None:
    library = library_of(tmp_path / "one", ScriptedLLM())
    library.prompts.save("text_qa", QA)
    write_copy(library, tmp_path / "copy.lectern")
    library.close()
    other = Library(tmp_path / "two", embedder=HashEmbedding())
    other.prompts.save("generation", ("Say: {query_str}",))
    read_copy(other, tmp_path / "copy.lectern")
    assert other.prompts.in_use("text_qa").built_in
    read_copy(other, tmp_path / "copy.lectern", prompts=True)
    assert other.prompts.in_use("text_qa").texts == QA
    assert other.prompts.in_use("generation").texts == ("Say: {query_str}",)
    read_copy(other, tmp_path / "copy.lectern", prompts=True)
    assert len(other.prompts.history("text_qa")) == 2
    other.close()
