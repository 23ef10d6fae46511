"""Runs independent calls in parallel and yields their pieces in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from queue import Empty, SimpleQueue
from threading import Event

from ragcore.concurrency import in_event_loop
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import Span, start, within

HEARTBEAT = 0.25  # seconds without a piece after which there is an empty one
GRACE = 1.0  # seconds for requests to notice that nobody reads them any more


def stream_all(llm: LLM, calls: Sequence[LLMCall], workers: int) -> Generator[tuple[int, str], None, None]:
    """(call, piece) of all calls: first all of the first call, as they come, then of the second, and so on.

    At most `workers` run at once. "" is a sign of life. The first failure ends them all; so does closing this
    iterator, and what has not begun then never does. Each call is a child of the current span, in order.
    """
    steps = [start("part", part=number, of=len(calls)) for number in range(1, len(calls) + 1)]
    queues: list[SimpleQueue[str | None]] = [SimpleQueue() for _ in calls]  # None is the end
    stopped = Event()
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, len(calls))), thread_name_prefix="llm")
    work: list[Future[None]] = []
    try:
        for call, step, queue in zip(calls, steps, queues, strict=True):
            work.append(pool.submit(_run, llm, call, step, queue, stopped))
        waiting = deque(enumerate(queues))
        while waiting:
            number, queue = waiting[0]
            try:
                piece = queue.get(timeout=HEARTBEAT)
            except Empty:
                _raise_failure(work)
                yield number, ""
                continue
            if piece is None:
                work[number].result()
                waiting.popleft()
                yield number, ""
            else:
                yield number, piece
    finally:
        stopped.set()
        pool.shutdown(wait=False)
        if not in_event_loop():
            wait(work, timeout=GRACE)


def _run(llm: LLM, call: LLMCall, step: Span, queue: SimpleQueue[str | None], stopped: Event) -> None:
    try:
        with within(step):
            if stopped.is_set():
                step.note(never_begun=True)
                return
            with closing(llm.stream(call)) as pieces:
                for piece in pieces:
                    queue.put(piece)
                    if stopped.is_set():
                        break
    finally:
        queue.put(None)


def _raise_failure(work: Sequence[Future[None]]) -> None:
    for future in work:
        if future.done():
            future.result()
