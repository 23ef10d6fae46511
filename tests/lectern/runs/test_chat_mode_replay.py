"""A replay: every way of chatting asked the same questions, each with its own history, and told apart by what
it did."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lectern.db.prompt_versions import built_in
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.chat_mode_replay import (
    MAX_LANES,
    MODES,
    Lane,
    Replay,
    Replays,
    ToolUse,
    find_lack,
    steps_of,
)
from lectern.schema import Ask, Retrieval
from lectern.settings import AppSettings, PriceSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError, LLMUnavailableError
from ragcore.extractive.answerer import Writer
from ragcore.extractive.quoter import Quoter
from ragcore.llms.base import LLMCall, Stream
from ragcore.llms.scripted import Line, ScriptedLLM
from ragcore.llms.tool_call import ToolCall
from ragcore.observe import Span
from ragcore.prompts.prompt import RenderedMessage
from ragcore.schema import Document, TextNode

FIRST, SECOND = "Who built the tower?", "And how high is it?"
WHOLE = "How high is the tower?"
TEXTS = (
    "The tower was built by Ada Penrose in 1871.",
    "The tower is forty metres high.",
    "The cellar holds barrels.",
)


def obedient(call: LLMCall) -> Line:
    """A model that rewrites follow-ups, looks things up once a turn where it has a tool, and cites."""
    name = call.prompt.name
    if name == "condense_question":
        return WHOLE
    if name == "react":
        if call.variables["observations"]:
            return "Thought: I know.\nAnswer: Stepwise answer [1]"
        asked = json.dumps({"input": f"about: {call.variables['query_str']}"})
        return f"Thought: I look.\nAction: query_engine_tool\nAction Input: {asked}"
    if call.tools and not any(message.role.value == "tool" for message in call.history[-2:]):
        return ToolCall.of("c1", "query_engine_tool", json.dumps({"input": "tower"}))
    return f"{name}: an answer [1]"


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[list[Library]]:
    opened: list[Library] = []
    yield opened
    for library in opened:
        library.close()


def library_with(opened: list[Library], folder: Path, llm: ScriptedLLM | None) -> Library:
    library = Library(folder, embedder=HashEmbedding(), llm=llm)
    opened.append(library)
    document = Document("".join(TEXTS), "d", {"file_name": "tower.txt"})
    nodes = [
        TextNode(text, f"n{n}", {"file_name": "tower.txt"}, embedding=HashEmbedding().embed_query(text))
        for n, text in enumerate(TEXTS)
    ]
    library.store.upsert(document, nodes)
    return library


def talked(library: Library, runs: AnswerRuns) -> str:
    talk = library.conversations.create().id
    for question in (FIRST, SECOND):
        assert runs.start(talk, Ask(question, chat_mode="context", retrieval=Retrieval(weaker=True))).wait(30)
    return talk


def whole(replays: Replays, talk: str) -> Replay:
    deadline = time.monotonic() + 30
    while (replay := replays.get(talk)) is None or replay.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return replay


def lane(replay: Replay, mode: str) -> Lane:
    return next(one for one in replay.lanes if one.mode == mode)


def test_each_mode_tells_what_it_did_with_each_question(open_library: list[Library], tmp_path: Path) -> None:
    library = library_with(open_library, tmp_path, ScriptedLLM(obedient, is_function_calling_model=True))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    priced = {mode: replays.price(talk, [mode]).calls for mode in MODES}
    replays.start(talk, MODES)
    replay = whole(replays, talk)
    assert replay.questions == (FIRST, SECOND)
    assert [one.mode for one in replay.lanes] == list(MODES)
    did = {
        one.mode: [
            (cell.steps.rewritten, cell.steps.passages, cell.steps.tools) for cell in one.cells if cell.steps
        ]
        for one in replay.lanes
    }
    called = ToolUse("query_engine_tool", '{"input": "tower"}')
    steps = [
        ToolUse("query_engine_tool", json.dumps({"input": f"about: {asked}"})) for asked in (FIRST, SECOND)
    ]
    assert did == {
        "simple": [(None, None, ())] * 2,
        "condense_question": [(None, 3, ()), (WHOLE, 3, ())],
        "context": [(None, 3, ())] * 2,
        "condense_plus_context": [(None, 3, ()), (WHOLE, 3, ())],
        "react": [(None, 3, (steps[0],)), (None, 3, (steps[1],))],
        "openai": [(None, 3, (called,))] * 2,
        "best": [(None, 3, (called,))] * 2,
    }
    assert {one.mode: one.calls for one in replay.lanes} == priced
    assert lane(replay, "best").cells[0].steps == steps_of(traced(library, replay, "best", 0))
    assert {cell.steps.worked_as for cell in lane(replay, "best").cells if cell.steps} == {"openai"}
    for one in replay.lanes:
        assert all(cell.sources for cell in one.cells) == (one.mode != "simple"), one.mode


def traced(library: Library, replay: Replay, mode: str, place: int) -> Span:
    trace = library.conversations.trace(lane(replay, mode).cells[place].message_id)
    assert trace is not None
    return trace


def test_a_mode_remembers_its_own_answers_and_no_other(open_library: list[Library], tmp_path: Path) -> None:
    llm = ScriptedLLM(obedient)
    library = library_with(open_library, tmp_path, llm)
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    llm.calls.clear()
    replays.start(talk, ["simple", "context"])
    whole(replays, talk)
    seen = {
        (logged.prompt, str(logged.variables["query_str"])): [
            message.content for message in logged.call.history
        ]
        for logged in llm.calls
    }
    assert seen == {
        ("simple_chat", FIRST): [],
        ("simple_chat", SECOND): [FIRST, "simple_chat: an answer [1]"],
        ("context_chat", FIRST): [],
        ("context_chat", SECOND): [FIRST, "context_chat: an answer"],  # no passage says so
    }


def test_a_mode_that_fails_ends_alone_and_says_why(open_library: list[Library], tmp_path: Path) -> None:
    broken_now = threading.Event()

    def faulty(call: LLMCall) -> Line:
        if (
            broken_now.is_set() and call.prompt.name == "simple_chat"
        ) or call.prompt.name == "condense_question":
            return LLMUnavailableError("Nobody answers.", hint="Start it.")
        return obedient(call)

    library = library_with(open_library, tmp_path, ScriptedLLM(faulty))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    broken_now.set()
    replays.start(talk, ["context", "condense_question", "simple"])
    replay = whole(replays, talk)
    assert [cell.state for cell in lane(replay, "context").cells] == ["done", "done"]
    # what stands on its answer is not asked
    assert [cell.state for cell in lane(replay, "simple").cells] == ["failed"]
    broken = lane(replay, "condense_question").cells
    assert [cell.state for cell in broken] == ["done", "failed"]
    assert broken[1].problem is not None
    assert (broken[1].problem.what, broken[1].steps) == ("Nobody answers.", None)


def test_broken_lane_resumes_at_its_answer_without_other_calls(
    open_library: list[Library], tmp_path: Path
) -> None:
    broken_now = threading.Event()

    def faulty(call: LLMCall) -> Line:
        if broken_now.is_set() and call.prompt.name == "simple_chat":
            return LLMUnavailableError("Nobody answers.", hint="Start it.")
        return obedient(call)

    llm = ScriptedLLM(faulty)
    library = library_with(open_library, tmp_path, llm)
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    broken_now.set()
    replays.start(talk, ["simple", "context"])
    before = whole(replays, talk)
    assert (lane(before, "simple").is_broken, lane(before, "context").is_broken) == (True, False)
    with pytest.raises(InputError, match="nothing to try again"):
        replays.go_on(talk, "context")
    broken_now.clear()
    llm.calls.clear()
    replays.go_on(talk, "simple")
    with pytest.raises(InputError, match="being replayed"):
        replays.go_on(talk, "simple")
    after = whole(replays, talk)
    assert [(cell.question, cell.state) for cell in lane(after, "simple").cells] == [
        (FIRST, "done"),
        (SECOND, "done"),
    ]
    assert lane(after, "context") == lane(before, "context")
    seen = [
        (str(call.variables["query_str"]), [message.content for message in call.call.history])
        for call in llm.calls
    ]
    assert seen == [(FIRST, []), (SECOND, [FIRST, "simple_chat: an answer [1]"])]


def test_only_the_broken_answer_of_a_changed_chat_is_repeated(
    open_library: list[Library], tmp_path: Path
) -> None:
    broken_now = threading.Event()

    def faulty(call: LLMCall) -> Line:
        return (
            LLMUnavailableError("Nobody answers.", hint="Start it.")
            if broken_now.is_set()
            else obedient(call)
        )

    library = library_with(open_library, tmp_path, ScriptedLLM(faulty))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    broken_now.set()
    replays.start(talk, ["simple"])
    whole(replays, talk)
    broken_now.clear()
    first = library.conversations.messages(talk)[1]
    assert runs.retry(first.id, ask=Ask("What holds the cellar?", chat_mode="context")).wait(30)
    replays.go_on(talk, "simple")
    assert [(cell.question, cell.state) for cell in lane(whole(replays, talk), "simple").cells] == [
        (FIRST, "done")
    ]


def test_modes_that_wait_in_a_stopped_replay_never_run(open_library: list[Library], tmp_path: Path) -> None:
    slow, go_on = threading.Event(), threading.Event()

    class Slow(ScriptedLLM):
        def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
            assert not slow.is_set() or go_on.wait(30)
            return (yield from super()._stream(call, messages))

    library = library_with(open_library, tmp_path, Slow(obedient))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    slow.set()
    replays.start(talk, ["simple", "condense_question", "context", "condense_plus_context"])
    deadline = time.monotonic() + 30
    while sum(len(one.cells) for one in now(replays, talk).lanes) < MAX_LANES:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    replays.stop(talk)
    go_on.set()
    replay = whole(replays, talk)
    states = sorted([cell.state for cell in one.cells] for one in replay.lanes)
    assert states == [[], *[["stopped"]] * MAX_LANES]


def test_a_rewriting_that_changes_nothing_is_none() -> None:
    condensed = Span("condense", {"question": FIRST})
    assert (
        steps_of(Span("chat", {"question": FIRST, "mode": "context"}, children=[condensed])).rewritten is None
    )
    assert (
        steps_of(Span("chat", {"question": SECOND, "mode": "context"}, children=[condensed])).rewritten
        == FIRST
    )


@pytest.mark.parametrize("every", [False, True])
def test_stop_keeps_what_there_is_and_asks_nothing_more(
    open_library: list[Library], tmp_path: Path, every: bool
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    class Slow(ScriptedLLM):
        def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
            if call.prompt.name == "simple_chat":
                reached.set()
                assert go_on.wait(30)
            return (yield from super()._stream(call, messages))

    library = library_with(open_library, tmp_path, Slow(obedient))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    replays.start(talk, ["simple", "context"])
    assert reached.wait(30)
    deadline = time.monotonic() + 30
    while [cell.state for cell in lane(now(replays, talk), "context").cells] != ["done", "done"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(InputError, match="already"):
        replays.start(talk, ["context"])
    assert replays.busy
    if every:  # as when the library is closed
        replays.stop_all()
        runs.stop_all()
    else:
        replays.stop(talk)
    go_on.set()
    replay = whole(replays, talk)
    assert not replays.busy
    assert [cell.state for cell in lane(replay, "simple").cells] == ["stopped"]
    assert [cell.state for cell in lane(replay, "context").cells] == ["done", "done"]
    # as another process reads it, or this one after a restart
    assert Replays(library, AnswerRuns(library)).get(talk) == replay


def now(replays: Replays, talk: str) -> Replay:
    replay = replays.get(talk)
    assert replay is not None
    return replay


def test_a_replay_is_in_no_list_and_goes_with_its_conversation(
    open_library: list[Library], tmp_path: Path
) -> None:
    library = library_with(open_library, tmp_path, None)
    runs, conversations = AnswerRuns(library), library.conversations
    replays, talk = Replays(library, runs), talked(library, runs)
    assert replays.get(talk) is None
    replays.start(talk, ["context", "react"])
    first = whole(replays, talk)
    replays.start(talk, ["context"])
    second = whole(replays, talk)
    assert [one.mode for one in second.lanes] == ["context"]
    assert conversations.get(first.lanes[0].conversation_id) is None  # a conversation has one replay
    assert [one.id for one in conversations.all("chat")] == [talk]
    conversations.delete(talk)
    assert conversations.get(second.lanes[0].conversation_id) is None
    assert replays.get(talk) is None


def test_price_of_a_conversation_grows_with_its_questions(
    open_library: list[Library], tmp_path: Path
) -> None:
    library = library_with(open_library, tmp_path, ScriptedLLM(obedient))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    both = replays.price(talk, ["condense_question", "simple"])
    assert both.calls == 3 + 2
    for _ in range(3):
        assert runs.start(talk, Ask(SECOND, chat_mode="context")).wait(30)
    five = replays.price(talk, ["condense_question", "simple"])
    assert five.calls == 9 + 5
    assert five.prompt_tokens > 2 * both.prompt_tokens
    assert replays.price(talk, []).calls == 0


def test_price_of_a_replay_follows_token_prices_and_prompts(
    open_library: list[Library], tmp_path: Path
) -> None:
    library = library_with(open_library, tmp_path, ScriptedLLM(obedient))
    runs = AnswerRuns(library)
    replays, talk = Replays(library, runs), talked(library, runs)
    before = replays.price(talk, ["context"])
    library.update_settings(AppSettings(price=PriceSettings(prompt_million=1.0)))
    assert replays.price(talk, ["context"]).money == pytest.approx(before.prompt_tokens / 1e6)
    library.prompts.save(
        "context_chat", tuple(f"{text} {'and more ' * 50}" for text in built_in("context_chat").texts)
    )
    assert replays.price(talk, ["context"]).prompt_tokens > before.prompt_tokens + 100


def test_nothing_is_begun_without_a_question_or_a_way(open_library: list[Library], tmp_path: Path) -> None:
    library = library_with(open_library, tmp_path, None)
    runs = AnswerRuns(library)
    replays = Replays(library, runs)
    with pytest.raises(InputError, match="nothing to replay"):
        replays.start(library.conversations.create().id, MODES)
    talk = talked(library, runs)
    with pytest.raises(InputError, match="No chat mode"):
        replays.start(talk, [])
    assert replays.get(talk) is None


@pytest.mark.parametrize(
    ("extractive", "functions", "missing"),
    [(True, False, {"simple": "model"}), (False, False, {"openai": "functions"}), (False, True, {})],
)
def test_what_a_model_lacks_for_a_way_is_known_before(
    extractive: bool, functions: bool, missing: dict[str, str]
) -> None:
    writer: Writer = ScriptedLLM(is_function_calling_model=functions)
    if extractive:
        writer = Quoter(HashEmbedding())
    assert {mode: lack for mode in MODES if (lack := find_lack(mode, writer))} == missing
