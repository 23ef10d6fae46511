"""Notes: answers and quotes that a person keeps. A note has its own text and its own copies of the cited passages, so it
outlives the conversation and the documents that it comes from."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lectern.schema import Source
from ragcore.errors import InputError
from ragcore.sql.base import Database, writable

TEXT_CHARS = 100_000  # the longest text that can be typed into a note

SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
    id TEXT PRIMARY KEY,
    question TEXT NOT NULL,          -- what was asked; empty for a quote
    text TEXT NOT NULL,              -- Markdown
    sources TEXT NOT NULL,           -- JSON list of Source
    created REAL NOT NULL,           -- seconds since the epoch
    edited REAL                      -- NULL: the text is as it was kept
);
"""

_COLUMNS = ("id", "question", "text", "sources", "created", "edited")
_INSERT = "INSERT INTO notes (id, question, text, sources, created, edited) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class Note:
    """[n] in `text` cites the source of that number."""

    id: str
    question: str
    text: str
    sources: tuple[Source, ...]
    created: float
    edited: float | None = None


class Notes:
    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def keep(self, text: str, sources: Sequence[Source], *, question: str = "") -> bool:
        """Add a note; False when the same is there already, edited or not."""
        text, question = writable(text.strip()), writable(question.strip())
        listed = json.dumps([asdict(source) for source in sources])
        same = json.dumps([text, question, [(source.file_id, source.start, source.end) for source in sources]])
        id_ = hashlib.sha256(same.encode()).hexdigest()[:16]
        with self._database.transaction() as db:
            return db.execute(_INSERT, (id_, question, text, listed, self._clock(), None)).rowcount > 0

    def all(self, search: str = "") -> list[Note]:
        """Newest first; with `search`, those that have all its words in the question, the text or the name of a source."""
        with self._database.snapshot() as db:
            rows = db.execute("SELECT * FROM notes ORDER BY created DESC, id").fetchall()
        words = search.casefold().split()
        return [note for note in map(_note, rows) if all(word in _searched(note) for word in words)]

    def get(self, note_id: str) -> Note | None:
        with self._database.snapshot() as db:
            row = db.execute("SELECT * FROM notes WHERE id = ?", (note_id,)).fetchone()
        return _note(row) if row else None

    def __len__(self) -> int:
        with self._database.snapshot() as db:
            return int(db.execute("SELECT count(*) FROM notes").fetchone()[0])

    def edit(self, note_id: str, text: str) -> None:
        """InputError for a text without words, and when the note was deleted."""
        text = writable(text.strip()[:TEXT_CHARS])
        if not text:
            raise InputError("A note cannot be empty.", hint="Delete the note if you no longer want it.")
        with self._database.transaction() as db:
            changed = db.execute("UPDATE notes SET text = ?, edited = ? WHERE id = ?", (text, self._clock(), note_id)).rowcount
        if not changed:
            raise InputError("This note has been deleted.", hint="Your changes were not saved.")

    def delete(self, note_id: str) -> None:
        with self._database.transaction() as db:
            db.execute("DELETE FROM notes WHERE id = ?", (note_id,))

    def put_back(self, note: Note) -> None:
        """Undo a deletion."""
        listed = json.dumps([asdict(source) for source in note.sources])
        with self._database.transaction() as db:
            db.execute(_INSERT, (note.id, note.question, note.text, listed, note.created, note.edited))

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every note, as plain values for `restore`."""
        with self._database.snapshot() as db:
            rows = db.execute("SELECT * FROM notes ORDER BY created, id").fetchall()
        for row in rows:
            yield {name: row[name] for name in _COLUMNS}

    def restore(self, dumped: Mapping[str, Any], file_ids: Mapping[str, str]) -> None:
        """Add a note, unless it is there. `file_ids`: what the files that it cites are called here."""
        sources = [
            Source(**source | {"file_id": file_ids.get(source["file_id"], source["file_id"])})
            for source in json.loads(dumped["sources"])
        ]
        edited = dumped["edited"]
        self.put_back(
            Note(
                str(dumped["id"]),
                str(dumped["question"]),
                str(dumped["text"]),
                tuple(sources),
                float(dumped["created"]),
                None if edited is None else float(edited),
            )
        )


def _note(row: Mapping[str, Any]) -> Note:
    sources = tuple(Source(**source) for source in json.loads(row["sources"]))
    return Note(row["id"], row["question"], row["text"], sources, row["created"], row["edited"])


def _searched(note: Note) -> str:
    return "\n".join([note.question, note.text, *(source.file_name for source in note.sources)]).casefold()
