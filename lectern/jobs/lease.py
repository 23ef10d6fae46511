"""One worker's hold on one file: the row is signed while the work goes on, says how far it is, and ends the work within a
second when nobody wants it any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from typing import TypeVar

from lectern.jobs.file_rows import FileRow, Stage
from lectern.jobs.files import Files
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.time_left import TimeLeft
from ragcore.errors import RagError

T = TypeVar("T")

LOOK_SECONDS = 0.2  # between two looks at whether the work is still wanted
SIGN_SECONDS = 2.0  # between two signatures of a row whose figures do not change


def failure_of_ours(name: str, error: Exception) -> RagError:
    """What is said of a file over which our own code failed."""
    ours = RagError(f"{name} could not be taken in.", hint="Try again. If it happens again, please report it.")
    ours.__cause__ = error
    return ours


class Lease:
    """Of the file that `worker` has claimed. `threads` do what cannot be broken off."""

    def __init__(self, files: Files, file: FileRow, worker: str, threads: Executor) -> None:
        self.file = file
        self.worker = worker
        self._files = files
        self.estimate = TimeLeft(files.costs(), file.name, file.size, file.fraction)
        self._threads = threads
        self._signed = time.monotonic()
        self._told = Stage.READING, 0, 0

    def unwanted(self) -> bool:
        """Whether the file was stopped, deleted, or taken over. Signs the row when it is time."""
        if time.monotonic() - self._signed < SIGN_SECONDS:
            return not self._files.claimed.wanted(self.file.id, self.worker)
        return not self._advance(*self._told)

    def tell(self, stage: Stage, done: int, total: int) -> None:
        """Write down how far it is. Cancelled when it is not wanted any more."""
        self._told = stage, done, total
        if not self._advance(stage, done, total):
            raise Cancelled

    def _advance(self, stage: Stage, done: int, total: int) -> bool:
        self._signed = time.monotonic()
        fraction, left = self.estimate.fraction, self.estimate.left
        return self._files.claimed.advance(self.file.id, self.worker, stage, done, total, fraction=fraction, left=left)

    def reading(self, done: int, total: int) -> None:
        """Write down how many pages are read, or bytes unpacked or fetched, unless that was just done; in whichever thread."""
        if time.monotonic() - self._signed >= LOOK_SECONDS or done == total:
            self.estimate.reading(done, total)
            self.tell(Stage.READING, done, total)

    def during(self, work: Callable[[], T]) -> T:
        """What `work` gives; Cancelled when the file is not wanted any more, and then `work` ends by itself, unheard."""
        return awaited(self._threads, work, self.unwanted)


def awaited(threads: Executor, work: Callable[[], T], unwanted: Callable[[], bool]) -> T:
    """What `work` gives, in another thread; Cancelled when it is unwanted, and then it ends by itself, unheard."""
    future: Future[T] = threads.submit(work)
    while not wait_for([future], LOOK_SECONDS).done:
        if unwanted():
            future.cancel()
            raise Cancelled
    return future.result()
