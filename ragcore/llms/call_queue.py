"""The queue of calls to a server: it limits the calls at once, and a question comes before background work.

    with in_background():               # any question ends it: OvertakenError
        suggestions = llm.complete("...")

    cancellation = Cancellation()       # and from another thread: cancellation.cancel()
    with cancellable(cancellation):     # calls inside end with CallCancelledError, even before a first word
        answer = llm.complete("...")

All clients of an address share its queue. These settings are context variables: a new thread inherits them
only if it is started with `contextvars.copy_context`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from ragcore.errors import LLMError
from ragcore.llms.call_stages import CallStage
from ragcore.observe import assigned, set_stage


class OvertakenError(LLMError):
    """A question ended a call in the background."""

    def __init__(self) -> None:
        super().__init__("Postponed for a question.", hint="It runs again later.")


class CallCancelledError(LLMError):
    """The caller cancelled the call."""

    def __init__(self) -> None:
        super().__init__("The question was stopped.", hint="Ask it again.")


class Turn:
    """A call that another thread may end, while it waits or while the server works on it."""

    def __init__(self, *, background: bool = False) -> None:
        self.background = background
        self.thread = threading.get_ident()
        self.error: LLMError | None = None  # why it was ended
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._hang_up: Callable[[], None] | None = None

    def end(self, error: LLMError) -> None:
        with self._lock:
            self.error = self.error or error
            self._ended.set()
            if self._hang_up is not None:
                self._hang_up()  # inside the lock: later the connection may belong to another call

    def when_ended(self, hang_up: Callable[[], None] | None) -> None:
        """Set the function that ends the current connection; None without one."""
        with self._lock:
            self._hang_up = hang_up
            ended = self.error is not None
        if ended and hang_up is not None:
            hang_up()

    def pause(self, seconds: float) -> None:
        """Raises its error as soon as it is ended."""
        self._ended.wait(seconds)
        if self.error is not None:
            raise self.error


class Cancellation:
    """Ends present and future calls from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []
        self._cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            calls = tuple(self._calls)
        for end in calls:
            end()

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """Inside, `cancel` calls `end`; at once if it was called before."""
        with self._lock:
            self._calls.append(end)
            cancelled = self._cancelled
        try:
            if cancelled:
                end()
            yield
        finally:
            with self._lock:
                self._calls.remove(end)


_background: ContextVar[bool] = ContextVar("ragcore_background", default=False)
_cancellation: ContextVar[Cancellation | None] = ContextVar("ragcore_cancellation", default=None)


def in_background() -> AbstractContextManager[None]:
    """Calls inside end with OvertakenError, waiting or running, as soon as a question has to wait."""
    return assigned(_background, True)


def cancellable(cancellation: Cancellation) -> AbstractContextManager[None]:
    """Calls inside end with CallCancelledError when it is cancelled."""
    return assigned(_cancellation, cancellation)


class CallQueue:
    """The queue of one server. `room` is the number of calls at once that it reports; None until it was
    requested."""

    def __init__(self) -> None:
        self.room: int | None = None
        self._limit: int | None = None  # set after it refused a call for lack of room
        self._changed = threading.Condition()
        self._waiting: list[Turn] = []
        self._running: list[Turn] = []

    @contextmanager
    def turn(self, limit: int) -> Iterator[Turn]:
        """A turn in the order of arrival, once fewer than `limit` others run. OvertakenError,
        CallCancelledError."""
        turn = Turn(background=_background.get())
        cancellation = _cancellation.get() or Cancellation()
        with cancellation.ends(lambda: self._end(turn, CallCancelledError())):
            self._enter(turn, limit)
            try:
                yield turn
            finally:
                with self._changed:
                    self._running.remove(turn)
                    self._changed.notify_all()

    def make_smaller(self) -> bool:
        """Lower the limit below the calls that run now. Returns whether other threads have some, so that
        waiting helps."""
        with self._changed:
            helps = any(turn.thread != threading.get_ident() for turn in self._running)
            if helps:
                self._limit = len(self._running) - 1
            return helps

    def _enter(self, turn: Turn, limit: int) -> None:
        with self._changed:
            self._waiting.append(turn)
            try:
                if not turn.background and not self._is_next(turn, limit):
                    for other in (*self._waiting, *self._running):
                        if other.background:
                            other.end(OvertakenError())
                    self._changed.notify_all()
                while turn.error is None and not self._is_next(turn, limit):
                    set_stage(CallStage.WAITING)
                    self._changed.wait()
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
            if turn.error is not None:
                raise turn.error
            self._running.append(turn)

    def _is_next(self, turn: Turn, limit: int) -> bool:
        if any(other.thread == turn.thread for other in self._running):
            return True  # this thread reads another answer meanwhile: waiting for that would never end
        return len(self._running) < min(limit, self._limit or limit) and turn is self._waiting[0]

    def _end(self, turn: Turn, error: LLMError) -> None:
        turn.end(error)
        with self._changed:
            self._changed.notify_all()


_queues: dict[Hashable, CallQueue] = {}
_lock = threading.Lock()


def queue_of(server: Hashable) -> CallQueue:
    """The queue of a server in this process, by the server's address or another key."""
    with _lock:
        return _queues.setdefault(server, CallQueue())
