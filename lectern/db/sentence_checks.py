"""The checked sentences of answers, in the library's database. They can be checked again, so a copy of the
library does not have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from lectern.db.stored_json import read_stored
from lectern.db.tables import Tables
from lectern.schema import parse_json
from ragcore.extractive.sentence_support import CheckedSentence
from ragcore.schema import content_hash

SCHEMA = """
CREATE TABLE IF NOT EXISTS sentence_checks (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    said TEXT NOT NULL,              -- hash of the text that was checked
    found TEXT NOT NULL              -- JSON: each sentence of it, see CheckedSentence
);
"""


class Checks(Tables):
    """The checked sentences of each answer. They are deleted with the answer."""

    def keep(self, message_id: str, answer: str, sentences: Sequence[CheckedSentence]) -> None:
        """Set the checked sentences of an answer, unless it was deleted meanwhile."""
        self._change(
            "INSERT INTO sentence_checks (said, found, message_id) SELECT ?, ?, id FROM messages WHERE id = ?"
            " ON CONFLICT (message_id) DO UPDATE SET said = excluded.said, found = excluded.found",
            content_hash(answer, {}),
            json.dumps([asdict(one) for one in sentences]),
            message_id,
        )

    def of(self, conversation_id: str) -> dict[str, list[CheckedSentence]]:
        """The checked sentences in a conversation, by the ids of the answers, except answers that changed
        since."""
        rows = self._read(
            "SELECT c.*, m.text FROM sentence_checks c JOIN messages m ON m.id = c.message_id WHERE "
            "m.conversation_id = ?",
            conversation_id,
        )
        checks = {}
        for row in rows:
            id_ = row["message_id"]
            sentences = read_stored(_parse_sentences, row["found"], None, row=f"checked sentences of {id_}")
            if sentences is not None and row["said"] == content_hash(row["text"], {}):
                checks[id_] = sentences
        return checks


def _parse_sentences(text: str) -> list[CheckedSentence]:
    return parse_json(list[CheckedSentence], text)
