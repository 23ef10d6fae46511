"""A worker's claim on files. During the work their rows show the progress and are signed, which renews their
heartbeat. If they were stopped, deleted or claimed by another worker, the work ends within two seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from typing import TypeVar

from lectern.db.integrity import LOOK_SECONDS, damage_of
from lectern.jobs.file_rows import FileRow, Lane, Stage
from lectern.jobs.files import Files
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.time_left import Costs, TimeLeft
from ragcore.errors import RagError, StoreError

logger = logging.getLogger(__name__)

T = TypeVar("T")

POLL_SECONDS = 0.2  # between two checks for cancellation
SIGN_SECONDS = 1.0  # between two signatures of a row without progress
SMALL_SECONDS = 3.0  # for reading a small file while others wait
PATIENCE_SECONDS = 20.0  # without progress, before a file goes back to the queue for waiting ones
MAX_THREADS = 1000  # Cancelled work may occupy its thread for a long time.


class LaneChange(Exception):
    """The file is to be read again in another lane."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane.name)
        self.lane = lane


class Lease:
    """The claim of `worker` on one file, or on several small ones, which are signed together and show no
    progress.

    While others wait, a small file that is slow to read moves to the lane of large files, and a large file
    without progress to the lane of stuck files.
    """

    def __init__(
        self,
        files: Files,
        rows: Sequence[FileRow],
        worker: str,
        threads: Executor,
        others_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        self.rows = rows
        self.worker = worker
        self._files = files
        self._threads = threads
        self._others_wait = others_wait
        self._costs = files.costs()
        self._signed_at = time.monotonic()
        self.begin(rows[0])

    def begin(self, file: FileRow) -> None:
        """Start the progress of this file."""
        self._file = file
        self._estimate = TimeLeft(self._costs, file.name, file.size, file.fraction)
        self._began_at = self._progressed_at = time.monotonic()
        self._progress = Stage.READING, 0, 0

    def is_lost(self) -> bool:
        """Whether all rows were stopped, deleted, or claimed by others. LaneChange if the file is slow."""
        now, lane = time.monotonic(), self._file.lane
        if lane is Lane.SMALL and self._progress[0] is Stage.READING and now - self._began_at > SMALL_SECONDS:
            if len(self.rows) > 1 or self._others_wait():
                raise LaneChange(Lane.LARGE)
        elif lane is Lane.LARGE and now - self._progressed_at > PATIENCE_SECONDS and self._others_wait():
            raise LaneChange(Lane.STUCK)
        return now - self._signed_at > SIGN_SECONDS and not self._sign()

    def report(self, stage: Stage, done: int, total: int) -> None:
        """Record progress. Cancelled if the claim is lost."""
        if (stage, done, total) != self._progress:
            self._progressed_at = time.monotonic()
        self._progress = stage, done, total
        if (len(self.rows) == 1 or time.monotonic() - self._signed_at > SIGN_SECONDS) and not self._sign():
            raise Cancelled

    def report_reading(self, done: int, total: int) -> None:
        """Record pages read, or bytes unpacked or fetched, at most every POLL_SECONDS. From any thread."""
        if time.monotonic() - self._signed_at >= POLL_SECONDS or done == total:
            self._estimate.report_reading(done, total)
            self.report(Stage.READING, done, total)

    def estimate_embedding(self, characters_left: int, costs: Costs | None = None) -> None:
        """Update the time left, see `TimeLeft.report_embedding`. `costs`: by default those at the claim."""
        self._estimate.report_embedding(characters_left, (costs or self._costs).of("embed"))

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`. Cancelled, LaneChange."""
        return run_cancellable(self._threads, work, self.is_lost)

    def _sign(self) -> bool:
        self._signed_at = time.monotonic()
        if len(self.rows) > 1:
            return self._files.claimed.sign_all(self.worker, self._progress[0]) > 0
        fraction, seconds_left = self._estimate.fraction, self._estimate.seconds_left
        return self._files.claimed.advance(
            self._file.id, self.worker, *self._progress, fraction=fraction, seconds_left=seconds_left
        )


def run_cancellable(threads: Executor, work: Callable[[], T], is_cancelled: Callable[[], bool]) -> T:
    """The result of `work`, which runs in another thread. If it is cancelled, this raises Cancelled, `work`
    runs on, and its result is dropped."""
    future = threads.submit(work)
    while not wait([future], POLL_SECONDS).done:
        if is_cancelled():
            raise Cancelled
    return future.result()


@contextmanager
def record_end(files: Files, file: FileRow, worker: str) -> Iterator[None]:
    """Record in the file's row how the work inside ended: one file must not stop the queue. Raises only the
    StoreError of an unreachable database, because the file is not at fault."""
    try:
        yield
    except LaneChange as change:
        if not files.queue.move(file.id, worker, change.lane):
            files.claimed.halt(file.id, worker)
    except Cancelled:
        files.claimed.halt(file.id, worker)
    except RagError as error:
        if isinstance(error, StoreError) and error.retryable:
            raise
        logger.info("%s failed: %s", file.id, type(error).__name__)
        files.claimed.fail(file.id, worker, error)
    except Exception as error:  # a bug
        if not files.claimed.sign(file.id, worker):  # the file was deleted or stopped meanwhile
            files.claimed.halt(file.id, worker)
            return
        logger.exception("%s failed", file.id)
        bug = damage_of(files.database, LOOK_SECONDS) or RagError(
            f"{file.name} could not be added.", hint="Try again. If it happens again, please report it."
        )
        bug.__cause__ = error
        files.claimed.fail(file.id, worker, bug)
