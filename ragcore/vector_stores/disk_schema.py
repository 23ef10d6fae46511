"""The tables of a store on disk, and the row of an index in them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ragcore.vector_stores.sql_store import IndexRow

TABLES = """
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    terms TEXT NOT NULL,            -- which rules made the words of its keyword index
    stamp INTEGER NOT NULL,         -- another one after every change
    dimension INTEGER,              -- NULL while there is no passage
    file TEXT,                      -- of the vectors, in the vectors' folder
    slots INTEGER NOT NULL DEFAULT 0,    -- rows of the file that are committed, gaps included
    passages INTEGER NOT NULL DEFAULT 0, -- of them in use
    signs INTEGER NOT NULL DEFAULT 0     -- rows whose signs stand in the file beside
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
    layout TEXT NOT NULL,           -- page_word, pages, hidden metadata keys and template; how its text is kept
    characters INTEGER NOT NULL,
    added REAL NOT NULL,
    first_row INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    checksum INTEGER,               -- of its vectors: CRC-32 of their bytes; NULL in a library of an earlier version
    damaged INTEGER NOT NULL DEFAULT 0,  -- 1: its vectors are not what was written, and wait to be replaced
    UNIQUE (index_id, id)
);
CREATE INDEX IF NOT EXISTS documents_by_slot ON documents (index_id, first_slot);
CREATE INDEX IF NOT EXISTS documents_damaged ON documents (index_id, damaged) WHERE damaged = 1;
CREATE TABLE IF NOT EXISTS texts (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    block INTEGER NOT NULL,         -- which of the document's, in order; its layout says of how many characters
    data BLOB NOT NULL,             -- compressed unless the layout says otherwise
    PRIMARY KEY (document, block)
);
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    id TEXT NOT NULL,
    first_char INTEGER,
    end_char INTEGER,
    text BLOB,                      -- NULL: the document's characters [first_char, end_char)
    metadata TEXT,                  -- NULL: the document's
    hidden TEXT,                    -- NULL: the document's hidden metadata keys and template
    links TEXT,                     -- NULL: the passages before and after it in the document
    length REAL                     -- that its embedding had; NULL: 1
);
CREATE INDEX IF NOT EXISTS passages_by_id ON passages (id);
CREATE INDEX IF NOT EXISTS passages_by_document ON passages (document);
"""


@dataclass(frozen=True, slots=True)
class DiskIndex(IndexRow):
    stamp: int
    file: str | None
    slots: int
    signs: int


def new_stamp() -> int:
    # Not a counter: a change that is rolled back must not share its stamp with the one that comes next.
    return secrets.randbits(62)
