"""The trace: a tree that says what was done, whole also for streams, threads and failures."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Generator, Iterator

import pytest

from ragcore.observe import Listener, Span, Tokens, add_listener, span, start, stream_in, under


def test_steps_inside_a_step_are_its_children_in_order() -> None:
    with span("query", mode="compact") as root:
        with span("retrieve") as step:
            step.note(found=2)
        with span("llm"), span("wire"):
            pass
    assert [(s.name, len(s.children)) for s in root.walk()] == [
        ("query", 2),
        ("retrieve", 0),
        ("llm", 1),
        ("wire", 0),
    ]
    assert root.children[0].facts == {"found": 2}
    assert root.seconds >= sum(child.seconds for child in root.children) > 0


def test_a_failure_is_noted_in_every_step_it_passes_and_raised() -> None:
    with pytest.raises(ValueError, match="boom"), span("query") as root, span("llm"):
        raise ValueError("boom")
    assert [s.error for s in root.walk()] == ["boom", "boom"]


def test_stream_belongs_to_its_step_and_not_to_the_reader() -> None:
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


class Heard(Listener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str, bool]] = []

    def on_start(self, step: Span) -> None:
        self.events.append(("started", step.name, step.seconds < 0))

    def on_finish(self, step: Span) -> None:
        self.events.append(("finished", step.name, step.seconds < 0))


@pytest.fixture
def heard() -> Iterator[Heard]:
    listener = Heard()
    remove = add_listener(listener)
    yield listener
    remove()
    remove()  # does no harm


def test_a_listener_hears_each_span_begin_and_end(heard: Heard) -> None:
    def pieces() -> Generator[str, None, None]:
        yield "a"

    with span("query"):
        list(stream_in(start("answer"), pieces()))
    assert heard.events == [
        ("started", "query", True),
        ("started", "answer", True),
        ("finished", "answer", False),
        ("finished", "query", False),
    ]


def test_listeners_hear_in_the_order_in_which_they_came() -> None:
    told: list[str] = []

    class Named(Listener):
        def __init__(self, name: str) -> None:
            self.name = name

        def on_start(self, step: Span) -> None:
            told.append(f"{self.name} started")

        def on_finish(self, step: Span) -> None:
            told.append(f"{self.name} finished")

    removes = [add_listener(Named(name)) for name in ("first", "second")]
    with span("query"):
        pass
    for remove in removes:
        remove()
    assert told == ["first started", "second started", "first finished", "second finished"]


def test_removed_listener_hears_no_more_and_others_continue(heard: Heard) -> None:
    listener = Heard()
    remove = add_listener(listener)
    remove()
    with span("query"):
        pass
    assert listener.events == []
    assert len(heard.events) == 2


def test_a_listener_that_fails_is_logged_and_harms_nobody(
    heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Listener):
        def on_start(self, step: Span) -> None:
            raise KeyError("broken at the start")

        def on_finish(self, step: Span) -> None:
            raise KeyError("broken at the end")

    remove = add_listener(Broken())
    after = Heard()
    remove_after = add_listener(after)
    try:
        with span("query") as root:
            pass
    finally:
        remove()
        remove_after()
    assert root.error is None
    assert (
        [name for name, *_ in heard.events] == [name for name, *_ in after.events] == ["started", "finished"]
    )
    assert "broken at the start" in caplog.text
    assert "broken at the end" in caplog.text


def test_nobody_hears_of_what_is_only_pretended(heard: Heard) -> None:
    with under(Span("estimate")), span("synthesize"), span("llm"):
        pass
    assert heard.events == []


def test_all_threads_are_heard(heard: Heard) -> None:
    def work() -> None:
        for _ in range(100):
            with span("query"), span("step"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard.events) == 4 * 100 * 4


def test_tokens_are_those_of_the_calls_below() -> None:
    with span("query", prompt_tokens=999) as root:  # a stage's own sum is not counted again
        with span("embed", tokens=7):
            pass
        with span("synthesize", prompt_tokens=999) as stage:
            with span("llm", prompt_tokens=10, completion_tokens=3):
                pass
            with span("llm", prompt_tokens=20, completion_tokens=4):
                pass
            with span("llm"):  # failed before anything was said
                pass
    assert root.total_tokens() == Tokens(30, 7, 7)
    assert stage.total_tokens() == Tokens(30, 7, 0)


def test_a_failure_has_its_type_and_a_span_its_parent() -> None:
    with pytest.raises(KeyError), span("query") as root, span("llm") as step:
        raise KeyError("x")
    assert (root.facts["error_type"], step.facts["error_type"]) == ("KeyError", "KeyError")
    assert (root.parent, step.parent) == (None, root)


def test_the_outline_shows_times_tokens_and_failures() -> None:
    trace = Span(
        "query",
        seconds=1.5,
        children=[Span("llm", {"prompt_tokens": 5, "completion_tokens": 2}, 0, 0.25, "boom")],
    )
    assert trace.outline().splitlines() == [
        "query: 1500.0 ms, 5 + 2 tokens",
        "  llm: 250.0 ms, 5 + 2 tokens, failed: boom",
    ]
