"""The tables of a store on a PostgreSQL server."""

from __future__ import annotations

from ragcore.vector_stores.bm25_index import SCHEMA as POSTINGS_SCHEMA
from ragcore.vector_stores.sql_rows import TEXTS_AND_PASSAGES

SCHEMA = (
    """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    terms TEXT NOT NULL,            -- the version of the rules for the words of its keyword index
    dimension INTEGER,              -- NULL while there is no passage
    vectors TEXT,                   -- the name of their table
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
    content INTEGER,                -- CRC-32 of what is read of it; NULL in earlier versions
    UNIQUE (index_id, id)
);
"""
    + TEXTS_AND_PASSAGES
    + POSTINGS_SCHEMA
)
