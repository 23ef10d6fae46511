"""A worker's claim on files. While the work goes on, their rows are signed and show how far it is; it is broken off within two
seconds when nobody wants it any more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from typing import TypeVar

from lectern.jobs.file_rows import FileRow, Lane, Stage
from lectern.jobs.files import Files
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.time_left import Costs, TimeLeft
from ragcore.errors import RagError, StoreError

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_SECONDS = 0.2  # between two looks at whether the work is still wanted
SIGN_SECONDS = 1.0  # between two signatures of a row whose figures do not change
SMALL_SECONDS = 3.0  # for reading a small file while others wait
PATIENCE_SECONDS = 20.0  # without any progress, after which a file makes way for those that wait
THREADS = 1000  # for work that can be cancelled, which may occupy its thread for long after that


class Yielding(Exception):
    """The file is to be read again in another lane."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane.name)
        self.lane = lane


class Lease:
    """The claim of `worker` on some rows: one file, or several small ones, which are signed together and show no figures.

    While others wait, a small file that takes long to read moves to the lane of large files, and a large file without progress
    to the lane of such files.
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
        self._signed = time.monotonic()
        self.begin(rows[0])

    def begin(self, file: FileRow) -> None:
        """From now on this file of the rows is read."""
        self._file = file
        self._estimate = TimeLeft(self._costs, file.name, file.size, file.fraction)
        self._began = self._progressed = time.monotonic()
        self._progress = Stage.READING, 0, 0

    def unwanted(self) -> bool:
        """Whether no row is wanted any more: all were stopped, deleted, or taken over. Raises Yielding for a change of lane."""
        now, lane = time.monotonic(), self._file.lane
        if lane is Lane.SMALL and self._progress[0] is Stage.READING and now - self._began > SMALL_SECONDS:
            if len(self.rows) > 1 or self._others_wait():
                raise Yielding(Lane.LARGE)
        elif lane is Lane.LARGE and now - self._progressed > PATIENCE_SECONDS and self._others_wait():
            raise Yielding(Lane.STUCK)
        return now - self._signed > SIGN_SECONDS and not self._sign()

    def report(self, stage: Stage, done: int, total: int) -> None:
        """Write down how far the work is. Raises Cancelled when it is not wanted any more."""
        if (stage, done, total) != self._progress:
            self._progressed = time.monotonic()
        self._progress = stage, done, total
        if (len(self.rows) == 1 or time.monotonic() - self._signed > SIGN_SECONDS) and not self._sign():
            raise Cancelled

    def report_reading(self, done: int, total: int) -> None:
        """Write down how many pages are read, or bytes unpacked or fetched, unless that was just done. From any thread."""
        if time.monotonic() - self._signed >= LOOK_SECONDS or done == total:
            self._estimate.reading(done, total)
            self.report(Stage.READING, done, total)

    def estimate_embedding(self, characters_left: int, costs: Costs | None = None) -> None:
        """See `TimeLeft.embedding`. `costs` are by default those at the claim."""
        self._estimate.embedding(characters_left, (costs or self._costs).of("embed"))

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, as `run_while_wanted`."""
        return run_while_wanted(self._threads, work, self.unwanted)

    def _sign(self) -> bool:
        self._signed = time.monotonic()
        if len(self.rows) > 1:
            return self._files.claimed.sign_all(self.worker, self._progress[0]) > 0
        fraction, left = self._estimate.fraction, self._estimate.left
        return self._files.claimed.advance(self._file.id, self.worker, *self._progress, fraction=fraction, left=left)


def run_while_wanted(threads: Executor, work: Callable[[], T], unwanted: Callable[[], bool]) -> T:
    """The result of `work`, which runs in another thread. Raises Cancelled when it is unwanted; `work` then goes on to its end,
    and its result is dropped."""
    future = threads.submit(work)
    while not wait([future], LOOK_SECONDS).done:
        if unwanted():
            raise Cancelled
    return future.result()


@contextmanager
def record_end(files: Files, file: FileRow, worker: str) -> Iterator[None]:
    """Write into the file's row how the work inside ended: one file must not stop the queue. Raises only the StoreError of a
    database that is away, as the file is not at fault."""
    try:
        yield
    except Yielding as yielding:
        if not files.queue.move(file.id, worker, yielding.lane):
            files.claimed.halt(file.id, worker)
    except Cancelled:
        files.claimed.halt(file.id, worker)
    except RagError as error:
        if isinstance(error, StoreError) and error.retryable:
            raise
        logger.info("%s failed: %s", file.id, type(error).__name__)
        files.claimed.fail(file.id, worker, error)
    except Exception as error:  # a bug of ours
        if not files.claimed.sign(file.id, worker):  # the file was deleted or stopped meanwhile
            files.claimed.halt(file.id, worker)
            return
        logger.exception("%s failed", file.id)
        ours = RagError(f"{file.name} could not be added.", hint="Try again. If it happens again, please report it.")
        ours.__cause__ = error
        files.claimed.fail(file.id, worker, ours)
