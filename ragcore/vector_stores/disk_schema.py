"""The tables of a store on disk, and the row of an index in them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ragcore.vector_stores.sql_rows import TEXTS_AND_PASSAGES
from ragcore.vector_stores.sql_store import IndexRow

TABLES = (
    """
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    terms TEXT NOT NULL,            -- the version of the rules for the words of its keyword index
    stamp INTEGER NOT NULL,         -- changes with every write
    dimension INTEGER,              -- NULL while there is no passage
    file TEXT,                      -- with its vectors, in the folder of vectors
    slots INTEGER NOT NULL DEFAULT 0,    -- committed rows of the file, including gaps
    passages INTEGER NOT NULL DEFAULT 0, -- slots in use
    signs INTEGER NOT NULL DEFAULT 0     -- rows with signs
);
CREATE TABLE IF NOT EXISTS gaps (
    index_id INTEGER NOT NULL REFERENCES indexes (id),
    first_slot INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    PRIMARY KEY (index_id, first_slot)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    seq INTEGER PRIMARY KEY,
    index_id INTEGER NOT NULL REFERENCES indexes (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    metadata TEXT NOT NULL,
    layout TEXT NOT NULL,           -- page_word, pages, hidden metadata keys, template, size of text blocks
    characters INTEGER NOT NULL,
    added REAL NOT NULL,
    first_row INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    checksum INTEGER,               -- CRC-32 of the bytes of its vectors; NULL in earlier versions
    damaged INTEGER NOT NULL DEFAULT 0,  -- 1: its vectors have changed on the disk, and must be replaced
    content INTEGER,                -- CRC-32 of what is read of it; NULL in earlier versions
    UNIQUE (index_id, id)
);
CREATE INDEX IF NOT EXISTS documents_by_slot ON documents (index_id, first_slot);
CREATE INDEX IF NOT EXISTS documents_damaged ON documents (index_id, damaged) WHERE damaged = 1;
"""
    + TEXTS_AND_PASSAGES
)


@dataclass(frozen=True, slots=True)
class DiskIndex(IndexRow):
    stamp: int
    file: str | None
    slots: int
    signs: int


def new_stamp() -> int:
    # Random and not a counter: a change that is rolled back must not have the stamp of the next one.
    return secrets.randbits(62)
