"""The trace: what was done to make an answer, as a plain tree that is returned with it.

    with span("query", mode="compact") as root:      # no parent here: this is the root of a trace
        with span("retrieve", top_k=6) as step:      # becomes a child of root
            step.note(found=6)
    root.seconds, root.children[0].facts["found"]

The current span is a context variable. A thread does not inherit it: run its function through `contextvars.copy_context`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar


@dataclass(slots=True, eq=False)
class Span:
    """A stage or a call: its name, what is worth knowing about it, how long it took, and the steps inside it.

    `facts` hold plain values (str, numbers, bool, None, lists and dicts of these), so that a trace can be stored as JSON.
    `started` is seconds since the epoch; `seconds` is 0.0 until the span ends. `error` is the message it failed with.
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    started: float = 0.0
    seconds: float = 0.0
    error: str | None = None
    children: list[Span] = field(default_factory=list)

    def note(self, **facts: Any) -> None:
        """Add facts that were not known when the span began."""
        self.facts.update(facts)

    def walk(self) -> Iterator[Span]:
        """This span and all below it, parents first, in the order they began."""
        yield self
        for child in self.children:
            yield from child.walk()

    def named(self, name: str) -> list[Span]:
        """All spans called `name`, this one included."""
        return [step for step in self.walk() if step.name == name]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "facts": self.facts,
            "started": self.started,
            "seconds": self.seconds,
            "error": self.error,
            "children": [child.to_dict() for child in self.children],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Span:
        return cls(
            name=data["name"],
            facts=data["facts"],
            started=data["started"],
            seconds=data["seconds"],
            error=data["error"],
            children=[cls.from_dict(child) for child in data["children"]],
        )


T = TypeVar("T")

_current: ContextVar[Span | None] = ContextVar("ragcore_span", default=None)


def start(name: str, /, **facts: Any) -> Span:
    """A span that the caller ends with `finish`: for work that outlives a `with` block, such as a stream.

    It is a child of the current span, but does not become the current one.
    """
    step = Span(name, facts, started=time.time(), seconds=-time.perf_counter())
    parent = _current.get()
    if parent is not None:
        parent.children.append(step)
    return step


def finish(step: Span, error: BaseException | None = None) -> None:
    step.seconds += time.perf_counter()
    if error is not None:
        step.error = str(error) or type(error).__name__


@contextmanager
def span(name: str, /, **facts: Any) -> Iterator[Span]:
    step = start(name, **facts)
    token = _current.set(step)
    try:
        yield step
    except BaseException as error:  # whatever it was, it is noted and goes on
        finish(step, error)
        raise
    else:
        finish(step)
    finally:
        _current.reset(token)


@contextmanager
def under(parent: Span) -> Iterator[None]:
    """Let spans that begin inside become children of `parent`."""
    token = _current.set(parent)
    try:
        yield
    finally:
        _current.reset(token)


def stream_in(step: Span, pieces: Generator[str, None, T]) -> Generator[str, None, T]:
    """`pieces`, with every step of it run inside `step`, which ends when they end; its return value is passed on.

    A `with span():` around a `yield` would leak the span to whoever reads the stream, and break when the stream is closed
    from another thread. This is how a generator belongs to a span.
    """
    try:
        while True:
            with under(step):
                try:
                    piece = next(pieces)
                except StopIteration as stop:
                    finish(step)
                    result: T = stop.value
                    return result
            yield piece
    except GeneratorExit:
        pieces.close()
        finish(step)
        raise
    except BaseException as error:  # whatever it was, it is noted and goes on
        finish(step, error)
        raise
