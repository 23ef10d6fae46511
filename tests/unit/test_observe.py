"""The trace: a tree that says what was done, whole also for streams, threads and failures."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Generator

import pytest

from ragcore.observe import Span, span, start, stream_in


def test_steps_inside_a_step_are_its_children_in_order() -> None:
    with span("query", mode="compact") as root:
        with span("retrieve") as step:
            step.note(found=2)
        with span("llm"), span("wire"):
            pass
    assert [(s.name, len(s.children)) for s in root.walk()] == [("query", 2), ("retrieve", 0), ("llm", 1), ("wire", 0)]
    assert root.children[0].facts == {"found": 2}
    assert root.seconds >= sum(child.seconds for child in root.children) > 0


def test_a_failure_is_noted_in_every_step_it_passes_and_raised() -> None:
    with pytest.raises(ValueError, match="boom"), span("query") as root, span("llm"):
        raise ValueError("boom")
    assert [s.error for s in root.walk()] == ["boom", "boom"]


def test_a_stream_belongs_to_its_step_and_does_not_leak_it_to_the_reader() -> None:
    def pieces() -> Generator[str, None, int]:
        with span("first"):
            pass
        yield "a"
        with span("second"):
            pass
        yield "b"
        return 7

    with span("query") as root:
        stream = stream_in(start("answer"), pieces())
    read = []
    while True:
        try:
            read.append(next(stream))
        except StopIteration as stop:
            result = stop.value
            break
        with span("reader's own"):
            pass
    assert (read, result) == (["a", "b"], 7)
    assert [s.name for s in root.walk()] == ["query", "answer", "first", "second"]
    assert root.children[0].seconds > 0


def test_a_closed_stream_ends_its_step_and_closes_what_it_reads() -> None:
    closed = []

    def pieces() -> Generator[str, None, None]:
        try:
            yield "a"
            yield "b"
        finally:
            closed.append(True)

    step = start("answer")
    stream = stream_in(step, pieces())
    next(stream)
    thread = threading.Thread(target=stream.close)  # as when a screen's thread lets go of an answer
    thread.start()
    thread.join()
    assert closed == [True]
    assert 0 < step.seconds < 5
    assert step.error is None


def test_a_thread_run_in_a_copied_context_adds_to_the_same_tree() -> None:
    def work() -> None:
        with span("in thread"):
            pass

    with span("query") as root:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
        thread.start()
        thread.join()
    assert [s.name for s in root.walk()] == ["query", "in thread"]


def test_a_trace_survives_being_stored() -> None:
    with span("query", words=["a", "b"]) as root, span("llm", tokens=3):
        pass
    assert Span.from_dict(root.to_dict()).to_dict() == root.to_dict()
