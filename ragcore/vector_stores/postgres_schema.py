"""The tables of a store on a PostgreSQL server."""

from __future__ import annotations

from ragcore.vector_stores.bm25_index import SCHEMA as POSTINGS_SCHEMA

SCHEMA = (
    """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    terms TEXT NOT NULL,            -- which rules made the words of its keyword index
    dimension INTEGER,              -- NULL while there is no passage
    vectors TEXT,                   -- the table that has them
    passages INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS documents (
    seq INTEGER PRIMARY KEY,
    index_id INTEGER NOT NULL REFERENCES indexes (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    metadata TEXT NOT NULL,
    layout TEXT NOT NULL,           -- page_word, pages, hidden metadata keys and template
    characters INTEGER NOT NULL,
    added REAL NOT NULL,
    first_row INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    UNIQUE (index_id, id)
);
CREATE TABLE IF NOT EXISTS texts (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    block INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (document, block)
);
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    id TEXT NOT NULL,
    first_char INTEGER,
    end_char INTEGER,
    text BLOB,
    metadata TEXT,
    hidden TEXT,
    links TEXT,
    length REAL
);
CREATE INDEX IF NOT EXISTS passages_by_id ON passages (id);
CREATE INDEX IF NOT EXISTS passages_by_document ON passages (document);
"""
    + POSTINGS_SCHEMA
)
