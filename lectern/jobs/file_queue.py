"""The queue of a library's files: workers take from it, and a person stops a file or has it read again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from lectern.jobs.file_rows import (
    COLUMNS,
    FILE_LANES,
    FORSAKEN,
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
from lectern.jobs.time_left import read_costs
from ragcore.errors import Problem, RagError
from ragcore.sql.base import Connection, Database

TOGETHER = 64  # files that a worker takes at one go,
TOGETHER_BYTES = 12_000  # which have no more than so many together: about half a second's work of one core


class FileQueue:
    """The stages of rows that no worker holds, and what becomes of those that workers held who are gone."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def claim(self, worker: str, *, link: bool = False) -> FileRow | None:
        """The file that has waited longest, now this worker's, or the link; None when none waits."""
        claimed = self.claim_together(worker, (Lane.LINK,) if link else FILE_LANES, most=1)
        return claimed[0] if claimed else None

    def claim_together(self, worker: str, lanes: Sequence[Lane] = FILE_LANES, *, most: int = TOGETHER) -> list[FileRow]:
        """The file that has waited longest in these lanes, now this worker's; and with a small one those small ones that came
        after it, up to `most`, of TOGETHER_BYTES. None when none waits.

        What another worker has begun, and may have died of, comes alone.
        """
        if not self.waiting(lanes):
            return []  # without taking the write lock: idle workers look often
        with self._database.transaction() as db:
            now = self._clock()
            ids = [(row["id"],) for row in _first(db, lanes, most, silence(now))]
            for (file_id,) in ids:
                db.execute(
                    "UPDATE files SET stage = 'reading', done = 0, total = 0, seconds_left = NULL, worker = ?, heartbeat = ?,"
                    " problem = NULL, left_out = NULL WHERE id = ?",
                    (worker, now, file_id),
                )
            costs = read_costs(db)
            rows = [db.execute(f"SELECT {COLUMNS} FROM files WHERE id = ?", file_id).fetchone() for file_id in ids]
            return [read_row(row, costs, now) for row in rows]

    def waiting(self, lanes: Sequence[Lane] = FILE_LANES) -> bool:
        """Whether a file waits for a worker in one of these lanes: one that is queued, or whose worker has fallen silent."""
        with self._database.snapshot() as db:
            return bool(_first(db, lanes, 1, silence(self._clock())))

    def move(self, file_id: str, worker: str, lane: Lane) -> bool:
        """Have a file that this worker has begun taken up again in another lane; False as for `ClaimedFiles.advance`."""
        with self._database.transaction() as db:
            moved = "UPDATE files SET lane = ? WHERE id = ? AND worker = ? AND stop_asked = 0"
            if not db.execute(moved, (lane, file_id, worker)).rowcount:
                return False
            queue_row(db, file_id)
            return True

    def stop(self, file_id: str) -> None:
        """A waiting file stops now; one being worked on within two seconds. Nothing happens to a finished one."""
        with self._database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL WHERE id = ? AND {WAITING}",
                (file_id, *silence(self._clock())),
            )
            db.execute(f"UPDATE files SET stop_asked = 1 WHERE id = ? AND stage IN ({WORKING_STAGES})", (file_id,))

    def retry(self, file_id: str, password: str | None = None) -> None:
        """Queue a failed or stopped file again, with a password where it needs one; or one of which a part was left out."""
        with self._database.transaction() as db:
            if password is not None:
                db.execute("UPDATE files SET password = ? WHERE id = ?", (password, file_id))
            row = db.execute("SELECT stage, path, problem FROM files WHERE id = ?", (file_id,)).fetchone()
            again = row and (row["stage"] in ("failed", "stopped") or (row["stage"] == "ready" and row["problem"]))
            if again and (row["path"] or db.execute("SELECT link FROM links WHERE file_id = ?", (file_id,)).fetchone()):
                queue_row(db, file_id, anew=row["stage"] != "stopped")

    def read_again(self, file_id: str) -> None:
        """Queue a file whatever became of it before; its passages keep answering until the new ones are ready. Nothing happens
        to one that is being read."""
        with self._database.transaction() as db:
            row = db.execute("SELECT stage, path FROM files WHERE id = ?", (file_id,)).fetchone()
            if row and row["path"] and Stage(row["stage"]) not in WORKING:
                queue_row(db, file_id, anew=True)

    def restart(self, file_id: str) -> None:
        """Read a file anew, whatever became of it."""
        with self._database.transaction() as db:
            queue_row(db, file_id, anew=True)

    def release(self, process: str) -> list[FileRow]:
        """Queue again what a worker process, known to be dead, was working on, or stop it, where that was asked for; gives
        those files. See `process_name`."""
        with self._database.transaction() as db:
            held = db.execute(
                f"SELECT id, worker FROM files WHERE worker IS NOT NULL AND stage IN ({WORKING_STAGES})"
            ).fetchall()
            # And not by what it begins with: 12-web-1-a is a worker of another machine than 12-web-a is.
            ids = [row["id"] for row in held if row["worker"].rpartition("-")[0] == process]
            for file_id in ids:
                db.execute(
                    "UPDATE files SET stage = CASE WHEN stop_asked = 1 THEN 'stopped' ELSE 'queued' END, stop_asked = 0,"
                    " done = 0, total = 0, worker = NULL WHERE id = ?",
                    (file_id,),
                )
            return [require_row(db, file_id, self._clock()) for file_id in ids]

    def release_ended(self) -> None:
        """`release` for every process of this machine that is no more, as after all of them were killed at once."""
        held = f"SELECT DISTINCT worker FROM files WHERE worker IS NOT NULL AND stage IN ({WORKING_STAGES})"
        with self._database.snapshot() as db:
            processes = {row["worker"].rpartition("-")[0] for row in db.execute(held).fetchall()}
        for process in processes:
            number, _, machine = process.partition("-")
            if machine == _machine() and _has_ended(int(number)):
                self.release(process)

    def leave_others(self, file_id: str) -> None:
        """Have a small file that waits read alone, as it may be what workers die of."""
        with self._database.transaction() as db:
            db.execute("UPDATE files SET lane = ? WHERE id = ? AND lane = ?", (Lane.LARGE, file_id, Lane.SMALL))

    def give_up(self, file_id: str, error: RagError) -> None:
        """A waiting file fails without being tried again."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, stop_asked = 0 WHERE id = ? AND stage = 'queued'",
                (json.dumps(asdict(Problem.of(error))), file_id),
            )


def _first(db: Connection, lanes: Sequence[Lane], most: int, silent: tuple[float, float]) -> list[Any]:
    """See `claim_together`. Each question is answered by an index, and looks at no more rows than it gives: a disjunction, or
    several lanes in one, would sort the whole queue."""
    found = []
    for lane in lanes:
        for condition, values in (("stage = 'queued'", ()), (FORSAKEN, silent)):
            query = f"SELECT id, added, size, stage, lane FROM files WHERE {condition} AND lane = ? ORDER BY added, id LIMIT ?"
            together = lane is Lane.SMALL and not values
            found.append(db.execute(query, (*values, lane, most if together else 1)).fetchall())
    rows = min(filter(None, found), key=_turn, default=[])
    sizes = accumulate(row["size"] for row in rows)
    return rows[: max(sum(size <= TOGETHER_BYTES for size in sizes), 1)]


def _turn(rows: Sequence[Any]) -> tuple[bool, float, str]:
    return rows[0]["lane"] == Lane.STUCK, rows[0]["added"], rows[0]["id"]


def process_name(process_id: int) -> str:
    """What the names of the workers in a process of this machine are without their last part. Other machines have processes of
    the same number."""
    return f"{process_id}-{_machine()}"


@cache
def _machine() -> str:
    """This machine, or the container this is in: another one may go by the same name."""
    name = platform.node()
    with suppress(OSError):  # only Linux tells
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        numbering = str(Path("/proc/self/ns/pid").readlink())  # each container has its own process 1
        name += f"-{hashlib.sha256((boot + numbering).encode()).hexdigest()[:12]}"
    return name


def _has_ended(process_id: int) -> bool:
    """Where it can be asked for; on Windows the question would end it."""
    if sys.platform == "win32":
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is someone else's
        return False
    told = Path(f"/proc/{process_id}/stat")  # on Linux: number (name) state ...
    return told.exists() and told.read_text("utf-8", "replace").rpartition(") ")[2].startswith("Z")  # never collected
