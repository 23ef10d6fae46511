"""Reads or unpacks a file, or draws its pages, in another process, with limits of time, memory and disk: a file that crashes,
hangs or explodes a parser, or takes it over, costs that process and nothing else.

A process (`lectern.jobs.sandbox_process`) is kept for the next files, with its parsers loaded, and forks another one for each
file. Of what it answers, everything is checked before it is used.
"""

from __future__ import annotations

import atexit
import json
import logging
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import ragcore.errors
from lectern.jobs.confinement import confines_files, describe_confinement
from lectern.jobs.reader_process import LONGEST, EndedBeforeError, ReaderProcess, crashed
from lectern.jobs.reader_process import Cancelled as Cancelled
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

SHOW_SECONDS = 30.0  # for a page that somebody waits for
FILES_EACH = 2000  # after which another process is started, which takes as long as reading hundreds of small ones
IDLE = 2  # processes that are kept
FOLDER = Path("unpacked")  # in the folder in which a confined process works


def read_isolated(
    path: Path,
    options: ReadOptions,
    *,
    timeout: float,
    memory_mb: int,
    cancelled: Callable[[], bool],
    scratch: Path | None = None,
) -> Document:
    """`read_file` in a process of its own. `timeout` in seconds from the last sign of progress, and LONGEST times as many for
    the whole file; `memory_mb` of address space, where the system limits it. `scratch` is a folder on the file system of
    `path`, in which the process gets a folder of its own; by default it is in the system's folder for temporary files.

    Raises what `read_file` raises; TooLargeError beyond a limit; DamagedFileError when the process crashes; Cancelled at most
    0.2 seconds after `cancelled` says so. `options.progress`, `left_out` and `on_words` are called in the caller's thread.
    """

    def take(answer: _Checked, reader: ReaderProcess) -> tuple[Document, list[RagError], dict[int, PageWords]]:
        document = _document(answer, options.max_text_chars)
        pages = map(_checked, answer.words.splitlines())
        words = {int(index): PageWords.of_json(page) for index, page in pages}
        return document, [_rebuilt(each) for each in answer.head["left_out"]], words

    job = _Job("read", path, options, timeout, memory_mb, cancelled, scratch)
    document, left_out, words = job.run(take)
    for error in left_out:
        options.left_out(error)
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
    """`unpack` in a process of its own, as `read_isolated`. Nothing stays in `into` when it is broken off."""

    def take(answer: _Checked, reader: ReaderProcess) -> list[Unpacked]:
        if reader.scratch is not None:
            _move(reader.scratch.work / FOLDER, into, options.name)
        return [_member(each, into) for each in answer.head["members"]]

    job = _Job("unpack", path, options, timeout, memory_mb, cancelled, scratch)
    try:
        return job.run(take, into=str(FOLDER if confines_files() else into.absolute()))
    except BaseException:  # whatever broke it off, it goes on
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
    """`render_page`, of a picture `render_picture`, in a process of its own, which has SHOW_SECONDS. One page at a time is
    drawn."""

    def take(answer: _Checked, reader: ReaderProcess) -> bytes:
        image = answer.body
        if not (image.startswith(b"RIFF") and image[8:12] == b"WEBP"):
            raise ValueError(image[:12])
        return image

    job = _Job("draw", path, options, SHOW_SECONDS, memory_mb, _never, scratch)
    with _showing:
        return job.run(take, page_index=page_index, scale=scale, turn=turn)


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

    def take(answer: _Checked, reader: ReaderProcess) -> tuple[list[list[Box]], list[list[Box]]]:
        whole, of_parts = (
            [[Box(*map(float, sides)) for sides in boxes] for boxes in answer.head[name]] for name in ("boxes", "parts")
        )
        return whole, of_parts

    job = _Job("find", path, options, SHOW_SECONDS, memory_mb, _never, scratch)
    with _showing:
        return job.run(take, page_indexes=list(page_indexes), quote=quote, parts=list(parts))


@dataclass(frozen=True, slots=True)
class _Job:
    """What a process is to do with a file, see `lectern.jobs.sandbox_process`."""

    work: str
    path: Path
    options: ReadOptions
    timeout: float
    memory_mb: int
    cancelled: Callable[[], bool]
    scratch: Path | None

    def run(self, take: Callable[[_Checked, ReaderProcess], T], **more: object) -> T:
        """What `take` makes of the answer, while what the process wrote is still there. `more` is only for this work."""
        if self.cancelled():
            raise Cancelled
        reader = _idle_reader(self.scratch) or ReaderProcess(self.scratch)
        try:
            with reader.input(self.path) as place:
                answer = reader.read(
                    self._order(place) | more, self.options.name, self.timeout, self.options.progress, self.cancelled
                )
                try:
                    head = _checked(answer.head)
                    error = _rebuilt(head) if "error" in head else None
                    result = None if error else take(_Checked(head, answer.body, answer.words), reader)
                except _NO_ANSWER as wrong:  # not what the process is made to say
                    raise crashed(self.options.name) from wrong
        except EndedBeforeError:
            reader.kill()
            return self.run(take, **more)
        except BaseException:  # whatever broke it off, it must not go on reading
            reader.kill()
            raise
        _keep(reader)
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
            "timeout": LONGEST * self.timeout,
            "memory_mb": self.memory_mb,
            "max_file_bytes": MAX_BYTES if self.work == "unpack" else self.memory_mb * 1_000_000,
        }


def _never() -> bool:
    return False


_NO_ANSWER = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class _Checked:
    """An answer whose `head` is an object."""

    head: dict[str, Any]
    body: bytes
    words: bytes


def _checked(line: bytes) -> Any:
    """What a line of JSON holds, all texts of which can be stored. The exceptions of _NO_ANSWER."""
    found = json.loads(line)
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # JSON may name halves of characters
    return found


def _document(answer: _Checked, max_text_chars: int) -> Document:
    text, head = answer.body.decode("utf-8"), answer.head
    metadata, page_word = head["metadata"], head["page_word"]
    pages = tuple(Page(str(label), int(start), int(end)) for label, start, end in head["pages"])
    if not (isinstance(metadata, dict) and isinstance(page_word, str)):
        raise TypeError("no document")
    if len(text) > max_text_chars or not all(0 <= page.start <= page.end <= len(text) for page in pages):
        raise ValueError("no pages of such a text")
    return Document(text, metadata=metadata, pages=pages, page_word=page_word)


def _member(answer: Sequence[Any], into: Path) -> Unpacked:
    """A file that lies in the folder, whatever path the process names."""
    name, place, error = answer
    path = into / Path(place).name
    if not error and (path.is_symlink() or not path.is_file()):
        raise ValueError(f"{place} is no file")
    return Unpacked(str(name), path, _rebuilt(error) if error else None)


def _move(folder: Path, into: Path, name: str) -> None:
    """What was unpacked, to where it was to be unpacked."""
    try:
        if folder.exists():
            shutil.move(folder, into)
    except OSError as error:
        raise StoreError(
            f"The contents of {name} cannot be written to {into.parent}: {error.strerror}.",
            hint="Check that the disk has space and that you can write to this folder, then try again.",
        ) from error


def _rebuilt(answer: Mapping[str, Any]) -> RagError:
    kind = getattr(ragcore.errors, str(answer["error"]), None)
    if not (isinstance(kind, type) and issubclass(kind, RagError)) or kind.retryable:
        raise ValueError(f"{answer['error']} is no error of a file")
    error = kind.__new__(kind)
    RagError.__init__(error, str(answer["what"]), hint=str(answer["hint"]))
    return error


def start_reader(scratch: Path | None = None) -> None:
    """Have a process ready before the first file comes, and say in the log what it is held to."""
    logger.log(logging.INFO if confines_files() else logging.WARNING, "%s", describe_confinement())
    _keep(ReaderProcess(scratch))


def end_readers() -> None:
    """End the processes that wait for a file."""
    with _lock:
        ended, _idle[:] = list(_idle), []
    for reader in ended:
        reader.kill()


_idle: list[ReaderProcess] = []
_lock = threading.Lock()
_showing = threading.Lock()  # a person who turns pages asks for many at once, and one process draws them
atexit.register(end_readers)


def _idle_reader(scratch: Path | None) -> ReaderProcess | None:
    """One with its own folder in `scratch`, that knows of tesseract where it was installed meanwhile."""
    with _lock:
        reader = _idle.pop() if _idle else None
    if reader is not None and (reader.beside, reader.tesseract) != (scratch, find_program()):
        reader.kill()
        return None
    return reader


def _keep(reader: ReaderProcess) -> None:
    """For the next file, unless it is worn. Of the lanes of files (`lectern.jobs.file_rows.Lane`) two are seldom idle."""
    with _lock:
        if len(_idle) < IDLE and reader.files < FILES_EACH and reader.reusable:
            reader.waited = True
            _idle.append(reader)
            return
    reader.kill()
