"""Which index of a library answers, and which is being made to take its place.

A library has one current index. Another one, with other settings, is filled beside it while the current one answers; then one
transaction makes it the current one, and the old one is dropped a little later, when no answer looks into it any more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from lectern.jobs.file_rows import SILENT_SECONDS
from lectern.settings import SplitterName
from ragcore.errors import Problem, RagError, StoreError, UnknownDocumentError
from ragcore.schema import Document, NodeWithScore, TextNode, new_id
from ragcore.sql.base import Database
from ragcore.vector_stores.base import EVERYTHING, Candidates, Scope, Store, StoredDocument

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

T = TypeVar("T")

FIRST = "documents"  # the index of a library that was never rebuilt
IN_USE_SECONDS = 60.0  # that an old index is kept for answers which have begun

QUICK_BYTES = 300_000_000  # that an index may have to be written anew without its gaps after each deletion

State = Literal["building", "stopped", "failed", "current", "old"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS index_versions (
    name TEXT PRIMARY KEY,           -- of the index in the store
    state TEXT NOT NULL,             -- building, stopped, failed, current, or old, which is to be dropped
    embed_model TEXT NOT NULL,       -- see lectern.jobs.embedders
    chunk_size INTEGER NOT NULL,     -- tokens; 0 until something is remembered
    chunk_overlap INTEGER NOT NULL,  -- tokens
    share REAL NOT NULL DEFAULT 0,   -- of the work that is done, 0 to 0.99
    seconds_left REAL,
    problem TEXT,                    -- JSON of a Problem
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS index_splitters (
    name TEXT PRIMARY KEY,           -- of the index in the store
    splitter TEXT NOT NULL           -- that cut its passages; of an index without a row it was "sentence"
);
"""


class CurrentIndex(NamedTuple):
    name: str
    embed_model: str


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """An index and what it is made with. `embed_model` "" is the built-in one. `fraction` of making it is done, 0 to 1."""

    name: str
    state: State
    embed_model: str
    chunk_size: int
    chunk_overlap: int
    splitter: SplitterName = "sentence"
    fraction: float = 0.0
    seconds_left: float | None = None
    problem: Problem | None = None


class IndexStore(Store, Protocol):
    """A store that is one index of several in the same database."""

    def prepared(self, document: Document, nodes: Sequence[TextNode]) -> Callable[[], int]:
        """What does `put`, with all that can be done before it, so that other writers need not wait for that."""

    def drop(self) -> None:
        """Delete the index and everything in it."""

    def reclaim(self) -> None:
        """Give space that is not used any more back to the disk. Not in a transaction."""

    def bytes_on_disk(self) -> int:
        """Of all that is kept with it, other indexes too."""


@runtime_checkable
class Healable(Protocol):
    """An index whose vectors are in files of this machine, which may be damaged, and are made anew then."""

    def compact(self) -> None:
        """Write the files anew without what was deleted. Not in a transaction."""

    def verify(self) -> list[str]:
        """The ids of documents whose vectors are not what was written."""

    def replace_vectors(self, document_id: str, vectors: Vectors) -> None:
        """Put them right: one row for each passage in reading order, shape (n, d)."""


class IndexVersions:
    """The table of a library's indexes."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def current(self) -> CurrentIndex:
        """The index that answers."""
        with self._database.snapshot() as db:
            row = db.execute("SELECT name, embed_model FROM index_versions WHERE state = 'current'").fetchone()
        return CurrentIndex(row["name"], row["embed_model"]) if row else CurrentIndex(FIRST, "")

    def sizes(self) -> tuple[int, int] | None:
        """The passages' size and overlap in the current index, in tokens; None where nothing was remembered."""
        with self._database.snapshot() as db:
            row = db.execute(
                "SELECT chunk_size, chunk_overlap FROM index_versions WHERE state = 'current' AND chunk_size > 0"
            ).fetchone()
        return (row["chunk_size"], row["chunk_overlap"]) if row else None

    def splitter(self, name: str | None = None) -> SplitterName:
        """What cut the passages of an index, by default of the current one."""
        with self._database.snapshot() as db:
            name = self.current().name if name is None else name
            row = db.execute("SELECT splitter FROM index_splitters WHERE name = ?", (name,)).fetchone()
        return cast("SplitterName", row["splitter"]) if row else "sentence"

    def remember(self, *, chunk_size: int, chunk_overlap: int, splitter: SplitterName = "sentence") -> None:
        """What the current index was made with so far, unless that is known."""
        with self._database.transaction() as db:
            if self.sizes() is None:
                self.choose("")
                db.execute(
                    "UPDATE index_versions SET chunk_size = ?, chunk_overlap = ? WHERE name = ?",
                    (chunk_size, chunk_overlap, FIRST),
                )
                self._note_splitter(FIRST, splitter)

    def choose(self, embed_model: str) -> bool:
        """Have the first index made with this one. False where that was decided before."""
        with self._database.transaction() as db:
            if db.execute("SELECT name FROM index_versions WHERE state = 'current'").fetchone():
                return False
            db.execute(
                "INSERT INTO index_versions (name, state, embed_model, chunk_size, chunk_overlap)"
                " VALUES (?, 'current', ?, 0, 0)",
                (FIRST, embed_model),
            )
            return True

    def _note_splitter(self, name: str, splitter: SplitterName) -> None:
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO index_splitters (name, splitter) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET splitter = excluded.splitter",
                (name, splitter),
            )

    @contextmanager
    def held(self) -> Iterator[str]:
        """The name of the current index, which no other becomes inside: a transaction."""
        with self._database.transaction():
            yield self.current().name

    def coming(self) -> IndexVersion | None:
        """The index that is being made, stopped or failed on its way."""
        with self._database.snapshot() as db:
            row = db.execute("SELECT * FROM index_versions WHERE state IN ('building', 'stopped', 'failed')").fetchone()
        if row is None:
            return None
        return IndexVersion(
            row["name"],
            row["state"],
            row["embed_model"],
            row["chunk_size"],
            row["chunk_overlap"],
            self.splitter(row["name"]),
            row["share"],
            row["seconds_left"],
            Problem(**json.loads(row["problem"])) if row["problem"] else None,
        )

    def begin(self, *, embed_model: str, chunk_size: int, chunk_overlap: int, splitter: SplitterName = "sentence") -> None:
        """Have another index made, in the place of one that is being made with other settings; go on with one that has the
        same."""
        with self._database.transaction() as db:
            coming = self.coming()
            wanted = (embed_model, chunk_size, chunk_overlap, splitter)
            if coming and (coming.embed_model, coming.chunk_size, coming.chunk_overlap, coming.splitter) == wanted:
                self.resume()
                return
            self.give_up()
            name = f"documents-{new_id()[:12]}"
            db.execute(
                "INSERT INTO index_versions (name, state, embed_model, chunk_size, chunk_overlap)"
                " VALUES (?, 'building', ?, ?, ?)",
                (name, embed_model, chunk_size, chunk_overlap),
            )
            self._note_splitter(name, splitter)

    def stop(self) -> None:
        """What is made so far is kept."""
        with self._database.transaction() as db:
            db.execute("UPDATE index_versions SET state = 'stopped', worker = NULL WHERE state = 'building'")

    def resume(self) -> None:
        with self._database.transaction() as db:
            db.execute(
                "UPDATE index_versions SET state = 'building', problem = NULL, worker = NULL"
                " WHERE state IN ('stopped', 'failed')"
            )

    def give_up(self) -> None:
        """The index on its way is dropped; the current one stays."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE index_versions SET state = 'old', worker = NULL, heartbeat = 0"
                " WHERE state IN ('building', 'stopped', 'failed')"
            )

    # What a worker does.

    def claim(self, worker: str) -> IndexVersion | None:
        """The index to be made, now this worker's; None when there is none, or another worker is at it."""
        now = self._clock()
        free = "state = 'building' AND (worker IS NULL OR worker = ? OR heartbeat < ? OR heartbeat > ?)"
        mine = (worker, now - SILENT_SECONDS, now + SILENT_SECONDS)
        with self._database.snapshot() as db:
            if db.execute(f"SELECT name FROM index_versions WHERE {free}", mine).fetchone() is None:
                return None
        with self._database.transaction() as db:
            taken = db.execute(
                f"UPDATE index_versions SET worker = ?, heartbeat = ? WHERE {free}", (worker, now, *mine)
            ).rowcount
            return self.coming() if taken else None

    def sign(self, name: str, worker: str, *, fraction: float, left: float | None) -> bool:
        """Note how far it is; False when it was stopped, given up, or taken over. A fraction never falls."""
        share = min(fraction, 0.99)
        with self._database.transaction() as db:
            changed = db.execute(
                "UPDATE index_versions SET share = CASE WHEN share < ? THEN ? ELSE share END, seconds_left = ?,"
                " heartbeat = ? WHERE name = ? AND worker = ? AND state = 'building'",
                (share, share, left, self._clock(), name, worker),
            ).rowcount
        return changed == 1

    def release(self, name: str, worker: str) -> None:
        """Another worker may go on."""
        with self._database.transaction() as db:
            db.execute("UPDATE index_versions SET worker = NULL WHERE name = ? AND worker = ?", (name, worker))

    def fail(self, name: str, worker: str, error: RagError) -> None:
        with self._database.transaction() as db:
            db.execute(
                "UPDATE index_versions SET state = 'failed', worker = NULL, problem = ? WHERE name = ? AND worker = ?",
                (json.dumps(asdict(Problem.of(error))), name, worker),
            )

    def switch(self, name: str, worker: str) -> bool:
        """Make it the current index; False as for `sign`."""
        with self._database.transaction() as db:
            if not self.sign(name, worker, fraction=1.0, left=0.0):
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
        """The indexes that nothing looks into any more."""
        now = self._clock()
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT name FROM index_versions WHERE state = 'old' AND (heartbeat < ? OR heartbeat > ?)",
                (now - IN_USE_SECONDS, now + SILENT_SECONDS),
            ).fetchall()
        return [row["name"] for row in rows]

    def forget(self, name: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM index_versions WHERE name = ? AND state = 'old'", (name,))
            db.execute("DELETE FROM index_splitters WHERE name = ?", (name,))


class CurrentStore:
    """The store of a library: that of its current index, whichever this is by now. See `Store` for what is promised.

    `open_index` opens an index of the library by name.
    """

    def __init__(self, versions: IndexVersions, open_index: Callable[[str], IndexStore]) -> None:
        self.versions = versions
        self._open = open_index
        self._opened: dict[str, IndexStore] = {}
        self._answered = ""  # the name of the one that did when it was last asked for

    def index(self, name: str) -> IndexStore:
        """One index of the library, current or not."""
        opened = self._opened.get(name)  # an empty one counts as False, and to find that out is a look into the database
        return opened if opened is not None else self._opened.setdefault(name, self._open(name))

    def choose(self, embed_model: str) -> bool:
        """Have passages embedded with this one from the first on. False where there are some, or one was chosen before."""
        with self.versions.held() as name:
            return not len(self.index(name)) and self.versions.choose(embed_model)

    def forget(self, name: str) -> None:
        """An index that was dropped, or will be; who still looks into it opens its files again."""
        opened = self._opened.pop(name, None)
        if opened is not None:
            opened.close()

    def answering(self) -> tuple[str, str]:
        """The name of the index that answers now, and its embed_model.

        The one that did before is let go of: while its files are open here, the disk does not have their room back.
        """
        name, embed_model = self.versions.current()
        if self._answered != name:
            self.forget(self._answered)
            self._answered = name
        return name, embed_model

    @property
    def current(self) -> IndexStore:
        """The index that answers now."""
        return self.index(self.answering()[0])

    def put(self, document: Document, nodes: Sequence[TextNode]) -> int:
        return self._changed(lambda index: index.put(document, nodes))

    def delete(self, document_id: str) -> int:
        passages = self.take_out(document_id)
        self.give_room_back()
        return passages

    def take_out(self, document_id: str) -> int:
        """`delete` in the caller's transaction; its space stays taken until `give_room_back` is called after it."""
        with self.versions.held() as name:
            coming = self.versions.coming()
            if coming is not None:
                with suppress(UnknownDocumentError):  # it never got that far
                    self.index(coming.name).delete(document_id)
            return self.index(name).delete(document_id)

    def give_room_back(self) -> None:
        """That of deleted documents, at once where that is quick. Not in a transaction."""
        current = self.current
        if isinstance(current, Healable) and current.bytes_on_disk() < QUICK_BYTES:
            current.compact()
        else:
            current.reclaim()

    def document(self, document_id: str) -> Document:
        return self._asked(lambda index: index.document(document_id))

    def documents(self) -> list[StoredDocument]:
        return self._asked(lambda index: index.documents())

    def nodes(self, ids: Sequence[str]) -> list[TextNode]:
        return self._asked(lambda index: index.nodes(ids))

    def passages(self, document_id: str | None = None) -> Iterator[TextNode]:
        return self.current.passages(document_id)

    def passage_ids(self, document_id: str) -> list[str]:
        return self._asked(lambda index: index.passage_ids(document_id))

    def search(self, query: Vector, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        return self._asked(lambda index: index.search(query, top_k, scope))

    def keyword_search(self, query: str, top_k: int, scope: Scope = EVERYTHING) -> list[NodeWithScore]:
        return self._asked(lambda index: index.keyword_search(query, top_k, scope))

    def candidates(self, scope: Scope = EVERYTHING) -> Candidates:
        return self._asked(lambda index: index.candidates(scope))

    def __len__(self) -> int:
        return self._asked(len)

    def reclaim(self) -> None:
        """Give space that is not used any more back to the disk of this machine. A server does so by itself."""
        if isinstance(self.current, Healable):
            self.current.reclaim()

    def bytes_on_disk(self) -> int:
        return self.current.bytes_on_disk()

    def close(self) -> None:
        for index in list(self._opened.values()):  # another thread may be opening one
            index.close()

    def _changed(self, change: Callable[[IndexStore], T]) -> T:
        """In the current index, which stays that until the change is made."""
        with self.versions.held() as name:
            return change(self.index(name))

    def _asked(self, ask: Callable[[IndexStore], T]) -> T:
        """Of the current index; once more where another became it meanwhile."""
        while True:
            name, _ = self.answering()
            try:
                found = ask(self.index(name))
            except StoreError:
                if self.versions.current().name == name:
                    raise
                continue
            if self.versions.current().name == name:
                return found
