"""The rows of a library's files, and shared SQL. See `lectern.jobs.files`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any

from lectern.jobs.time_left import Costs, kind_of, read_costs
from ragcore.errors import Problem
from ragcore.sql.base import Connection

OF_LINK = "link:"  # prefix in place of the hash of a file that is not fetched yet
SMALL_BYTES = 65_536  # A file up to this size does not wait for larger ones.
SILENT_SECONDS = 10.0  # A worker that has not signed its row for so long counts as dead.

FILES_TABLE = """
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
    share REAL NOT NULL DEFAULT 0,   -- of the whole work that is done, 0 to 0.99; never falls
    seconds_left REAL,               -- of the whole work, when the row was last signed
    passages INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    page_word TEXT NOT NULL DEFAULT 'page',
    password TEXT,
    origin TEXT NOT NULL DEFAULT '',  -- where it was fetched from: a link, or the address of a query
    problem TEXT,                    -- JSON of a Problem; of a file that is ready the first of `left_out`
    left_out TEXT,                   -- JSON list of Problems: the parts of a ready file that were not read
    stop_asked INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0,
    lane INTEGER NOT NULL DEFAULT 1, -- see Lane
    healing INTEGER NOT NULL DEFAULT 0  -- 1: it is read again because its stored text was damaged
);
CREATE INDEX IF NOT EXISTS files_by_stage ON files (stage, added);
CREATE INDEX IF NOT EXISTS files_by_lane ON files (stage, lane, added, id);
CREATE INDEX IF NOT EXISTS files_by_hash ON files (hash);
CREATE INDEX IF NOT EXISTS files_by_name ON files (name, path);
CREATE INDEX IF NOT EXISTS files_by_origin ON files (origin, path);
"""


class Lane(IntEnum):
    """Files wait only for files of the same lane."""

    SMALL = 0
    LARGE = 1  # also small files that took long while others waited
    STUCK = 2  # large files that made no progress while others waited
    LINK = 3  # links whose files are to be fetched


FILE_LANES = (Lane.SMALL, Lane.LARGE, Lane.STUCK)


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
ACTIVE = (Stage.QUEUED, *WORKING)


@dataclass(frozen=True, slots=True)
class FileRow:
    """The state of a file. `done` and `total` count pages while reading, bytes while unpacking, passages
    while embedding.

    `fraction` of the whole work is done, 0 to 1, and 1 only when the file is ready. `seconds_left` is for the
    whole work, without the time in the queue; None if nothing is to be done.
    """

    id: str
    name: str
    path: str
    hash: str
    size: int
    added: float
    stage: Stage
    done: int
    total: int
    passages: int
    pages: int
    problem: Problem | None
    page_word: str = "page"  # or slide, sheet, chapter, message
    origin: str = ""  # where it was fetched from; a later file from there replaces it
    # the parts of a ready file that were not read; `problem` is the first of these
    left_out: tuple[Problem, ...] = ()
    fraction: float = 0.0
    seconds_left: float | None = None
    lane: Lane = Lane.LARGE

    @property
    def kind(self) -> str:
        return PurePosixPath(self.name).suffix.lstrip(".").upper() or "FILE"

    @property
    def has_source(self) -> bool:
        """Whether it can be read again: from its bytes, or from its link."""
        return bool(self.path) or self.hash.startswith(OF_LINK)

    @property
    def active(self) -> bool:
        """Queued or in work."""
        return self.stage in ACTIVE

    @property
    def ready(self) -> bool:
        return self.stage is Stage.READY

    @property
    def passed_over(self) -> bool:
        """Whether the row is no file, but a note which files of a folder or an archive were not added."""
        return self.stage is Stage.FAILED and self.problem is not None and self.problem.nothing_new

    @property
    def state(self) -> str:
        """ "active", "passed", "ready", "failed" or "stopped"."""
        return "active" if self.active else "passed" if self.passed_over else self.stage.value


def seconds_left(files: Sequence[FileRow]) -> float | None:
    """Until all files are read, by as many workers as work now; None if nothing is to be done."""
    active = [file for file in files if file.active]
    if not active:
        return None
    begun = [file.seconds_left or 0.0 for file in active if file.stage is not Stage.QUEUED]
    waiting = sum(file.seconds_left or 0.0 for file in active if file.stage is Stage.QUEUED)
    return max((sum(begun) + waiting) / max(len(begun), 1), *begun, 0.0)


# In the order of FileRow.
COLUMNS = (
    "id, name, path, hash, size, added, stage, done, total, passages, pages, problem, page_word, "
    "origin, left_out, share, seconds_left, lane, heartbeat"
)
LANES = tuple(Lane)
STAGES = {stage.value: stage for stage in Stage}  # faster than `Stage(value)` for a list of thousands
WORKING_STAGES = ", ".join(f"'{stage.value}'" for stage in WORKING)
# A signature from the future counts as silence too: the clock was set back, and its worker may have ended.
FORSAKEN = f"stage IN ({WORKING_STAGES}) AND (heartbeat < ? OR heartbeat > ?)"
WAITING = f"(stage = 'queued' OR ({FORSAKEN}))"


def find_row(db: Connection, file_id: str, now: float) -> FileRow | None:
    """The state of the file at that time."""
    row = db.execute(f"SELECT {COLUMNS} FROM files WHERE id = ?", (file_id,)).fetchone()
    return read_row(row, read_costs(db), now) if row else None


def require_row(db: Connection, file_id: str, now: float) -> FileRow:
    """As `find_row`. KeyError."""
    file = find_row(db, file_id, now)
    if file is None:
        raise KeyError(file_id)
    return file


def read_row(row: Any, costs: Costs, now: float) -> FileRow:
    """The file in a row of COLUMNS, with its state at that time."""
    id_, name, path, hash_, size, added, stage_name, done, total, passages, pages, *more = row
    problem, page_word, origin, parts, share, seconds, lane, signed = more
    stage = STAGES[stage_name]
    first = Problem(**json.loads(problem)) if problem else None
    if stage in WORKING and abs(now - signed) > SILENT_SECONDS:
        stage = Stage.QUEUED
    if stage is Stage.QUEUED or (stage in WORKING and seconds is None):
        seconds = sum(costs.file(name, size))
    left_out = tuple(Problem(**part) for part in json.loads(parts or "[]"))
    if first and stage is Stage.READY and not parts:  # Old libraries have only the first problem.
        left_out = (first,)
    counts = (done, total, passages, pages)
    fraction = 1.0 if stage is Stage.READY else share
    about: list[Any] = [first, page_word, origin, left_out, fraction, seconds, LANES[lane]]
    return FileRow(id_, name, path, hash_, size, added, stage, *counts, *about)


def silence(now: float) -> tuple[float, float]:
    """Earliest and latest heartbeat of a worker that does not count as dead."""
    return now - SILENT_SECONDS, now + SILENT_SECONDS


def lane_of(name: str, size: int) -> Lane:
    """The first lane of a file of this size in bytes."""
    return Lane.SMALL if size <= SMALL_BYTES and kind_of(name) != "zip" else Lane.LARGE


def queue_row(db: Connection, file_id: str, *, anew: bool = False) -> None:
    """`anew`: the progress bar starts at 0 again."""
    db.execute(
        "UPDATE files SET stage = 'queued', done = 0, total = 0, seconds_left = NULL, problem = NULL, "
        "left_out = NULL,"
        " stop_asked = 0, worker = NULL, share = CASE WHEN ? = 1 THEN 0 ELSE share END WHERE id = ?",
        (int(anew), file_id),
    )
