"""Uses the synchronous library in an event loop: two wrappers derive async twins of a class's methods.

aquery = awaitable(query)                  # answer = await engine.aquery("...")
astream_chat = awaitable_stream(stream_chat)   # async for piece in await llm.astream_chat(messages)

A twin has the same parameters as its method (by ParamSpec), so that a type checker detects a misspelt one.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from ragcore.observe import Span, finish, start, within

P = ParamSpec("P")
logger = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")

_END = object()


def awaitable(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async twin of a method: runs it, or its override, in a thread, in the caller's context."""

    @wraps(method, updated=())  # not __dict__: the twin of an abstract method is not abstract
    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio

        result: T = await asyncio.to_thread(getattr(self, method.__name__), *args, **kwargs)
        return result

    return twin


def awaitable_stream(
    method: Callable[Concatenate[S, P], Generator[T, None, object]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, AsyncGenerator[T, None]]]:
    """The async twin of a generator method, with the pieces of `in_threads`."""

    @wraps(method, updated=())
    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        return in_threads(getattr(self, method.__name__)(*args, **kwargs))

    return twin


def in_event_loop() -> bool:
    """Whether an event loop runs in this thread, which must then not wait."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, with or without an event loop in this thread."""
    import asyncio

    if not in_event_loop():
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()


def in_threads(pieces: Generator[T, None, object]) -> AsyncGenerator[T, None]:
    """The pieces, each computed in a thread, so that the event loop goes on. Between two requests nothing
    runs.

    A `break` in a loop over them closes the stream at once; cancellation, after the running step.
    """
    return _InThreads(pieces)


class _InThreads(AsyncGenerator[T, None]):
    # No generator function, because the event loop closes an abandoned one later. Only this object refers to
    # `pieces`, which is so closed with it.

    def __init__(self, pieces: Generator[T, None, object]) -> None:
        self._pieces = pieces

    async def asend(self, value: None) -> T:
        import asyncio

        step = asyncio.ensure_future(asyncio.to_thread(_next, [self._pieces]))
        try:
            piece = await asyncio.shield(step)
        except asyncio.CancelledError:
            await asyncio.gather(step, return_exceptions=True)
            await self.aclose()
            raise
        if piece is _END:
            raise StopAsyncIteration
        return piece  # type: ignore[return-value]  # not _END, so a T

    async def athrow(self, *error: Any) -> T:
        import asyncio

        await asyncio.to_thread(self._pieces.close)
        return await super().athrow(*error)


def _next(stream: list[Generator[T, None, object]]) -> object:
    """The next piece of the stream in the list, or `_END`. The list is emptied, because a thread keeps
    references to its arguments for some time after its work."""
    return next(stream.pop(), _END)


R = TypeVar("R")


def in_order(work: Callable[[T], R], items: Sequence[T], *, workers: int = 4) -> list[R]:
    """The results of `work(item)` in the order of the items; at most `workers` run in parallel.

    Each is a span "part" in the current span. After a failure no further item begins, and the first error is
    raised when the running ones have ended.

    >>> in_order(str.upper, ["a", "b"])
    ['A', 'B']
    """
    if not items:
        return []
    steps = [start("part", part=number, of=len(items)) for number in range(1, len(items) + 1)]
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, len(items))), thread_name_prefix="part")
    try:
        running = [
            pool.submit(copy_context().run, _inside, step, work, item)
            for step, item in zip(steps, items, strict=True)
        ]
        wait(running, return_when=FIRST_EXCEPTION)
    finally:
        pool.shutdown(cancel_futures=True)
        for step in steps:
            if step.seconds < 0:
                step.note(never_begun=True)
                finish(step)
    return [future.result() for future in running]  # those that never began are after the one that failed


def _inside(step: Span, work: Callable[[T], R], item: T) -> R:
    with within(step):
        return work(item)


async def run_jobs(
    jobs: Sequence[Coroutine[Any, Any, T]],
    show_progress: bool = False,
    workers: int = 4,
    desc: str | None = None,
) -> list[T]:
    """The results of coroutines in their order; at most `workers` run in parallel. `show_progress` logs the
    end of each.

    >>> import asyncio
    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> asyncio.run(run_jobs([double(1), double(2)]))
    [2, 4]
    """
    import asyncio

    room = asyncio.Semaphore(workers)

    async def done(number: int, job: Coroutine[Any, Any, T]) -> T:
        async with room:
            result = await job
        logger.log(
            logging.INFO if show_progress else logging.DEBUG,
            "%s %d of %d",
            desc or "finished",
            number,
            len(jobs),
        )
        return result

    return list(await asyncio.gather(*(done(number, job) for number, job in enumerate(jobs, 1))))


async def batch_gather(
    tasks: Sequence[Coroutine[Any, Any, T]], batch_size: int = 10, verbose: bool = False
) -> list[T]:
    """As `run_jobs`, where a batch begins when the one before it has ended."""
    return [
        result
        for batch in iter_batch(tasks, batch_size)
        for result in await run_jobs(batch, verbose, batch_size)
    ]


def iter_batch(iterable: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`, the last of which may be shorter."""
    items = iter(iterable)
    while batch := list(islice(items, size)):
        yield batch


def run_async_tasks(
    tasks: Sequence[Coroutine[Any, Any, T]], show_progress: bool = False, workers: int = 4
) -> list[T]:
    """As `run_jobs`, with or without an event loop.

    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> run_async_tasks([double(1), double(2)])
    [2, 4]
    """
    return run_coroutine(run_jobs(tasks, show_progress, workers))


asyncio_run = run_coroutine
