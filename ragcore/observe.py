"""The trace: what was done to make an answer, as a plain tree that is returned with it.

    with span("query", mode="compact") as root:      # no parent here: this is the root of a trace
        with span("retrieve", top_k=6) as step:      # becomes a child of root
            step.note(found=6)
    root.seconds, root.children[0].facts["found"]

The current span is a context variable. A thread does not inherit it: run its function through `contextvars.copy_context`.
Whoever wants to hear of spans as they begin and end, in all threads, is added with `add_listener`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What models read and wrote, and what embedders read where they count."""

    prompt: int = 0
    completion: int = 0
    embedding: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """What a span is doing now, and since when, by `time.perf_counter`."""

    name: str
    since: float


@dataclass(slots=True, weakref_slot=True, eq=False)
class Span:
    """A stage or a call: its name, what is worth knowing about it, how long it took, and the steps inside it.

    `facts` hold plain values (str, numbers, bool, None, lists and dicts of these), so that a trace can be stored as JSON.
    `started` is seconds since the epoch; `seconds` is negative until the span ends. `error` is the message it failed with,
    and the fact "error_type" the class of the failure. `parent` is None at the root, and in a trace that was stored. `stage` is
    for those who look on, and is not stored.
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    started: float = 0.0
    seconds: float = 0.0
    error: str | None = None
    children: list[Span] = field(default_factory=list)
    parent: Span | None = field(default=None, repr=False)
    stage: Stage | None = field(default=None, repr=False)

    @property
    def milliseconds(self) -> float:
        return self.seconds * 1000

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

    def total_tokens(self) -> Tokens:
        """Of all calls of models in this span and below it."""
        calls = self.named("llm")
        return Tokens(
            sum(call.facts.get("prompt_tokens", 0) for call in calls),
            sum(call.facts.get("completion_tokens", 0) for call in calls),
            sum(step.facts.get("tokens", 0) for step in self.named("embed")),
        )

    def outline(self, depth: int = 0) -> str:
        """For people: a line for each span, with its time and tokens, indented below its parent."""
        tokens = self.total_tokens()
        spent = f", {tokens.prompt} + {tokens.completion} tokens" if tokens.prompt else ""
        failed = f", failed: {self.error}" if self.error else ""
        line = f"{'  ' * depth}{self.name}: {self.milliseconds:.1f} ms{spent}{failed}"
        return "\n".join([line, *(child.outline(depth + 1) for child in self.children)])

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


class Listener:
    """Hears of each span when it begins and when it ends; override either. It is called in the thread that does the work, of
    several at once; what it raises is logged and disturbs nobody."""

    def on_start(self, step: Span) -> None:
        """Its facts so far are those it began with."""

    def on_finish(self, step: Span) -> None:
        """Where `step.parent` is None the trace is whole, but for steps whose threads were not waited for."""


_listeners: tuple[Listener, ...] = ()
_changing = threading.Lock()


def add_listener(listener: Listener) -> Callable[[], None]:
    """From now on; the function that comes back ends it, however often it is called."""
    global _listeners
    with _changing:
        _listeners = (*_listeners, listener)

    def remove() -> None:
        global _listeners
        with _changing:
            _listeners = tuple(other for other in _listeners if other is not listener)

    return remove


_current: ContextVar[Span | None] = ContextVar("ragcore_span", default=None)


def start(name: str, /, **facts: Any) -> Span:
    """A span that the caller ends with `finish`: for work that outlives a `with` block, such as a stream.

    It is a child of the current span, but does not become the current one.
    """
    parent = _current.get()
    step = Span(name, facts, started=time.time(), seconds=-time.perf_counter(), parent=parent)
    if parent is not None:
        parent.children.append(step)
    _tell(Listener.on_start, step)
    return step


def finish(step: Span, error: BaseException | None = None) -> None:
    step.seconds += time.perf_counter()
    if error is not None:
        step.error = str(error) or type(error).__name__
        step.note(error_type=type(error).__name__)
    _tell(Listener.on_finish, step)


def _tell(event: Callable[[Listener, Span], None], step: Span) -> None:
    for listener in _listeners if _is_heard(step) else ():
        try:
            getattr(listener, event.__name__)(step)
        except Exception:  # whatever is wrong with a listener, the answer does not suffer
            logger.exception("a listener failed at the span %s", step.name)


def _is_heard(step: Span) -> bool:
    """Not below a span that nothing started: what is only pretended, to see what it would cost, happens there."""
    while step.parent is not None:
        step = step.parent
    return step.started > 0


@contextmanager
def span(name: str, /, **facts: Any) -> Iterator[Span]:
    with within(start(name, **facts)) as step:
        yield step


@contextmanager
def within(step: Span) -> Iterator[Span]:
    """A span that was started before, as `span` would have it: current meanwhile, and ended afterwards."""
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


def set_stage(name: str) -> None:
    """Note what the current span is doing from now on; without one, nothing is noted."""
    step = _current.get()
    if step is not None:
        step.stage = Stage(name, time.perf_counter())


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


def condensed_question(trace: Span | None) -> str | None:
    """The question that a follow-up was made into; None where it was none."""
    condensed = trace.named("condense") if trace is not None else []
    return next((str(step.facts["question"]) for step in condensed if "question" in step.facts), None)
