"""The files of a library. Each is a row in its database, and the row is also the file's job: where reading it stands.

    queued ─▶ reading ─▶ splitting ─▶ embedding ─▶ storing ─▶ ready
       ▲          └────────────┴───────────┴──────────┴──▶ failed, stopped
       └───────────────────── retry ─────────────────────────┘

Workers, in any number of processes, claim queued rows, small files several at a time, and sign them with a heartbeat. A row
whose worker has fallen silent waits, whatever it says, and is claimed again. The vectors that were made of a large file are
kept as drafts, so a killed worker costs next to nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lectern.jobs.claimed_files import ClaimedFiles
from lectern.jobs.embedding_drafts import SCHEMA as DRAFTS_SCHEMA
from lectern.jobs.embedding_drafts import Drafts, drop_drafts
from lectern.jobs.file_queue import FileQueue
from lectern.jobs.file_rows import (
    COLUMNS,
    FILES_TABLE,
    STAGES,
    WAITING,
    WORKING_STAGES,
    FileRow,
    Stage,
    find_row,
    lane_of,
    queue_row,
    read_row,
    require_row,
    silence,
)
from lectern.jobs.file_storage import FileBytes, Received
from lectern.jobs.links import LINKS_TABLE, Links, forget_link, move_links
from lectern.jobs.page_words import SCHEMA as WORDS_SCHEMA
from lectern.jobs.page_words import PageWordsTable, drop_page_words
from lectern.jobs.time_left import SCHEMA as PACES_SCHEMA
from lectern.jobs.time_left import Costs, kind_of, read_costs
from lectern.settings import IngestSettings
from ragcore.errors import EmptyFileError, InputError, Problem, RagError, TooLargeError
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

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
CREATE INDEX IF NOT EXISTS other_names_by_file ON other_names (file_id);
"""
SCHEMA = FILES_TABLE + _REMOVED + _OTHER_NAMES + LINKS_TABLE + DRAFTS_SCHEMA + PACES_SCHEMA + WORDS_SCHEMA

Outcome = Literal["added", "duplicate", "replaced"]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file that was given, under the name `given`: a new row, the row that has it, or the row it replaces."""

    file: FileRow
    outcome: Outcome
    given: str


class Files:
    """The table of files, and what holds their bytes. `queue`, `claimed` and `links` are other views of the same rows."""

    def __init__(self, database: Database, storage: FileBytes, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self.storage = storage
        self._clock = clock
        self.drafts = Drafts(database)
        self.queue = FileQueue(database, clock)
        self.claimed = ClaimedFiles(database, storage, clock)
        self.links = Links(database, clock)
        self.page_words = PageWordsTable(database)

    def transaction(self) -> AbstractContextManager[Connection]:
        """What is done to rows inside is committed together, with whatever else is written to the same database."""
        return self.database.transaction()

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
            with self.storage.receiving(source) as received, self.database.transaction():
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
                queue_row(db, same["id"], anew=same["stage"] == "failed")
            return Added(require_row(db, same["id"], self._clock()), "duplicate", name)

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
                    "UPDATE files SET name = ?, origin = ?, path = ?, hash = ?, size = ?, lane = ?, added = ?, password = NULL"
                    " WHERE id = ?",
                    (name, origin, path, digest, size, lane_of(name, size), self._clock(), file_id),
                )
                queue_row(db, file_id, anew=True)
            else:
                db.execute(
                    "INSERT INTO files (id, name, origin, path, hash, size, lane, added, stage)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
                    (file_id, name, origin, path, digest, size, lane_of(name, size), self._clock()),
                )
            return Added(require_row(db, file_id, self._clock()), "replaced" if before else "added", given)

    def _keep_under_other_name(self, db: Connection, file_id: str) -> None:
        """The bytes of a file, which others are about to replace, in a row of their own: where they have another name."""
        other = "SELECT name, origin FROM other_names WHERE file_id = ? ORDER BY name, origin LIMIT 1"
        row = db.execute(other, (file_id,)).fetchone()
        if row is None:
            return
        before, kept_id = require_row(db, file_id, self._clock()), new_id()[:16]
        path = f"files/{kept_id}/{PurePosixPath(before.path).name}"
        if not self.storage.copy(before.path, path):
            db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
            return
        db.execute(
            "INSERT INTO files (id, name, origin, path, hash, size, lane, added, password, stage)"
            " SELECT ?, ?, ?, ?, hash, size, lane, ?, password, 'queued' FROM files WHERE id = ?",
            (kept_id, _free_name(db, row["name"], kept_id), row["origin"], path, self._clock(), file_id),
        )
        db.execute("DELETE FROM other_names WHERE name = ? AND origin = ?", (row["name"], row["origin"]))
        db.execute("UPDATE other_names SET file_id = ? WHERE file_id = ?", (kept_id, file_id))

    def refuse(self, name: str, size: int, error: RagError) -> FileRow:
        """A row for a file that could not even be taken in, so that it is seen among the others; one for each name."""
        file_id, name = new_id()[:16], kept_name(name)
        with self.database.transaction() as db:
            for row in db.execute("SELECT id FROM files WHERE name = ? AND path = ''", (name,)).fetchall():
                forget_link(db, row["id"])
            db.execute("DELETE FROM files WHERE name = ? AND path = ''", (name,))
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage, problem) VALUES (?, ?, '', ?, ?, ?, 'failed', ?)",
                (file_id, name, f"refused:{file_id}", size, self._clock(), json.dumps(asdict(Problem.of(error)))),
            )
            return require_row(db, file_id, self._clock())

    def all(self, *stages: Stage, limit: int | None = None) -> list[FileRow]:
        """Newest first, at most `limit`; only those in `stages`, where some are given."""
        of = f" WHERE stage IN ({', '.join('?' * len(stages))})" if stages else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        with self.database.snapshot() as db:
            asked = f"SELECT {COLUMNS} FROM files{of} ORDER BY added DESC, id{most}"
            rows = db.execute(asked, tuple(stage.value for stage in stages)).fetchall()
            costs, now = read_costs(db), self._clock()
        return [read_row(row, costs, now) for row in rows]

    def versions(self, *, active: bool = False) -> set[tuple[str, float]]:
        """The files that are there, or those that are being worked on or wait for it, each as it is: by its id and by when it
        was added, as what comes in its place was added later."""
        of = f" WHERE stage IN ('queued', {WORKING_STAGES})" if active else ""
        with self.database.snapshot() as db:
            return {(row[0], row[1]) for row in db.execute(f"SELECT id, added FROM files{of}")}

    def tally(self) -> Counter[Stage]:
        """How many files are in each stage."""
        with self.database.snapshot() as db:
            stages = f"SELECT CASE WHEN {WAITING} THEN 'queued' ELSE stage END AS stage FROM files"
            counted = f"SELECT stage, count(*) AS files FROM ({stages}) AS shown GROUP BY stage"
            rows = db.execute(counted, silence(self._clock())).fetchall()
        return Counter({STAGES[row["stage"]]: int(row["files"]) for row in rows})

    def ready_names(self) -> dict[str, str]:
        """Of the files that are ready, by their ids, newest first."""
        with self.database.snapshot() as db:
            rows = db.execute("SELECT id, name FROM files WHERE stage = 'ready' ORDER BY added DESC, id").fetchall()
        return {row["id"]: row["name"] for row in rows}

    def get(self, file_id: str) -> FileRow | None:
        with self.database.snapshot() as db:
            return find_row(db, file_id, self._clock())

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
        return self.storage.local(file.path)

    def remove(self, file_id: str) -> None:
        """Forget the row and delete the file's bytes."""
        with self.forgetting(file_id):
            pass

    @contextmanager
    def forgetting(self, file_id: str, *, worker: str = "") -> Iterator[bool]:
        """`remove`, in one transaction with what is done inside. The bytes go after it, or, if this process does not live to
        see that, when they are next swept. Where a `worker` has done with the file, it stays, and the value is False, when its
        work is no longer wanted, as for `ClaimedFiles.advance`."""
        with self.database.transaction() as db:
            forgotten = not worker or self.claimed.sign(file_id, worker)
            if forgotten:
                self._forget(db, file_id)
            yield forgotten
        if forgotten:
            self.storage.drop(file_id)

    @staticmethod
    def _forget(db: Connection, file_id: str) -> None:
        db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        forget_link(db, file_id)
        drop_drafts(db, file_id)
        drop_page_words(db, file_id)
        db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
        db.execute("INSERT INTO removed_files (id) VALUES (?) ON CONFLICT (id) DO NOTHING", (file_id,))

    def sweep(self) -> None:
        """Delete bytes that belong to no file, as a crash between two steps may leave them."""
        with self.database.transaction() as db:  # nobody adds a file while this one holds the lock
            for row in db.execute("SELECT id FROM removed_files").fetchall():
                self.storage.drop(row["id"])
            db.execute("DELETE FROM removed_files")
            move_links(db)
            rows = db.execute("SELECT path, max(added) AS added FROM files GROUP BY path").fetchall()
            self.storage.sweep({row["path"]: row["added"] for row in rows})


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
        f"{name} is {size / 1e6:,.0f} MB; the limit is {max_mb} MB.", hint="Split the file, or raise the limit in Settings."
    )


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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

    def named(number: int) -> str:
        return f"{stem} ({number}){suffix}" if number > 1 else name

    def taken(number: int) -> bool:
        other = "SELECT id FROM files WHERE name = ? AND id != ? AND path != '' LIMIT 1"
        return db.execute(other, (named(number), file_id)).fetchone() is not None

    free = 1
    while taken(free):
        free *= 2
    below = free // 2  # is taken, where it is not 0: of a thousand namesakes each would ask for all that came before it
    while free - below > 1:
        between = (below + free) // 2
        below, free = (between, free) if taken(between) else (below, between)
    return named(free)
