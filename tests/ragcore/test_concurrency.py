from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import aclosing
from typing import Any

import pytest

from ragcore.chat_engine import SimpleChatEngine
from ragcore.concurrency import awaitable, awaitable_stream, batch_gather, in_threads, iter_batch
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.response_synthesizers import get_response_synthesizer, parallel_calls
from ragcore.response_synthesizers.answer import AnswerStream
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM, nodes


def test_a_failure_of_the_stream_comes_through_after_its_pieces() -> None:
    def pieces() -> Generator[int, None, None]:
        yield 1
        raise KeyError("broken")

    seen: list[int] = []

    async def read() -> None:
        async for piece in in_threads(pieces()):
            seen.append(piece)

    with pytest.raises(KeyError, match="broken"):
        asyncio.run(read())
    assert seen == [1]


def test_cancelled_reader_closes_the_stream_after_its_step() -> None:
    stepping, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def pieces() -> Generator[int, None, None]:
        try:
            yield 1
            stepping.set()
            go_on.wait(20)
            yield 2
        finally:
            closed.set()

    stream = pieces()  # held here, so that it is not closed by merely being forgotten

    async def read() -> None:
        async for _ in in_threads(stream):
            pass

    async def cancel() -> None:
        reader = asyncio.ensure_future(read())
        await asyncio.to_thread(stepping.wait, 20)
        reader.cancel()
        await asyncio.sleep(0.02)
        assert not closed.is_set()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await reader

    asyncio.run(cancel())
    assert closed.is_set()


@pytest.mark.parametrize("way", [*["left"] * 20, "closed", "cancelled"])
def test_turn_of_a_departed_reader_is_remembered_before_the_next(way: str) -> None:
    async def talk() -> list[str]:
        engine = SimpleChatEngine.from_defaults(ScriptedLLM(["one two three", "four"]))
        stream = await engine.astream_chat("first")
        if way == "left":
            async for _ in stream.async_response_gen():
                break
        elif way == "closed":
            async with aclosing(stream.async_response_gen()) as pieces:
                await anext(pieces)
        else:
            reader = asyncio.ensure_future(linger(stream))
            await asyncio.sleep(0.05)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
        await engine.achat("second")
        return [message.content for message in engine.chat_history]

    async def linger(stream: AnswerStream) -> None:
        async for _ in stream.async_response_gen():
            await asyncio.sleep(20)

    first, said, second, answer = asyncio.run(talk())
    assert (first, said.split()[0], second, answer) == ("first", "one", "second", "four")


def test_loop_that_abandons_a_stream_does_not_wait_for_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_calls, "GRACE", 30.0)
    begun, let_go = threading.Event(), threading.Event()

    def rule(call: LLMCall) -> str:
        if "the first" in call.messages()[-1].content:
            begun.wait(30)
            return "A"
        begun.set()
        return str(let_go.wait(30))

    async def read() -> float:
        synthesizer = get_response_synthesizer(UnlockedLLM(rule), "accumulate")
        stream = synthesizer.stream("Who?", nodes("the first", "the second"))
        async for piece in stream.async_response_gen():
            if "A" in piece:
                left = time.monotonic()
                break
        return time.monotonic() - left

    waited = asyncio.run(read())
    let_go.set()
    assert waited < 10


class Base(ABC):
    @abstractmethod
    def answer(self, question: str, *, loud: bool = False) -> str: ...

    def words(self, text: str) -> Generator[str, None, int]:
        """Each word."""
        yield from text.split()
        return 2

    aanswer = awaitable(answer)
    awords = awaitable_stream(words)


class Engine(Base):
    def answer(self, question: str, *, loud: bool = False) -> str:
        with span(f"in {threading.current_thread() is threading.main_thread()}"):
            return question.upper() if loud else question


def test_async_twin_runs_an_override_in_a_thread_and_same_trace() -> None:
    async def ask() -> str:
        return await Engine().aanswer("why", loud=True)

    with span("root") as root:
        assert asyncio.run(ask()) == "WHY"
    assert [step.name for step in root.walk()] == ["root", "in False"]


def test_the_twin_of_a_stream_is_awaited_and_then_read() -> None:
    async def read() -> list[str]:
        return [word async for word in await Engine().awords("one two")]

    assert asyncio.run(read()) == ["one", "two"]
    assert Engine.awords.__doc__ == "Each word."


def test_a_twin_takes_no_option_that_its_method_does_not_take() -> None:
    engine: Any = Engine()
    for twin, misspelt in ((engine.aanswer, {"lowd": True}), (engine.awords, {"texts": "one"})):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(misspelt))}'"):
            asyncio.run(twin("one", **misspelt))


def test_the_loop_goes_on_while_a_method_waits() -> None:
    go_on = threading.Event()

    class Slow(Engine):
        def answer(self, question: str, *, loud: bool = False) -> str:
            return "done" if go_on.wait(20) else "never let go on"

    async def both() -> str:
        asking = asyncio.ensure_future(Slow().aanswer("?"))
        await asyncio.sleep(0.01)
        go_on.set()
        return await asking

    assert asyncio.run(both()) == "done"


def test_a_batch_of_coroutines_begins_after_the_one_before() -> None:
    running: list[int] = []
    most: list[int] = []

    async def job(number: int) -> int:
        running.append(number)
        most.append(len(running))
        await asyncio.sleep(0)
        running.remove(number)
        return 2 * number

    assert asyncio.run(batch_gather([job(number) for number in range(5)], batch_size=2)) == [0, 2, 4, 6, 8]
    assert max(most) == 2
    assert list(iter_batch("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
