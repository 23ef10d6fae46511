"""Stores indexes in a folder: one SQLite file, and a folder of vectors.

A change is on the disk when the call returns, and every process that has the folder open sees it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragcore.schema import TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.storage.docstore import DocumentStore
from ragcore.storage.index_store import IndexRecord
from ragcore.vector_stores import disk
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.disk_vectors import sweep
from ragcore.vector_stores.node_json import Item, decode_item, encode_item
from ragcore.vector_stores.vector_file import VectorFolder

FILE = "storage.db"
FORMAT = 1

SCHEMA = """
CREATE TABLE IF NOT EXISTS storage (
    format INTEGER NOT NULL         -- one row, once something was stored
);
CREATE TABLE IF NOT EXISTS index_records (
    seq INTEGER PRIMARY KEY,
    index_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    summary TEXT NOT NULL,
    data TEXT NOT NULL,
    place TEXT NOT NULL,
    keeper TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS index_entries (
    seq INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (place, key)
);
CREATE TABLE IF NOT EXISTS items (
    seq INTEGER PRIMARY KEY,
    place TEXT NOT NULL,            -- of the index that owns them; '' for those that all share
    id TEXT NOT NULL,
    source TEXT,                    -- the document that a passage was cut from
    data TEXT NOT NULL,
    UNIQUE (place, id)
);
CREATE INDEX IF NOT EXISTS items_by_source ON items (place, source, seq);
CREATE TABLE IF NOT EXISTS hashes (
    place TEXT NOT NULL,
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (place, id)
) WITHOUT ROWID;
"""


class DiskStorage:
    """Opens the folder. Data is read on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.database = SQLiteDatabase(folder / FILE, disk.SCHEMA, SCHEMA)
        self.index_store = DiskIndexStore(self.database)
        self._vectors: dict[str, disk.DiskStore] = {}

    def is_filled(self) -> bool:
        """Whether the folder has stored data. The check creates no file."""
        if not self.database.path.is_file():
            return False
        with self.database.snapshot() as db:
            return db.execute("SELECT format FROM storage").fetchone() is not None

    def nodes(self, place: str) -> DiskDocumentStore:
        return DiskDocumentStore(self.database, place)

    def vectors(self, place: str) -> disk.DiskStore:
        if place not in self._vectors:
            self._vectors[place] = disk.DiskStore(
                self.database, index=place, vectors=self._folder, words_when_asked=True
            )
        return self._vectors[place]

    def copy_vectors(self, source: Store, place: str) -> None:
        self.vectors(place).copy(source)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commits all changes inside, or none after an error."""
        outermost = not self.database.in_transaction
        with self.database.transaction() as db:
            yield
            loose = [
                name
                for (name,) in db.execute("SELECT name FROM indexes WHERE slots > 2 * passages").fetchall()
            ]
        if outermost:
            for name in loose:
                self.vectors(name).compact()
            sweep(self.database, VectorFolder(self._folder))

    def undoes(self, store: Store) -> bool:
        return any(store is own for own in self._vectors.values())

    def clear(self) -> None:
        """Delete everything. In one transaction with new content, other processes see either the old or the
        new content."""
        with self.database.transaction() as db:
            for (name,) in db.execute("SELECT name FROM indexes").fetchall():
                self.vectors(name).drop()
            for table in ("storage", "index_records", "index_entries", "items", "hashes"):
                db.execute(f"DELETE FROM {table}")
            db.execute("INSERT INTO storage VALUES (?)", (FORMAT,))

    def close(self) -> None:
        for store in self._vectors.values():
            store.close()
        self.database.close()

    @property
    def _folder(self) -> Path:
        return self.folder / "vectors"


class DiskDocumentStore(DocumentStore):
    """The documents and passages of one place."""

    def __init__(self, database: SQLiteDatabase, place: str) -> None:
        self._database = database
        self._place = place

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        with self._database.transaction() as db:
            self._put_hashes(db, {doc_id: doc_hash})

    def get_document_hash(self, doc_id: str) -> str | None:
        rows = self._rows("SELECT hash FROM hashes WHERE place = ? AND id = ?", doc_id)
        return rows[0][0] if rows else None

    def get_all_document_hashes(self) -> dict[str, str]:
        return {row["id"]: row["hash"] for row in self._rows("SELECT id, hash FROM hashes WHERE place = ?")}

    def __len__(self) -> int:
        count: int = self._rows("SELECT count(*) FROM items WHERE place = ?")[0][0]
        return count

    def clear(self) -> None:
        with self._database.transaction() as db:
            for table in ("items", "hashes"):
                db.execute(f"DELETE FROM {table} WHERE place = ?", (self._place,))

    def _write(self, items: Sequence[Item]) -> None:
        with self._database.transaction() as db:
            db.executemany(
                "INSERT INTO items (place, id, source, data) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (place, id) DO UPDATE SET source = excluded.source, data = excluded.data",
                (
                    (
                        self._place,
                        item.id_,
                        item.ref_doc_id if isinstance(item, TextNode) else None,
                        encode_item(item),
                    )
                    for item in items
                ),
            )
            self._put_hashes(db, {item.id_: item.hash for item in items})

    def _read(self, ids: Sequence[str]) -> Mapping[str, Item]:
        rows = self._rows(
            "SELECT data FROM items WHERE place = ? AND id IN (SELECT value FROM json_each(?))",
            json.dumps(list(ids)),
        )
        return {item.id_: item for item in (decode_item(data) for (data,) in rows)}

    def _all(self) -> Sequence[Item]:
        return [
            decode_item(data) for (data,) in self._rows("SELECT data FROM items WHERE place = ? ORDER BY seq")
        ]

    def _passage_ids_of(self, ref_doc_id: str) -> Sequence[str]:
        rows = self._rows("SELECT id FROM items WHERE place = ? AND source = ? ORDER BY seq", ref_doc_id)
        return [id_ for (id_,) in rows]

    def _passage_ids_by_document(self) -> Mapping[str, Sequence[str]]:
        ids_by_document: dict[str, list[str]] = {}
        query = "SELECT source, id FROM items WHERE place = ? AND source IS NOT NULL ORDER BY seq"
        for document_id, id_ in self._rows(query):
            ids_by_document.setdefault(document_id, []).append(id_)
        return ids_by_document

    def _delete_items(self, ids: Sequence[str]) -> None:
        with self._database.transaction() as db:
            for table in ("items", "hashes"):
                db.executemany(
                    f"DELETE FROM {table} WHERE place = ? AND id = ?", ((self._place, id_) for id_ in ids)
                )

    def _put_hashes(self, db: sqlite3.Connection, hashes: Mapping[str, str]) -> None:
        rows = ((self._place, id_, hash_) for id_, hash_ in hashes.items())
        db.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", rows)

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        with self._database.snapshot() as db:
            return db.execute(query, (self._place, *values)).fetchall()


class DiskIndexStore:
    """See `ragcore.storage.index_store.IndexStore`."""

    def __init__(self, database: SQLiteDatabase) -> None:
        self._database = database

    def upsert(self, record: IndexRecord) -> None:
        values = (
            record.index_id,
            record.kind,
            record.summary,
            json.dumps(dict(record.data)),
            record.place,
            record.keeper,
        )
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO index_records (index_id, kind, summary, data, place, keeper) VALUES (?, ?, "
                "?, ?, ?, ?)"
                " ON CONFLICT (index_id) DO UPDATE SET kind = excluded.kind, summary = excluded.summary,"
                " data = excluded.data, place = excluded.place, keeper = excluded.keeper",
                values,
            )

    def get(self, index_id: str) -> IndexRecord | None:
        return next((record for record in self.all() if record.index_id == index_id), None)

    def all(self) -> list[IndexRecord]:
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT kind, index_id, summary, data, place, keeper FROM index_records ORDER BY seq"
            ).fetchall()
        return [
            IndexRecord(kind, index_id, summary, json.loads(data), place, keeper)
            for kind, index_id, summary, data, place, keeper in rows
        ]

    def delete(self, index_id: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM index_records WHERE index_id = ?", (index_id,))

    def entries(self, place: str, keys: Collection[str] | None = None) -> dict[str, Any]:
        query, values = "SELECT key, value FROM index_entries WHERE place = ?", [place]
        if keys is not None:
            query += " AND key IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(keys)))
        with self._database.snapshot() as db:
            return {
                key: json.loads(value)
                for key, value in db.execute(f"{query} ORDER BY seq", values).fetchall()
            }

    def put_entries(self, place: str, entries: Mapping[str, Any]) -> None:
        with self._database.transaction() as db:
            db.executemany(
                "INSERT INTO index_entries (place, key, value) VALUES (?, ?, ?)"
                " ON CONFLICT (place, key) DO UPDATE SET value = excluded.value",
                ((place, key, json.dumps(value)) for key, value in entries.items()),
            )

    def delete_entries(self, place: str, keys: Collection[str]) -> None:
        with self._database.transaction() as db:
            db.executemany(
                "DELETE FROM index_entries WHERE place = ? AND key = ?", ((place, key) for key in keys)
            )
