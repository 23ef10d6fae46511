"""The files of a library. Each is a row in its database, and the row is also the file's job: where reading it stands.

    queued ─▶ reading ─▶ splitting ─▶ embedding ─▶ storing ─▶ ready
       ▲          └────────────┴───────────┴──────────┴──▶ failed, stopped
       └───────────────────── retry ─────────────────────────┘

Workers, in any number of processes, claim queued rows one at a time and sign them with a heartbeat. A row whose worker has
fallen silent waits, whatever it says, and is claimed again. The vectors that it had made are kept as drafts, so a killed
worker costs next to nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lectern.jobs.embedding_drafts import SCHEMA as DRAFTS_SCHEMA
from lectern.jobs.embedding_drafts import Drafts, drop_drafts
from lectern.jobs.file_storage import FileBytes, Received
from lectern.jobs.time_left import SCHEMA as PACES_SCHEMA
from lectern.jobs.time_left import Costs, kind_of, read_costs, remember
from lectern.settings import IngestSettings
from ragcore.errors import EmptyFileError, InputError, Problem, RagError, TooLargeError
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

_OF_LINK = "link:"  # begins what stands for the hash of a file that is still to be fetched
SILENT_SECONDS = 10.0  # a worker that has not signed its row for so long is taken for dead

_FILES = """
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
    problem TEXT,                    -- JSON of a Problem
    stop_asked INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS files_by_stage ON files (stage, added);
CREATE INDEX IF NOT EXISTS files_by_hash ON files (hash);
"""
_REMOVED = """
CREATE TABLE IF NOT EXISTS removed_files (
    id TEXT PRIMARY KEY              -- of a file whose bytes go as soon as it is forgotten, or when they are next swept
);
"""
_OTHER_NAMES = """
CREATE TABLE IF NOT EXISTS other_names (
    name TEXT NOT NULL,              -- under which the bytes of a file were given once more,
    origin TEXT NOT NULL,            -- or '', as in files
    file_id TEXT NOT NULL,
    PRIMARY KEY (name, origin)
);
"""
_LINKS = """
CREATE TABLE IF NOT EXISTS links (
    file_id TEXT PRIMARY KEY,        -- of a row without bytes: what is at the link is to be fetched
    link TEXT NOT NULL,
    anywhere INTEGER NOT NULL        -- 1 where it may lead to this machine and the network around it
);
"""
SCHEMA = _FILES + _REMOVED + _OTHER_NAMES + _LINKS + DRAFTS_SCHEMA + PACES_SCHEMA


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
    """One file as it stands now. `done` of `total` count pages while reading, bytes while unpacking, passages while embedding.

    `fraction` of the whole work is done, 0 to 1, and 1 only when the file is ready. `seconds_left` is for the whole work on
    it, without waiting for it to begin; None when nothing is to be done.
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
    page_word: str = "page"  # what a page is called there: page, slide, sheet, chapter, message
    origin: str = ""  # where it was fetched from; what comes from there again takes its place
    fraction: float = 0.0
    seconds_left: float | None = None

    @property
    def kind(self) -> str:
        return PurePosixPath(self.name).suffix.lstrip(".").upper() or "FILE"

    @property
    def has_source(self) -> bool:
        """Whether there is something to read again: its bytes, or the link to fetch them from."""
        return bool(self.path) or self.hash.startswith(_OF_LINK)

    @property
    def active(self) -> bool:
        """Being worked on, or waiting for it."""
        return self.stage in ACTIVE

    @property
    def ready(self) -> bool:
        return self.stage is Stage.READY


def seconds_left(files: Sequence[FileRow]) -> float | None:
    """Until all of these are read, by as many workers as are at work now; None when nothing is to be done."""
    active = [file for file in files if file.active]
    if not active:
        return None
    begun = [file.seconds_left or 0.0 for file in active if file.stage is not Stage.QUEUED]
    waiting = sum(file.seconds_left or 0.0 for file in active if file.stage is Stage.QUEUED)
    return max((sum(begun) + waiting) / max(len(begun), 1), *begun, 0.0)


@dataclass(frozen=True, slots=True)
class Link:
    """A web link whose file is to be fetched; `anywhere`: also from this machine and the network around it."""

    address: str
    anywhere: bool


Outcome = Literal["added", "duplicate", "replaced"]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file that was given, under the name `given`: a new row, the row that has it, or the row it replaces."""

    file: FileRow
    outcome: Outcome
    given: str


class Files:
    """The table of files, and what holds their bytes."""

    def __init__(self, database: Database, file_bytes: FileBytes, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._bytes = file_bytes
        self._clock = clock
        self.drafts = Drafts(database)

    def transaction(self) -> AbstractContextManager[Connection]:
        """What is done to rows inside is committed together, with whatever else is written to the same database."""
        return self.database.transaction()

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """`transaction` for what may last as long as silence: workers who had to wait with signing are signed at its end."""
        with self.transaction() as db:
            began = self._clock()
            yield db
            db.execute(
                f"UPDATE files SET heartbeat = ? WHERE stage IN ({_WORKING}) AND heartbeat BETWEEN ? AND ?",
                (self._clock(), began - SILENT_SECONDS, began + SILENT_SECONDS),
            )

    def costs(self) -> Costs:
        """What reading and embedding the last files cost."""
        with self.database.snapshot() as db:
            return read_costs(db)

    def add(
        self, source: Path, name: str, settings: IngestSettings | None = None, *, origin: str = "", beside: bool = False
    ) -> Added:
        """Take the file at `source` into the library (it is moved) and queue it.

        The same bytes again are a duplicate, and said to be. Other bytes under a name that is there replace that file, also
        where yet another file has these: its passages keep answering until the new ones are ready. Bytes that were given under
        a second name, too, then stay under that. A file with an `origin` replaces the one from there, and takes another name
        where a file from elsewhere has its own. `beside`: it replaces none but a row without bytes, takes another name where it
        must, and has no origin that another has. EmptyFileError, TooLargeError.
        """
        size = source.stat().st_size
        try:
            check_size(name, size, settings or IngestSettings())
        except InputError:
            source.unlink()
            raise
        digest, name, origin = file_hash(source), kept_name(name), _told(origin)
        duplicate = self._duplicate(digest, name, origin, beside=beside)
        if duplicate is None:
            with self._bytes.receiving(source) as received, self.database.transaction():
                duplicate = self._duplicate(digest, name, origin, beside=beside)  # given by someone else meanwhile
                if duplicate is None:
                    return self._add(received, name, digest, size, origin, beside=beside)
        source.unlink()
        return duplicate

    def _duplicate(self, digest: str, name: str, origin: str, *, beside: bool) -> Added | None:
        """The file that has these bytes: that of this name or origin where there is one.

        What was stopped, or is about to be, is queued again. So is what could not be read, unless this name is of another
        kind: then it may be read under this one.
        """
        with self.database.transaction() as db:
            before = None if beside else _before(db, name, origin)
            own = before["id"] if before is not None and before["path"] else ""
            found = db.execute(
                f"SELECT id, name, stage, stop_asked FROM files WHERE hash = ?{' AND id = ?' if own else ''}"
                " ORDER BY stage = 'failed'",
                (digest, own) if own else (digest,),
            ).fetchall()
            alike = (row for row in found if row["stage"] != "failed" or (not own and kind_of(row["name"]) == kind_of(name)))
            same = next(alike, None)
            if same is None:
                return None
            if not own and not beside:
                db.execute(
                    "INSERT INTO other_names (name, origin, file_id) VALUES (?, ?, ?)"
                    " ON CONFLICT (name, origin) DO UPDATE SET file_id = excluded.file_id",
                    (name, origin, same["id"]),
                )
            if same["stage"] in ("stopped", "failed") or same["stop_asked"]:
                self._queue(db, same["id"], anew=same["stage"] == "failed")
            return Added(self._must(same["id"]), "duplicate", name)

    def _add(self, received: Received, name: str, digest: str, size: int, origin: str, *, beside: bool) -> Added:
        with self.database.transaction() as db:
            given, before = name, _without_bytes(db, name) if beside else _before(db, name, origin)
            db.execute("DELETE FROM other_names WHERE name = ? AND origin = ?", (name, origin))
            if before and not beside:
                self._keep_under_other_name(db, before["id"])
            file_id = before["id"] if before else new_id()[:16]
            if beside and origin and _before(db, name, origin):
                origin = ""
            if origin or beside:
                name = _free_name(db, name, file_id)
            path = f"files/{file_id}/{digest[:12]}{PurePosixPath(name).suffix.lower()}"
            received.place(path)
            if before:
                db.execute(
                    "UPDATE files SET name = ?, origin = ?, path = ?, hash = ?, size = ?, added = ?, password = NULL"
                    " WHERE id = ?",
                    (name, origin, path, digest, size, self._clock(), file_id),
                )
                self._queue(db, file_id, anew=True)
            else:
                db.execute(
                    "INSERT INTO files (id, name, origin, path, hash, size, added, stage)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, 'queued')",
                    (file_id, name, origin, path, digest, size, self._clock()),
                )
            return Added(self._must(file_id), "replaced" if before else "added", given)

    def _keep_under_other_name(self, db: Connection, file_id: str) -> None:
        """The bytes of a file, which others are about to replace, in a row of their own: where they have another name."""
        other = "SELECT name, origin FROM other_names WHERE file_id = ? ORDER BY name, origin LIMIT 1"
        row = db.execute(other, (file_id,)).fetchone()
        if row is None:
            return
        before, kept_id = self._must(file_id), new_id()[:16]
        path = f"files/{kept_id}/{PurePosixPath(before.path).name}"
        if not self._bytes.copy(before.path, path):
            db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
            return
        db.execute(
            "INSERT INTO files (id, name, origin, path, hash, size, added, password, stage)"
            " SELECT ?, ?, ?, ?, hash, size, ?, password, 'queued' FROM files WHERE id = ?",
            (kept_id, _free_name(db, row["name"], kept_id), row["origin"], path, self._clock(), file_id),
        )
        db.execute("DELETE FROM other_names WHERE name = ? AND origin = ?", (row["name"], row["origin"]))
        db.execute("UPDATE other_names SET file_id = ? WHERE file_id = ?", (kept_id, file_id))

    def add_link(self, link: Link) -> FileRow:
        """Queue what is at a web link, in a row that is called by it: once fetched, it becomes a file with a row of its own.

        A link that is given again while its row is there is fetched again.
        """
        name = writable(link.address)
        with self.database.transaction() as db:
            row = db.execute("SELECT id, stage, stop_asked FROM files WHERE name = ? AND path = ''", (name,)).fetchone()
            file_id = row["id"] if row else new_id()[:16]
            if row is None:
                db.execute(
                    "INSERT INTO files (id, name, path, hash, size, added, stage) VALUES (?, ?, '', ?, 0, ?, 'queued')",
                    (file_id, name, f"{_OF_LINK}{file_id}", self._clock()),
                )
            elif Stage(row["stage"]) not in WORKING or row["stop_asked"]:
                self._queue(db, file_id, anew=True)
            db.execute(
                "INSERT INTO links (file_id, link, anywhere) VALUES (?, ?, ?)"
                " ON CONFLICT (file_id) DO UPDATE SET anywhere = excluded.anywhere",
                (file_id, name, int(link.anywhere)),
            )
            return self._must(file_id)

    def link(self, file_id: str) -> Link | None:
        """That of a row whose file is to be fetched."""
        with self.database.snapshot() as db:
            row = db.execute("SELECT link, anywhere FROM links WHERE file_id = ?", (file_id,)).fetchone()
        return Link(row["link"], bool(row["anywhere"])) if row else None

    def incoming(self) -> Path:
        """A folder of this machine for what is on its way in."""
        return self._bytes.incoming()

    def refuse(self, name: str, size: int, error: RagError) -> FileRow:
        """A row for a file that could not even be taken in, so that it is seen among the others; one for each name."""
        file_id, name = new_id()[:16], kept_name(name)
        with self.database.transaction() as db:
            db.execute("DELETE FROM files WHERE name = ? AND path = ''", (name,))
            _forget_links(db)
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage, problem) VALUES (?, ?, '', ?, ?, ?, 'failed', ?)",
                (file_id, name, f"refused:{file_id}", size, self._clock(), json.dumps(asdict(Problem.of(error)))),
            )
            return self._must(file_id)

    def all(self, *stages: Stage, limit: int | None = None) -> list[FileRow]:
        """Newest first, at most `limit`; only those in `stages`, where some are given."""
        of = f" WHERE stage IN ({', '.join('?' * len(stages))})" if stages else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        with self.database.snapshot() as db:
            asked = f"SELECT {_COLUMNS} FROM files{of} ORDER BY added DESC, id{most}"
            rows = db.execute(asked, tuple(stage.value for stage in stages)).fetchall()
            costs, now = read_costs(db), self._clock()
        return [_row(row, costs, now) for row in rows]

    def tally(self) -> Counter[Stage]:
        """How many files are in each stage."""
        with self.database.snapshot() as db:
            stages = f"SELECT CASE WHEN {_WAITING} THEN 'queued' ELSE stage END AS stage FROM files"
            counted = f"SELECT stage, count(*) AS files FROM ({stages}) AS shown GROUP BY stage"
            rows = db.execute(counted, self._silent()).fetchall()
        return Counter({_STAGES[row["stage"]]: int(row["files"]) for row in rows})

    def ready_names(self) -> dict[str, str]:
        """Of the files that are ready, by their ids, newest first."""
        with self.database.snapshot() as db:
            rows = db.execute("SELECT id, name FROM files WHERE stage = 'ready' ORDER BY added DESC, id").fetchall()
        return {row["id"]: row["name"] for row in rows}

    def get(self, file_id: str) -> FileRow | None:
        with self.database.snapshot() as db:
            row = db.execute(f"SELECT {_COLUMNS} FROM files WHERE id = ?", (file_id,)).fetchone()
            return _row(row, read_costs(db), self._clock()) if row else None

    def ready_and_bytes(self) -> tuple[int, int]:
        """How many files are ready, and how many bytes all files have."""
        with self.database.snapshot() as db:
            ready, size = db.execute(
                "SELECT count(CASE WHEN stage = 'ready' THEN 1 END), coalesce(sum(size), 0) FROM files WHERE path != ''"
            ).fetchone()
        return ready, int(size)

    def password(self, file_id: str) -> str | None:
        with self.database.snapshot() as db:
            row = db.execute("SELECT password FROM files WHERE id = ?", (file_id,)).fetchone()
        return row["password"] if row else None

    def location(self, file: FileRow) -> Path:
        """Where a program of this machine can read its bytes."""
        return self._bytes.local(file.path)

    def stop(self, file_id: str) -> None:
        """A waiting file stops now; one being worked on within two seconds. Nothing happens to a finished one."""
        with self.database.transaction() as db:
            db.execute(
                f"UPDATE files SET stage = 'stopped', worker = NULL WHERE id = ? AND {_WAITING}",
                (file_id, *self._silent()),
            )
            db.execute(f"UPDATE files SET stop_asked = 1 WHERE id = ? AND stage IN ({_WORKING})", (file_id,))

    def retry(self, file_id: str, password: str | None = None) -> None:
        """Queue a failed or stopped file again, with a password where it needs one; or one of which a part was left out."""
        with self.database.transaction() as db:
            if password is not None:
                db.execute("UPDATE files SET password = ? WHERE id = ?", (password, file_id))
            row = db.execute("SELECT stage, path, problem FROM files WHERE id = ?", (file_id,)).fetchone()
            again = row and (row["stage"] in ("failed", "stopped") or (row["stage"] == "ready" and row["problem"]))
            if again and (row["path"] or self.link(file_id)):
                self._queue(db, file_id, anew=row["stage"] != "stopped")

    def read_again(self, file_id: str) -> None:
        """Queue a file whatever became of it before; its passages keep answering until the new ones are ready. Nothing happens
        to one that is being read."""
        with self.database.transaction() as db:
            row = db.execute("SELECT stage, path FROM files WHERE id = ?", (file_id,)).fetchone()
            if row and row["path"] and Stage(row["stage"]) not in WORKING:
                self._queue(db, file_id, anew=True)

    def remove(self, file_id: str) -> None:
        """Forget the row and delete the file's bytes."""
        with self.forgetting(file_id):
            pass

    @contextmanager
    def forgetting(self, file_id: str, *, worker: str = "") -> Iterator[bool]:
        """`remove`, in one transaction with what is done inside. The bytes go after it, or, if this process does not live to
        see that, when they are next swept. Where a `worker` has done with the file, it stays, and the value is False, when its
        work is no longer wanted, as for `advance`."""
        with self.database.transaction() as db:
            forgotten = not worker or self.sign(file_id, worker)
            if forgotten:
                self._forget(db, file_id)
            yield forgotten
        if forgotten:
            self._bytes.drop(file_id)

    @staticmethod
    def _forget(db: Connection, file_id: str) -> None:
        db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        _forget_links(db)
        drop_drafts(db, file_id)
        db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
        db.execute("INSERT INTO removed_files (id) VALUES (?) ON CONFLICT (id) DO NOTHING", (file_id,))

    # What a worker does to a row.

    def claim(self, worker: str, *, link: bool = False) -> FileRow | None:
        """The file that has waited longest, now this worker's, or the link; None when none waits."""
        if not self._waiting(link=link):
            return None  # without taking the write lock: idle workers look often
        silent = self._silent()
        waiting = _WAITING_LINK if link else _WAITING_FILE
        with self.database.transaction() as db:
            row = db.execute(f"SELECT id FROM files WHERE {waiting} ORDER BY added, id LIMIT 1", silent).fetchone()
            if row is None:
                return None
            taken = db.execute(
                "UPDATE files SET stage = 'reading', done = 0, total = 0, seconds_left = NULL, worker = ?, heartbeat = ?,"
                f" problem = NULL WHERE id = ? AND {_WAITING}",  # again, in case another took it while this one waited for it
                (worker, self._clock(), row["id"], *silent),
            ).rowcount
            return self._must(row["id"]) if taken else None

    def waiting(self) -> bool:
        """Whether a file waits for a worker: one that is queued, or whose worker has fallen silent."""
        return self._waiting(link=False)

    def _waiting(self, *, link: bool) -> bool:
        waiting = _WAITING_LINK if link else _WAITING_FILE
        with self.database.snapshot() as db:
            return db.execute(f"SELECT id FROM files WHERE {waiting} LIMIT 1", self._silent()).fetchone() is not None

    def _silent(self) -> tuple[float, float]:
        """Between these is every heartbeat of a worker that is not taken for dead."""
        now = self._clock()
        return now - SILENT_SECONDS, now + SILENT_SECONDS

    def advance(
        self, file_id: str, worker: str, stage: Stage, done: int, total: int, *, fraction: float, left: float | None
    ) -> bool:
        """Note progress and sign the row; False when the work is no longer wanted: stopped, deleted, or another's now.

        `fraction` and `left` as in FileRow; a fraction below the one that is noted changes nothing of it.
        """
        share = min(fraction, 0.99)
        with self.database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage = ?, done = ?, total = ?, share = CASE WHEN share < ? THEN ? ELSE share END,"
                " seconds_left = ?, heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0",
                (stage.value, done, total, share, share, left, self._clock(), file_id, worker),
            ).rowcount
        return changed == 1

    def wanted(self, file_id: str, worker: str) -> bool:
        """Whether the work is still wanted, as for `advance`; nothing is written."""
        with self.database.snapshot() as db:
            row = db.execute("SELECT worker, stop_asked FROM files WHERE id = ?", (file_id,)).fetchone()
        return row is not None and row["worker"] == worker and not row["stop_asked"]

    def sign(self, file_id: str, worker: str) -> bool:
        """The heartbeat alone; False as for `advance`."""
        with self.database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET heartbeat = ? WHERE id = ? AND worker = ? AND stop_asked = 0",
                (self._clock(), file_id, worker),
            ).rowcount
        return changed == 1

    def finish(
        self,
        file_id: str,
        worker: str,
        *,
        passages: int,
        pages: int,
        page_word: str = "page",
        problem: Problem | None = None,
        paces: Sequence[tuple[str, float, float]] = (),
    ) -> bool:
        """The file is ready; False when the row was deleted, stopped or taken over meanwhile.

        Its drafts go, and so does its password, unless pages are to be drawn with it. `problem`: why a part of it was left out;
        it can be tried again. `paces`: what its work cost, see `lectern.jobs.time_left.remember`.
        """
        with self.database.transaction() as db:
            changed = db.execute(
                "UPDATE files SET stage = 'ready', passages = ?, pages = ?, page_word = ?, problem = ?,"
                " done = 0, total = 0, share = 0, seconds_left = NULL, worker = NULL,"
                " password = CASE WHEN lower(name) LIKE '%.pdf' THEN password END"
                " WHERE id = ? AND worker = ? AND stop_asked = 0",
                (passages, pages, page_word, json.dumps(asdict(problem)) if problem else None, file_id, worker),
            ).rowcount
            if changed:
                drop_drafts(db, file_id)
                for work, cost, amount in paces:
                    remember(db, work, cost, amount)
                self._bytes.drop_versions_before(self._must(file_id).path)
        return changed == 1

    def fail(self, file_id: str, worker: str, error: RagError) -> None:
        with self.database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?",
                (json.dumps(asdict(Problem.of(error))), file_id, worker),
            )

    def halt(self, file_id: str, worker: str) -> None:
        """The work was given up because someone asked for it."""
        with self.database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'stopped', worker = NULL, stop_asked = 0 WHERE id = ? AND worker = ?",
                (file_id, worker),
            )

    def release(self, process: str) -> list[FileRow]:
        """Queue again what a worker process, known to be dead, was working on, or stop it, where that was asked for; gives
        those files. See `process_name`."""
        with self.database.transaction() as db:
            held = db.execute(f"SELECT id, worker FROM files WHERE worker IS NOT NULL AND stage IN ({_WORKING})").fetchall()
            # And not by what it begins with: 12-web-1-a is a worker of another machine than 12-web-a is.
            ids = [row["id"] for row in held if row["worker"].rpartition("-")[0] == process]
            for file_id in ids:
                db.execute(
                    "UPDATE files SET stage = CASE WHEN stop_asked = 1 THEN 'stopped' ELSE 'queued' END, stop_asked = 0,"
                    " done = 0, total = 0, worker = NULL WHERE id = ?",
                    (file_id,),
                )
            return [self._must(file_id) for file_id in ids]

    def release_ended(self) -> None:
        """`release` for every process of this machine that is no more, as after all of them were killed at once."""
        held = f"SELECT DISTINCT worker FROM files WHERE worker IS NOT NULL AND stage IN ({_WORKING})"
        with self.database.snapshot() as db:
            processes = {row["worker"].rpartition("-")[0] for row in db.execute(held).fetchall()}
        for process in processes:
            number, _, machine = process.partition("-")
            if machine == _machine() and _has_ended(int(number)):
                self.release(process)

    def give_up(self, file_id: str, error: RagError) -> None:
        """A waiting file fails without being tried again."""
        with self.database.transaction() as db:
            db.execute(
                "UPDATE files SET stage = 'failed', problem = ?, stop_asked = 0 WHERE id = ? AND stage = 'queued'",
                (json.dumps(asdict(Problem.of(error))), file_id),
            )

    def queue_again(self, file_id: str) -> None:
        """Read a file anew, whatever became of it."""
        with self.database.transaction() as db:
            self._queue(db, file_id, anew=True)

    def sweep(self) -> None:
        """Delete bytes that belong to no file, as a crash between two steps may leave them."""
        with self.database.transaction() as db:  # nobody adds a file while this one holds the lock
            for row in db.execute("SELECT id FROM removed_files").fetchall():
                self._bytes.drop(row["id"])
            db.execute("DELETE FROM removed_files")
            rows = db.execute("SELECT path, max(added) AS added FROM files GROUP BY path").fetchall()
            self._bytes.sweep({row["path"]: row["added"] for row in rows})

    @staticmethod
    def _queue(db: Connection, file_id: str, *, anew: bool = False) -> None:
        """`anew`: from the beginning, and not from where it was left."""
        db.execute(
            "UPDATE files SET stage = 'queued', done = 0, total = 0, seconds_left = NULL, problem = NULL, stop_asked = 0,"
            " worker = NULL, share = CASE WHEN ? = 1 THEN 0 ELSE share END WHERE id = ?",
            (int(anew), file_id),
        )

    def _must(self, file_id: str) -> FileRow:
        file = self.get(file_id)
        if file is None:
            raise KeyError(file_id)
        return file


# In the order of FileRow.
_COLUMNS = (
    "id, name, path, hash, size, added, stage, done, total, passages, pages, problem, page_word, origin, share, seconds_left,"
    " heartbeat"
)
_STAGES = {stage.value: stage for stage in Stage}  # looking up is much of the time that a list of thousands takes
_WORKING = ", ".join(f"'{stage.value}'" for stage in WORKING)
# A signature from the future is silence too: the clock was set back, and who signed may be gone.
_WAITING = f"(stage = 'queued' OR (stage IN ({_WORKING}) AND (heartbeat < ? OR heartbeat > ?)))"
_WAITING_FILE = f"{_WAITING} AND id NOT IN (SELECT file_id FROM links)"
_WAITING_LINK = f"{_WAITING} AND id IN (SELECT file_id FROM links)"


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


def kept_name(name: str) -> str:
    """A file's name as its row has it: the same whether an accent and its letter are one character or two, as on macOS."""
    return unicodedata.normalize("NFC", _told(name))


def _told(text: str) -> str:
    """What can be stored. Bytes that are no UTF-8 count as Western letters, so that two such names do not become one."""
    return writable(_BYTES.sub(lambda byte: bytes([ord(byte[0]) - 0xDC00]).decode("cp1252", "replace"), text))


_BYTES = re.compile("(?<![\ud800-\udbff])[\udc80-\udcff]")  # as os.fsdecode gives them


def check_size(name: str, size: int, settings: IngestSettings) -> None:
    """EmptyFileError, TooLargeError for a file that is not taken in."""
    if size == 0:
        raise EmptyFileError(f"{name} is empty.", hint="Choose the file again, or check that it was saved.")
    if problem := too_large(name, size, settings.max_file_mb):
        raise problem


def too_large(name: str, size: int, max_mb: int) -> TooLargeError | None:
    """Why a file of so many bytes is not taken in; None when it is. Asked before it is copied: a copy could fill the disk."""
    if size <= max_mb * 1_000_000:
        return None
    return TooLargeError(
        f"{name} has {size / 1e6:,.0f} MB; the limit is {max_mb} MB.", hint="Split the file, or raise the limit in Settings."
    )


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _forget_links(db: Connection) -> None:
    """Of rows that are gone."""
    db.execute("DELETE FROM links WHERE file_id NOT IN (SELECT id FROM files)")


def _before(db: Connection, name: str, origin: str) -> Any:
    """The row that a file of this name, or from this origin if it has one, takes the place of: one with bytes before others."""
    column, value = ("origin", origin) if origin else ("name", name)
    return db.execute(f"SELECT id, path FROM files WHERE {column} = ? ORDER BY path DESC LIMIT 1", (value,)).fetchone()


def _without_bytes(db: Connection, name: str) -> Any:
    """The row of a file of this name that was not even taken in."""
    return db.execute("SELECT id FROM files WHERE name = ? AND path = ''", (name,)).fetchone()


def _free_name(db: Connection, name: str, file_id: str) -> str:
    """The name, or one with a number where a file other than `file_id` has it."""
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
    alike = "SELECT name FROM files WHERE substr(name, 1, ?) = ? AND id != ? AND path != ''"
    taken = {row["name"] for row in db.execute(alike, (len(stem), stem, file_id)).fetchall()}
    number, free = 2, name
    while free in taken:
        free, number = f"{stem} ({number}){suffix}", number + 1
    return free


def _row(row: Any, costs: Costs, now: float) -> FileRow:
    """From the columns of _COLUMNS, as it stands at that time."""
    *shown, heartbeat = row
    id_, name, path, hash_, size, added, said, done, total, passages, pages, problem, page_word, origin, share, left = shown
    stage = _STAGES[said]
    if stage in WORKING and abs(now - heartbeat) > SILENT_SECONDS:
        stage = Stage.QUEUED  # nobody is at it
    if stage is Stage.QUEUED or (stage in WORKING and left is None):  # or it was only just begun
        left = sum(costs.file(name, size))
    return FileRow(
        id_,
        name,
        path,
        hash_,
        size,
        added,
        stage,
        done,
        total,
        passages,
        pages,
        Problem(**json.loads(problem)) if problem else None,
        page_word,
        origin,
        1.0 if stage is Stage.READY else share,
        left,
    )
