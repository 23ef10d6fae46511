"""What a person thought of an answer: a thumb up or down, with a few words where they gave some. In the library's database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragcore.errors import InputError
from ragcore.sql.base import Database, writable

WORD_CHARS = 1000  # of what is said beside a thumb

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
    """`word`: why, where the person said so."""

    good: bool
    word: str = ""


class Feedback:
    """Of the answers in the conversations of the same database; it goes when its answer is deleted."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def give(self, message_id: str, verdict: Verdict) -> None:
        """In the place of any earlier one. InputError when the answer was deleted."""
        word = writable(verdict.word.strip()[:WORD_CHARS])
        with self._database.transaction() as db:
            if not db.execute("SELECT 1 FROM messages WHERE id = ?", (message_id,)).fetchone():
                raise InputError("This answer has been deleted.", hint="Your rating was not saved.")
            db.execute(
                "INSERT INTO feedback (message_id, good, word, given) VALUES (?, ?, ?, ?) ON CONFLICT (message_id)"
                " DO UPDATE SET good = excluded.good, word = excluded.word, given = excluded.given",
                (message_id, int(verdict.good), word, self._clock()),
            )

    def take_back(self, message_id: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM feedback WHERE message_id = ?", (message_id,))

    def of(self, conversation_id: str) -> dict[str, Verdict]:
        """By the ids of the answers; those without one are left out."""
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT f.message_id, f.good, f.word FROM feedback f JOIN messages m ON m.id = f.message_id"
                " WHERE m.conversation_id = ?",
                (conversation_id,),
            ).fetchall()
        return {row["message_id"]: Verdict(bool(row["good"]), row["word"]) for row in rows}

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every verdict, as plain values for `restore`."""
        with self._database.snapshot() as db:
            rows = db.execute("SELECT message_id, good, word, given FROM feedback ORDER BY message_id").fetchall()
        for row in rows:
            yield {name: row[name] for name in ("message_id", "good", "word", "given")}

    def restore(self, dumped: Mapping[str, Any]) -> None:
        """Add a verdict whose answer is here, unless there is one."""
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO feedback (message_id, good, word, given) SELECT id, ?, ?, ? FROM messages WHERE id = ?"
                " ON CONFLICT (message_id) DO NOTHING",
                (int(dumped["good"]), str(dumped["word"]), float(dumped["given"]), dumped["message_id"]),
            )
