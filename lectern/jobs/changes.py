"""Waiting until somebody has changed a database, which costs next to nothing while nobody does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set

from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from ragcore.sql.base import Database

FIRST_LOOK_SECONDS = 0.05
LOOK_SECONDS = 0.2  # between two looks at the number that every change makes another
PAUSES = 200.0  # times what looking took, between two looks: so that it takes half a percent of a core
LONGEST_PAUSE = 10.0  # seconds, however long looking took
LONGEST_SECONDS = 2.0  # until what time alone changes is looked for, such as a worker's silence


class Changes:
    """Of one database, for one thread, which looks into the tables before each `wait`.

    >>> changes = Changes(library.database)
    >>> while not library.files.tally()[Stage.READY]:
    ...     changes.wait()
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen = database.revision()

    def wait(self, *, at_least: float = LOOK_SECONDS, at_most: float = LONGEST_SECONDS) -> None:
        """Return once something has been committed since the last return, at the earliest and the latest after so many
        seconds."""
        end, pause = time.monotonic() + at_most, at_least
        while True:
            time.sleep(pause)
            seen, pause = self._database.revision(), LOOK_SECONDS
            if seen != self._seen or time.monotonic() > end:
                self._seen = seen
                return


def wait_for_end(files: Files, given: Set[str], before: Set[tuple[str, float]]) -> Iterator[FileRow]:
    """Each of these files once it is ready, has failed or was stopped, until none of them is worked on or waits for it.

    They are those whose ids are `given`, and all that were added since they were those of `before`, see `Files.versions`: an
    archive becomes the files in it.
    """
    changes, ended, waiting = Changes(files.database), set[str](), set[str]()

    def wanted(versions: Set[tuple[str, float]]) -> set[str]:
        return {file_id for file_id, added in versions if file_id in given or (file_id, added) not in before}

    while True:
        began = time.thread_time()
        active = wanted(files.versions(active=True))
        candidates = waiting if active and waiting else wanted(files.versions())
        found = filter(None, map(files.get, candidates - active - ended))
        for file in sorted(found, key=lambda file: file.added):
            if not file.active:
                ended.add(file.id)
                yield file
        if not active:
            return
        waiting = active
        pause = min(PAUSES * (time.thread_time() - began), LONGEST_PAUSE)
        changes.wait(at_least=max(FIRST_LOOK_SECONDS, pause))
