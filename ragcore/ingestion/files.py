"""The files of a library. Each is a row in its database, and the row is also the file's job: where reading it stands.

    queued ─▶ reading ─▶ splitting ─▶ embedding ─▶ storing ─▶ ready
       ▲          └────────────┴───────────┴──────────┴──▶ failed, stopped
       └───────────────────── retry ─────────────────────────┘

Workers, in any number of processes, claim queued rows one at a time and sign them with a heartbeat. A row whose worker has
fallen silent is claimed again, so a killed worker costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ragcore.config import IngestSettings
from ragcore.database import Connection, Database, writable
from ragcore.errors import EmptyFileError, InputError, Problem, RagError, TooLargeError
from ragcore.ingestion.file_bytes import FileBytes, Received
from ragcore.schema import new_id

SILENT_SECONDS = 10.0  # a worker that has not signed its row for so long is taken for dead

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    path TEXT NOT NULL,              -- relative to the library's folder
    hash TEXT NOT NULL,              -- SHA-256 of the bytes
    size INTEGER NOT NULL,           -- bytes
    added REAL NOT NULL,             -- seconds since the epoch
    stage TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    stage_started REAL NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    page_word TEXT NOT NULL DEFAULT 'page',
    password TEXT,
    problem TEXT,                    -- JSON of a Problem
    stop_asked INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS files_by_stage ON files (stage, added);
CREATE INDEX IF NOT EXISTS files_by_hash ON files (hash);
"""


class Stage(str, Enum):
    QUEUED = "queued"
    READING = "reading"
    SPLITTING = "splitting"
    EMBEDDING = "embedding"
    STORING = "storing"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


WORKING = (Stage.READING, Stage.SPLITTING, Stage.EMBEDDING, Stage.STORING)
# Where each stage begins and ends on the bar of the whole file. Embedding is nearly all of the time.
SHARE = {
    Stage.QUEUED: (0.0, 0.0),
    Stage.READING: (0.0, 0.15),
    Stage.SPLITTING: (0.15, 0.18),
    Stage.EMBEDDING: (0.18, 0.97),
    Stage.STORING: (0.97, 1.0),
    Stage.READY: (1.0, 1.0),
    Stage.FAILED: (0.0, 0.0),
    Stage.STOPPED: (0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file as it stands now. `done` of `total` count pages while reading, passages while embedding."""

    id: str
    name: str
    path: str
    hash: str
    size: int
    added: float
    stage: Stage
    done: int
    total: int
    stage_started: float
    passages: int
    pages: int
    problem: Problem | None
    page_word: str = "page"  # what a page is called there: page, slide, sheet, chapter, message

    @property
    def kind(self) -> str:
        return PurePosixPath(self.name).suffix.lstrip(".").upper() or "FILE"

    @property
    def active(self) -> bool:
        """Being worked on, or waiting for it."""
        return self.stage is Stage.QUEUED or self.stage in WORKING

    @property
    def ready(self) -> bool:
        return self.stage is Stage.READY

    @property
    def fraction(self) -> float:
        """How much of the whole work is done, 0 to 1."""
        start, end = SHARE[self.stage]
        return start + (end - start) * (self.done / self.total if self.total else 0.0)

    @property
    def seconds_left(self) -> float | None:
        """From the speed of the running stage; None while that says nothing yet."""
        if self.stage not in (Stage.READING, Stage.EMBEDDING) or not self.done or not self.total:
            return None
        elapsed = time.time() - self.stage_started
        left_here = elapsed / self.done * (self.total - self.done)
        if self.stage is Stage.READING:
            return None  # embedding takes most of the time, and how many passages there will be is not known yet
        return left_here


Outcome = Literal["added", "duplicate", "replaced"]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file that was given: a new row, the row that has it already, or the row it replaces."""

    file: FileRow
    outcome: Outcome


class Files:
    """The table of files, and what holds their bytes."""

    def __init__(self, database: Database, file_bytes: FileBytes) -> None:
        self._database = database
        self._bytes = file_bytes

    def add(self, source: Path, name: str, settings: IngestSettings | None = None) -> Added:
        """Take the file at `source` into the library (it is moved) and queue it.

        The same bytes again are a duplicate, and said to be. Other bytes under a name that is there replace that file: its
        passages keep answering until the new ones are ready. EmptyFileError, TooLargeError.
        """
        limit = (settings or IngestSettings()).max_file_mb
        size = source.stat().st_size
        try:
            if size == 0:
                raise EmptyFileError(f"{name} is empty.", hint="Choose the file again, or check that it was saved.")
            if size > limit * 1_000_000:
                raise TooLargeError(
                    f"{name} has {size / 1e6:,.0f} MB; the limit is {limit} MB.",
                    hint="Split the file, or raise the limit in Settings.",
                )
        except InputError:
            source.unlink()
            raise
        digest = file_hash(source)
        duplicate = self._duplicate(digest)
        if duplicate is None:
            with self._bytes.receiving(source) as received, self._database.transaction():
                duplicate = self._duplicate(digest)  # given by someone else meanwhile
                if duplicate is None:
                    return self._add(received, writable(name), digest, size)
        source.unlink()
        return duplicate

    def _duplicate(self, digest: str) -> Added | None:
        """The file that has these bytes; where it was stopped, it is queued again."""
        with self._database.transaction() as db:
            same = db.execute("SELECT id, stage FROM files WHERE hash = ? AND stage != 'failed'", (digest,)).fetchone()
            if same is None:
                return None
            if same["stage"] == Stage.STOPPED.value:
                self._queue(db, same["id"])
            return Added(self._must(same["id"]), "duplicate")

    def _add(self, received: Received, name: str, digest: str, size: int) -> Added:
        with self._database.transaction() as db:
            named = db.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()
            file_id = named["id"] if named else new_id()[:16]
            path = f"files/{file_id}/{digest[:12]}{PurePosixPath(name).suffix.lower()}"
            received.place(path)
            if named:
                db.execute("UPDATE files SET path = ?, hash = ?, size = ?, added = ?, password = NULL WHERE id = ?",
                           (path, digest, size, time.time(), file_id))  # fmt: skip
                self._queue(db, file_id)
            else:
                db.execute(
                    "INSERT INTO files (id, name, path, hash, size, added, stage) VALUES (?, ?, ?, ?, ?, ?, 'queued')",
                    (file_id, name, path, digest, size, time.time()),
                )
            return Added(self._must(file_id), "replaced" if named else "added")

    def refuse(self, name: str, size: int, error: RagError) -> FileRow:
        """A row for a file that could not even be taken in, so that it is seen among the others; one for each name."""
        file_id, name = new_id()[:16], writable(name)
        with self._database.transaction() as db:
            db.execute("DELETE FROM files WHERE name = ? AND path = ''", (name,))
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage, problem) VALUES (?, ?, '', ?, ?, ?, 'failed', ?)",
                (file_id, name, f"refused:{file_id}", size, time.time(), json.dumps(asdict(Problem.of(error)))),
            )
            return self._must(file_id)

    def all(self) -> list[FileRow]:
        """Newest first."""
        with self._database.snapshot() as db:
            return [_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM files ORDER BY added DESC, id")]

    def get(self, file_id: str) -> FileRow | None:
        with self._database.snapshot() as db:
            row = db.execute(f"SELECT {_COLUMNS} FROM files WHERE id = ?", (file_id,)).fetchone()
        return _row(row) if row else None

    def ready_and_bytes(self) -> tuple[int, int]:
        """How many files are ready, and how many bytes all files have."""
        with self._database.snapshot() as db:
            ready, size = db.execute(
                "SELECT count(CASE WHEN stage = 'ready' THEN 1 END), coalesce(sum(size), 0) FROM files WHERE path != ''"
            ).fetchone()
        return ready, int(size)

    def password(self, file_id: str) -> str | None:
        with self._database.snapshot() as db:
            row = db.execute("SELECT password FROM files WHERE id = ?", (file_id,)).fetchone()
        return row["password"] if row else None

    def location(self, file: FileRow) -> Path:
        """Where a program of this machine can read its bytes. StoreError when they are gone."""
        return self._bytes.local(file.path)

    def stop(self, file_id: str) -> None:
        """A waiting file stops now; one being worked on within two seconds. Nothing happens to a finished one."""
        with self._database.transaction() as db:
            db.execute("UPDATE files SET stage = 'stopped' WHERE id = ? AND stage = 'queued'", (file_id,))
            db.execute(f"UPDATE files SET stop_asked = 1 WHERE id = ? AND stage IN ({_WORKING})", (file_id,))

    def retry(self, file_id: str, password: str | None = None) -> None:
        """Queue a failed or stopped file again, with a password where it needs one."""
        with self._database.transaction() as db:
            if password is not None:
                db.execute("UPDATE files SET password = ? WHERE id = ?", (password, file_id))
            row = db.execute("SELECT stage, path FROM files WHERE id = ?", (file_id,)).fetchone()
            if row and row["path"] and row["stage"] in ("failed", "stopped"):
                self._queue(db, file_id)

    def remove(self, file_id: str) -> None:
        """Forget the row and delete the file's bytes."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        self._bytes.drop(file_id)

    # What a worker does to a row.

    def claim(self, worker: str) -> FileRow | None:
        """The file that has waited longest, now this worker's; None when none waits."""
        now = time.time()
        waiting = (
            f"SELECT id FROM files WHERE stage = 'queued' OR (stage IN ({_WORKING}) AND heartbeat < ?) ORDER BY added LIMIT 1"
        )
        silent = (now - SILENT_SECONDS,)
        with self._database.snapshot() as db:
            if db.execute(waiting, silent).fetchone() is None:
                return None  # without taking the write lock: idle workers look often
        with self._database.transaction() as db:
            row = db.execute(waiting, silent).fetchone()
            if row is None:
                return None
            db.execute(
                "UPDATE files SET stage = 'reading', done = 0, total = 0, stage_started = ?, worker = ?, heartbeat = ?,"
                " problem = NULL WHERE id = ?",
                (now, worker, now, row["id"]),
            )
        return self._must(row["id"])

    def advance(self, file_id: str, worker: str, stage: Stage, done: int, total: int) -> bool:
        """Note progress and sign the row; False when the work is no longer wanted: stopped, deleted, or another's now."""
        now = time.time()
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage_started = CASE WHEN stage = ? THEN stage_started ELSE ? END,"
                " stage = ?, done = ?, total = ?, heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0",
                (stage.value, now, stage.value, done, total, now, file_id, worker),
            ).rowcount
        return changed == 1

    def sign(self, file_id: str, worker: str) -> bool:
        """The heartbeat alone; False as for `advance`."""
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0", (time.time(), file_id, worker)
            ).rowcount
        return changed == 1

    def finish(self, file_id: str, worker: str, *, passages: int, pages: int, page_word: str = "page") -> bool:
        """The file is ready; False when the row was deleted or taken over meanwhile.

        Its password is forgotten, unless pages are to be drawn from it.
        """
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage = 'ready', passages = ?, pages = ?, page_word = ?, done = 0, total = 0, worker = NULL,"
                " stop_asked = 0, password = CASE WHEN lower(name) LIKE '%.pdf' THEN password END WHERE id = ? AND worker = ?",
                (passages, pages, page_word, file_id, worker),
            ).rowcount
            if changed:
                self._bytes.drop_versions_before(self._must(file_id).path)
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

    def release(self, process: str) -> list[FileRow]:
        """Queue again what a worker process, known to be dead, was working on; gives those files. See `process_name`."""
        with self._database.transaction() as db:
            held = f"SELECT id FROM files WHERE worker LIKE ? AND stage IN ({_WORKING})"
            left = db.execute(held, (f"{process}-%",))
            ids = [row["id"] for row in left.fetchall()]
            for file_id in ids:
                db.execute("UPDATE files SET stage = 'queued', done = 0, total = 0, worker = NULL WHERE id = ?", (file_id,))
            return [self._must(file_id) for file_id in ids]

    def give_up(self, file_id: str, error: RagError) -> None:
        """A waiting file fails without being tried again."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, stop_asked = 0 WHERE id = ? AND stage = 'queued'",
                (json.dumps(asdict(Problem.of(error))), file_id),
            )

    def queue_again(self, file_id: str) -> None:
        """Read a file anew, whatever became of it."""
        with self._database.transaction() as db:
            self._queue(db, file_id)

    def sweep(self) -> None:
        """Delete bytes that belong to no file, as a crash between two steps may leave them."""
        with self._database.transaction() as db:  # nobody adds a file while this one holds the lock
            self._bytes.sweep({row["id"]: row["added"] for row in db.execute("SELECT id, added FROM files")})

    @staticmethod
    def _queue(db: Connection, file_id: str) -> None:
        db.execute(
            "UPDATE files SET stage = 'queued', done = 0, total = 0, problem = NULL, stop_asked = 0, worker = NULL"
            " WHERE id = ?",
            (file_id,),
        )

    def _must(self, file_id: str) -> FileRow:
        file = self.get(file_id)
        if file is None:
            raise KeyError(file_id)
        return file


# In the order of FileRow.
_COLUMNS = "id, name, path, hash, size, added, stage, done, total, stage_started, passages, pages, problem, page_word"
_STAGES = {stage.value: stage for stage in Stage}  # looking up is much of the time that a list of thousands takes
_WORKING = ", ".join(f"'{stage.value}'" for stage in WORKING)


def process_name(process_id: int) -> str:
    """What the names of the workers in a process of this machine begin with. Others have processes of the same number."""
    return f"{process_id}-{platform.node()}"


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _row(row: Any) -> FileRow:
    """From the columns of _COLUMNS."""
    id_, name, path, hash_, size, added, stage, done, total, stage_started, passages, pages, problem, page_word = row
    return FileRow(
        id_,
        name,
        path,
        hash_,
        size,
        added,
        _STAGES[stage],
        done,
        total,
        stage_started,
        passages,
        pages,
        Problem(**json.loads(problem)) if problem else None,
        page_word,
    )
