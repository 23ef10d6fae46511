"""Fetches the files of queued links. A link is a row among the files, so its job survives the process that
added it, and a process that fetches it and ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from lectern.jobs.lease import MAX_THREADS, Lease, record_end
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.sources import from_link
from lectern.settings import AllowedSources, IngestSettings
from ragcore.errors import AlreadyThereError
from ragcore.schema import new_id


class Fetcher:
    """Fetches one link at a time, in a thread of its own, because a slow server would delay the worker."""

    def __init__(self, files: Files, settings: Callable[[], IngestSettings]) -> None:
        self._files = files
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="fetch")

    def run_once(self) -> bool:
        """Fetch the link that has waited longest; False if none is queued."""
        row = self._files.queue.claim(self._name, link=True)
        if row is not None:
            with record_end(self._files, row, self._name):
                self._fetch(row, Lease(self._files, [row], self._name, self._threads))
        return row is not None

    def _fetch(self, row: FileRow, lease: Lease) -> None:
        """Add the fetched file, with a row of its own, and delete the row of the link."""
        link = self._files.links.get(row.id)
        if link is None:  # deleted meanwhile
            raise Cancelled
        settings, folder = self._settings(), self._files.storage.incoming()
        allowed = AllowedSources(private_network=link.anywhere)
        file = lease.run(
            lambda: from_link(
                link.address, folder, allowed, max_mb=settings.max_file_mb, progress=lease.report_reading
            )
        )
        added = self._files.add(file.path, file.name, settings, origin=file.origin)
        # A newer duplicate is not an error: a process that was killed before it could delete this row has
        # added it.
        if added.outcome == "duplicate" and (
            added.file.origin != file.origin or added.file.added < row.added
        ):
            raise AlreadyThereError(
                f"{added.file.name} is already in your library.", hint="There is nothing more to do."
            )
        self._files.remove(row.id)
