"""Reads or unpacks a file, or draws its pages, in another process with limits of time, memory and disk. A
file that crashes a parser, makes it hang, or takes it over, damages only that process.

A process (`lectern.jobs.sandbox_process`) stays for the next files, with its parsers loaded, and forks
another one for each file. Its answers are checked before they are used.
"""

from __future__ import annotations

import atexit
import json
import logging
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import ragcore.errors
from lectern.jobs.confinement import confines_files, describe_confinement
from lectern.jobs.reader_process import (
    MAX_TIMEOUTS,
    EndedBeforeError,
    KilledError,
    ReaderProcess,
    crash_error,
)
from lectern.jobs.reader_process import Cancelled as Cancelled
from lectern.schema import adapter
from ragcore.errors import RagError, StoreError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.ocr.tesseract import find_program
from ragcore.readers.zip.archive import MAX_BYTES, Unpacked
from ragcore.schema import Document, Page

if TYPE_CHECKING:
    from ragcore.readers.pdf.page_images import Box

logger = logging.getLogger(__name__)

T = TypeVar("T")

PAGE_SECONDS = 30.0  # for a page that a person waits for
FILES_PER_PROCESS = 2000  # a new process takes as long as reading hundreds of small files
MAX_IDLE = 2  # processes
FOLDER = Path("unpacked")  # in the working folder of a confined process


def read_isolated(
    path: Path,
    options: ReadOptions,
    *,
    timeout: float,
    memory_mb: int,
    cancelled: Callable[[], bool],
    scratch: Path | None = None,
) -> Document:
    """`read_file` in a process of its own. `timeout` in seconds since the last progress; MAX_TIMEOUTS times
    as many for the whole file. `memory_mb` limits the address space, if the system can. The process gets a
    folder of its own in `scratch`, which is on the file system of `path`; by default it is in the system's
    folder for temporary files.

    Raises the errors of `read_file`; TooLargeError at a limit; DamagedFileError if the process crashes;
    Cancelled at most 0.2 seconds after `cancelled` is true. `options.progress`, `on_loss` and `on_words` are
    called in the caller's thread.
    """

    def parse(
        answer: _Answer, reader: ReaderProcess
    ) -> tuple[Document, list[RagError], dict[int, PageWords]]:
        document = _parse_document(answer, options.max_text_chars)
        pages = map(_parse_json, answer.words.splitlines())
        words = {int(index): PageWords.of_json(page) for index, page in pages}
        return document, [_parse_error(each) for each in answer.head["left_out"]], words

    job = _Job("read", path, options, timeout, memory_mb, cancelled, scratch)
    document, left_out, words = job.run(parse)
    for error in left_out:
        options.on_loss(error)
    for index, page in words.items():
        options.on_words(index, page)
    return document


def unpack_isolated(
    path: Path,
    into: Path,
    options: ReadOptions,
    *,
    timeout: float,
    memory_mb: int,
    cancelled: Callable[[], bool],
    scratch: Path | None = None,
) -> list[Unpacked]:
    """`unpack` in a process of its own, as `read_isolated`. After an exception nothing is in `into`."""

    def parse(answer: _Answer, reader: ReaderProcess) -> list[Unpacked]:
        if reader.scratch is not None:
            _move(reader.scratch.work / FOLDER, into, options.name)
        return [_parse_member(each, into) for each in answer.head["members"]]

    job = _Job("unpack", path, options, timeout, memory_mb, cancelled, scratch)
    try:
        return job.run(parse, into=str(FOLDER if confines_files() else into.absolute()))
    except BaseException:  # also when the process is ended: nothing may stay in `into`
        shutil.rmtree(into, ignore_errors=True)
        raise


@dataclass(frozen=True, slots=True)
class CopyContents:
    """The contents of a copy of a library. `counts`: rows by table; `left_out`: invalid rows; `bytes` of its
    files. `passages`: how its documents are cut; None for an old copy."""

    embedder: str
    passages: dict[str, int | str] | None
    counts: dict[str, int]
    left_out: int
    bytes: int


def read_copy_isolated(
    path: Path,
    into: Path,
    options: ReadOptions,
    *,
    with_files: bool,
    max_file_mb: int,
    timeout: float,
    memory_mb: int,
    scratch: Path | None = None,
) -> CopyContents:
    """`read_contents` of a copy in a process of its own, as `unpack_isolated`."""
    room = shutil.disk_usage(into.parent).free

    def parse(answer: _Answer, reader: ReaderProcess) -> CopyContents:
        contents = adapter(CopyContents).validate_python(answer.head)
        if reader.scratch is not None:
            _move(reader.scratch.work / FOLDER, into, options.name)
        return cast("CopyContents", contents)

    job = _Job("copy", path, options, timeout, memory_mb, lambda: False, scratch)
    folder = str(FOLDER if confines_files() else into.absolute())
    limits = {"max_file_mb": max_file_mb, "room": room, "max_file_bytes": room}
    try:
        return job.run(parse, into=folder, with_files=with_files, **limits)
    except BaseException:  # as in `unpack_isolated`
        shutil.rmtree(into, ignore_errors=True)
        raise


def draw_isolated(
    path: Path,
    page_index: int,
    options: ReadOptions,
    *,
    scale: float,
    memory_mb: int,
    turn: int = 0,
    scratch: Path | None = None,
) -> bytes:
    """`render_page`, or `render_picture` for a picture, in a process of its own, within SHOW_SECONDS, one
    page at a time."""

    def parse(answer: _Answer, reader: ReaderProcess) -> bytes:
        image = answer.body
        if not (image.startswith(b"RIFF") and image[8:12] == b"WEBP"):
            raise ValueError(image[:12])
        return image

    job = _Job("draw", path, options, PAGE_SECONDS, memory_mb, lambda: False, scratch)
    with _drawing:
        return job.run(parse, page_index=page_index, scale=scale, turn=turn)


def find_isolated(
    path: Path,
    page_indexes: Sequence[int],
    quote: str,
    options: ReadOptions,
    *,
    parts: Sequence[tuple[int, int]] = (),
    memory_mb: int,
    scratch: Path | None = None,
) -> tuple[list[list[Box]], list[list[Box]]]:
    """`highlight_boxes` on each of these pages, of the quote and of its `parts`, as `draw_isolated`."""
    from ragcore.readers.pdf.page_images import Box

    def parse(answer: _Answer, reader: ReaderProcess) -> tuple[list[list[Box]], list[list[Box]]]:
        whole, of_parts = (
            [[Box(*map(float, sides)) for sides in boxes] for boxes in answer.head[name]]
            for name in ("boxes", "parts")
        )
        return whole, of_parts

    job = _Job("find", path, options, PAGE_SECONDS, memory_mb, lambda: False, scratch)
    with _drawing:
        return job.run(parse, page_indexes=list(page_indexes), quote=quote, parts=list(parts))


@dataclass(frozen=True, slots=True)
class _Job:
    """An order for a process, see `lectern.jobs.sandbox_process`."""

    work: str
    path: Path
    options: ReadOptions
    timeout: float
    memory_mb: int
    cancelled: Callable[[], bool]
    scratch: Path | None
    was_killed: bool = False  # in the first attempt

    def run(self, parse: Callable[[_Answer, ReaderProcess], T], **more: object) -> T:
        """Call `parse` with the answer, before the files of the process are deleted. `more` is added to the
        order."""
        if self.cancelled():
            raise Cancelled
        reader = _take_idle_reader(self.scratch) or ReaderProcess(self.scratch)
        try:
            with reader.input(self.path) as place:
                answer = reader.read(
                    self._order(place) | more,
                    self.options.name,
                    self.timeout,
                    self.options.progress,
                    self.cancelled,
                )
                try:
                    head = _parse_json(answer.head)
                    error = _parse_error(head) if "error" in head else None
                    result = None if error else parse(_Answer(head, answer.body, answer.words), reader)
                except _INVALID_ANSWER as invalid:
                    raise crash_error(self.options.name) from invalid
        except EndedBeforeError:
            reader.kill()
            return self.run(parse, **more)
        except KilledError as killed:
            reader.kill()
            if self.was_killed:
                raise killed.reason from killed
            logger.warning("a reading process was ended from outside; its file is read once more")
            into = Path(str(more.get("into", "")))
            if into.is_absolute():  # else it was in the working folder of the process
                shutil.rmtree(into, ignore_errors=True)
            return replace(self, was_killed=True).run(parse, **more)
        except BaseException:  # it must not go on reading
            reader.kill()
            raise
        _store_reader(reader)
        if error is not None:
            raise error
        return cast("T", result)

    def _order(self, place: Path) -> dict[str, object]:
        return {
            "work": self.work,
            "path": str(place.absolute()),
            "name": self.options.name,
            "password": self.options.password,
            "max_text_chars": self.options.max_text_chars,
            "timeout": MAX_TIMEOUTS * self.timeout,
            "memory_mb": self.memory_mb,
            "max_file_bytes": MAX_BYTES if self.work == "unpack" else self.memory_mb * 1_000_000,
        }


_INVALID_ANSWER = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer with its head parsed."""

    head: dict[str, Any]
    body: bytes
    words: bytes


def _parse_json(line: bytes) -> Any:
    """ValueError also for texts that cannot be stored."""
    value = json.loads(line)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for surrogates
    return value


def _parse_document(answer: _Answer, max_text_chars: int) -> Document:
    text, head = answer.body.decode("utf-8"), answer.head
    metadata, page_word = head["metadata"], head["page_word"]
    pages = tuple(Page(str(label), int(start), int(end)) for label, start, end in head["pages"])
    if not (isinstance(metadata, dict) and isinstance(page_word, str)):
        raise TypeError("no document")
    if len(text) > max_text_chars or not all(0 <= page.start <= page.end <= len(text) for page in pages):
        raise ValueError("no pages of such a text")
    return Document(text, metadata=metadata, pages=pages, page_word=page_word)


def _parse_member(answer: Sequence[Any], into: Path) -> Unpacked:
    """A file that is in the folder, whatever path the process names."""
    name, place, error = answer
    path = into / Path(place).name
    if not error and (path.is_symlink() or not path.is_file()):
        raise ValueError(f"{place} is no file")
    return Unpacked(str(name), path, _parse_error(error) if error else None)


def _move(folder: Path, into: Path, name: str) -> None:
    if folder.is_symlink():
        raise ValueError(f"{folder} leads elsewhere")
    try:
        if folder.exists():
            shutil.move(folder, into)
    except OSError as error:
        raise StoreError(
            f"The contents of {name} cannot be written to {into.parent}: {error.strerror}.",
            hint="Check that the disk has space and that you can write to this folder, then try again.",
        ) from error


def _parse_error(answer: Mapping[str, Any]) -> RagError:
    kind = getattr(ragcore.errors, str(answer["error"]), None)
    if not (isinstance(kind, type) and issubclass(kind, RagError)) or kind.retryable:
        raise ValueError(f"{answer['error']} is no error of a file")
    error = kind.__new__(kind)
    RagError.__init__(error, str(answer["what"]), hint=str(answer["hint"]))
    return error


def start_reader(scratch: Path | None = None) -> None:
    """Start a process before the first file comes, and log how it is confined."""
    logger.log(logging.INFO if confines_files() else logging.WARNING, "%s", describe_confinement())
    _store_reader(ReaderProcess(scratch))


def end_readers() -> None:
    """End the idle processes."""
    with _lock:
        readers, _idle[:] = list(_idle), []
    for reader in readers:
        reader.kill()


_idle: list[ReaderProcess] = []
_lock = threading.Lock()
_drawing = threading.Lock()  # A person who turns pages requests many at once; one process draws them.
atexit.register(end_readers)


def _take_idle_reader(scratch: Path | None) -> ReaderProcess | None:
    """A process with a folder in `scratch`, started after tesseract was installed."""
    with _lock:
        reader = _idle.pop() if _idle else None
    if reader is not None and (reader.parent, reader.tesseract) != (scratch, find_program()):
        reader.kill()
        return None
    return reader


def _store_reader(reader: ReaderProcess) -> None:
    """Store the process for the next file, or end it after FILES_EACH files. Two of the lanes of files are
    often busy."""
    with _lock:
        if len(_idle) < MAX_IDLE and reader.files < FILES_PER_PROCESS and reader.reusable:
            reader.was_idle = True
            _idle.append(reader)
            return
    reader.kill()
