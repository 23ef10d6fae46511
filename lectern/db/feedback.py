"""Ratings of answers in the library's database: a thumb up or down, perhaps with a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lectern.db.tables import Tables
from ragcore.errors import InputError
from ragcore.sql.base import writable

WORD_CHARS = 1000  # Maximum length of a comment.

SCHEMA = """
CREATE TABLE IF NOT EXISTS feedback (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    good INTEGER NOT NULL,           -- 1: thumb up, 0: down
    word TEXT NOT NULL,
    given REAL NOT NULL              -- seconds since the epoch
);
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`word` is the comment."""

    good: bool
    word: str = ""


class Feedback(Tables):
    """The rating of each answer. It is deleted with its answer."""

    def give(self, message_id: str, verdict: Verdict) -> None:
        """Set the rating of an answer. InputError if the answer was deleted."""
        word = writable(verdict.word.strip()[:WORD_CHARS])
        with self._database.transaction() as db:
            if not db.execute("SELECT 1 FROM messages WHERE id = ?", (message_id,)).fetchone():
                raise InputError("This answer has been deleted.", hint="Your rating was not saved.")
            db.execute(
                "INSERT INTO feedback (message_id, good, word, given) VALUES (?, ?, ?, ?) ON CONFLICT "
                "(message_id)"
                " DO UPDATE SET good = excluded.good, word = excluded.word, given = excluded.given",
                (message_id, int(verdict.good), word, self._clock()),
            )

    def take_back(self, message_id: str) -> None:
        self._change("DELETE FROM feedback WHERE message_id = ?", message_id)

    def of(self, conversation_id: str) -> dict[str, Verdict]:
        """The ratings in a conversation, by the ids of the answers."""
        rows = self._read(
            "SELECT f.message_id, f.good, f.word FROM feedback f JOIN messages m ON m.id = f.message_id"
            " WHERE m.conversation_id = ?",
            conversation_id,
        )
        return {row["message_id"]: Verdict(bool(row["good"]), row["word"]) for row in rows}

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every rating, as plain values for `restore`."""
        for row in self._read("SELECT message_id, good, word, given FROM feedback ORDER BY message_id"):
            yield {name: row[name] for name in ("message_id", "good", "word", "given")}

    def restore(self, row: Mapping[str, Any]) -> None:
        """Add a rating of a copy, see `CopiedFeedback`, unless its answer has one, or does not exist."""
        self._change(
            "INSERT INTO feedback (message_id, good, word, given) SELECT id, ?, ?, ? FROM messages "
            "WHERE id = ? ON CONFLICT (message_id) DO NOTHING",
            int(row["good"]),
            row["word"],
            row["given"],
            row["message_id"],
        )
