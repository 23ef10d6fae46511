"""A stream of the synchronous library, read from an event loop. Single calls need only `asyncio.to_thread`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from typing import TypeVar

T = TypeVar("T")

_END = object()


async def in_threads(pieces: Generator[T, None, object]) -> AsyncIterator[T]:
    """`pieces` as they come, each step in a thread, so that the loop goes on meanwhile.

    When the reader is cancelled, the step that is running is waited for, and the stream is closed.
    """
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, pieces, _END))
            try:
                piece = await asyncio.shield(step)
            except asyncio.CancelledError:
                await asyncio.gather(step, return_exceptions=True)
                raise
            if piece is _END:
                return
            yield piece  # type: ignore[misc]  # not _END, so a T
    finally:
        await asyncio.to_thread(pieces.close)
