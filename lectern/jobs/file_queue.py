"""The queue of a library's files: workers take from it, and a person stops a file or has it read again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path

from lectern.jobs.file_rows import (
    WAITING,
    WAITING_FILE,
    WAITING_LINK,
    WORKING,
    WORKING_STAGES,
    FileRow,
    Stage,
    queue_row,
    require_row,
    silence,
)
from ragcore.errors import Problem, RagError
from ragcore.sql.base import Database


class FileQueue:
    """The stages of rows that no worker holds, and what becomes of those that workers held who are gone."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def claim(self, worker: str, *, link: bool = False) -> FileRow | None:
        """The file that has waited longest, now this worker's, or the link; None when none waits."""
        if not self._waiting(link=link):
            return None  # without taking the write lock: idle workers look often
        silent = silence(self._clock())
        waiting = WAITING_LINK if link else WAITING_FILE
        with self._database.transaction() as db:
            row = db.execute(f"SELECT id FROM files WHERE {waiting} ORDER BY added, id LIMIT 1", silent).fetchone()
            if row is None:
                return None
            taken = db.execute(
                "UPDATE files SET stage = 'reading', done = 0, total = 0, seconds_left = NULL, worker = ?, heartbeat = ?,"
                f" problem = NULL WHERE id = ? AND {WAITING}",  # again, in case another took it while this one waited for it
                (worker, self._clock(), row["id"], *silent),
            ).rowcount
            return require_row(db, row["id"], self._clock()) if taken else None

    def waiting(self) -> bool:
        """Whether a file waits for a worker: one that is queued, or whose worker has fallen silent."""
        return self._waiting(link=False)

    def _waiting(self, *, link: bool) -> bool:
        waiting = WAITING_LINK if link else WAITING_FILE
        with self._database.snapshot() as db:
            return db.execute(f"SELECT id FROM files WHERE {waiting} LIMIT 1", silence(self._clock())).fetchone() is not None

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

    def give_up(self, file_id: str, error: RagError) -> None:
        """A waiting file fails without being tried again."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, stop_asked = 0 WHERE id = ? AND stage = 'queued'",
                (json.dumps(asdict(Problem.of(error))), file_id),
            )


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
