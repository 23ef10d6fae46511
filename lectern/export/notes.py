"""Notes as one file, with their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lectern.db.notes import Note
from lectern.export.markdown import listed_sources, plain_markdown, safe_markdown
from lectern.schema import Source


def notes_markdown(
    notes: Sequence[Note], *, title: str, passages: str, place: Callable[[Source], str]
) -> str:
    """`title` of the file, `passages` above the sources of a note, and `place` of a source, all in one
    language."""
    parts = [f"# {plain_markdown(title)}"]
    for number, note in enumerate(notes):
        if note.question:
            parts.append(f"## {plain_markdown(note.question)}")
        elif number:
            parts.append("---")
        parts += [safe_markdown(note.text), listed_sources(passages, note.sources, place, note.text)]
    return "\n\n".join(filter(None, parts)) + "\n"
