from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest

from ragcore.concurrency import in_threads


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


def test_a_cancelled_reader_closes_the_stream_once_its_running_step_is_done() -> None:
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
