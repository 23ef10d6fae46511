"""The versions of a library's index: the current one, which is searched, and one that is being built to
replace it.

A new index with other settings is filled while the current one is searched. One transaction then makes it
current. The old one is dropped a little later, when no answer reads it any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from lectern.db.stored_json import parse_problem, read_stored
from lectern.db.tables import Tables
from lectern.jobs.file_rows import SILENT_SECONDS, silence
from lectern.settings import SplitterName
from ragcore.errors import Problem, RagError, StoreError, UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode, new_id
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, Store, StoredDocument

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

T = TypeVar("T")

FIRST = "documents"  # the index of a library that was never rebuilt
IN_USE_SECONDS = 60.0  # Answers that have begun may read an old index for so long.
CHUNKING = ("chunk_size", "chunk_overlap", "splitter")  # the settings by which an index splits documents
QUICK_BYTES = 300_000_000  # A smaller index is rewritten without gaps after each deletion.

State = Literal["building", "stopped", "failed", "current", "old"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS index_versions (
    name TEXT PRIMARY KEY,           -- of the index in the store
    state TEXT NOT NULL,             -- see State; an old one will be dropped
    embed_model TEXT NOT NULL,       -- see lectern.jobs.embedders
    chunk_size INTEGER NOT NULL,     -- tokens; 0 while unknown
    chunk_overlap INTEGER NOT NULL,  -- tokens
    share REAL NOT NULL DEFAULT 0,   -- of the work that is done, 0 to 0.99
    seconds_left REAL,
    problem TEXT,                    -- JSON of a Problem
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS index_splitters (
    name TEXT PRIMARY KEY,           -- of the index in the store
    splitter TEXT NOT NULL           -- "sentence" for an index without a row
);
"""


class CurrentVersion(NamedTuple):
    name: str
    embed_model: str


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index is built: sizes in tokens, see `IngestSettings`; `embed_model` "" is the built-in one."""

    chunk_size: int
    chunk_overlap: int
    splitter: SplitterName
    embed_model: str


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """An index that is being built. `fraction` of the work is done, 0 to 1."""

    name: str
    state: State
    settings: IndexSettings
    fraction: float
    seconds_left: float | None
    problem: Problem | None

    @property
    def embed_model(self) -> str:
        return self.settings.embed_model


class IndexStore(Store, Protocol):
    """A store that is one index of several in the same database."""

    @property
    def damaged_texts(self) -> set[str]:
        """The ids of documents in which reading found damage. Whoever handles one removes it."""

    def prepare_upsert(self, document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        """Does the slow part of `upsert` now, so that other writers need not wait for it. Returns a function
        for the rest."""

    def drop(self) -> None:
        """Delete the index and everything in it."""

    def reclaim(self) -> None:
        """Return unused space to the disk. Not in a transaction."""

    def bytes_on_disk(self) -> int:
        """The size of all indexes of the database together."""


@runtime_checkable
class Healable(Protocol):
    """An index whose vectors are in local files. Damaged ones can be computed again."""

    def compact(self) -> None:
        """Rewrite the files without deleted vectors. Not in a transaction."""

    def verify(self) -> list[str]:
        """The ids of documents with damaged vectors."""

    def replace_vectors(self, document_id: str, vectors: Vectors) -> None:
        """Replace damaged vectors: one row for each passage in reading order, shape (n, d)."""


class IndexVersions(Tables):
    """The table of a library's indexes."""

    @property
    def in_transaction(self) -> bool:
        return self._database.in_transaction

    def current(self) -> CurrentVersion:
        """The index that is searched."""
        row = self._read_one("SELECT name, embed_model FROM index_versions WHERE state = 'current'")
        return CurrentVersion(row["name"], row["embed_model"]) if row else CurrentVersion(FIRST, "")

    def settings(self) -> IndexSettings | None:
        """The settings of the current index; None while they were not recorded: it then has those of the
        library."""
        row = self._read_one(f"{_SELECT} WHERE state = 'current' AND chunk_size > 0")
        return _read_settings(row) if row else None

    def remember(self, *, chunk_size: int, chunk_overlap: int, splitter: SplitterName = "sentence") -> None:
        """Record the settings of the current index, unless they are recorded already."""
        with self._database.transaction() as db:
            if self.settings() is None:
                self.choose("")
                db.execute(
                    "UPDATE index_versions SET chunk_size = ?, chunk_overlap = ? WHERE name = ?",
                    (chunk_size, chunk_overlap, FIRST),
                )
                db.execute(_SET_SPLITTER, (FIRST, splitter))

    def choose(self, embed_model: str) -> bool:
        """Set the embedding model of the first index. False if it was set before."""
        with self._database.transaction() as db:
            if db.execute("SELECT name FROM index_versions WHERE state = 'current'").fetchone():
                return False
            db.execute(
                "INSERT INTO index_versions (name, state, embed_model, chunk_size, chunk_overlap)"
                " VALUES (?, 'current', ?, 0, 0)",
                (FIRST, embed_model),
            )
            return True

    @contextmanager
    def lock_current(self) -> Iterator[str]:
        """A transaction in which the current index stays current. The value is its name."""
        with self._database.transaction():
            yield self.current().name

    def next_version(self) -> IndexVersion | None:
        """The index that is being built, also if building was stopped or failed."""
        row = self._read_one(f"{_SELECT} WHERE state IN ('building', 'stopped', 'failed')")
        if row is None:
            return None
        problem = read_stored(parse_problem, row["problem"], None, row=f"problem of index {row['name']}")
        return IndexVersion(
            row["name"], row["state"], _read_settings(row), row["share"], row["seconds_left"], problem
        )

    def begin(self, settings: IndexSettings) -> None:
        """Start building an index with these settings, or resume one with the same; one with other settings
        is dropped."""
        with self._database.transaction() as db:
            coming = self.next_version()
            if coming and coming.settings == settings:
                self.resume()
                return
            self.give_up()
            name = f"documents-{new_id()[:12]}"
            db.execute(
                "INSERT INTO index_versions (name, state, embed_model, chunk_size, chunk_overlap)"
                " VALUES (?, 'building', ?, ?, ?)",
                (name, settings.embed_model, settings.chunk_size, settings.chunk_overlap),
            )
            db.execute(_SET_SPLITTER, (name, settings.splitter))

    def stop(self) -> None:
        """Stop building, to be resumed later."""
        self._change("UPDATE index_versions SET state = 'stopped', worker = NULL WHERE state = 'building'")

    def resume(self) -> None:
        self._change(
            "UPDATE index_versions SET state = 'building', problem = NULL, worker = NULL WHERE state IN "
            "('stopped', 'failed')"
        )

    def give_up(self) -> None:
        """Drop the index that is being built; the current one stays."""
        self._change(
            "UPDATE index_versions SET state = 'old', worker = NULL, heartbeat = 0"
            " WHERE state IN ('building', 'stopped', 'failed')"
        )

    # For workers.

    def claim(self, worker: str) -> IndexVersion | None:
        """The index to build, now claimed by this worker; None if there is none, or another worker builds
        it."""
        now = self._clock()
        free = "state = 'building' AND (worker IS NULL OR worker = ? OR heartbeat < ? OR heartbeat > ?)"
        values = (worker, *silence(now))
        if self._read_one(f"SELECT name FROM index_versions WHERE {free}", *values) is None:
            return None  # without the write lock
        with self._database.transaction() as db:
            update = f"UPDATE index_versions SET worker = ?, heartbeat = ? WHERE {free}"
            return self.next_version() if db.execute(update, (worker, now, *values)).rowcount else None

    def sign(self, name: str, worker: str, *, fraction: float, seconds_left: float | None) -> bool:
        """Record progress; False if building was stopped or given up, or another worker has it. A fraction
        never falls."""
        share = min(fraction, 0.99)
        update = (
            "UPDATE index_versions SET share = CASE WHEN share < ? THEN ? ELSE share END, seconds_left = ?,"
            " heartbeat = ? WHERE name = ? AND worker = ? AND state = 'building'"
        )
        return self._change(update, share, share, seconds_left, self._clock(), name, worker) == 1

    def release(self, name: str, worker: str) -> None:
        """Let another worker go on."""
        self._change("UPDATE index_versions SET worker = NULL WHERE name = ? AND worker = ?", name, worker)

    def fail(self, name: str, worker: str, error: RagError) -> None:
        update = (
            "UPDATE index_versions SET state = 'failed', worker = NULL, problem = ? WHERE name = ? AND "
            "worker = ?"
        )
        self._change(update, json.dumps(asdict(Problem.of(error))), name, worker)

    def switch(self, name: str, worker: str) -> bool:
        """Make it the current index; False as for `sign`."""
        with self._database.transaction() as db:
            if not self.sign(name, worker, fraction=1.0, seconds_left=0.0):
                return False
            before, model = self.current()
            db.execute("DELETE FROM index_versions WHERE name = ?", (before,))
            db.execute(
                "INSERT INTO index_versions (name, state, embed_model, chunk_size, chunk_overlap, heartbeat)"
                " VALUES (?, 'old', ?, 0, 0, ?)",
                (before, model, self._clock()),
            )
            db.execute("UPDATE index_versions SET state = 'current', worker = NULL WHERE name = ?", (name,))
        return True

    def old(self) -> list[str]:
        """The old indexes that no answer reads any more."""
        query, now = (
            "SELECT name FROM index_versions WHERE state = 'old' AND (heartbeat < ? OR heartbeat > ?)",
            self._clock(),
        )
        return [row["name"] for row in self._read(query, now - IN_USE_SECONDS, now + SILENT_SECONDS)]

    def forget(self, name: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM index_versions WHERE name = ? AND state = 'old'", (name,))
            db.execute("DELETE FROM index_splitters WHERE name = ?", (name,))


_SELECT = (
    "SELECT * FROM index_versions LEFT JOIN (SELECT name AS of_index, splitter FROM index_splitters) s "
    "ON of_index = name"
)
_SET_SPLITTER = (
    "INSERT INTO index_splitters (name, splitter) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
    "splitter = excluded.splitter"
)


def _read_settings(row: Any) -> IndexSettings:
    return IndexSettings(
        row["chunk_size"], row["chunk_overlap"], row["splitter"] or "sentence", row["embed_model"]
    )


class CurrentStore:
    """A `Store` that is the current version at the time of each call. `open_version` opens the store of a
    version by its name. `heal` is called for each document whose stored text is damaged."""

    def __init__(
        self,
        versions: IndexVersions,
        open_version: Callable[[str], IndexStore],
        heal: Callable[[str], None] = lambda document_id: None,
    ) -> None:
        self.versions = versions
        self._open = open_version
        self._heal = heal
        self._opened: dict[str, IndexStore] = {}
        self._last_name = ""  # of the version that was current at the last call

    def version(self, name: str) -> IndexStore:
        """The store of a version, current or not."""
        opened = self._opened.get(name)  # compared with None, because `bool` of a store reads the database
        return opened if opened is not None else self._opened.setdefault(name, self._open(name))

    def choose(self, embed_model: str) -> bool:
        """Set the embedding model of an empty library. False if it has passages, or a model was chosen
        before."""
        with self.versions.lock_current() as name:
            return not len(self.version(name)) and self.versions.choose(embed_model)

    def forget(self, name: str) -> None:
        """Close the store of a version that was or will be dropped; whoever still reads it opens its files
        again."""
        opened = self._opened.pop(name, None)
        if opened is not None:
            opened.close()

    def read_current(self) -> CurrentVersion:
        """The current version. The store of the one before is closed, because the disk cannot reuse the space
        of open files."""
        current = self.versions.current()
        if self._last_name != current.name:
            self.forget(self._last_name)
            self._last_name = current.name
        return current

    @property
    def current(self) -> IndexStore:
        """The store of the current version."""
        return self.version(self.read_current().name)

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        with self.versions.lock_current() as name:
            return self.version(name).upsert(document, nodes)

    def delete(self, document_id: str) -> int:
        passages = self.delete_rows(document_id)
        self.free_space()
        return passages

    def delete_rows(self, document_id: str) -> int:
        """`delete` in the caller's transaction. Call `free_space` after the transaction."""
        with self.versions.lock_current() as name:
            coming = self.versions.next_version()
            if coming is not None:
                with suppress(UnknownDocumentError):  # not built yet
                    self.version(coming.name).delete(document_id)
            return self.version(name).delete(document_id)

    def free_space(self) -> None:
        """Free the space of deleted documents, at once if that is quick. Not in a transaction."""
        current = self.current
        if isinstance(current, Healable) and current.bytes_on_disk() < QUICK_BYTES:
            current.compact()
        else:
            current.reclaim()

    def document(self, document_id: str) -> Document:
        return self._query(lambda index: index.document(document_id))

    def documents(self) -> list[StoredDocument]:
        return self._query(lambda index: index.documents())

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        return self._query(lambda index: index.nodes(ids))

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        index = self.current
        with self._healing(index):
            yield from index.passages(document_id)

    def passage_ids(self, document_id: str) -> list[str]:
        return self._query(lambda index: index.passage_ids(document_id))

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        return self._query(lambda index: index.search(query, top_k, scope))

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        return self._query(lambda index: index.keyword_search(query, top_k, scope))

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        return self._query(lambda index: index.candidates(scope))

    def __len__(self) -> int:
        return self._query(len)

    def reclaim(self) -> None:
        """Return unused space to the disk of this machine. A server does so by itself."""
        if isinstance(self.current, Healable):
            self.current.reclaim()

    def bytes_on_disk(self) -> int:
        return self.current.bytes_on_disk()

    def close(self) -> None:
        for index in list(self._opened.values()):  # another thread may be opening one
            index.close()

    @contextmanager
    def _healing(self, index: IndexStore) -> Iterator[None]:
        try:
            yield
        finally:
            # In a snapshot nothing can be written: a later query does it.
            while index.damaged_texts and not self.versions.in_transaction:
                with suppress(StoreError, KeyError):  # it cannot be written, or another thread took it
                    self._heal(index.damaged_texts.pop())

    def _query(self, read: Callable[[IndexStore], T]) -> T:
        """The result of `read` on the current version; repeated if another became current meanwhile."""
        while True:
            name = self.read_current().name
            index = self.version(name)
            try:
                with self._healing(index):
                    result = read(index)
            except StoreError:
                if self.versions.current().name == name:
                    raise
                continue
            if self.versions.current().name == name:
                return result
