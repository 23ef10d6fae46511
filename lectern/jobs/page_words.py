"""Positions of the words of recognised pages, with which a citation is highlighted in a scan or a
photograph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lectern.db.tables import Tables
from ragcore.readers.ocr.page_words import PageWords
from ragcore.sql.base import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS page_words (
    file_id TEXT NOT NULL,
    page_index INTEGER NOT NULL,
    words BLOB NOT NULL,             -- see PageWords.to_bytes
    PRIMARY KEY (file_id, page_index)
);
"""


class PageWordsTable(Tables):
    """The recognised pages of each file. A file of an old library has none."""

    def replace(self, file_id: str, pages: Mapping[int, PageWords]) -> None:
        """All pages of the file, by their index."""
        with self._database.transaction() as db:
            drop_page_words(db, file_id)
            db.executemany(
                "INSERT INTO page_words (file_id, page_index, words) VALUES (?, ?, ?)",
                [(file_id, index, words.to_bytes()) for index, words in pages.items()],
            )

    def of(self, file_id: str, page_indexes: Sequence[int]) -> dict[int, PageWords]:
        """The pages among these whose text was recognised."""
        marks = ", ".join("?" * len(page_indexes))
        query = f"SELECT page_index, words FROM page_words WHERE file_id = ? AND page_index IN ({marks})"
        rows = self._read(query, file_id, *page_indexes)
        return {row["page_index"]: PageWords.from_bytes(row["words"]) for row in rows}


def drop_page_words(db: Connection, file_id: str) -> None:
    """Delete the words of a file, in the caller's transaction."""
    db.execute("DELETE FROM page_words WHERE file_id = ?", (file_id,))
