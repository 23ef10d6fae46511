"""Waits for changes of a database, at next to no cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set

from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from ragcore.sql.base import Database

FIRST_LOOK_SECONDS = 0.05
POLL_SECONDS = 0.2  # between two reads of the revision of the database
# A pause is this many times as long as the check before it, so checks take half a percent of a core.
PAUSE_FACTOR = 200.0
MAX_PAUSE_SECONDS = 10.0
MAX_WAIT_SECONDS = 2.0  # without a change in the database: with time a worker counts as dead


class Changes:
    """Changes of one database, for one thread, which reads the tables before each `wait`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen = database.revision()

    def wait(self, *, at_least: float = POLL_SECONDS, at_most: float = MAX_WAIT_SECONDS) -> None:
        """Return after a commit since the last return, or after `at_most` seconds, but not before `at_least`
        seconds."""
        end, pause = time.monotonic() + at_most, at_least
        while True:
            time.sleep(pause)
            revision, pause = self._database.revision(), POLL_SECONDS
            if revision != self._seen or time.monotonic() > end:
                self._seen = revision
                return


def wait_for_end(files: Files, ids: Set[str], before: Set[tuple[str, float]]) -> Iterator[FileRow]:
    """Each file once it is ready, has failed or was stopped, until all have ended.

    Waits for the files with these ids, and for all that were added since `Files.versions` was `before`: an
    archive becomes the files in it.
    """
    changes, ended, waiting = Changes(files.database), set[str](), set[str]()

    def select(versions: Set[tuple[str, float]]) -> set[str]:
        return {file_id for file_id, added in versions if file_id in ids or (file_id, added) not in before}

    while True:
        began = time.thread_time()
        active = select(files.versions(active=True))
        candidates = waiting if active and waiting else select(files.versions())
        rows = filter(None, map(files.get, candidates - active - ended))
        for file in sorted(rows, key=lambda file: file.added):
            if not file.active:
                ended.add(file.id)
                yield file
        if not active:
            return
        waiting = active
        pause = min(PAUSE_FACTOR * (time.thread_time() - began), MAX_PAUSE_SECONDS)
        changes.wait(at_least=max(FIRST_LOOK_SECONDS, pause))
