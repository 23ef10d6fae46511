"""The synchronous library from an event loop: one function for calls, one for streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_END = object()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function` in a thread of its own. The loop goes on meanwhile."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def in_threads(pieces: Iterator[T]) -> AsyncIterator[T]:
    """`pieces` as they come. When the reader is cancelled, the step that is running is waited for, and the stream closed."""
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, pieces, _END))
            try:
                piece = await asyncio.shield(step)
            except asyncio.CancelledError:
                await asyncio.wait([step])
                raise
            if piece is _END:
                return
            yield piece  # type: ignore[misc]  # not _END, so a T
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
