"""A copy of a library in one file, for a backup or for another machine or server. It is written while the
library is in use, and has the state of one moment.

It is a zip. `library.json` has the version of the form and the settings of the index; `files.jsonl` has a
line for each file, whose bytes are `bytes/ID` and whose vectors `vectors/ID`: for each passage the hash of
its content, and its vector in float32; `conversations.jsonl` has a line for each conversation,
`feedback.jsonl` for each rating, `notes.jsonl` for each note, `prompts.jsonl` for each version of a prompt,
`evaluations.jsonl` for each row of the measurements. A copy has no keys and passwords.

`lectern.export.restore` reads it.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lectern.jobs.embedding_drafts import content_of
from lectern.jobs.index_versions import CHUNKING
from ragcore.errors import DamagedFileError, DamagedStoreError, StoreError
from ragcore.schema import new_id

if TYPE_CHECKING:
    from lectern.jobs.file_rows import FileRow
    from lectern.library import Library

SUFFIX = ".lectern"
FORM = 1
BATCH = 1000  # vectors in memory at a time
CONTENT_BYTES = 32  # of the hash of a passage's content


@dataclass(frozen=True, slots=True)
class Copied:
    """The numbers of items in a copy. `known`: files that were in the library already; `left_out`: rows that
    could not be read."""

    files: int
    conversations: int
    known: int = 0
    notes: int = 0
    prompts: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        """ "1 file and 2 conversations" """
        counts = {"file": self.files, "conversation": self.conversations}
        counts |= {"note": self.notes} if self.notes else {}
        counts |= {"prompt": self.prompts} if self.prompts else {}
        *first, last = [count(number, thing) for thing, number in counts.items()]
        return f"{', '.join(first)} and {last}"

    @property
    def taken_in(self) -> str:
        """The result of `read_copy` in one to three sentences."""
        text = f"{self} added."
        if self.known:
            were = "was" if self.known == 1 else "were"
            text += f" {count(self.known, 'file')} {were} already in your library."
        if self.left_out:
            text += f" {left_out_in_words(self.left_out)}"
        return text


def write_copy(
    library: Library, target: Path, on_progress: Callable[[float], None] = lambda fraction: None
) -> Copied:
    """Write the whole library into `target`, which only its owner may read. An existing file is replaced at
    the end.

    A file that is deleted meanwhile may be missing, and a replaced one may have its new version.
    `on_progress` is called with a fraction, 0 to 1; its exceptions end the work.
    """
    draft = target.with_name(f"{target.name}.{new_id()[:8]}.part")
    try:
        with (
            os.fdopen(
                os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "w+b"
            ) as file,
            zipfile.ZipFile(
                file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
            ) as copy,
        ):
            copied = _write_all(library, copy, on_progress)
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"The copy {target} cannot be written: {error.strerror or error}.",
            hint="Check that the folder exists and that its disk has space.",
        ) from error
    finally:
        with suppress(OSError):  # on a read-only disk it does not exist
            draft.unlink()
        with suppress(StoreError):  # of a read-only library
            library.store.reclaim()
    return copied


def _write_all(library: Library, copy: zipfile.ZipFile, on_progress: Callable[[float], None]) -> Copied:
    with library.database.snapshot():
        embedder, settings = library.embedder.name, library.rebuilds.current_settings()
        rows = [file for file in library.files.all() if file.path]
        files = []
        for number, file in enumerate(rows):
            on_progress(number / len(rows))
            with suppress(FileNotFoundError):  # it was deleted or replaced meanwhile
                _write_file(library, copy, file, embedder)
                files.append(file)
        tables = {
            "conversations": list(library.conversations.dump()),
            "feedback": list(library.feedback.dump()),
            "notes": list(library.notes.dump()),
            "groups": list(library.groups.dump()),
            "prompts": list(library.prompts.dump()),
            "evaluations": list(library.evaluations.dump()),
        }
    known = {file.id for file in files}
    later = [library.files.get(file.id) for file in rows if file.id not in known]
    for file in filter(None, later):
        _write_file(library, copy, file, embedder)
        files.append(file)
    _write_lines(
        copy, "files.jsonl", [{"id": file.id, "name": file.name, "origin": file.origin} for file in files]
    )
    for name, table in tables.items():
        _write_lines(copy, f"{name}.jsonl", table)
    passages = {name: getattr(settings, name) for name in CHUNKING}
    copy.writestr("library.json", json.dumps({"form": FORM, "embedder": embedder, "passages": passages}))
    return Copied(len(files), len(tables["conversations"]))


def _write_file(library: Library, copy: zipfile.ZipFile, file: FileRow, embedder: str) -> None:
    """Write the bytes of a file, and its vectors if they are of this embedder. FileNotFoundError."""
    try:
        path = library.files.location(file)
    except DamagedFileError:  # a damaged original is better than none
        path = library.files.storage.local(file.path)
    copy.write(path, f"bytes/{file.id}")
    if file.passages and library.embedder.name == embedder:
        with suppress(DamagedStoreError):  # `read_copy` lets them be computed again
            _write_vectors(library, copy, file, embedder)


def _write_vectors(library: Library, copy: zipfile.ZipFile, file: FileRow, embedder: str) -> None:
    ids = library.store.passage_ids(file.id)
    with copy.open(f"vectors/{file.id}", "w", force_zip64=True) as out:
        for start in range(0, len(ids), BATCH):
            for node in library.store.nodes(ids[start : start + BATCH]):
                if node.embedding is not None:
                    out.write(bytes.fromhex(content_of(embedder, node.text)))
                    out.write(node.embedding.astype("<f4").tobytes())


def _write_lines(copy: zipfile.ZipFile, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    with copy.open(name, "w", force_zip64=True) as out:
        for row in rows:
            out.write(json.dumps(row).encode() + b"\n")


def count(number: int, thing: str) -> str:
    """ "1 file", "1,200 files" """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def left_out_in_words(number: int) -> str:
    return f"Rows of the copy that could not be read: {number:,}."
