"""Adds a copy of a library (`lectern.export.backup`) to a library.

A copy may come from a stranger. It is read in the confined process that reads documents, which checks each
row, and nothing is added before all of it was read. Then the files are added like others, but vectors of the
same embedder are not computed again, and all other rows in one transaction. Prompts decide what a language
model is told, so they are added only on request. An empty library also takes over how the documents are cut.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from lectern.db.copied_rows import check_row
from lectern.db.earlier_replies import update_copied_row
from lectern.export.backup import CONTENT_BYTES, Copied, count
from lectern.jobs.copy_contents import EVALUATIONS, ROW_BYTES, ROWS
from lectern.jobs.embedding_drafts import Drafts
from lectern.jobs.files import too_large
from lectern.jobs.index_versions import CHUNKING
from lectern.jobs.reader_process import crash_error
from lectern.jobs.sandbox import CopyContents, read_copy_isolated
from lectern.library import Library
from lectern.settings import IngestSettings
from ragcore.errors import (
    DamagedFileError,
    InputError,
    RagError,
    UnknownDocumentError,
    UnsafeArchiveError,
)
from ragcore.readers.base import ReadOptions
from ragcore.schema import new_id

logger = logging.getLogger(__name__)

BATCH = 1000  # vectors in memory at a time
MAX_VECTOR = 1e6  # absolute value of a number in a vector
_INVALID = (ValueError, TypeError, KeyError, OSError)


@dataclass(frozen=True, slots=True)
class CopySummary:
    """What a copy contains. `bytes` of its files; `prompts`: versions of edited prompts; `left_out`: rows
    that cannot be read. `chunking`: it has settings for passages, which an empty library takes over."""

    files: int
    bytes: int
    conversations: int
    notes: int
    prompts: int
    question_sets: int
    chunking: bool
    left_out: int

    def __str__(self) -> str:
        """ "1 file (0.2 MB), 2 conversations, 1 note" """
        parts = [f"{count(self.files, 'file')} ({self.bytes / 1e6:,.1f} MB)"]
        parts.append(count(self.conversations, "conversation"))
        parts.append(count(self.notes, "note"))
        if self.question_sets:
            parts.append(count(self.question_sets, "question set"))
        if self.prompts:
            parts.append(count(self.prompts, "edited prompt"))
        return ", ".join(parts)


def inspect_copy(library: Library, source: Path, *, name: str = "") -> CopySummary:
    """What the copy `source` contains. Nothing is added. Errors as of `read_copy`."""
    with _unpack(library, source, name or source.name, with_files=False) as (contents, _folder):
        counts = contents.counts
        return CopySummary(
            counts.get("files", 0),
            contents.bytes,
            counts.get("conversations", 0),
            counts.get("notes", 0),
            counts.get("prompts", 0),
            counts.get("question_sets", 0),
            contents.passages is not None,
            contents.left_out,
        )


def read_copy(
    library: Library,
    source: Path,
    *,
    name: str = "",
    prompts: bool = False,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Copied:
    """Add the contents of the copy `source` to the library; its worker reads the files. Errors name the copy
    `name`. `prompts`: also the edited prompts, where the library has no edited one.

    Nothing is replaced: a file with the same bytes is known, and one with the same name gets another name. A
    file has its origin, unless another file has it. A file that is too large becomes a failed row. After an
    error nothing of the copy is in the library. `on_progress` as for `write_copy`. UnreadableFileError,
    DamagedFileError, UnsafeArchiveError, TooLargeError, StoreError.
    """
    name = name or source.name
    on_progress(0.0)

    def report_unpacking(fraction: float) -> None:
        on_progress(fraction / 2)

    with _unpack(library, source, name, with_files=True, on_progress=report_unpacking) as (contents, folder):
        restoring = _Restoring(library, contents, folder, name)
        try:
            return restoring.add(prompts, lambda fraction: on_progress((1 + fraction) / 2))
        except BaseException:  # also an interruption: no part of a copy stays
            restoring.undo()
            raise


@contextmanager
def _unpack(
    library: Library,
    source: Path,
    name: str,
    *,
    with_files: bool,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Iterator[tuple[CopyContents, Path]]:
    """The contents of the copy, and the folder with its rows and files."""
    ingest = library.settings.ingest
    folder = library.incoming / f"{new_id()}.copy"
    options = ReadOptions(name, progress=lambda done, total: on_progress(done / max(total, 1)))
    try:
        contents = read_copy_isolated(
            source,
            folder,
            options,
            with_files=with_files,
            max_file_mb=ingest.max_file_mb,
            timeout=ingest.read_timeout,
            memory_mb=ingest.read_memory_mb,
            scratch=library.files.storage.scratch(),
        )
        _chunking(library, contents, name)
        yield contents, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _chunking(library: Library, contents: CopyContents, name: str) -> IngestSettings | None:
    """The library's settings with the chunking of the copy; None if it has none."""
    if contents.passages is None:
        return None
    changes = {name: contents.passages[name] for name in CHUNKING if name in contents.passages}
    try:
        ingest = IngestSettings.model_validate(library.settings.ingest.model_dump() | changes)
        if len(changes) < len(CHUNKING) or ingest.chunk_overlap >= ingest.chunk_size:
            raise ValueError(changes)
    except ValueError as error:
        raise DamagedFileError(
            f"{name} is not a complete copy of a library.",
            hint="Make the copy again. Nothing was added from this one.",
        ) from error
    return ingest


class _Restoring:
    """Adds the unpacked contents of one copy."""

    def __init__(self, library: Library, contents: CopyContents, folder: Path, name: str) -> None:
        self._library = library
        self._contents = contents
        self._folder = folder
        self._name = name
        self._settings = library.settings
        self._embed_model = library.store.versions.current().embed_model
        self._file_ids: dict[str, str] = {}  # new ids of the files, by old id
        self._added: list[str] = []  # ids of the new rows of files
        self._known = 0
        self._took_over = False

    def add(self, prompts: bool, on_progress: Callable[[float], None]) -> Copied:
        library = self._library
        self._take_over_settings()
        number = max(self._contents.counts.get("files", 0), 1)
        for done, row in enumerate(self._rows("files")):
            on_progress(min(done / number, 1.0))
            self._add_file(row)
        with library.database.transaction():
            conversations, lost = self._add_conversations()
            for row in self._rows("feedback"):
                library.feedback.restore(row)
            notes = sum(library.notes.restore(row, self._file_ids) for row in self._rows("notes"))
            for row in self._rows("groups"):
                library.groups.restore(row, self._file_ids)
            edited = library.prompts.load(self._rows("prompts")) if prompts else 0
            library.evaluations.load(self._rows(*EVALUATIONS))
        files = len(self._file_ids) - self._known
        left_out = self._contents.left_out + lost
        return Copied(files, conversations, self._known, notes, edited, left_out)

    def undo(self) -> None:
        """Delete the files that were added, and restore the settings."""
        library = self._library
        try:
            for file_id in self._added:
                with suppress(UnknownDocumentError):  # deleted meanwhile
                    library.delete_file(file_id)
            if self._took_over:
                library.update_settings(self._settings)
                library.store.choose(self._embed_model)
        except RagError:
            logger.exception("files of a copy that could not be added stay in the library")

    def _take_over_settings(self) -> None:
        """An empty library takes over how the documents of the copy are cut, and a built-in embedder."""
        library = self._library
        ingest = _chunking(library, self._contents, self._name)
        if ingest is None or len(library.store) or any(file.path for file in library.files.all()):
            return
        self._took_over = True
        library.update_settings(self._settings.model_copy(update={"ingest": ingest}))
        library.suit_copy(self._contents.embedder)

    def _rows(self, *tables: str) -> Iterator[dict[str, Any]]:
        """The rows of these tables, each with its table. DamagedFileError if the reader wrote others."""
        path = self._folder / ROWS
        beginnings = tuple(json.dumps([table])[:-1].encode() + b"," for table in tables)
        try:
            if path.is_symlink():
                raise ValueError(f"{path} leads elsewhere")
            with path.open("rb") as file:
                while line := file.readline(ROW_BYTES + 1):
                    if line.startswith(beginnings):
                        table, row = from_json(line)
                        yield {"table": table, **update_copied_row(table, check_row(table, row))}
        except _INVALID as error:
            raise crash_error(self._name) from error

    def _add_file(self, row: Mapping[str, Any]) -> None:
        library, id_, name = self._library, row["id"], row["name"]
        path, target = self._folder / f"bytes-{id_}", library.incoming / f"{new_id()}.part"
        try:
            if path.is_symlink() or not path.is_file():
                limit = library.settings.ingest.max_file_mb
                raise too_large(name, row["size"], limit) or UnsafeArchiveError(
                    f"{name} was not unpacked: it is many times larger than in the copy.",
                    hint="If you trust it, add the file itself.",
                )
            path.replace(target)
            added = library.intake.add(target, name, origin=row["origin"], keep_both=True)
        except InputError as error:
            self._added.append(library.files.refuse(name, row["size"], error).id)
            return
        finally:
            target.unlink(missing_ok=True)
        self._file_ids[id_] = added.file.id
        if added.outcome == "duplicate":
            self._known += 1
            return
        self._added.append(added.file.id)
        if self._contents.embedder == library.embedder.name:  # in time, because the worker must read it first
            self._store_vectors(self._folder / f"vectors-{id_}", added.file.id)

    def _store_vectors(self, path: Path, file_id: str) -> None:
        """Store the vectors of a file as drafts, up to the first invalid one."""
        import numpy as np

        database, files = self._library.database, self._library.files
        drafts, size = Drafts(database), CONTENT_BYTES + 4 * self._library.embedder.dimension
        if path.is_symlink() or not path.is_file():
            return
        with path.open("rb") as packed:
            while len(data := packed.read(BATCH * size)) >= size:
                rows = [data[start : start + size] for start in range(0, len(data) - size + 1, size)]
                vectors = {
                    row[:CONTENT_BYTES].hex(): np.frombuffer(row[CONTENT_BYTES:], "<f4") for row in rows
                }
                if not all(np.abs(vector).max(initial=0.0) <= MAX_VECTOR for vector in vectors.values()):
                    return  # the worker computes them
                with database.transaction():
                    file = files.get(file_id)
                    # the worker was faster, or the file was deleted meanwhile
                    if file is None or not file.active:
                        return
                    drafts.keep(file_id, vectors)

    def _add_conversations(self) -> tuple[int, int]:
        """The number of new conversations, and of rows that could not be added."""
        conversations = self._library.conversations
        new: set[str] = set()
        lost = 0
        for row in self._rows("conversations", "messages"):
            if row["table"] == "messages":
                if row["conversation_id"] in new:
                    lost += not conversations.restore_message(row, self._file_ids)
                continue
            chat, dot, _mode = row["id"].partition(".")
            if dot and chat not in new and conversations.get(chat) is not None:
                lost += conversations.get(row["id"]) is None  # a replay of a chat that was there before
            elif conversations.restore(row):
                new.add(row["id"])
        return len(new), lost
