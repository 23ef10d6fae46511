"""The trace of an answer: a tree of spans that is returned with the answer.

    with span("query", mode="compact") as root:      # no parent here: this is the root of a trace
        with span("retrieve", top_k=6) as step:      # becomes a child of root
            step.note(passages=6)
    root.seconds, root.children[0].facts["passages"]

The current span is a context variable. A thread does not inherit it: run its function through
`contextvars.copy_context`. `add_listener` registers a listener for the start and end of all spans, in all
threads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of prompts, completions and embedded texts.

    >>> with span("query") as step:
    ...     with span("llm", prompt_tokens=12, completion_tokens=2):
    ...         pass
    >>> step.total_tokens()
    Tokens(prompt=12, completion=2, embedding=0)
    """

    prompt: int = 0
    completion: int = 0
    embedding: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """The present activity of a span, and its start by `time.perf_counter`."""

    name: str
    since: float


@dataclass(slots=True, weakref_slot=True, eq=False)
class Span:
    """A stage or a call: its name, facts about it, its duration, and its inner spans.

    `facts` have plain values (str, numbers, bool, None, lists and dicts of these), so that a trace can be
    stored as JSON. `started` is in seconds since the epoch; `seconds` is negative until the span ends.
    `error` is the message of a failure, and the fact "error_type" is its class. `parent` is None at the root,
    and in a trace that was stored. `stage` is for displaying progress and is not stored.

    >>> with span("query") as root:
    ...     with span("retrieve") as step:
    ...         step.note(passages=6)
    >>> [step.facts["passages"] for step in root.spans("retrieve")]
    [6]
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
        """Add facts during the span."""
        self.facts.update(facts)

    def walk(self) -> Iterator[Span]:
        """This span and all below it, parents first, in the order they began."""
        yield self
        for child in self.children:
            yield from child.walk()

    def spans(self, name: str) -> list[Span]:
        """All spans with this name, in the order of `walk`."""
        return [step for step in self.walk() if step.name == name]

    def total_tokens(self) -> Tokens:
        """The tokens of all calls of models in this span and below it."""
        calls = self.spans("llm")
        return Tokens(
            sum(call.facts.get("prompt_tokens", 0) for call in calls),
            sum(call.facts.get("completion_tokens", 0) for call in calls),
            sum(step.facts.get("tokens", 0) for step in self.spans("embed")),
        )

    def outline(self, depth: int = 0) -> str:
        """A readable text with one line for each span: its time and tokens, indented below its parent."""
        tokens = self.total_tokens()
        spent = f", {tokens.prompt} + {tokens.completion} tokens" if tokens.prompt else ""
        failed = f", failed: {self.error}" if self.error else ""
        line = f"{'  ' * depth}{self.name}: {self.milliseconds:.1f} ms{spent}{failed}"
        return "\n".join([line, *(child.outline(depth + 1) for child in self.children)])

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("name", "facts", "started", "seconds", "error")}
        return {**facts, "children": [child.to_dict() for child in self.children]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Span:
        return cls(**{**data, "children": [cls.from_dict(child) for child in data["children"]]})


T = TypeVar("T")


class Listener:
    """Receives the start and the end of each span. The methods run in the threads that do the work, possibly
    several at once. Their errors are only logged.

    >>> class Names(Listener):
    ...     def on_finish(self, step):
    ...         print(step.name)
    >>> remove = add_listener(Names())
    >>> with span("retrieve"):
    ...     pass
    retrieve
    >>> remove()
    """

    def on_start(self, step: Span) -> None:
        """`step.facts` has the facts of the start."""

    def on_finish(self, step: Span) -> None:
        """If `step.parent` is None, the trace is complete, except for steps in threads that still run."""


_listeners: tuple[Listener, ...] = ()
_changing = threading.Lock()


def add_listener(listener: Listener) -> Callable[[], None]:
    """Add a listener. The returned function removes it; further calls of the function have no effect.

    >>> class Names(Listener):
    ...     def on_start(self, step):
    ...         print(step.name)
    >>> remove = add_listener(Names())
    >>> with span("query"):
    ...     pass
    query
    >>> remove()
    """
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
    """Starts a span that the caller ends with `finish`, for work that outlives a `with` block, such as a
    stream.

    It becomes a child of the current span, but not the current span itself.
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
    for listener in _listeners if _is_reported(step) else ():
        try:
            getattr(listener, event.__name__)(step)
        except Exception:  # an error of a listener must not affect the answer
            logger.exception("a listener failed at the span %s", step.name)


def _is_reported(step: Span) -> bool:
    """Whether `start` created the root. A cost estimate runs below a root that it creates itself, and is not
    reported."""
    while step.parent is not None:
        step = step.parent
    return step.started > 0


@contextmanager
def span(name: str, /, **facts: Any) -> Iterator[Span]:
    """A span while the block runs: a part of the current span, or the beginning of a trace.

    >>> with span("query", question="Who?") as step:
    ...     with span("retrieve"):
    ...         step.note(mode="compact")
    >>> step.facts["question"], [child.name for child in step.children]
    ('Who?', ['retrieve'])
    """
    with within(start(name, **facts)) as step:
        yield step


@contextmanager
def within(step: Span) -> Iterator[Span]:
    """Makes a started span the current one, and ends it after the block."""
    token = _current.set(step)
    try:
        yield step
    except BaseException as error:  # an interruption belongs to the trace too
        finish(step, error)
        raise
    else:
        finish(step)
    finally:
        _current.reset(token)


@contextmanager
def assigned(variable: ContextVar[T], value: T) -> Iterator[None]:
    """The variable has this value inside the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def under(parent: Span) -> AbstractContextManager[None]:
    """Spans that start inside the block become children of `parent`."""
    return assigned(_current, parent)


def note(**facts: Any) -> None:
    """Add facts to the current span, if there is one."""
    step = _current.get()
    if step is not None:
        step.note(**facts)


def set_stage(name: str) -> None:
    """Set the stage of the current span, if there is one."""
    step = _current.get()
    if step is not None:
        step.stage = Stage(name, time.perf_counter())


def stream_in(step: Span, pieces: Generator[str, None, T]) -> Generator[str, None, T]:
    """Runs each step of a generator inside the span `step`, which ends with the generator. Returns the
    generator's result.

    A `with span():` around a `yield` would leak the span to the reader of the stream, and fail when another
    thread closes the stream.
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
    except BaseException as error:  # an interruption belongs to the trace too
        finish(step, error)
        raise


def condensed_question(trace: Span | None) -> str | None:
    """The standalone question that replaced a follow-up; None if there was no follow-up."""
    condensed = trace.spans("condense") if trace is not None else []
    return next((str(step.facts["question"]) for step in condensed if "question" in step.facts), None)
