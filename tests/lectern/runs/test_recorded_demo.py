"""Stage mode: what was recorded comes again as it was, at its own pace, with no model, no embedder and no
document."""

from __future__ import annotations

import gc
import json
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.jobs.intake import SAMPLE
from lectern.library import Library
from lectern.local_models import create_models_folder, models_folder
from lectern.runs.answer_runs import Run
from lectern.runs.recorded_demo import (
    RECORDED,
    PlayedRun,
    RecordedOrLiveRuns,
    Recording,
    find_recording,
    map_sources,
    next_questions,
    play,
    recorded_price,
    recordings,
)
from lectern.schema import AnswerFacts, Ask, Price, Source
from lectern.settings import RESPONSE_MODES, LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedFileError
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span
from ragcore.schema import ChatMessage, MessageRole
from sample.record import CHAT, QUERY, record, write
from tests.tiny_model import write_tiny_model

SOURCE = Source(1, "n1", "recorded-there", "tower.txt", 0, 9, "The tower")
MADE = Recording(
    created=1_700_000_000.0,
    before=(),
    ask=Ask("Who built it?"),
    pieces=((0.02, "Ada "), (0.05, "Penrose. [1]"), (0.08, "")),
    sources=(SOURCE,),
    facts=AnswerFacts("condense_plus_context", "condense plus context", 1, 0.08, 1, 3, 90, 8, model="tiny"),
    trace=Span("chat", {"mode": "condense_plus_context", "question": "Who built it?"}, 1.0, 0.08),
    text="Ada Penrose. [1]",
)
# Its source was found after it was written.
WHEN = CheckedSentence(0, 8, "In 1871.", "supported", 0, "The tower", 3.0)
FOLLOW_UP = replace(
    MADE,
    before=("Who built it?",),
    ask=Ask("And when?"),
    pieces=((0.0, "In 1871."),),
    text="In 1871. [1]",
    sentences=(WHEN,),
)


class Absent(HashEmbedding):
    """An embedder that must not be needed."""

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Never:
        raise AssertionError("something was embedded")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    # a model without a reply: asking it fails
    opened = Library(tmp_path / "library", embedder=Absent(), llm=ScriptedLLM())
    opened.update_settings(opened.settings.model_copy(update={"stage": True}))
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write([MADE, FOLLOW_UP], tmp_path / "recorded")
    return tmp_path / "recorded"


def ended(run: Run) -> Run:
    assert run.wait(30)
    return run


def test_a_model_in_the_models_folder_of_the_library_is_recorded(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(made: Recording) -> Never:
        raise Enough(made.facts.model)

    with closing(Library(tmp_path / "library")) as library:
        create_models_folder(library.folder)
        model = write_tiny_model(models_folder(library.folder) / "tiny.gguf", trained_context=16_384)
        llm = LLMSettings(provider="llama_cpp", model=model.name, num_output=16)
        library.update_settings(library.settings.model_copy(update={"llm": llm}))
        with pytest.raises(Enough, match=model.name):
            record(library, stop, parts=("query",))


def test_a_recording_is_the_same_after_its_file(folder: Path) -> None:
    assert len(list(folder.iterdir())) == 2
    read = {one.ask.question: one for one in recordings(folder)}
    for made in (MADE, FOLLOW_UP):
        again = read[made.ask.question]
        assert replace(again, trace=made.trace) == made
        assert again.trace.to_dict() == made.trace.to_dict()


def test_recorded_question_gives_the_recorded_answer_and_facts(library: Library, folder: Path) -> None:
    runs, talk = RecordedOrLiveRuns(library, folder), library.conversations.create().id
    run = runs.start(talk, Ask("  who built IT? ", top_k=9))
    assert "".join(run.follow()) == "Ada Penrose. [1]"
    ended(run)
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert (message.text, message.state, message.sources, message.ask) == (
        "Ada Penrose. [1]",
        "done",
        (SOURCE,),
        MADE.ask,
    )
    assert message.facts == replace(MADE.facts, recorded=MADE.created)
    trace = library.conversations.trace(run.message_id)
    assert trace is not None
    assert trace.to_dict() == MADE.trace.to_dict()
    expected = Price(1, 90, 8, 0.1)
    follow_up = ended(runs.start(talk, Ask("And when?"), expected=expected))
    assert follow_up.text == "In 1871."
    told = library.conversations.message(follow_up.message_id)
    assert told is not None
    assert told.text == "In 1871. [1]"
    assert told.facts == replace(FOLLOW_UP.facts, recorded=MADE.created, expected=expected)
    assert library.checks.of(talk) == {follow_up.message_id: [WHEN]}


def test_any_other_question_is_answered_as_usual(library: Library, folder: Path) -> None:
    before = {"Who built it?"}
    among = recordings(folder)
    for ask, asked in [
        (Ask("Who built them?"), []),
        (Ask("And when?"), []),  # a follow-up of nothing
        (Ask("Who built it?"), ["What else?"]),
        (Ask("Who built it?", chat_mode="react"), []),
        (Ask("Who built it?", chat_mode=None), []),
        (Ask("Who built it?", file_ids=("f1",)), []),
        (Ask("Who built it?", chat_mode=None, reading="everything"), []),
    ]:
        assert find_recording(ask, asked, among) is None, (ask, asked, before)
    runs = RecordedOrLiveRuns(library, folder)
    other = ended(runs.start(library.conversations.create().id, Ask("Hello", chat_mode="simple")))
    assert not isinstance(other, PlayedRun)
    library.update_settings(library.settings.model_copy(update={"stage": False}))
    assert not isinstance(
        ended(runs.start(library.conversations.create().id, Ask("Who built it?"))), PlayedRun
    )


def test_stop_keeps_what_was_played(library: Library, tmp_path: Path) -> None:
    write([replace(MADE, pieces=((0.0, "Ada "), (600.0, "Penrose.")))], tmp_path / "slow")
    run = RecordedOrLiveRuns(library, tmp_path / "slow").start(
        library.conversations.create().id, Ask("Who built it?")
    )
    for piece in run.follow():
        if piece:
            run.stop()
    message = library.conversations.message(run.message_id)
    assert message is not None
    assert (message.text, message.state) == ("Ada ", "stopped")
    assert library.conversations.trace(run.message_id) is None


def test_a_recording_that_cannot_be_played_ends_as_a_failure(library: Library) -> None:
    begun = library.conversations.begin(library.conversations.create().id, MADE.ask)
    broken = replace(MADE, pieces=((0.0, "Ada "), ("soon", "Penrose.")))  # type: ignore[arg-type]
    ended(PlayedRun(library, begun, broken))
    message = library.conversations.message(begun.id)
    assert message is not None
    assert (message.state, message.text) == ("failed", "Ada ")
    assert message.problem is not None


def test_a_played_recording_does_not_stay_in_memory(library: Library, folder: Path) -> None:
    runs, talk = RecordedOrLiveRuns(library, folder), library.conversations.create().id
    first = weakref.ref(ended(runs.start(talk, Ask("Who built it?"))))
    ended(runs.start(talk, Ask("And when?")))
    gc.collect()
    assert first() is None


class Clock:
    """Moves only while somebody pauses."""

    moment = 1000.0

    def __call__(self) -> float:
        return self.moment

    def pause(self, seconds: float) -> None:
        self.moment += seconds


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=8).map(sorted),
    st.lists(st.floats(0, 30), min_size=8, max_size=8),
)
def test_each_piece_comes_at_its_time_and_never_before(times: list[float], delays: list[float]) -> None:
    """`delays` are what the reader takes over each piece; one that is late by then comes at once."""
    clock = Clock()
    came, due = [], []
    for number, piece in enumerate(play([(at, str(at)) for at in times], clock, clock.pause)):
        came.append(clock.moment - 1000.0)
        due.append(max(times[number], came[-2] + delays[number - 1] if number else 0.0))
        assert piece == str(times[number])
        clock.pause(delays[number])
    assert came == pytest.approx(due, abs=1e-6)


def test_sources_are_those_of_the_documents_that_are_here(library: Library) -> None:
    path = library.incoming / "given"
    path.write_text("The tower", "utf-8")
    file = library.intake.add(path, "tower.txt").file
    assert map_sources([SOURCE], library) == (SOURCE,)  # it is not read yet
    with library.database.transaction() as db:
        db.execute("UPDATE files SET stage = 'ready' WHERE id = ?", (file.id,))
    assert map_sources([SOURCE], library) == (replace(SOURCE, file_id=file.id),)


def test_the_next_questions_depend_on_the_previous_one() -> None:
    among = (MADE, FOLLOW_UP, replace(MADE, ask=Ask("Who built it?", chat_mode="react")))
    assert next_questions(among, [], chat=True) == ["Who built it?"]
    assert next_questions(among, ["who  built it?"], chat=True) == ["And when?"]
    assert next_questions(among, ["Who built it?"], chat=True, mode="react") == []
    assert next_questions(among, [], chat=False) == []


@pytest.mark.parametrize("text", ["", "[]", '{"form": 1}', '{"form": 2, "made": 0}'])
def test_a_file_that_is_no_recording_says_how_to_make_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.json").write_text(text, "utf-8")
    with pytest.raises(DamagedFileError, match=r"broken\.json") as caught:
        recordings(tmp_path)
    assert "lectern record" in caught.value.hint


# Those that are shipped. Where one of these fails after a change of what an answer is: `lectern record` makes
# them anew.

SHIPPED = recordings(RECORDED)


def test_shipped_recordings_cover_chat_and_every_response_mode() -> None:
    modes = {one.ask.chat_mode for one in SHIPPED if one.ask.chat_mode}
    assert modes == {
        "simple",
        "condense_question",
        "context",
        "condense_plus_context",
        "react",
        "openai",
        "best",
    }
    for mode in modes:
        assert next_questions(SHIPPED, [], chat=True, mode=mode) == [CHAT[0]]
        assert next_questions(SHIPPED, [CHAT[0]], chat=True, mode=mode) == [CHAT[1]]
    for response_mode in RESPONSE_MODES:
        found = find_recording(Ask(QUERY, chat_mode=None, response_mode=response_mode), [], SHIPPED)
        assert found is not None, response_mode


def test_the_price_in_stage_mode_is_what_the_recording_took(library: Library) -> None:
    refine = Ask(QUERY, chat_mode=None, response_mode="refine")
    facts = next(one.facts for one in SHIPPED if one.ask.response_mode == "refine")
    assert recorded_price(library, refine) == Price(
        facts.calls, facts.prompt_tokens, facts.completion_tokens, facts.seconds, facts.money
    )
    said = [ChatMessage(MessageRole.USER, CHAT[0]), ChatMessage(MessageRole.ASSISTANT, "At 45.")]
    follow_up = recorded_price(library, Ask(CHAT[1]), said)
    assert follow_up is not None
    assert follow_up.calls == 2
    assert recorded_price(library, Ask(CHAT[1])) is None
    library.update_settings(library.settings.model_copy(update={"stage": False}))
    assert recorded_price(library, refine) is None


def test_shipped_recordings_take_as_long_as_a_model_in_each_mode() -> None:
    by_mode = {one.ask.response_mode: one for one in SHIPPED if not one.ask.chat_mode}
    assert {mode: one.facts.seconds > 1 for mode, one in by_mode.items()} == {
        mode: mode != "no_text" for mode in by_mode
    }
    replies = {
        mode: [call.facts["reply"] for call in one.trace.spans("llm")] for mode, one in by_mode.items()
    }
    assert len(replies["refine"]) == by_mode["refine"].facts.passages_used > 1
    assert len(replies["tree_summarize"]) >= 3  # two leaves and a root
    assert (
        len(replies["accumulate"])
        == by_mode["accumulate"].facts.passages_used
        > len(replies["compact_accumulate"])
        > 1
    )
    assert len({one.facts.model for one in SHIPPED}) == 1
    assert sum((RECORDED / one.name).stat().st_size for one in SHIPPED) < 500_000


def test_a_newer_recording_is_played_in_place_of_an_older_one(tmp_path: Path) -> None:
    newer = replace(MADE, created=MADE.created + 9, facts=replace(MADE.facts, model="larger"))
    write([newer, MADE], tmp_path)
    found = find_recording(MADE.ask, [], recordings(tmp_path))
    assert found is not None
    assert found.facts.model == "larger"


@pytest.mark.parametrize("one", SHIPPED, ids=lambda one: one.name)
def test_a_shipped_recording_is_whole_and_names_its_model(one: Recording) -> None:
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", one.text)}
    assert cited <= {source.number for source in one.sources}
    assert {source.file_name for source in one.sources} <= {path.name for path in SAMPLE.iterdir()}
    assert one.facts.calls == len(one.trace.spans("llm"))
    assert [at for at, _ in one.pieces] == sorted(at for at, _ in one.pieces)
    assert one.pieces[-1][0] == pytest.approx(one.facts.seconds, abs=0.5)
    assert {call.facts["model"] for call in one.trace.spans("llm")} <= {one.facts.model}
    assert one.facts.recorded is None
    assert within(json.loads((RECORDED / one.name).read_text("utf-8")), json.loads(one.to_json()))


def within(kept: Any, read: Any) -> bool:
    """Whether all that is in the file was understood; what has been added to answers since is as it always
    was."""
    if isinstance(kept, dict):
        return all(name in read and within(value, read[name]) for name, value in kept.items())
    if isinstance(kept, list):
        return len(kept) == len(read) and all(map(within, kept, read))
    return bool(kept == read)
