"""What an answer waits for is known while it has no words: its passages, and what its language model is
doing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns, Run
from lectern.runs.call_in_flight import CallInFlight, ReadPrompts
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.call_stages import CallStage
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.observe import Span
from tests.scripted_server import Fault, ScriptedServer

QUESTION = "How many lamps has the tower?"
SILENCE = 1.5  # seconds in which the server reads the prompt


def reply(messages: Sequence[Mapping[str, Any]]) -> str:
    return "It has many lamps, and more than that [1]."


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as server:
        yield server


@pytest.fixture
def runs(tmp_path: Path, server: ScriptedServer) -> Iterator[AnswerRuns]:
    llm = OpenAICompatibleLLM("tiny", f"{server.url}/v1")
    with closing(Library(tmp_path, embedder=HashEmbedding(), llm=llm)) as library:
        path = library.incoming / "tower.txt"
        path.write_text(" ".join(f"The tower of town {n} has {n} lamps." for n in range(90)), "utf-8")
        library.intake.add(path, path.name)
        assert Worker(
            library.files, library.store, library.embedder, lambda: library.settings.ingest
        ).run_once()
        yield AnswerRuns(library)


def ask(runs: AnswerRuns, conversation: str = "", question: str = QUESTION) -> Run:
    return runs.start(conversation or runs._library.conversations.create().id, Ask(question))


def seen(run: Run, condition: Callable[[], bool]) -> CallInFlight:
    """The call under way as soon as the condition holds, before the answer has a word."""
    deadline = time.monotonic() + 30
    while not (condition() and run.call) and time.monotonic() < deadline:
        time.sleep(0.005)
    call = run.call
    assert call is not None
    assert not run.text
    return call


def test_passages_and_token_count_are_known_while_model_reads(
    runs: AnswerRuns, server: ScriptedServer
) -> None:
    server.faults.append(Fault(delay=SILENCE))
    run = ask(runs)
    call = seen(run, lambda: run.call is not None)
    assert run.sources
    assert call.stage is CallStage.READING
    assert call.seconds_left is None  # before the first answer no speed is known
    assert run.wait(30)
    assert run.call is None
    trace = runs._library.conversations.trace(run.message_id)
    assert trace is not None
    messages = trace.spans("llm")[0].facts["messages"]
    prompt = "\n\n".join("".join(part["text"] for part in message["parts"]) for message in messages)
    assert call.prompt_tokens == runs._library.writer().count_tokens(prompt) > 100
    assert "stage" not in trace.spans("llm")[0].to_dict()


def test_remaining_seconds_fall_by_the_speed_of_past_answers(
    runs: AnswerRuns, server: ScriptedServer
) -> None:
    server.faults.append(Fault(delay=SILENCE))
    assert ask(runs).wait(30)
    speed = runs._library.writer().speed
    assert speed is not None
    server.faults.append(Fault(delay=SILENCE))
    run = ask(runs)
    first = seen(run, lambda: run.call is not None and run.call.stage is CallStage.READING)
    assert first.seconds_left == pytest.approx(first.prompt_tokens / speed.prompt_tokens_per_second, abs=0.3)
    time.sleep(0.5)
    later = run.call
    assert later is not None
    assert later.seconds_left is not None
    assert first.seconds_left - later.seconds_left == pytest.approx(0.5, abs=0.2)
    assert run.wait(30)


def test_no_remaining_time_if_a_model_is_slower_than_before(runs: AnswerRuns, server: ScriptedServer) -> None:
    server.faults.append(Fault(delay=0.2))
    assert ask(runs).wait(30)
    server.faults.append(Fault(delay=SILENCE + 2))
    run = ask(runs)
    seen(run, lambda: run.call is not None and run.call.seconds_left is not None)
    seen(run, lambda: run.call is not None and run.call.seconds_left is None)
    assert run.wait(30)


def test_condensed_follow_up_reports_reading_before_passages(
    runs: AnswerRuns, server: ScriptedServer
) -> None:
    first = ask(runs)
    assert first.wait(30)
    server.faults.append(Fault(delay=SILENCE))
    run = ask(runs, first.conversation_id, "And the harbour?")
    call = seen(run, lambda: run.call is not None)
    assert call.stage is CallStage.READING
    assert not run.sources
    assert run.wait(30)


def test_call_waits_for_another_if_the_server_is_full(runs: AnswerRuns, server: ScriptedServer) -> None:
    server.faults.append(Fault(delay=SILENCE))
    first = ask(runs)
    seen(first, lambda: first.call is not None and first.call.stage is CallStage.READING)
    second = ask(runs)
    seen(second, lambda: second.call is not None and second.call.stage is CallStage.WAITING)
    assert not first.is_finished
    assert first.wait(30)
    assert second.wait(30)


def test_a_call_without_answer_text_is_displayed_as_writing(runs: AnswerRuns, server: ScriptedServer) -> None:
    first = ask(runs)
    assert first.wait(30)
    server.words_per_second = 5
    run = ask(runs, first.conversation_id, "And the harbour?")
    assert seen(run, lambda: run.call is not None and run.call.stage is CallStage.WRITING).prompt_tokens > 0
    run.stop()


def call(model: str, prompt: str, **facts: object) -> Span:
    messages = [{"role": "user", "parts": [{"origin": "user", "text": prompt}]}]
    return Span("llm", {"model": model, "messages": messages, **facts}, seconds=1.0)


def test_what_a_server_remembers_of_a_prompt_is_not_read_again() -> None:
    read = ReadPrompts()
    read.add(
        Span(
            "query",
            children=[call("a", "Be brief. One. Two.", cached_tokens=0), call("b", "Be brief. Three.")],
        )
    )
    assert read.unread(call("a", "Be brief. One. Four.")) == "Four."
    assert read.unread(call("a", "Be brief. One. Two.")) == ""
    # its server does not say that it remembers
    assert read.unread(call("b", "Be brief. Three.")) == "Be brief. Three."
    assert read.unread(call("a", "Answer.")) == "Answer."


def test_the_reader_that_quotes_is_no_model_to_wait_for(runs: AnswerRuns) -> None:
    run = runs.start(runs._library.conversations.create().id, Ask(QUESTION, extractive=True))
    calls = []
    while not run.is_finished:
        calls.append(run.call)
    assert set(calls) <= {None}
