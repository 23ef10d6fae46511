"""Independent work at the same time, its results in order, its steps in the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from ragcore.observe import Span, finish, start, within

T = TypeVar("T")
R = TypeVar("R")


def in_order(work: Callable[[T], R], items: Sequence[T], *, workers: int = 4) -> list[R]:
    """`work(item)` of each item, at most `workers` at the same time; the results in the order of the items.

    Each is a span "part" in the current span, in that order. The first failure is raised once what runs has ended; what has
    not begun then never does.
    """
    if not items:
        return []
    steps = [start("part", part=number, of=len(items)) for number in range(1, len(items) + 1)]
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, len(items))), thread_name_prefix="part")
    try:
        running = [pool.submit(copy_context().run, _inside, step, work, item) for step, item in zip(steps, items, strict=True)]
        wait(running, return_when=FIRST_EXCEPTION)
    finally:
        pool.shutdown(cancel_futures=True)
        for step in steps:
            if step.seconds < 0:
                step.note(never_begun=True)
                finish(step)
    return [future.result() for future in running]  # what never began stands behind what failed


def _inside(step: Span, work: Callable[[T], R], item: T) -> R:
    with within(step):
        return work(item)
