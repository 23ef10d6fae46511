"""Fetches what is at the links that wait. A link is a row among the files, and the job of fetching it, like any other file's:
whoever gave it may be gone, and a process that ends in the middle of it leaves it to the next."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lectern.jobs.file_queue import process_name
from lectern.jobs.file_rows import Stage
from lectern.jobs.files import Files
from lectern.jobs.lease import Lease, failure_of_ours
from lectern.jobs.sandbox import Cancelled
from lectern.jobs.sources import from_link
from lectern.settings import AllowedSources, IngestSettings
from ragcore.errors import AlreadyThereError, RagError, StoreError
from ragcore.schema import new_id

logger = logging.getLogger(__name__)


class Fetcher:
    """One link at a time, apart from the worker, which a slow server would hold up."""

    def __init__(self, files: Files, settings: Callable[[], IngestSettings]) -> None:
        self._files = files
        self._settings = settings
        self._name = f"{process_name(os.getpid())}-{new_id()[:8]}"

    def run_once(self) -> bool:
        """Fetch from the link that has waited longest; False when none waits."""
        row = self._files.queue.claim(self._name, link=True)
        if row is None:
            return False
        threads = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        try:
            self._fetch(Lease(self._files, row, self._name, threads))
        except Cancelled:
            self._files.claimed.halt(row.id, self._name)
        except RagError as error:
            if isinstance(error, StoreError) and error.retryable:
                raise  # the database is away
            self._files.claimed.fail(row.id, self._name, error)
        except Exception as error:  # one link must not stop the others
            logger.exception("%s failed", row.id)
            self._files.claimed.fail(row.id, self._name, failure_of_ours(row.name, error))
        finally:
            threads.shutdown(wait=False)  # a server that is silent ends by itself, unheard
        return True

    def _fetch(self, lease: Lease) -> None:
        """What is there becomes a file with a row of its own, and the row of the link goes."""
        lease.tell(Stage.READING, 0, 0)
        link = self._files.links.get(lease.file.id)
        if link is None:  # deleted meanwhile
            raise Cancelled
        settings, allowed = self._settings(), AllowedSources(private_network=link.anywhere)
        found = lease.during(
            lambda: from_link(
                link.address, self._files.storage.incoming(), allowed, max_mb=settings.max_file_mb, progress=lease.reading
            )
        )
        added = self._files.add(found.path, found.name, settings, origin=found.origin)
        before = added.file.origin != found.origin or added.file.added < lease.file.added
        if added.outcome == "duplicate" and before:  # and not by a process that was killed before it could take the row away
            raise AlreadyThereError(f"{added.file.name} is in your library already.", hint="There is nothing more to do.")
        self._files.remove(lease.file.id)
