"""What a question is put to, through the library: all passages, or each document; what is kept of it, and how
much was read."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import AnswerFacts, Ask, Message
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.retrievers.fixed import AllPassages
from tests.lectern.test_library import take_in
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM, passages_of

TEXTS = {
    name: " ".join(
        f"The {name} number {number} is made of {number} small stones and nothing else."
        for number in range(60)
    )
    for name in ("tower", "cellar", "bridge")
}


def opened(folder: Path, llm: LLM | None = None) -> Library:
    library = Library(folder / "library", embedder=HashEmbedding(), llm=llm)
    for name, text in TEXTS.items():
        take_in(library, text, f"{name}.txt")
    return library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = opened(tmp_path)
    yield library
    library.close()


def answered(library: Library, ask: Ask) -> Message:
    run = AnswerRuns(library).start(library.conversations.create().id, ask)
    assert run.wait(60)
    message = library.conversations.message(run.message_id)
    assert message is not None
    return message


def ended(library: Library, message_id: str) -> Message:
    """A stopped answer, once its steps have ended too."""
    until = time.monotonic() + 20
    while library.conversations.trace(message_id) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    message = library.conversations.message(message_id)
    assert message is not None
    return message


def facts_of(message: Message) -> AnswerFacts:
    assert message.facts is not None
    return message.facts


def test_all_passages_come_once_in_document_order(library: Library) -> None:
    found = [hit.node for hit in AllPassages(library.store).retrieve("x")]
    assert [node.id_ for node in found] == [
        id_ for document in library.store.documents() for id_ in library.store.passage_ids(document.id_)
    ]
    assert len(found) == len(library.store) == len({node.id_ for node in found})
    bridge, tower = (
        file.id for name in ("bridge", "tower") for file in library.files.all() if file.name == f"{name}.txt"
    )
    some = [hit.node for hit in AllPassages(library.store, [bridge, tower]).retrieve("x")]
    assert [node.id_ for node in some] == [
        *library.store.passage_ids(tower),
        *library.store.passage_ids(bridge),
    ]


@pytest.mark.parametrize("mode", ["tree_summarize", "refine", "accumulate"])
def test_answer_from_everything_says_so_and_cites_its_quotes(library: Library, mode: str) -> None:
    ask = Ask(
        "What is the cellar number 59 made of?", chat_mode=None, response_mode=mode, reading="everything"
    )
    message = answered(library, ask)
    facts = facts_of(message)
    assert (facts.reading, facts.mode, facts.files_used, facts.files_total) == ("everything", mode, 3, 3)
    assert facts.passages_used == facts.passages_total == len(library.store)
    cited = [source for source in message.sources if f"[{source.number}]" in message.text]
    assert len(cited) == len(message.sources) > 0
    assert [source.number for source in message.sources] == list(range(1, len(message.sources) + 1))
    [first] = [
        source
        for source in message.sources
        if "number 59" in source.text and source.file_name == "cellar.txt"
    ][:1]
    assert f"[{first.number}]" in message.text


def test_answer_from_best_passages_states_the_number_of_files(library: Library) -> None:
    message = answered(library, Ask("What is the tower number 7 made of?", chat_mode=None, top_k=2))
    facts = facts_of(message)
    assert (facts.reading, facts.passages_used, facts.files_total) == ("best", 2, 3)
    assert facts.files_used == len({source.file_id for source in message.sources})


def test_each_documents_row_is_stored(library: Library) -> None:
    message = answered(
        library, Ask("What is the tower number 7 made of?", chat_mode=None, reading="each_file")
    )
    facts = facts_of(message)
    assert [row.file_name for row in facts.rows] == ["bridge.txt", "cellar.txt", "tower.txt"]
    assert facts.rows[2].found == "found"
    assert "7 small stones" in facts.rows[2].text
    assert all(f"**{row.file_name}**\n\n{row.text}" in message.text for row in facts.rows)
    alone = answered(
        library, Ask("What?", chat_mode=None, reading="each_file", file_ids=(library.files.all()[0].id,))
    )
    assert len(facts_of(alone).rows) == 1


def test_summaries_so_far_are_stored_when_it_is_stopped(tmp_path: Path) -> None:
    enough, begun, go_on = threading.Event(), [0], threading.Event()

    def rule(call: LLMCall) -> str:
        begun[0] += 1
        if begun[0] == 2:
            enough.set()
            go_on.wait(20)
        return f"Part. [{passages_of(call)[0].number}]"

    library = opened(tmp_path, ScriptedLLM(rule, context_window=1500, num_output=100))
    ask = Ask("Sum up.", chat_mode=None, response_mode="refine", reading="everything")
    run = AnswerRuns(library).start(library.conversations.create().id, ask)
    assert enough.wait(20)
    run.stop()
    go_on.set()
    message = ended(library, run.message_id)
    assert (message.state, message.text, len(message.sources)) == ("stopped", "Part. [1]", 1)
    assert 0 < facts_of(message).passages_used < len(library.store)
    library.close()


def test_rows_of_documents_that_answered_outlive_a_stop(tmp_path: Path) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def rule(call: LLMCall) -> str:
        if "tower" in passages_of(call)[0].text:
            waiting.set()
            go_on.wait(20)
        return "Stones. [1]"

    library = opened(tmp_path, UnlockedLLM(rule))
    run = AnswerRuns(library).start(
        library.conversations.create().id, Ask("What?", chat_mode=None, reading="each_file")
    )
    assert waiting.wait(20)
    for _piece in run.follow():
        if len(run.rows) == 2:
            break
    run.stop()
    go_on.set()
    message = ended(library, run.message_id)
    assert message.state == "stopped"
    assert [row.file_name for row in facts_of(message).rows] == ["bridge.txt", "cellar.txt"]
    library.close()


def test_ask_of_an_earlier_version_means_best_passages() -> None:
    ask = json.loads(Ask("What?").to_json())
    del ask["reading"]
    assert Ask.from_json(json.dumps(ask)).reading == "best"
    facts = AnswerFacts.from_json(
        '{"mode": "compact", "mode_label": "compact", "calls": 1, "seconds": 1.0, "passages_used": 6, '
        '"passages_total": 9}'
    )
    assert (facts.reading, facts.files_total, facts.rows) == ("best", 0, ())


@pytest.mark.parametrize("loaded", [True, False])
def test_facts_note_local_token_counts_and_embedder_loading(tmp_path: Path, loaded: bool) -> None:
    go_on = threading.Event()

    class Loading(HashEmbedding):
        def embed_query(self, text: str) -> list[float]:
            assert go_on.wait(20)
            return super().embed_query(text)

    go_on.set()
    library = Library(tmp_path / "library", embedder=Loading(), llm=ScriptedLLM(["It is tall. [1]"] * 2))
    take_in(library, TEXTS["tower"], "tower.txt")
    if not loaded:
        go_on.clear()
    loading = threading.Thread(target=library.embedder_loader.load)
    loading.start()
    loading.join(20 if loaded else 0.1)
    run = AnswerRuns(library).start(library.conversations.create().id, Ask("What is tall?"))
    assert run.wait(30 if loaded else 0.2) == loaded
    go_on.set()
    assert run.wait(30)
    loading.join(20)
    facts = library.conversations.message(run.message_id).facts  # type: ignore[union-attr]
    library.close()
    assert facts is not None
    assert facts.unready == (not loaded)
    assert facts.tokens_estimated
