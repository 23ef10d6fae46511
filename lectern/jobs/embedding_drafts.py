"""Vectors of passages on their way into an index. They are stored so that interrupted work is not repeated.

The key of a vector is a hash of the embedded text and the embedder's name, because nothing else determines a
vector.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lectern.db.tables import Tables
from ragcore.sql.base import Connection

if TYPE_CHECKING:
    from ragcore.schema import Vector

SCHEMA = """
CREATE TABLE IF NOT EXISTS drafts (
    owner TEXT NOT NULL,             -- such as the id of a file
    content TEXT NOT NULL,           -- see content_of
    vector BLOB NOT NULL,            -- float32, little-endian
    checksum INTEGER,                -- CRC-32 of `vector`; NULL in earlier versions
    PRIMARY KEY (owner, content)
);
"""


def content_of(embedder: str, text: str) -> str:
    """The key of a passage's vector."""
    return hashlib.sha256(f"{embedder}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


class Drafts(Tables):
    def vectors(self, owner: str) -> dict[str, Vector]:
        """The drafts of an owner, by content, without damaged ones, which are computed again."""
        import numpy as np

        rows = self._read("SELECT content, vector, checksum FROM drafts WHERE owner = ?", owner)
        return {
            row["content"]: np.frombuffer(row["vector"], "<f4").astype(np.float32)
            for row in rows
            if row["checksum"] in (None, zlib.crc32(row["vector"]))
        }

    def keep(self, owner: str, vectors: Mapping[str, Vector]) -> None:
        with self._database.transaction() as db:
            db.executemany(
                "INSERT INTO drafts (owner, content, vector, checksum) VALUES (?, ?, ?, ?) ON CONFLICT "
                "(owner, content) DO NOTHING",
                [
                    (owner, content, packed, zlib.crc32(packed))
                    for content, vector in vectors.items()
                    if (packed := vector.astype("<f4").tobytes())
                ],
            )


def drop_drafts_below(db: Connection, owner: str) -> None:
    """Delete the drafts of all parts of this owner: `owner/...`."""
    db.execute("DELETE FROM drafts WHERE owner LIKE ?", (f"{owner}/%",))


def drop_drafts(db: Connection, owner: str) -> int:
    """Delete the drafts of an owner, in the caller's transaction; returns how many."""
    return db.execute("DELETE FROM drafts WHERE owner = ?", (owner,)).rowcount
