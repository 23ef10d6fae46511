"""What a worker does to the row of a file that it has claimed: it signs the row, says how far it is, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.file_rows import SILENT_SECONDS, WORKING_STAGES, Stage, require_row
from lectern.jobs.file_storage import FileBytes
from lectern.jobs.time_left import remember
from ragcore.errors import Problem, RagError
from ragcore.sql.base import Connection, Database


class ClaimedFiles:
    """Rows that workers hold. A worker whose row was stopped, deleted or taken over is told so and changes nothing."""

    def __init__(self, database: Database, file_bytes: FileBytes, clock: Callable[[], float]) -> None:
        self._database = database
        self._bytes = file_bytes
        self._clock = clock

    def advance(
        self, file_id: str, worker: str, stage: Stage, done: int, total: int, *, fraction: float, left: float | None
    ) -> bool:
        """Note progress and sign the row; False when the work is no longer wanted: stopped, deleted, or another's now.

        `fraction` and `left` as in FileRow; a fraction below the one that is noted changes nothing of it.
        """
        share = min(fraction, 0.99)
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage = ?, done = ?, total = ?, share = CASE WHEN share < ? THEN ? ELSE share END,"
                " seconds_left = ?, heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0",
                (stage.value, done, total, share, share, left, self._clock(), file_id, worker),
            ).rowcount
        return changed == 1

    def sign(self, file_id: str, worker: str) -> bool:
        """The heartbeat alone; False as for `advance`."""
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0",
                (self._clock(), file_id, worker),
            ).rowcount
        return changed == 1

    def sign_all(self, worker: str, stage: Stage) -> int:
        """Sign every row of a worker, all of which are in this stage now, and halt those that were asked to stop.

        Gives how many rows it still has.
        """
        mine = f"worker = ? AND stage IN ({WORKING_STAGES})"
        with self._database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE {mine} AND stop_asked = 1", (worker,)
            )
            return db.execute(
                f"UPDATE files SET stage = ?, heartbeat = ? WHERE {mine}", (stage.value, self._clock(), worker)
            ).rowcount

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
        """The file is ready; False when the row was deleted, stopped or taken over meanwhile.

        Its drafts go, and so does its password, unless pages are to be drawn with it. `left_out`: why parts were not read;
        it can be tried again. `paces`: what its work cost, see `lectern.jobs.time_left.remember`.
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
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?",
                (json.dumps(asdict(Problem.of(error))), file_id, worker),
            )

    def halt(self, file_id: str, worker: str) -> None:
        """The work was given up because someone asked for it."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?",
                (file_id, worker),
            )

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """A transaction for what may last as long as silence: workers who had to wait with signing are signed at its end."""
        with self._database.transaction() as db:
            began = self._clock()
            yield db
            db.execute(
                f"UPDATE files SET heartbeat = ? WHERE stage IN ({WORKING_STAGES}) AND heartbeat BETWEEN ? AND ?",
                (self._clock(), began - SILENT_SECONDS, began + SILENT_SECONDS),
            )
