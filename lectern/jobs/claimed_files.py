"""Changes that a worker makes to the rows of files that it has claimed: signatures, progress, and the end of the work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from lectern.db.tables import Tables
from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.file_rows import SILENT_SECONDS, WORKING_STAGES, Stage, require_row
from lectern.jobs.file_storage import FileBytes
from lectern.jobs.time_left import remember
from ragcore.errors import Problem, RagError
from ragcore.sql.base import Connection, Database


class ClaimedFiles(Tables):
    """Rows that workers have claimed. If a row was stopped, deleted or claimed by another worker, its method returns False and
    changes nothing."""

    def __init__(self, database: Database, file_bytes: FileBytes, clock: Callable[[], float]) -> None:
        super().__init__(database, clock)
        self._bytes = file_bytes

    def advance(
        self, file_id: str, worker: str, stage: Stage, done: int, total: int, *, fraction: float, seconds_left: float | None
    ) -> bool:
        """Record progress and sign the row; False if the file was stopped, deleted, or claimed by another worker.

        `fraction` and `seconds_left` as in FileRow. A fraction never falls.
        """
        share = min(fraction, 0.99)
        update = (
            "UPDATE files SET stage = ?, done = ?, total = ?, share = CASE WHEN share < ? THEN ? ELSE share END,"
            " seconds_left = ?, heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
        )
        now = self._clock()
        return self._change(update, stage.value, done, total, share, share, seconds_left, now, file_id, worker) == 1

    def sign(self, file_id: str, worker: str) -> bool:
        """The heartbeat alone; False as for `advance`."""
        update = "UPDATE files SET heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
        return self._change(update, self._clock(), file_id, worker) == 1

    def sign_all(self, worker: str, stage: Stage) -> int:
        """Sign all rows of a worker, with their stage, and stop those that a person has stopped. Returns how many remain."""
        mine = f"worker = ? AND stage IN ({WORKING_STAGES})"
        with self._database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE {mine} AND stop_asked = 1", (worker,)
            )
            sign = f"UPDATE files SET stage = ?, heartbeat = ? WHERE {mine}"
            return db.execute(sign, (stage.value, self._clock(), worker)).rowcount

    def finish(
        self,
        file_id: str,
        worker: str,
        *,
        passages: int,
        pages: int,
        page_word: str = "page",
        left_out: Sequence[Problem] = (),
        paces: Sequence[tuple[str, float, float]] = (),
    ) -> bool:
        """The file is ready; False as for `advance`.

        Its drafts are deleted, and its password, unless it is needed to draw pages. `left_out`: why parts were not read;
        a person can try again. `paces`: arguments for `remember`.
        """
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage = 'ready', passages = ?, pages = ?, page_word = ?, problem = ?, left_out = ?,"
                " done = 0, total = 0, share = 0, seconds_left = NULL, worker = NULL,"
                " password = CASE WHEN lower(name) LIKE '%.pdf' THEN password END"
                " WHERE id = ? AND worker = ? AND stop_asked = 0",
                (
                    passages,
                    pages,
                    page_word,
                    json.dumps(asdict(left_out[0])) if left_out else None,
                    json.dumps([asdict(problem) for problem in left_out]) if left_out else None,
                    file_id,
                    worker,
                ),
            ).rowcount
            if changed:
                drop_drafts(db, file_id)
                for work, cost, amount in paces:
                    remember(db, work, cost, amount)
                self._bytes.drop_versions_before(require_row(db, file_id, self._clock()).path)
        return changed == 1

    def fail(self, file_id: str, worker: str, error: RagError) -> None:
        update = "UPDATE files SET stage = 'failed', problem = ?, worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?"
        self._change(update, json.dumps(asdict(Problem.of(error))), file_id, worker)

    def halt(self, file_id: str, worker: str) -> None:
        """The work ended because a person stopped it."""
        update = "UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?"
        self._change(update, file_id, worker)

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """A transaction that may take SILENT_SECONDS. At its end it signs for the workers that could not sign meanwhile."""
        with self._database.transaction() as db:
            began = self._clock()
            yield db
            db.execute(
                f"UPDATE files SET heartbeat = ? WHERE stage IN ({WORKING_STAGES}) AND heartbeat BETWEEN ? AND ?",
                (self._clock(), began - SILENT_SECONDS, began + SILENT_SECONDS),
            )
