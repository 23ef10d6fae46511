"""The files of a library. Each is a row in its database, and the row is also the job of reading the file.

    queued ─▶ reading ─▶ splitting ─▶ embedding ─▶ storing ─▶ ready
       ▲          └────────────┴───────────┴──────────┴──▶ failed, stopped
       └───────────────────── retry ─────────────────────────┘

Workers in any number of processes claim queued rows, small files several at a time, and sign them with a
heartbeat. A row whose worker has fallen silent counts as queued and is claimed again. Vectors of a large file
are stored as drafts, so a killed worker costs next to nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lectern.db.tables import Tables
from lectern.jobs.embedding_drafts import SCHEMA as DRAFTS_SCHEMA
from lectern.jobs.embedding_drafts import Drafts, drop_drafts
from lectern.jobs.file_queue import ClaimedFiles, FileQueue
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
from ragcore.errors import DamagedFileError, EmptyFileError, InputError, Problem, RagError, TooLargeError
from ragcore.readers.registry import has_too_much_text
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

_FURTHER_TABLES = """
CREATE TABLE IF NOT EXISTS removed_files (
    id TEXT PRIMARY KEY              -- of a removed file whose bytes are deleted now, or by the next sweep
);
CREATE TABLE IF NOT EXISTS other_names (
    name TEXT NOT NULL,              -- second name of a file that was added twice
    origin TEXT NOT NULL,            -- or '', as in files
    file_id TEXT NOT NULL,
    PRIMARY KEY (name, origin)
);
CREATE INDEX IF NOT EXISTS other_names_by_file ON other_names (file_id);
"""
SCHEMA = FILES_TABLE + _FURTHER_TABLES + LINKS_TABLE + DRAFTS_SCHEMA + PACES_SCHEMA + WORDS_SCHEMA

Outcome = Literal["added", "duplicate", "replaced"]


@dataclass(frozen=True, slots=True)
class Added:
    """What `Files.add` did: a new row, the row that has these bytes already, or the row whose bytes were
    replaced. `original_name` is the name under which the file was added."""

    file: FileRow
    outcome: Outcome
    original_name: str


class Files(Tables):
    """The table of files and the storage of their bytes. `queue`, `claimed` and `links` are views of the same
    rows."""

    def __init__(
        self, database: Database, storage: FileBytes, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(database, clock)
        self.database = database
        self.storage = storage
        self.drafts = Drafts(database)
        self.queue = FileQueue(database, clock)
        self.claimed = ClaimedFiles(database, storage, clock)
        self.links = Links(database, clock)
        self.page_words = PageWordsTable(database)
        self._compared: dict[Path, tuple[int, int]] = {}  # originals whose bytes are known to be right

    def transaction(self) -> AbstractContextManager[Connection]:
        """Commits changes of rows together with all other changes of the same database."""
        return self.database.transaction()

    def costs(self) -> Costs:
        """What reading and embedding the last files cost."""
        with self.database.snapshot() as db:
            return read_costs(db)

    def add(
        self,
        source: Path,
        name: str,
        settings: IngestSettings | None = None,
        *,
        origin: str = "",
        keep_both: bool = False,
    ) -> Added:
        """Move the file at `source` into the library and queue it. Errors of `check_file`.

        The same bytes again are a duplicate, and replace a damaged or missing original. Other bytes replace
        the file of the same origin, or of the same name if there is no origin, even if another file has these
        bytes. The passages of the replaced file are searched until the new ones are ready. If the replaced
        bytes were added under a second name too, they stay under that name.

        A file with an origin, or with `keep_both`, gets a numbered name if another file has its name.
        `keep_both` replaces no file, only a row without bytes, and drops an origin that another file has.
        """
        size = source.stat().st_size
        try:
            check_file(source, name, settings or IngestSettings())
        except InputError:
            source.unlink()
            raise
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        name, origin = normalize_name(name), _storable(origin)
        duplicate = self._find_duplicate(digest, name, origin, keep_both)
        if duplicate is None or not self._is_undamaged(duplicate.file):
            with self.storage.receiving(source) as received, self.database.transaction():
                # added by another process meanwhile
                duplicate = self._find_duplicate(digest, name, origin, keep_both)
                if duplicate is None:
                    return self._add(received, name, digest, size, origin, keep_both)
                if not self._is_undamaged(duplicate.file):
                    received.place(duplicate.file.path)
                    return duplicate
        source.unlink()
        return duplicate

    def _find_duplicate(self, digest: str, name: str, origin: str, keep_both: bool) -> Added | None:
        """The file with these bytes, of this name or origin if there is one.

        It is queued again if it was stopped, or could not be read. A failed file of another kind does not
        count: the bytes may be readable under the new name.
        """
        with self.database.transaction() as db:
            before = None if keep_both else _find_predecessor(db, name, origin)
            own = before["id"] if before is not None and before["path"] else ""
            rows = db.execute(
                f"SELECT id, name, stage, stop_asked FROM files WHERE hash = ?{' AND id = ?' if own else ''}"
                " ORDER BY stage = 'failed'",
                (digest, own) if own else (digest,),
            ).fetchall()
            alike = (
                row
                for row in rows
                if row["stage"] != "failed" or (not own and kind_of(row["name"]) == kind_of(name))
            )
            same = next(alike, None)
            if same is None:
                return None
            if not own and not keep_both:
                db.execute(
                    "INSERT INTO other_names (name, origin, file_id) VALUES (?, ?, ?)"
                    " ON CONFLICT (name, origin) DO UPDATE SET file_id = excluded.file_id",
                    (name, origin, same["id"]),
                )
            if same["stage"] in ("stopped", "failed") or same["stop_asked"]:
                queue_row(db, same["id"], anew=same["stage"] == "failed")
            return Added(require_row(db, same["id"], self._clock()), "duplicate", name)

    def _add(
        self, received: Received, name: str, digest: str, size: int, origin: str, keep_both: bool
    ) -> Added:
        with self.database.transaction() as db:
            db.execute("DELETE FROM other_names WHERE name = ? AND origin = ?", (name, origin))
            original_name, before = name, _find_predecessor(db, name, origin)
            if keep_both:
                origin = "" if before else origin
                before = db.execute("SELECT id FROM files WHERE name = ? AND path = ''", (name,)).fetchone()
            elif before:
                self._keep_under_other_name(db, before["id"])
            file_id = before["id"] if before else new_id()[:16]
            if origin or keep_both:
                name = _free_name(db, name, file_id)
            path = f"files/{file_id}/{digest[:12]}{PurePosixPath(name).suffix.lower()}"
            received.place(path)
            if before:
                db.execute(
                    "UPDATE files SET name = ?, origin = ?, path = ?, hash = ?, size = ?, lane = ?, "
                    "added = ?, password = NULL, healing = 0 WHERE id = ?",
                    (name, origin, path, digest, size, lane_of(name, size), self._clock(), file_id),
                )
                queue_row(db, file_id, anew=True)
            else:
                db.execute(
                    "INSERT INTO files (id, name, origin, path, hash, size, lane, added, stage)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
                    (file_id, name, origin, path, digest, size, lane_of(name, size), self._clock()),
                )
            return Added(
                require_row(db, file_id, self._clock()), "replaced" if before else "added", original_name
            )

    def _keep_under_other_name(self, db: Connection, file_id: str) -> None:
        """Copy bytes that are about to be replaced into a row of their own, if they were added under a second
        name too."""
        query = "SELECT name, origin FROM other_names WHERE file_id = ? ORDER BY name, origin LIMIT 1"
        row = db.execute(query, (file_id,)).fetchone()
        if row is None:
            return
        before, copy_id = require_row(db, file_id, self._clock()).path, new_id()[:16]
        path = f"files/{copy_id}/{PurePosixPath(before).name}"
        if not self.storage.copy(before, path):
            db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
            return
        db.execute(
            "INSERT INTO files (id, name, origin, path, hash, size, lane, added, password, stage)"
            " SELECT ?, ?, ?, ?, hash, size, lane, ?, password, 'queued' FROM files WHERE id = ?",
            (copy_id, _free_name(db, row["name"], copy_id), row["origin"], path, self._clock(), file_id),
        )
        db.execute("DELETE FROM other_names WHERE name = ? AND origin = ?", (row["name"], row["origin"]))
        db.execute("UPDATE other_names SET file_id = ? WHERE file_id = ?", (copy_id, file_id))

    def refuse(self, name: str, size: int, error: RagError) -> FileRow:
        """Add a failed row for a file that could not be added, so that it appears in the list; one row for
        each name."""
        file_id, name = new_id()[:16], normalize_name(name)
        with self.database.transaction() as db:
            for row in db.execute("SELECT id FROM files WHERE name = ? AND path = ''", (name,)).fetchall():
                forget_link(db, row["id"])
            db.execute("DELETE FROM files WHERE name = ? AND path = ''", (name,))
            db.execute(
                "INSERT INTO files (id, name, path, hash, size, added, stage, problem) VALUES (?, ?, "
                "'', ?, ?, ?, 'failed', ?)",
                (
                    file_id,
                    name,
                    f"refused:{file_id}",
                    size,
                    self._clock(),
                    json.dumps(asdict(Problem.of(error))),
                ),
            )
            return require_row(db, file_id, self._clock())

    def all(self, *stages: Stage, limit: int | None = None) -> list[FileRow]:
        """The files in these stages, or in any stage, newest first, at most `limit`."""
        where = f" WHERE stage IN ({', '.join('?' * len(stages))})" if stages else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        with self.database.snapshot() as db:
            query = f"SELECT {COLUMNS} FROM files{where} ORDER BY added DESC, id{most}"
            rows = db.execute(query, tuple(stage.value for stage in stages)).fetchall()
            costs, now = read_costs(db), self._clock()
        return [read_row(row, costs, now) for row in rows]

    def versions(self, *, active: bool = False) -> set[tuple[str, float]]:
        """The id and time of all files, or of the active ones. The time changes when the bytes of a file are
        replaced."""
        where = f" WHERE stage IN ('queued', {WORKING_STAGES})" if active else ""
        return {(row[0], row[1]) for row in self._read(f"SELECT id, added FROM files{where}")}

    def tally(self) -> Counter[Stage]:
        """How many files are in each stage."""
        stages = f"SELECT CASE WHEN {WAITING} THEN 'queued' ELSE stage END AS stage FROM files"
        query = f"SELECT stage, count(*) AS files FROM ({stages}) AS stages GROUP BY stage"
        rows = self._read(query, *silence(self._clock()))
        return Counter({STAGES[row["stage"]]: int(row["files"]) for row in rows})

    def ready_names(self) -> dict[str, str]:
        """The names of the files that are ready, by id, newest first."""
        query = "SELECT id, name FROM files WHERE stage = 'ready' ORDER BY added DESC, id"
        return {row["id"]: row["name"] for row in self._read(query)}

    def page_word(self, name: str) -> str:
        """The word for a part of the newest file with this name, "page" or "slide", say; "page" without such
        a file."""
        query = "SELECT page_word FROM files WHERE lower(name) = lower(?) ORDER BY added DESC, id LIMIT 1"
        return next((str(row["page_word"]) for row in self._read(query, name)), "page")

    def get(self, file_id: str) -> FileRow | None:
        with self.database.snapshot() as db:
            return find_row(db, file_id, self._clock())

    def ready_and_bytes(self) -> tuple[int, int]:
        """How many files are ready, and how many bytes all files have."""
        ready, size = self._read_one(
            "SELECT count(CASE WHEN stage = 'ready' THEN 1 END), coalesce(sum(size), 0) FROM files "
            "WHERE path != ''"
        )
        return ready, int(size)

    def password(self, file_id: str) -> str | None:
        row = self._read_one("SELECT password FROM files WHERE id = ?", file_id)
        return row["password"] if row else None

    def location(self, file: FileRow) -> Path:
        """The local path of the file's bytes, which may have been deleted. DamagedFileError if they are not
        what was added."""
        path = self.storage.local(file.path)
        if not file.path or not path.is_file():
            return path
        with suppress(FileNotFoundError):  # deleted meanwhile
            if not self._is_equal(path, file) and not (
                self.storage.drop_copy(file.path) and self._is_equal(self.storage.local(file.path), file)
            ):
                raise DamagedFileError(
                    f"The original of {file.name} is damaged: it is not the file that was added.",
                    hint="Add the file again, and check the disk.",
                )
        return path

    def _is_equal(self, path: Path, file: FileRow) -> bool:
        """Whether the bytes at the path are what was added. FileNotFoundError."""
        status = path.stat()
        version = (status.st_mtime_ns, status.st_size)
        if self._compared.get(path) != version:
            with path.open("rb") as original:
                if hashlib.file_digest(original, "sha256").hexdigest() != file.hash:
                    return False
            self._compared[path] = version
        return True

    def _is_undamaged(self, file: FileRow) -> bool:
        """Whether the bytes of the file are there, and are what was added."""
        try:
            return self.location(file).is_file()
        except DamagedFileError:
            return False

    def remove(self, file_id: str) -> None:
        """Delete the row and the bytes of a file."""
        with self.remove_with(file_id):
            pass

    @contextmanager
    def remove_with(self, file_id: str, *, worker: str = "") -> Iterator[bool]:
        """`remove`, in one transaction with the changes made inside. The bytes are deleted afterwards; if
        this process ends before that, the next sweep deletes them. With a `worker` that may no longer work on
        the file, as for `ClaimedFiles.advance`, the value is False and the file stays."""
        with self.database.transaction() as db:
            removed = not worker or self.claimed.sign(file_id, worker)
            if removed:
                db.execute("DELETE FROM files WHERE id = ?", (file_id,))
                forget_link(db, file_id)
                drop_drafts(db, file_id)
                drop_page_words(db, file_id)
                db.execute("DELETE FROM other_names WHERE file_id = ?", (file_id,))
                db.execute(
                    "INSERT INTO removed_files (id) VALUES (?) ON CONFLICT (id) DO NOTHING", (file_id,)
                )
            yield removed
        if removed:
            self.storage.drop(file_id)

    def sweep(self) -> None:
        """Delete bytes that belong to no file, which a crash between two steps may leave."""
        with self.database.transaction() as db:  # no file is added while this transaction has the lock
            for row in db.execute("SELECT id FROM removed_files").fetchall():
                self.storage.drop(row["id"])
            db.execute("DELETE FROM removed_files")
            move_links(db)
            rows = db.execute("SELECT path, max(added) AS added FROM files GROUP BY path").fetchall()
            self.storage.sweep({row["path"]: row["added"] for row in rows})


def normalize_name(name: str) -> str:
    """A file's name as stored: composed characters (NFC), although macOS has an accent and its letter as
    two."""
    return unicodedata.normalize("NFC", _storable(name))


def _storable(text: str) -> str:
    """The text without what a database rejects. Bytes that are not UTF-8 become Western letters, so that two
    names with different bytes stay different."""
    return writable(_BYTES.sub(lambda byte: bytes([ord(byte[0]) - 0xDC00]).decode("cp1252", "replace"), text))


_BYTES = re.compile("(?<![\ud800-\udbff])[\udc80-\udcff]")  # as os.fsdecode returns them


def check_file(path: Path, name: str, settings: IngestSettings) -> None:
    """EmptyFileError, TooLargeError for a file that cannot be added. Call it before copying, which could fill
    the disk."""
    size = path.stat().st_size
    if size == 0:
        raise EmptyFileError(f"{name} is empty.", hint="Choose the file again, or check that it was saved.")
    if problem := too_large(name, size, settings.max_file_mb):
        raise problem
    if has_too_much_text(path, name, settings.max_text_mb * 1_000_000):
        raise TooLargeError(
            f"{name} has more than {settings.max_text_mb:,} MB of text, the limit for one file.",
            hint="Split it into several files, or raise the limit in Settings. Then add it again.",
        )


def too_large(name: str, size: int, max_mb: int) -> TooLargeError | None:
    """The error for a file that is too large, else None."""
    if size <= max_mb * 1_000_000:
        return None
    return TooLargeError(
        f"{name} is {size / 1e6:,.0f} MB; the limit is {max_mb} MB.",
        hint="Split the file, or raise the limit in Settings.",
    )


def _find_predecessor(db: Connection, name: str, origin: str) -> Any:
    """The row that a file of this origin, or of this name if it has no origin, replaces; rows with bytes
    first."""
    column, value = ("origin", origin) if origin else ("name", name)
    return db.execute(
        f"SELECT id, path FROM files WHERE {column} = ? ORDER BY path DESC LIMIT 1", (value,)
    ).fetchone()


def _free_name(db: Connection, name: str, file_id: str) -> str:
    """The name, with a number added if a file other than `file_id` has it."""
    path = PurePosixPath(name)

    def number_name(number: int) -> str:
        return f"{path.stem} ({number}){path.suffix}" if number > 1 else name

    def is_used(number: int) -> bool:
        other = "SELECT id FROM files WHERE name = ? AND id != ? AND path != '' LIMIT 1"
        return db.execute(other, (number_name(number), file_id)).fetchone() is not None

    # Double the number until it is free, then bisect: trying all numbers takes quadratic time for a thousand
    # equal names.
    free = 1
    while is_used(free):
        free *= 2
    used = free // 2
    while free - used > 1:
        between = (used + free) // 2
        used, free = (between, free) if is_used(between) else (used, between)
    return number_name(free)
