"""The queue of a library's files: workers claim files, and record their progress and end; a person stops
files or has them read again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from lectern.db.tables import Tables
from lectern.jobs.embedding_drafts import drop_drafts
from lectern.jobs.file_rows import (
    COLUMNS,
    FILE_LANES,
    FORSAKEN,
    SILENT_SECONDS,
    WAITING,
    WORKING,
    WORKING_STAGES,
    FileRow,
    Lane,
    Stage,
    queue_row,
    read_row,
    require_row,
    silence,
)
from lectern.jobs.file_storage import FileBytes
from lectern.jobs.time_left import read_costs, remember
from ragcore.errors import Problem, RagError
from ragcore.sql.base import Connection, Database

logger = logging.getLogger(__name__)

TOGETHER = 64  # Maximum number of files in one claim.
TOGETHER_BYTES = 12_000  # Maximum size of these files together: about half a second's work of one core.


class FileQueue(Tables):
    """Rows that no worker has claimed, and rows whose worker has ended."""

    def claim(self, worker: str, *, link: bool = False) -> FileRow | None:
        """The file, or the link, that has waited longest, now claimed by this worker; None if none waits."""
        claimed = self.claim_together(worker, (Lane.LINK,) if link else FILE_LANES, most=1)
        return claimed[0] if claimed else None

    def claim_together(
        self, worker: str, lanes: Sequence[Lane] = FILE_LANES, *, most: int = TOGETHER
    ) -> list[FileRow]:
        """The file that has waited longest in these lanes, now claimed by this worker. A small file comes
        with the next small ones, up to `most` and TOGETHER_BYTES. A file that another worker began comes
        alone: that worker may have died of it.
        """
        if not self.has_waiting(lanes):
            return []  # without the write lock, because idle workers look often
        with self._database.transaction() as db:
            now = self._clock()
            ids = [(row["id"],) for row in _select_first(db, lanes, most, silence(now))]
            for (file_id,) in ids:
                db.execute(
                    "UPDATE files SET stage = 'reading', done = 0, total = 0, seconds_left = NULL, "
                    "worker = ?, heartbeat = ?, problem = NULL, left_out = NULL WHERE id = ?",
                    (worker, now, file_id),
                )
            costs = read_costs(db)
            rows = [
                db.execute(f"SELECT {COLUMNS} FROM files WHERE id = ?", file_id).fetchone() for file_id in ids
            ]
            return [read_row(row, costs, now) for row in rows]

    def has_waiting(self, lanes: Sequence[Lane] = FILE_LANES) -> bool:
        """Whether a file in these lanes is queued, or its worker has fallen silent."""
        with self._database.snapshot() as db:
            return bool(_select_first(db, lanes, 1, silence(self._clock())))

    def move(self, file_id: str, worker: str, lane: Lane) -> bool:
        """Queue a file that this worker has begun in another lane; False as for `ClaimedFiles.advance`."""
        with self._database.transaction() as db:
            update = "UPDATE files SET lane = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
            if not db.execute(update, (lane, file_id, worker)).rowcount:
                return False
            queue_row(db, file_id)
            return True

    def stop(self, file_id: str) -> None:
        """Stop a waiting file at once, and a file in work within two seconds. A finished file does not
        change."""
        with self._database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL WHERE id = ? AND {WAITING}",
                (file_id, *silence(self._clock())),
            )
            db.execute(
                f"UPDATE files SET stop_asked = 1 WHERE id = ? AND stage IN ({WORKING_STAGES})", (file_id,)
            )

    def retry(self, file_id: str, password: str | None = None) -> None:
        """Queue a file again that failed, was stopped, or was read in part."""
        with self._database.transaction() as db:
            if password is not None:
                db.execute("UPDATE files SET password = ? WHERE id = ?", (password, file_id))
            row = db.execute("SELECT stage, path, problem FROM files WHERE id = ?", (file_id,)).fetchone()
            again = row and (
                row["stage"] in ("failed", "stopped") or (row["stage"] == "ready" and row["problem"])
            )
            if again and (
                row["path"] or db.execute("SELECT link FROM links WHERE file_id = ?", (file_id,)).fetchone()
            ):
                queue_row(db, file_id, anew=row["stage"] != "stopped")

    def read_again(self, file_id: str) -> None:
        """Queue any file but one that is being read. Its passages are searched until the new ones are
        ready."""
        with self._database.transaction() as db:
            row = db.execute("SELECT stage, path FROM files WHERE id = ?", (file_id,)).fetchone()
            if row and row["path"] and Stage(row["stage"]) not in WORKING:
                queue_row(db, file_id, anew=True)

    def heal(self, file_id: str) -> None:
        """Queue a file that is ready, because its stored text is damaged. Its row says so afterwards."""
        with self._database.transaction() as db:
            update = "UPDATE files SET healing = 1 WHERE id = ? AND stage = 'ready' AND path != ''"
            if db.execute(update, (file_id,)).rowcount:
                logger.warning("the stored text of %s is damaged; the file is read again", file_id)
                queue_row(db, file_id, anew=True)

    def restart(self, file_id: str) -> None:
        """Queue a file from the beginning."""
        with self._database.transaction() as db:
            queue_row(db, file_id, anew=True)

    def release(self, process: str) -> list[FileRow]:
        """Queue the files of a worker process that has ended, or stop those that a person has stopped;
        returns them. See `process_name`."""
        with self._database.transaction() as db:
            rows = db.execute(
                f"SELECT id, worker FROM files WHERE worker IS NOT NULL AND stage IN ({WORKING_STAGES})"
            ).fetchall()
            # A comparison of prefixes would be wrong: 12-web-1-a and 12-web-a are workers of different
            # machines.
            ids = [row["id"] for row in rows if row["worker"].rpartition("-")[0] == process]
            for file_id in ids:
                db.execute(
                    "UPDATE files SET stage = CASE WHEN stop_asked = 1 THEN 'stopped' ELSE 'queued' "
                    "END, stop_asked = 0, done = 0, total = 0, worker = NULL WHERE id = ?",
                    (file_id,),
                )
            return [require_row(db, file_id, self._clock()) for file_id in ids]

    def release_ended(self) -> None:
        """`release` for every process of this machine that has ended, such as after all of them were killed
        at once."""
        query = f"SELECT DISTINCT worker FROM files WHERE worker IS NOT NULL AND stage IN ({WORKING_STAGES})"
        for process in {row["worker"].rpartition("-")[0] for row in self._read(query)}:
            number, _, machine = process.partition("-")
            if machine == _machine() and _has_ended(int(number)):
                self.release(process)

    def isolate(self, file_id: str) -> None:
        """Have a small file read alone, because it may have killed a worker."""
        self._change("UPDATE files SET lane = ? WHERE id = ? AND lane = ?", Lane.LARGE, file_id, Lane.SMALL)

    def give_up(self, file_id: str, error: RagError) -> None:
        """Mark a waiting file as failed."""
        update = (
            "UPDATE files SET stage = 'failed', problem = ?, stop_asked = 0, healing = 0 "
            "WHERE id = ? AND stage = 'queued'"
        )
        self._change(update, json.dumps(asdict(Problem.of(error))), file_id)


class ClaimedFiles(Tables):
    """Rows that workers have claimed. If a row was stopped, deleted or claimed by another worker, its method
    returns False and changes nothing."""

    def __init__(self, database: Database, file_bytes: FileBytes, clock: Callable[[], float]) -> None:
        super().__init__(database, clock)
        self._bytes = file_bytes

    def advance(
        self,
        file_id: str,
        worker: str,
        stage: Stage,
        done: int,
        total: int,
        *,
        fraction: float,
        seconds_left: float | None,
    ) -> bool:
        """Record progress and sign the row; False if the file was stopped, deleted, or claimed by another
        worker.

        `fraction` and `seconds_left` as in FileRow. A fraction never falls.
        """
        share = min(fraction, 0.99)
        update = (
            "UPDATE files SET stage = ?, done = ?, total = ?, share = CASE WHEN share < ? THEN ? ELSE "
            "share END, seconds_left = ?, heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
        )
        now = self._clock()
        return (
            self._change(update, stage.value, done, total, share, share, seconds_left, now, file_id, worker)
            == 1
        )

    def sign(self, file_id: str, worker: str) -> bool:
        """The heartbeat alone; False as for `advance`."""
        update = "UPDATE files SET heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
        return self._change(update, self._clock(), file_id, worker) == 1

    def sign_all(self, worker: str, stage: Stage) -> int:
        """Sign all rows of a worker, with their stage, and stop those that a person has stopped. Returns how
        many remain."""
        mine = f"worker = ? AND stage IN ({WORKING_STAGES})"
        with self._database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE {mine} AND "
                "stop_asked = 1",
                (worker,),
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

        Its drafts are deleted, and its password, unless it is needed to draw pages. `left_out`: why parts
        were not read; a person can try again. `paces`: arguments for `remember`.
        """
        with self._database.transaction() as db:
            query = "SELECT name FROM files WHERE id = ? AND healing = 1"
            if healed := db.execute(query, (file_id,)).fetchone():
                left_out = [*left_out, healed_problem(healed["name"])]
            changed = db.execute(
                "UPDATE files SET stage = 'ready', passages = ?, pages = ?, page_word = ?, problem = ?, "
                "left_out = ?, done = 0, total = 0, share = 0, seconds_left = NULL, worker = NULL,"
                " healing = 0, password = CASE WHEN lower(name) LIKE '%.pdf' THEN password END"
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
        update = (
            "UPDATE files SET stage = 'failed', problem = ?, worker = NULL, stop_asked = 0, healing = 0 "
            "WHERE id = ? AND worker = ?"
        )
        self._change(update, json.dumps(asdict(Problem.of(error))), file_id, worker)

    def halt(self, file_id: str, worker: str) -> None:
        """The work ended because a person stopped it."""
        update = (
            "UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0, healing = 0 "
            "WHERE id = ? AND worker = ?"
        )
        self._change(update, file_id, worker)

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """A transaction that may take SILENT_SECONDS. At its end it signs for the workers that could not sign
        meanwhile."""
        with self._database.transaction() as db:
            began = self._clock()
            yield db
            db.execute(
                f"UPDATE files SET heartbeat = ? WHERE stage IN ({WORKING_STAGES}) AND heartbeat "
                "BETWEEN ? AND ?",
                (self._clock(), began - SILENT_SECONDS, began + SILENT_SECONDS),
            )


def healed_problem(name: str) -> Problem:
    return Problem(
        f"The stored text of {name} was damaged on the disk, and was read again from its original.",
        "Check the disk, and keep a backup of the library's folder.",
    )


def _select_first(db: Connection, lanes: Sequence[Lane], most: int, silent: tuple[float, float]) -> list[Any]:
    """See `claim_together`. Each query reads only the rows it returns, from an index. A query with OR, or for
    several lanes, would sort the whole queue."""
    groups = []
    for lane in lanes:
        for condition, values in (("stage = 'queued'", ()), (FORSAKEN, silent)):
            query = (
                f"SELECT id, added, size, stage, lane FROM files WHERE {condition} AND lane = ? ORDER "
                "BY added, id LIMIT ?"
            )
            together = lane is Lane.SMALL and not values
            groups.append(db.execute(query, (*values, lane, most if together else 1)).fetchall())
    first = min(
        filter(None, groups),
        key=lambda rows: (rows[0]["lane"] == Lane.STUCK, rows[0]["added"], rows[0]["id"]),
        default=[],
    )
    sizes = accumulate(row["size"] for row in first)
    return first[: max(sum(size <= TOGETHER_BYTES for size in sizes), 1)]


def process_name(process_id: int) -> str:
    """The common part of the names of a process's workers. It names the machine too."""
    return f"{process_id}-{_machine()}"


@cache
def _machine() -> str:
    """The name of this machine or container, unique also if another one has the same host name."""
    name = platform.node()
    with suppress(OSError):  # these files are only on Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        numbering = str(Path("/proc/self/ns/pid").readlink())  # each container has its own process 1
        name += f"-{hashlib.sha256((boot + numbering).encode()).hexdigest()[:12]}"
    return name


def _has_ended(process_id: int) -> bool:
    """Always False on Windows, where `os.kill` would end the process."""
    if sys.platform == "win32":
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # a process of another user
        return False
    stat = Path(f"/proc/{process_id}/stat")  # on Linux: number (name) state ...
    # a zombie
    return stat.exists() and stat.read_text("utf-8", "replace").rpartition(") ")[2].startswith("Z")
