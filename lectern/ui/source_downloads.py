"""Fetches links, folders, databases and storages in threads, so that no screen waits. Results appear in the
list of files."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from lectern.jobs.files import Added
from lectern.jobs.sources import SourceFile
from lectern.library import Library
from ragcore.errors import RagError, StoreError

logger = logging.getLogger(__name__)

MAX_THREADS = 4
END_SECONDS = 5.0
NOT_SAVED = "Check that the disk has space and can be written to, then try again."


class SourceDownloads:
    """Shared by all sessions of the process."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._room = threading.Semaphore(MAX_THREADS)
        self._running: list[str] = []
        self._known: list[Added] = []
        self._problems: list[RagError] = []
        self._ended = threading.Event()

    def start(self, label: str, gather: Callable[[], Iterable[SourceFile]]) -> None:
        """Starts fetching. `label` appears on the screen, and in the row of a failure."""
        with self._lock:
            self._running.append(label)
        threading.Thread(target=self._run, args=(label, gather), name="fetch", daemon=True).start()

    def labels(self) -> list[str]:
        """The labels of the current downloads, oldest first."""
        with self._lock:
            return list(self._running)

    def take_duplicates(self) -> list[Added]:
        """The duplicates since the last call."""
        with self._lock:
            duplicates, self._known = self._known, []
        return duplicates

    def take_problems(self) -> list[RagError]:
        """The errors since the last call that have no row, because the library is read-only."""
        with self._lock:
            problems, self._problems = self._problems, []
        return problems

    def end(self) -> None:
        """Stops accepting files, and waits at most `END_SECONDS` for those in progress."""
        self._ended.set()
        deadline = time.monotonic() + END_SECONDS
        while self.labels() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _until_ended(self, gathered: Iterable[SourceFile]) -> Iterator[SourceFile]:
        for source in gathered:
            if self._ended.is_set():
                return
            yield source

    def _run(self, label: str, gather: Callable[[], Iterable[SourceFile]]) -> None:
        try:
            with self._room:
                added_files = self._library.intake.take(self._until_ended(gather()))
            with self._lock:
                self._known += [added for added in added_files if added.outcome == "duplicate"]
        except RagError as error:
            if not self._ended.is_set():
                self._refuse(label, error)
        except OSError:
            logger.exception("something could not be saved")
            self._refuse(label, RagError(f"{label} could not be saved.", hint=NOT_SAVED))
        except Exception:  # nobody else sees an error in this thread
            logger.exception("something could not be fetched")
            ours = RagError(
                f"{label} could not be added.", hint="Try again. If it happens again, please report it."
            )
            self._refuse(label, ours)
        finally:
            with self._lock:
                self._running.remove(label)
        self._library.worker.start()

    def _refuse(self, label: str, error: RagError) -> None:
        try:
            self._library.files.refuse(label, 0, error)
        except StoreError:
            with self._lock:
                self._problems.append(error)
