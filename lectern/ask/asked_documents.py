"""The documents of a question: those that can answer, and those that are still being read."""

from __future__ import annotations

from lectern.jobs.file_rows import FileRow
from lectern.jobs.files import Files
from lectern.schema import Ask


def count_unread(files: Files, ask: Ask) -> int:
    """The number of selected documents that are still being read."""
    if ask.without_documents:
        return 0
    ids = {file_id for file_id, _added in files.versions(active=True)}
    return len(ids if ask.file_ids is None else ids.intersection(ask.file_ids))


def asked_files(files: Files, ask: Ask) -> list[FileRow]:
    """The selected documents that can answer, in alphabetical order."""
    chosen = [
        file for file in files.all() if file.ready and (ask.file_ids is None or file.id in ask.file_ids)
    ]
    return sorted(chosen, key=lambda file: (file.name.casefold(), file.id))


def list_asked(files: Files, ask: Ask) -> dict[str, str]:
    """The names of the selected documents that can answer, by id, in alphabetical order."""
    return {file.id: file.name for file in asked_files(files, ask)}
