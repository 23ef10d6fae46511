"""A library in one file: a copy to keep, or to take to another machine, or from a folder to a server. It is made while the
library is in use, and holds what there was at one moment.

It is a zip. `library.json` says which form it has, and how files became passages; `files.jsonl` has a line for each file,
whose bytes are `bytes/ID` and whose vectors `vectors/ID`: for each passage the name of its content, and the float32 numbers of
its vector; `conversations.jsonl` has a line for each conversation, `feedback.jsonl` for each thumb under an answer,
`notes.jsonl` for each note, `prompts.jsonl` for each version of a prompt, `evaluations.jsonl` for each row of what was
measured. Keys and passwords are left out.

Files taken from a copy go the way of any others, only that nothing is embedded again that was embedded there, by the same
embedder: an empty library cuts its passages from then on as they were cut there, another one goes on in its own way.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lectern.jobs.embedding_drafts import Drafts, content_of
from lectern.jobs.files import too_large
from lectern.jobs.sources import Gathered
from lectern.settings import IngestSettings
from ragcore.errors import DamagedFileError, DamagedStoreError, StoreError, UnreadableFileError
from ragcore.schema import new_id

if TYPE_CHECKING:
    from lectern.jobs.file_rows import FileRow
    from lectern.library import Library

SUFFIX = ".lectern"
FORM = 1
BATCH = 1000  # vectors in memory at a time
CONTENT_BYTES = 32  # of the name of a passage's content
PASSAGES = ("chunk_size", "chunk_overlap", "splitter")  # the settings that say how a file is cut


@dataclass(frozen=True, slots=True)
class Copied:
    """What went into a copy or came out of one. `known`: files that were in the library already."""

    files: int
    conversations: int
    known: int = 0

    def __str__(self) -> str:
        """ "1 file and 2 conversations" """
        return f"{_counted(self.files, 'file')} and {_counted(self.conversations, 'conversation')}"

    @property
    def taken_in(self) -> str:
        """What became of a copy that was read, as a sentence or two."""
        already = f" {_counted(self.known, 'file')} {'was' if self.known == 1 else 'were'} already in your library."
        return f"{self} added." + (already if self.known else "")


def _untold(fraction: float) -> None:
    pass


def write_copy(library: Library, target: Path, told: Callable[[float], None] = _untold) -> Copied:
    """Write all files, their vectors and all conversations into `target`, which is replaced when the copy is whole, and which
    only its owner may read.

    A file that is deleted meanwhile may be left out, and one that is replaced may come as it is by then. `told` how far it is,
    0 to 1; what it raises ends the work.
    """
    draft = target.with_name(f"{target.name}.{new_id()[:8]}.part")
    try:
        with (
            os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "w+b") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as copy,
        ):
            copied = _write_all(library, copy, told)
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"The copy {target} cannot be written: {error.strerror or error}.",
            hint="Check that the folder exists and that its disk has space.",
        ) from error
    finally:
        with suppress(OSError):  # on a disk that may only be read, it was not even made
            draft.unlink()
        with suppress(StoreError):  # what was deleted meanwhile; where nothing can be written, nothing was
            library.store.reclaim()
    return copied


def read_copy(library: Library, source: Path, *, name: str = "", told: Callable[[float], None] = _untold) -> Copied:
    """Add what is in the copy `source` to the library; its worker does the rest. `name`: what errors call it.

    Nothing that is there is replaced: a file of the same bytes is known, and one of the same name gets another. A file
    remembers where it was fetched from, unless another from there is here. One that is larger than the settings allow is a
    failed row. What was taken in before an error stays, and is known the next time. `told` as for `write_copy`.
    UnreadableFileError, DamagedFileError, StoreError.
    """
    with _opened(source, name or source.name) as (copy, about):
        embedder = about["embedder"]
        if "passages" in about and not len(library.store) and not any(file.path for file in library.files.all()):
            _cut_alike(library, about["passages"])
            library.suit_copy(embedder)
        ids: dict[str, str] = {}  # of the files there -> here
        known = 0
        rows = list(_lines(copy, "files.jsonl"))
        for number, row in enumerate(rows):
            told(number / len(rows))
            id_ = str(row["id"])
            unpacked = _unpacked(library, copy, id_, str(row["name"]), str(row.get("origin", "")))
            for added in library.intake.take(unpacked, beside=True):
                ids[id_] = added.file.id
                if added.outcome == "duplicate":
                    known += 1
                    continue
                if embedder == library.embedder.name:  # the worker, quick as it is, has to read the file first
                    _keep_vectors(library, copy, id_, added.file.id)
        conversations = sum(library.conversations.restore(row, ids) for row in _lines(copy, "conversations.jsonl"))
        for row in _newer_lines(copy, "feedback.jsonl"):
            library.feedback.restore(row)
        for row in _newer_lines(copy, "notes.jsonl"):
            library.notes.restore(row, ids)
        for row in _newer_lines(copy, "groups.jsonl"):
            library.groups.restore(row, ids)
        library.prompts.load(list(_newer_lines(copy, "prompts.jsonl")))
        library.evaluations.load(_newer_lines(copy, "evaluations.jsonl"))
        return Copied(len(ids) - known, conversations, known)


def _write_all(library: Library, copy: zipfile.ZipFile, told: Callable[[float], None]) -> Copied:
    with library.database.snapshot():
        embedder, made_with = library.embedder.name, library.rebuilds.made_with()
        there = [file for file in library.files.all() if file.path]
        files = []
        for number, file in enumerate(there):
            told(number / len(there))
            with suppress(FileNotFoundError):  # it was deleted or replaced meanwhile
                _write_file(library, copy, file, embedder)
                files.append(file)
        conversations = list(library.conversations.dump())
        verdicts, notes = list(library.feedback.dump()), list(library.notes.dump())
        grouped = list(library.groups.dump())
        wording, measured = list(library.prompts.dump()), list(library.evaluations.dump())
    known = {file.id for file in files}
    later = [library.files.get(file.id) for file in there if file.id not in known]
    for file in filter(None, later):
        _write_file(library, copy, file, embedder)
        files.append(file)
    _write_lines(copy, "files.jsonl", ({"id": file.id, "name": file.name, "origin": file.origin} for file in files))
    _write_lines(copy, "conversations.jsonl", iter(conversations))
    _write_lines(copy, "feedback.jsonl", iter(verdicts))
    _write_lines(copy, "notes.jsonl", iter(notes))
    _write_lines(copy, "groups.jsonl", iter(grouped))
    _write_lines(copy, "prompts.jsonl", iter(wording))
    _write_lines(copy, "evaluations.jsonl", iter(measured))
    passages = {name: getattr(made_with, name) for name in PASSAGES}
    copy.writestr("library.json", json.dumps({"form": FORM, "embedder": embedder, "passages": passages}))
    return Copied(len(files), len(conversations))


def _cut_alike(library: Library, passages: dict[str, Any]) -> None:
    """Have its files become passages as those of the copy did. KeyError, TypeError, ValueError for what cannot be."""
    settings = library.settings
    ingest = IngestSettings.model_validate(settings.ingest.model_dump() | {name: passages[name] for name in PASSAGES})
    if ingest.chunk_overlap >= ingest.chunk_size:
        raise ValueError(ingest)
    library.update_settings(settings.model_copy(update={"ingest": ingest}))


def _unpacked(library: Library, copy: zipfile.ZipFile, id_: str, name: str, origin: str) -> Iterator[Gathered]:
    packed, target = copy.getinfo(f"bytes/{id_}"), library.incoming / f"{new_id()}.part"
    problem = too_large(name, packed.file_size, library.settings.ingest.max_file_mb)
    try:
        if problem is None:
            with _member(copy, packed.filename) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise StoreError(
            f"The contents of {name} cannot be written to {target.parent}: {error.strerror}.",
            hint="Check that the disk has space and that you can write to this folder, then try again.",
        ) from error
    try:
        yield Gathered(target, name, origin, problem)
    finally:
        target.unlink(missing_ok=True)


def _write_file(library: Library, copy: zipfile.ZipFile, file: FileRow, embedder: str) -> None:
    """Its bytes, and its vectors if this embedder still makes them; others are made where the copy is taken in.
    FileNotFoundError."""
    copy.write(library.files.location(file), f"bytes/{file.id}")
    if file.passages and library.embedder.name == embedder:
        with suppress(DamagedStoreError):  # they are made anew there, too
            _write_vectors(library, copy, file, embedder)


def _write_vectors(library: Library, copy: zipfile.ZipFile, file: FileRow, embedder: str) -> None:
    """Of a file that is being replaced, those of the passages that still answer."""
    ids = library.store.passage_ids(file.id)
    with copy.open(f"vectors/{file.id}", "w", force_zip64=True) as out:
        for start in range(0, len(ids), BATCH):
            for node in library.store.nodes(ids[start : start + BATCH]):
                if node.embedding is not None:
                    out.write(bytes.fromhex(content_of(embedder, node.text)))
                    out.write(node.embedding.astype("<f4").tobytes())


def _keep_vectors(library: Library, copy: zipfile.ZipFile, there: str, here: str) -> None:
    import numpy as np

    try:
        vectors = _member(copy, f"vectors/{there}")
    except KeyError:  # it has none
        return
    drafts, size = Drafts(library.database), CONTENT_BYTES + 4 * library.embedder.dimension
    with vectors as packed:
        while data := packed.read(BATCH * size):
            rows = [data[start : start + size] for start in range(0, len(data), size)]
            with library.database.transaction():
                file = library.files.get(here)
                if file is None or not file.active:  # the worker was quicker, or it was deleted meanwhile: nobody wants them
                    return
                drafts.keep(here, {row[:CONTENT_BYTES].hex(): np.frombuffer(row[CONTENT_BYTES:], "<f4") for row in rows})


def _write_lines(copy: zipfile.ZipFile, name: str, rows: Iterator[dict[str, Any]]) -> None:
    with copy.open(name, "w", force_zip64=True) as out:
        for row in rows:
            out.write(json.dumps(row).encode() + b"\n")


def _lines(copy: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    with _member(copy, name) as lines:
        for line in lines:
            yield json.loads(line)


def _newer_lines(copy: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    """As `_lines`; nothing of a copy that was made before there were any."""
    return _lines(copy, name) if name in copy.namelist() else iter(())


def _member(copy: zipfile.ZipFile, name: str) -> IO[bytes]:
    """KeyError, BadZipFile."""
    try:
        return copy.open(name)
    except RuntimeError as error:  # packed by another program, with a password or in another way
        raise zipfile.BadZipFile from error


@contextmanager
def _opened(source: Path, name: str) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """The copy, and what it says about itself."""
    try:
        with zipfile.ZipFile(source) as copy:
            with _member(copy, "library.json") as first:
                about = json.load(first)
            if about["form"] != FORM:
                raise UnreadableFileError(
                    f"{name} was made by another version of Lectern.",
                    hint="Import it with that version or a newer one.",
                )
            yield copy, about
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError) as error:
        raise DamagedFileError(
            f"{name} is not a complete copy of a library.",
            hint="Make the copy again. Whatever could be read from this one is in the library.",
        ) from error


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
