"""Fetches what is at the links that wait. A link is a row among the files, and the job of fetching it, like any other file's:
whoever gave it may be gone, and a process that ends in the middle of it leaves it to the next."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from lectern.jobs.lease import THREADS, Lease, record_end
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.sources import from_link
from lectern.settings import AllowedSources, IngestSettings
from ragcore.errors import AlreadyThereError
from ragcore.schema import new_id


class Fetcher:
    """One link at a time, apart from the worker, which a slow server would hold up."""

    def __init__(self, files: Files, settings: Callable[[], IngestSettings]) -> None:
        self._files = files
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="fetch")

    def run_once(self) -> bool:
        """Fetch from the link that has waited longest; False when none waits."""
        row = self._files.queue.claim(self._name, link=True)
        if row is not None:
            with record_end(self._files, row, self._name):
                self._fetch(row, Lease(self._files, [row], self._name, self._threads))
        return row is not None

    def _fetch(self, row: FileRow, lease: Lease) -> None:
        """What is there becomes a file with a row of its own, and the row of the link goes."""
        link = self._files.links.get(row.id)
        if link is None:  # deleted meanwhile
            raise Cancelled
        settings, folder = self._settings(), self._files.storage.incoming()
        allowed = AllowedSources(private_network=link.anywhere)
        found = lease.run(
            lambda: from_link(link.address, folder, allowed, max_mb=settings.max_file_mb, progress=lease.report_reading)
        )
        added = self._files.add(found.path, found.name, settings, origin=found.origin)
        before = added.file.origin != found.origin or added.file.added < row.added
        if added.outcome == "duplicate" and before:  # and not by a process that was killed before it could take the row away
            raise AlreadyThereError(f"{added.file.name} is already in your library.", hint="There is nothing more to do.")
        self._files.remove(row.id)
