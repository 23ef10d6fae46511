"""What the check of sentences found about an answer, kept with it in the library's database. Made anew where it is lost, so a
copy of the library leaves it out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.schema import content_hash
from ragcore.sql.base import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS sentence_checks (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    said TEXT NOT NULL,              -- hash of the text that was checked
    found TEXT NOT NULL              -- JSON: each sentence of it, see CheckedSentence
);
"""


class Checks:
    """Of the answers in the conversations of the same database; they go when the answer is deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, message_id: str, answer: str, found: Sequence[CheckedSentence]) -> None:
        """In the place of any earlier one; nothing where the answer was deleted meanwhile."""
        row = (content_hash(answer, {}), json.dumps([asdict(one) for one in found]), message_id)
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO sentence_checks (said, found, message_id) SELECT ?, ?, id FROM messages WHERE id = ?"
                " ON CONFLICT (message_id) DO UPDATE SET said = excluded.said, found = excluded.found",
                row,
            )

    def of(self, conversation_id: str) -> dict[str, list[CheckedSentence]]:
        """By the ids of the answers. One whose text has changed since is left out, as is one that was never checked."""
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT c.message_id, c.said, c.found, m.text FROM sentence_checks c JOIN messages m ON m.id = c.message_id"
                " WHERE m.conversation_id = ?",
                (conversation_id,),
            ).fetchall()
        return {
            row["message_id"]: [CheckedSentence(**one) for one in json.loads(row["found"])]
            for row in rows
            if row["said"] == content_hash(row["text"], {})
        }
