"""Calls wait for their turn at a server: as many at once as it has room for, questions first, and each can be
ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ragcore.errors import LLMServerError, LLMTimeoutError, LLMUnavailableError
from ragcore.llms.base import LLMCall
from ragcore.llms.call_queue import (
    CallCancelledError,
    Cancellation,
    OvertakenError,
    Turn,
    cancellable,
    in_background,
    queue_of,
)
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM
from ragcore.llms.server_llm import ServedLLM
from ragcore.prompts.wording import GENERATION
from tests.scripted_server import Fault, ScriptedServer, error

CALL = LLMCall(GENERATION, {"query_str": "Hello"})


def openai_compatible(url: str) -> ServedLLM:
    return OpenAICompatibleLLM("tiny", url, timeout=5)


def ollama(url: str) -> ServedLLM:
    return Ollama("tiny", url, request_timeout=5)


@pytest.fixture(params=[openai_compatible, ollama])
def opened(request: pytest.FixtureRequest) -> Callable[[str], ServedLLM]:
    return request.param


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def ask(llm: ServedLLM, text: str = "Hello") -> str:
    return llm.complete(text).text


def wait_for(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def last_words(messages: object) -> str:
    return str(messages[-1]["content"])  # type: ignore[index]


@pytest.mark.parametrize("slots", [1, 3])
def test_parallel_calls_match_the_room_that_the_server_states(
    slots: int, threads: ThreadPoolExecutor
) -> None:
    with ScriptedServer(always=Fault(delay=0.1), slots=slots, room=slots, refuses_when_full=True) as server:
        clients = [openai_compatible(server.url) for _ in range(2)]  # which share the server's queue
        answers = list(threads.map(ask, clients * 3))
        assert answers == ["You said: Hello"] * 6
        assert server.most_at_once == slots
        assert len(server.chats) == 6
        for client in clients:
            client.close()


def test_server_that_is_started_again_states_its_room_anew(threads: ThreadPoolExecutor) -> None:
    with ScriptedServer(slots=1) as before, closing(openai_compatible(before.url)) as llm:
        ask(llm)
        port = int(before.url.rpartition(":")[2])
    with closing(openai_compatible(f"http://127.0.0.1:{port}")) as llm:
        with pytest.raises(LLMUnavailableError):
            ask(llm)
        assert queue_of(f"http://127.0.0.1:{port}").room is None
        with ScriptedServer(always=Fault(delay=0.2), slots=3, port=port) as after:
            list(threads.map(ask, [llm] * 6))
            assert after.most_at_once == 3


def test_ollama_and_silent_local_servers_get_one_call_at_a_time(
    opened: Callable[[str], ServedLLM], threads: ThreadPoolExecutor
) -> None:
    with ScriptedServer(always=Fault(delay=0.05)) as server, closing(opened(server.url)) as llm:
        list(threads.map(ask, [llm] * 4))
        assert server.most_at_once == 1


def test_the_setting_overrides_the_servers_capacity(threads: ThreadPoolExecutor) -> None:
    with ScriptedServer(always=Fault(delay=0.2), slots=1) as server:
        for llm in (
            OpenAI("tiny", api_key="sk", api_base=server.url, calls_at_once=3),
            Ollama("tiny", server.url, calls_at_once=3),
        ):
            server.most_at_once = 0
            list(threads.map(ask, [llm] * 6))
            assert server.most_at_once == 3
            llm.close()


def test_setting_overrides_the_room_that_was_measured_before(threads: ThreadPoolExecutor) -> None:
    with (
        ScriptedServer(always=Fault(delay=0.2), slots=1) as server,
        closing(openai_compatible(server.url)) as automatic,
        closing(OpenAICompatibleLLM("tiny", server.url, calls_at_once=3)) as llm,
    ):
        ask(automatic)
        list(threads.map(ask, [llm] * 6))
        assert server.most_at_once == 3


def test_server_with_less_room_than_expected_answers_all_calls(threads: ThreadPoolExecutor) -> None:
    with (
        ScriptedServer(always=Fault(delay=0.1), room=1, refuses_when_full=True) as server,
        closing(OpenAICompatibleLLM("tiny", server.url, calls_at_once=4, max_retries=0)) as llm,
    ):
        assert list(threads.map(ask, [llm] * 4)) == ["You said: Hello"] * 4


def test_server_full_of_foreign_calls_is_its_own_error() -> None:
    full = error(503, "no slot available")
    with ScriptedServer(always=full) as server, closing(openai_compatible(server.url)) as llm:
        with pytest.raises(LLMServerError, match="no slot available"):
            ask(llm)
        assert len(server.chats) == 3  # two retries


def test_waiting_for_a_turn_is_not_silence(
    opened: Callable[[str], ServedLLM], threads: ThreadPoolExecutor
) -> None:
    with ScriptedServer(always=Fault(delay=0.4), room=1) as server:
        clients = [opened(server.url) for _ in range(4)]
        for client in clients:
            client._server.timeout = 0.5
        assert list(threads.map(ask, clients)) == ["You said: Hello"] * 4
        for client in clients:
            client.close()


def test_a_long_prompt_may_be_read_for_longer_than_the_timeout(opened: Callable[[str], ServedLLM]) -> None:
    with (
        ScriptedServer(lambda messages: "Yes.", faults=[Fault(delay=1.0)] * 2) as server,
        closing(opened(server.url)) as llm,
    ):
        llm._server.timeout = 0.2
        with pytest.raises(LLMTimeoutError):
            ask(llm)
        assert ask(llm, "word " * 100) == "Yes."


def test_question_goes_before_background_calls_which_are_dropped(
    opened: Callable[[str], ServedLLM], threads: ThreadPoolExecutor
) -> None:
    def suggest(llm: ServedLLM) -> str:
        with in_background():
            return ask(llm, "suggest")

    def slow_suggestions(messages: object) -> str:
        return "word " * 1000 if last_words(messages) == "suggest" else "Nine."

    with (
        ScriptedServer(slow_suggestions, words_per_second=50, room=1) as server,
        closing(opened(server.url)) as llm,
    ):
        background = [threads.submit(suggest, llm) for _ in range(2)]
        wait_for(lambda: bool(server.chats) and all(call.running() for call in background))
        time.sleep(0.3)  # in which the second joins the queue
        began = time.monotonic()
        assert ask(llm, "When does it leave?") == "Nine."
        assert time.monotonic() - began < 3
        for call in background:
            with pytest.raises(OvertakenError):
                call.result()
        assert len(server.chats) == 2
        server.words_per_second = 0
        assert suggest(llm) == "word " * 1000  # where nobody waits


@pytest.mark.parametrize(
    "fault", [Fault(delay=3), Fault(silent_after=0), Fault(slow=0.3)], ids=["mute", "silent", "slow"]
)
def test_call_ends_at_once_from_another_thread(
    opened: Callable[[str], ServedLLM], fault: Fault, threads: ThreadPoolExecutor
) -> None:
    cancellation = Cancellation()

    def cancelled_ask() -> str:
        with cancellable(cancellation):
            return ask(llm)

    with (
        ScriptedServer(lambda messages: "word " * 100, faults=[fault], room=1) as server,
        closing(opened(server.url)) as llm,
    ):
        running = threads.submit(cancelled_ask)
        wait_for(lambda: bool(server.chats))
        waiting = threads.submit(cancelled_ask)
        time.sleep(0.1)
        began = time.monotonic()
        cancellation.cancel()
        for call in (running, waiting, threads.submit(cancelled_ask)):
            with pytest.raises(CallCancelledError):
                call.result(2)
        assert time.monotonic() - began < 1
        assert len(server.chats) == 1
        server.stopping.set()  # whatever it waits for
        assert ask(llm) == "word " * 100  # nobody holds the turn


def test_nested_answer_in_the_same_thread_does_not_wait() -> None:
    with (
        ScriptedServer(lambda messages: "one two three", slots=1) as server,
        closing(openai_compatible(server.url)) as llm,
        closing(llm.stream(CALL)) as outer,
    ):
        assert next(outer) == "one"
        assert ask(llm) == "one two three"
        assert "".join(outer) == " two three"


def test_full_server_is_not_retried_forever_by_a_nested_answer() -> None:
    with (
        ScriptedServer(
            lambda messages: "one two three", words_per_second=2, room=1, refuses_when_full=True
        ) as server,
        closing(OpenAICompatibleLLM("tiny", server.url, max_retries=0)) as llm,
        closing(llm.stream(CALL)) as outer,
    ):
        assert next(outer) == "one"
        with pytest.raises(LLMServerError):
            ask(llm)
        assert len(server.chats) == 1  # those that it did not refuse


def test_a_connection_is_not_returned_while_it_is_closing() -> None:
    turn, events = Turn(), []
    owner = threading.Thread(target=lambda: (turn.when_ended(None), events.append("given back")))

    def hang_up() -> None:
        owner.start()
        owner.join(0.2)
        events.append("hung up")

    turn.when_ended(hang_up)
    turn.end(CallCancelledError())
    owner.join()
    assert events == ["hung up", "given back"]


def test_loading_model_is_awaited_while_its_room_is_measured() -> None:
    with (
        ScriptedServer(faults=[error(503, "Loading model", code="503")] * 2) as server,
        closing(OpenAICompatibleLLM("tiny", server.url, max_retries=0)) as llm,
    ):
        assert ask(llm) == "You said: Hello"
        assert len(server.chats) == 3


def test_how_fast_a_model_is_is_known_after_its_first_answer(opened: Callable[[str], ServedLLM]) -> None:
    with (
        ScriptedServer(lambda messages: "word " * 20, words_per_second=50, always=Fault(delay=0.5)) as server,
        closing(opened(server.url)) as llm,
    ):
        assert llm.speed is None
        llm.complete("word " * 100)
        assert llm.speed is not None
        # 100 words in half a second and the time of the first word
        assert 100 < llm.speed.prompt_tokens_per_second < 200
        assert 25 < llm.speed.completion_tokens_per_second < 55
        with closing(opened(server.url)) as other:
            assert other.speed == llm.speed


def test_answer_in_one_piece_does_not_measure_speed(opened: Callable[[str], ServedLLM]) -> None:
    with (
        ScriptedServer(lambda messages: "word " * 20, always=Fault(whole=True)) as server,
        closing(opened(server.url)) as llm,
    ):
        llm.complete("Hello")
        assert llm.speed is None


def test_threads_that_wait_are_served_in_their_order(threads: ThreadPoolExecutor) -> None:
    order: list[str] = []
    lock = threading.Lock()

    def note(messages: object) -> str:
        with lock:
            order.append(last_words(messages))
        return "Yes."

    with (
        ScriptedServer(note, always=Fault(delay=0.1), slots=1) as server,
        closing(openai_compatible(server.url)) as llm,
    ):
        calls = []
        for name in "abcd":
            calls.append(threads.submit(ask, llm, name))
            time.sleep(0.03)
        for call in calls:
            call.result()
    assert order == ["a", "b", "c", "d"]
