"""Reports of added files on the terminal: in words for people, and as JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lectern.jobs.file_rows import FileRow
    from lectern.jobs.files import Added
    from ragcore.errors import Problem, RagError


def added_in_words(added: Added) -> str:
    """Whether a new file is a duplicate, replaces a file, or got another name; "" for neither."""
    name, file = added.given, added.file
    if added.outcome == "duplicate":
        return f"{name} is already in the library{'' if name == file.name else f', as {file.name}'}."
    if added.outcome == "replaced":
        return f"{file.name} takes the place of the version that was there."
    return "" if name == file.name else f"{name} is taken in as {file.name}, as there is another file of its name."


def file_in_words(file: FileRow) -> str:
    """One line, and a second one with the first problem, if any."""
    passages = "1 passage" if file.passages == 1 else f"{file.passages:,} passages"
    lines = []
    if file.ready:
        lines.append(f"{file.name} is ready: {passages}.")
    elif file.problem is None:
        lines.append(f"{file.name} was stopped.")
    if file.problem is not None:
        more = len(file.left_out) - 1
        lines.append(
            f"{file.problem.what} {file.problem.hint}{f' And {more} more: see Details, or --json.' if more > 0 else ''}"
        )
    return "\n".join(lines)


def file_as_json(file: FileRow) -> str:
    """One line. `left_out` has a sentence for each part of the file that was not read."""
    if file.problem is not None and file.problem.nothing_new:  # a folder or an archive
        return added_as_json(file.name, "passed over", left_out=[file.problem.what])
    left_out = [problem.what for problem in file.left_out]
    error = None if file.ready else file.problem
    return added_as_json(file.name, file.stage.value, passages=file.passages, left_out=left_out, error=error)


def added_as_json(
    name: str,
    state: str,
    *,
    passages: int = 0,
    left_out: list[str] | None = None,
    error: Problem | RagError | None = None,
    same_as: str = "",
) -> str:
    """One line with the file's name, its state ("ready", "failed", "stopped", "passed over" or "duplicate") and its result; for
    a duplicate also the name of the file with the same content."""
    problem = f"{error.what} {error.hint}".strip() if error is not None else None
    entry = {"file": name, "state": state, "passages": passages, "left_out": left_out or [], "error": problem}
    return json.dumps({**entry, "same_as": same_as} if same_as else entry, ensure_ascii=False)
