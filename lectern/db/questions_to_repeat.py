"""Questions that are asked again once a new version of the index is complete, in the library's database.

They wait for a rebuild, so a copy of the library does not have them.
"""

from __future__ import annotations

from lectern.db.tables import Tables

SCHEMA = """
CREATE TABLE IF NOT EXISTS questions_to_repeat (
    message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    index_name TEXT NOT NULL         -- of the version that is waited for, see IndexVersions
);
"""


class QuestionsToRepeat(Tables):
    """Which answers are to be given again from which version of the index. They are deleted with the
    answer."""

    def add(self, message_id: str, question: str, index_name: str) -> None:
        """Nothing happens if the answer was deleted meanwhile."""
        self._change(
            "INSERT INTO questions_to_repeat (message_id, question, index_name) SELECT id, ?, ? FROM messages"
            " WHERE id = ? ON CONFLICT (message_id) DO UPDATE SET question = excluded.question, index_name ="
            " excluded.index_name",
            question,
            index_name,
            message_id,
        )

    def index_awaited(self, message_id: str, question: str) -> str:
        """The name of the version for which this answer waits; "" for none, and if the answer is to another
        question now."""
        row = self._read_one(
            "SELECT index_name FROM questions_to_repeat WHERE message_id = ? AND question = ?",
            message_id,
            question,
        )
        return str(row["index_name"]) if row else ""

    def take(self, message_id: str) -> bool:
        """Forget the wait of this answer. True for only one of several callers."""
        return self._change("DELETE FROM questions_to_repeat WHERE message_id = ?", message_id) == 1
