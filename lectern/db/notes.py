"""Notes: answers and quotes that a person saves. A note has its own text and its own copies of the cited
passages, so it stays when its conversation or documents are deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lectern.db.stored_json import parse_sources, read_stored, renew_file_ids, stored_moment
from lectern.db.tables import Tables
from lectern.schema import Source
from ragcore.errors import InputError
from ragcore.sql.base import writable

TEXT_CHARS = 100_000  # Maximum length of a note.

SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
    id TEXT PRIMARY KEY,
    question TEXT NOT NULL,          -- empty for a quote
    text TEXT NOT NULL,              -- Markdown
    sources TEXT NOT NULL,           -- JSON list of Source
    created REAL NOT NULL,           -- seconds since the epoch
    edited REAL                      -- NULL: never
);
"""

_COLUMNS = ("id", "question", "text", "sources", "created", "edited")
_INSERT = (
    "INSERT INTO notes (id, question, text, sources, created, edited) VALUES (?, ?, ?, ?, ?, ?) ON "
    "CONFLICT DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class Note:
    """[n] in `text` cites the source of that number."""

    id: str
    question: str
    text: str
    sources: tuple[Source, ...]
    created: float
    edited: float | None = None


class Notes(Tables):
    def keep(self, text: str, sources: Sequence[Source], *, question: str = "") -> bool:
        """Add a note; False if the same one exists, edited or not."""
        text, question = writable(text.strip()), writable(question.strip())
        same = json.dumps(
            [text, question, [(source.file_id, source.start, source.end) for source in sources]]
        )
        id_ = hashlib.sha256(same.encode()).hexdigest()[:16]
        return self.put_back(Note(id_, question, text, tuple(sources), self._clock()))

    def all(self, search: str = "") -> list[Note]:
        """Newest first; with `search`, notes with all its words in the question, the text or the name of a
        source."""
        words = search.casefold().split()
        notes = map(_note, self._read("SELECT * FROM notes ORDER BY created DESC, id"))
        return [note for note in notes if _has_words(note, words)]

    def get(self, note_id: str) -> Note | None:
        row = self._read_one("SELECT * FROM notes WHERE id = ?", note_id)
        return _note(row) if row else None

    def __len__(self) -> int:
        return int(self._read_one("SELECT count(*) FROM notes")[0])

    def edit(self, note_id: str, text: str) -> None:
        """InputError for an empty text, or if the note was deleted."""
        text = writable(text.strip()[:TEXT_CHARS])
        if not text:
            raise InputError("A note cannot be empty.", hint="Delete the note if you no longer want it.")
        if not self._change(
            "UPDATE notes SET text = ?, edited = ? WHERE id = ?", text, self._clock(), note_id
        ):
            raise InputError("This note has been deleted.", hint="Your changes were not saved.")

    def delete(self, note_id: str) -> None:
        self._change("DELETE FROM notes WHERE id = ?", note_id)

    def put_back(self, note: Note) -> bool:
        """Undo a deletion; False if the note exists."""
        sources = json.dumps([asdict(source) for source in note.sources])
        return (
            self._change(_INSERT, note.id, note.question, note.text, sources, note.created, note.edited) > 0
        )

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every note, as plain values for `restore`."""
        for row in self._read("SELECT * FROM notes ORDER BY created, id"):
            yield {name: row[name] for name in _COLUMNS}

    def restore(self, row: Mapping[str, Any], file_ids: Mapping[str, str]) -> bool:
        """Add a note of a copy, see `CopiedNote`; False if it exists. `file_ids`: the new ids of the cited
        files."""
        sources = renew_file_ids(parse_sources(row["sources"]), file_ids)
        note = Note(row["id"], row["question"], row["text"], sources, row["created"], row["edited"])
        return self.put_back(note)


def _note(row: Mapping[str, Any]) -> Note:
    sources = read_stored(parse_sources, row["sources"], (), row=f"sources of note {row['id']}")
    edited = None if row["edited"] is None else stored_moment(row["edited"])
    return Note(row["id"], row["question"], row["text"], sources, stored_moment(row["created"]), edited)


def _has_words(note: Note, words: Sequence[str]) -> bool:
    text = "\n".join([note.question, note.text, *(source.file_name for source in note.sources)]).casefold()
    return all(word in text for word in words)
