"""A copy of a library in one file, for a backup or for another machine or server. It is written while the
library is in use, and has the state of one moment.

It is a zip. `library.json` has the version of the form and the settings of the index; `files.jsonl` has a
line for each file, whose bytes are `bytes/ID` and whose vectors `vectors/ID`: for each passage the hash of
its content, and its vector in float32; `conversations.jsonl` has a line for each conversation,
`feedback.jsonl` for each rating, `notes.jsonl` for each note, `prompts.jsonl` for each version of a prompt,
`evaluations.jsonl` for each row of the measurements. A copy has no keys and passwords.

Files of a copy are added like others, but vectors of the same embedder are not computed again. An empty
library also takes over the settings of the index.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lectern.jobs.embedding_drafts import Drafts, content_of
from lectern.jobs.files import too_large
from lectern.jobs.index_versions import CHUNKING
from lectern.jobs.sources import SourceFile
from lectern.settings import IngestSettings
from ragcore.errors import DamagedFileError, DamagedStoreError, StoreError, UnreadableFileError
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
    """The numbers of items in a copy. `known`: files that were in the library already."""

    files: int
    conversations: int
    known: int = 0

    def __str__(self) -> str:
        """ "1 file and 2 conversations" """
        return f"{_count(self.files, 'file')} and {_count(self.conversations, 'conversation')}"

    @property
    def taken_in(self) -> str:
        """The result of `read_copy` in one or two sentences."""
        already = (
            f" {_count(self.known, 'file')} {'was' if self.known == 1 else 'were'} already in your library."
        )
        return f"{self} added." + (already if self.known else "")


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


def read_copy(
    library: Library,
    source: Path,
    *,
    name: str = "",
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Copied:
    """Add the contents of the copy `source` to the library; its worker reads the files. Errors name the copy
    `name`.

    Nothing is replaced: a file with the same bytes is known, and one with the same name gets another name. A
    file has its origin, unless another file has it. A file that is too large becomes a failed row. After an
    error, the files so far stay, and are known the next time. `on_progress` as for `write_copy`.
    UnreadableFileError, DamagedFileError, StoreError.
    """
    with _open(source, name or source.name) as (copy, about):
        embedder = about["embedder"]
        if (
            "passages" in about
            and not len(library.store)
            and not any(file.path for file in library.files.all())
        ):
            _take_over_settings(library, about["passages"])
            library.suit_copy(embedder)
        ids: dict[str, str] = {}  # new ids of the files, by old id
        known = 0
        rows = list(_lines(copy, "files.jsonl"))
        for number, row in enumerate(rows):
            on_progress(number / len(rows))
            id_ = str(row["id"])
            file = _unpack(library, copy, id_, str(row["name"]), str(row.get("origin", "")))
            for added in library.intake.take(file, keep_both=True):
                ids[id_] = added.file.id
                if added.outcome == "duplicate":
                    known += 1
                    continue
                if embedder == library.embedder.name:  # in time, because the worker must read the file first
                    _store_vectors(library, copy, id_, added.file.id)
        conversations = sum(
            library.conversations.restore(row, ids) for row in _lines(copy, "conversations.jsonl")
        )
        for row in _newer_lines(copy, "feedback.jsonl"):
            library.feedback.restore(row)
        for row in _newer_lines(copy, "notes.jsonl"):
            library.notes.restore(row, ids)
        for row in _newer_lines(copy, "groups.jsonl"):
            library.groups.restore(row, ids)
        library.prompts.load(list(_newer_lines(copy, "prompts.jsonl")))
        library.evaluations.load(_newer_lines(copy, "evaluations.jsonl"))
        return Copied(len(ids) - known, conversations, known)


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


def _take_over_settings(library: Library, passages: dict[str, Any]) -> None:
    """KeyError, TypeError, ValueError for invalid settings."""
    settings = library.settings
    ingest = IngestSettings.model_validate(
        settings.ingest.model_dump() | {name: passages[name] for name in CHUNKING}
    )
    if ingest.chunk_overlap >= ingest.chunk_size:
        raise ValueError(ingest)
    library.update_settings(settings.model_copy(update={"ingest": ingest}))


def _unpack(
    library: Library, copy: zipfile.ZipFile, id_: str, name: str, origin: str
) -> Iterator[SourceFile]:
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
        yield SourceFile(target, name, origin, problem)
    finally:
        target.unlink(missing_ok=True)


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


def _store_vectors(library: Library, copy: zipfile.ZipFile, old_id: str, file_id: str) -> None:
    """Store the vectors of a file as drafts."""
    import numpy as np

    try:
        vectors = _member(copy, f"vectors/{old_id}")
    except KeyError:
        return
    drafts, size = Drafts(library.database), CONTENT_BYTES + 4 * library.embedder.dimension
    with vectors as packed:
        while data := packed.read(BATCH * size):
            rows = [data[start : start + size] for start in range(0, len(data), size)]
            with library.database.transaction():
                file = library.files.get(file_id)
                # the worker was faster, or the file was deleted meanwhile
                if file is None or not file.active:
                    return
                drafts.keep(
                    file_id,
                    {row[:CONTENT_BYTES].hex(): np.frombuffer(row[CONTENT_BYTES:], "<f4") for row in rows},
                )


def _write_lines(copy: zipfile.ZipFile, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    with copy.open(name, "w", force_zip64=True) as out:
        for row in rows:
            out.write(json.dumps(row).encode() + b"\n")


def _lines(copy: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    with _member(copy, name) as lines:
        for line in lines:
            yield json.loads(line)


def _newer_lines(copy: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    """As `_lines`; nothing for an old copy without this file."""
    return _lines(copy, name) if name in copy.namelist() else iter(())


def _member(copy: zipfile.ZipFile, name: str) -> IO[bytes]:
    """KeyError, BadZipFile."""
    try:
        return copy.open(name)
    except RuntimeError as error:  # with a password, or compressed in another way
        raise zipfile.BadZipFile from error


@contextmanager
def _open(source: Path, name: str) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """The copy and its `library.json`."""
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


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
