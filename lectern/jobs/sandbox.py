"""Reads or unpacks a file, or draws its pages, in another process, with limits of time and memory: a file that crashes, hangs
or explodes a parser costs that process and nothing else.

The process (`lectern.jobs.sandbox_process`) is kept for the next file by `loky`, with its parsers loaded, until it has read
many files, needed much memory, or had to be ended. Nothing of it is on disk, however it or its parent ends.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ragcore.errors
from lectern.jobs.sandbox_process import BEGUN, WATCHED, confine, done_as_json, ready
from ragcore.errors import DamagedFileError, RagError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.zip.archive import Unpacked
from ragcore.schema import Document, Page

if TYPE_CHECKING:
    from ragcore.readers.pdf.page_images import Box

LOOK_SECONDS = 0.1  # between two looks at the clock and at `cancelled`
SHOW_SECONDS = 30.0  # for a page that somebody waits for
LONGEST = 40  # times `timeout`, however well it gets on: 2,000 scanned pages take four hours
FILES_EACH = 200  # that one process reads
WORN_MB = 500.0  # of memory at its peak, after which a process is not kept
# One thread and one heap: each further one reserves memory that the limit counts.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class Cancelled(Exception):
    """The reading was stopped because the caller said so."""


def read_isolated(
    path: Path, options: ReadOptions, *, timeout: float, memory_mb: int, cancelled: Callable[[], bool]
) -> Document:
    """`read_file` in a process of its own. `timeout` in seconds from the last sign of progress, and LONGEST times as many for
    the whole file; `memory_mb` of address space, where the system limits it.

    Raises what `read_file` raises; TooLargeError beyond a limit; DamagedFileError when the process crashes; Cancelled at most
    0.2 seconds after `cancelled` says so. `options.progress` and `options.left_out` are called in the caller's thread.
    """
    result = _isolated("read", path, options, timeout, memory_mb, cancelled)
    for told in result["left_out"]:
        options.left_out(_rebuilt(told))
    return Document(
        result["text"],
        metadata=result["metadata"],
        pages=tuple(Page(label, start, end) for label, start, end in result["pages"]),
        page_word=result["page_word"],
    )


def unpack_isolated(
    path: Path, into: Path, options: ReadOptions, *, timeout: float, memory_mb: int, cancelled: Callable[[], bool]
) -> list[Unpacked]:
    """`unpack` in a process of its own, as `read_isolated`. Nothing stays in `into` when it is broken off."""
    try:
        result = _isolated("unpack", path, options, timeout, memory_mb, cancelled, {"into": str(into.absolute())})
    except BaseException:  # whatever broke it off, it goes on
        shutil.rmtree(into, ignore_errors=True)
        raise
    return [Unpacked(name, Path(place), told and _rebuilt(told)) for name, place, told in result["members"]]


def draw_isolated(path: Path, page_index: int, options: ReadOptions, *, scale: float, memory_mb: int) -> bytes:
    """`render_page` in a process of its own, which has SHOW_SECONDS for it. One page at a time is drawn."""
    asked = {"page_index": page_index, "scale": scale}
    with _showing:
        result = _isolated("draw", path, options, SHOW_SECONDS, memory_mb, _never, asked)
    return base64.b64decode(result["image"])


def find_isolated(
    path: Path,
    page_indexes: Sequence[int],
    quote: str,
    options: ReadOptions,
    *,
    parts: Sequence[tuple[int, int]] = (),
    memory_mb: int,
) -> tuple[list[list[Box]], list[list[Box]]]:
    """`highlight_boxes` on each of these pages, of the quote and of its `parts`, as `draw_isolated`."""
    from ragcore.readers.pdf.page_images import Box

    asked = {"page_indexes": list(page_indexes), "quote": quote, "parts": list(parts)}
    with _showing:
        result = _isolated("find", path, options, SHOW_SECONDS, memory_mb, _never, asked)
    whole, of_parts = ([[Box(*sides) for sides in boxes] for boxes in result[name]] for name in ("boxes", "parts"))
    return whole, of_parts


def _isolated(
    work: str,
    path: Path,
    options: ReadOptions,
    timeout: float,
    memory_mb: int,
    cancelled: Callable[[], bool],
    asked: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """What the process gave for this work, see `lectern.jobs.sandbox_process`; `asked`: what only this kind of work needs."""
    if cancelled():
        raise Cancelled
    order = {
        "work": work,
        "path": str(path.absolute()),
        "name": options.name,
        "password": options.password,
        "max_text_chars": options.max_text_chars,
        "timeout": LONGEST * timeout,
        "memory_mb": memory_mb,
        **(asked or {}),
    }
    reader = _idle_reader() or _Reader()
    try:
        result = reader.read(order, options, timeout, cancelled)
    except _EndedBeforeError:
        reader.kill()
        return _isolated(work, path, options, timeout, memory_mb, cancelled, asked)
    except BaseException:  # whatever broke it off, it must not go on reading
        reader.kill()
        raise
    _keep(reader, float(result["peak_mb"]))
    if "error" in result:
        raise _rebuilt(result)
    return result


def _never() -> bool:
    return False


def start_reader() -> None:
    """Have a process ready before the first file comes."""
    reader = _Reader()
    reader.submit(ready)
    _keep(reader, 0.0)


def end_readers() -> None:
    """End the processes that wait for a file."""
    while (reader := _idle_reader()) is not None:
        reader.kill()


_idle: list[_Reader] = []
_lock = threading.Lock()
_showing = threading.Lock()  # a person who turns pages asks for many at once, and one process draws them


def _idle_reader() -> _Reader | None:
    with _lock:
        return _idle.pop() if _idle else None


def _keep(reader: _Reader, peak_mb: float) -> None:
    """For the next file; one is enough, unless it is worn."""
    with _lock:
        if not _idle and reader.files < FILES_EACH and peak_mb < WORN_MB:
            reader.waited = True
            _idle.append(reader)
            return
    reader.kill()


class _EndedBeforeError(Exception):
    """The process was ended while it waited, and the file is not to blame."""


class _Progress:
    """Hands progress on, and remembers when there was some for the `last` time."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self._report = report
        self._most = (0, 0)
        self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if (done, total) > self._most:
            self.last, self._most = time.monotonic(), (done, total)
        self._report(done, total)


class _Reader:
    """One process, which reads one file at a time."""

    def __init__(self) -> None:
        from loky.backend.context import LokyContext
        from loky.process_executor import ProcessPoolExecutor

        # A new interpreter, which knows nothing of this one. By its name the context may be that of joblib's own copy of loky,
        # which comes with the embedder's libraries and would load numpy there.
        context = LokyContext()
        self.files = 0
        self.waited = self._begun = False
        self._signals, signals = context.Pipe(duplex=False)
        self._said, said = context.Pipe(duplex=False)
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._ends: tuple[Connection, ...] = (self._signals, signals, self._said, said, lifeline, self._lifeline)
        self._words = b""
        self._pool = ProcessPoolExecutor(
            1, context=context, initializer=confine, initargs=(signals, said, lifeline), env=ENVIRONMENT
        )

    def submit(self, work: Callable[..., Any], *arguments: object) -> Future[Any]:
        future: Future[Any] = self._pool.submit(work, *arguments)
        return future

    def read(
        self, order: dict[str, Any], options: ReadOptions, timeout: float, cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        from loky.process_executor import TerminatedWorkerError

        self.files += 1
        self._begun = False
        progress, reading = _Progress(options.progress), True
        try:
            future = self.submit(done_as_json, order)
        except TerminatedWorkerError:
            raise _EndedBeforeError from None
        end = time.monotonic() + LONGEST * timeout
        while not future.done():
            if cancelled():
                raise Cancelled
            if time.monotonic() > progress.last + timeout:
                raise _stopped(f"Reading {options.name} got no further for {_span(timeout)} and was stopped.")
            if time.monotonic() > end:
                raise _too_long(options.name, LONGEST * timeout)
            if reading:
                reading = self._listen(progress)
            else:
                wait_for([future], LOOK_SECONDS)
        return self._result(future, options.name, timeout, progress, reading)

    def _result(self, future: Future[Any], name: str, timeout: float, progress: _Progress, reading: bool) -> dict[str, Any]:
        from loky.process_executor import TerminatedWorkerError

        try:
            result: dict[str, Any] = json.loads(future.result())
        except TerminatedWorkerError as error:
            while self._signals.poll():
                self._listen(progress)
            if self.waited and not self._begun:
                raise _EndedBeforeError from None
            self._hear()
            raise _crash(str(error), self._words.decode("utf-8", "replace"), name, LONGEST * timeout) from None
        except MemoryError:
            raise _too_much_memory(name) from None
        except Exception as error:  # ours, in the other process; a bad file is an error in its result
            raise RuntimeError(f"The reading process failed: {error!r}") from error
        while reading:  # what it said before it had finished
            reading = self._listen(progress)
        return result

    def _listen(self, progress: _Progress) -> bool:
        """Hand progress on, for at most LOOK_SECONDS; False when there will be no more of this file."""
        for end in wait([self._signals, self._said], LOOK_SECONDS):
            if end is self._said:
                self._hear()
            elif (message := self._signals.recv_bytes()) == BEGUN:
                self._begun = True
            elif message:
                done, total = map(int, message.split())
                progress(done, total)
            else:
                return False
        return True

    def _hear(self) -> None:
        """Fetch what parsers printed: a crash is explained by the last of it."""
        while self._said.poll():
            self._words = (self._words + os.read(self._said.fileno(), WATCHED))[-WATCHED:]

    def kill(self) -> None:
        """End the process, and what it started, at once."""
        self._pool.shutdown(wait=True, kill_workers=True)
        for end in self._ends:
            end.close()


def _rebuilt(result: dict[str, Any]) -> RagError:
    kind = getattr(ragcore.errors, str(result["error"]), None)
    if not (isinstance(kind, type) and issubclass(kind, RagError)):
        raise RuntimeError(f"The reading process failed: {result['what']}")
    error = kind.__new__(kind)
    RagError.__init__(error, str(result["what"]), hint=str(result["hint"]))
    return error


def _crash(status: str, words: str, name: str, timeout: float) -> Exception:
    """`status` as loky says it: "{SIGABRT(-6)}" or "{EXIT(1)}" in a sentence; UNKNOWN on Windows."""
    if "SIGXCPU" in status:
        return _too_long(name, timeout)
    # SIGKILL comes from a system that has run out of memory.
    if "SIGKILL" in status or "MemoryError" in words or "bad_alloc" in words or "out of memory" in words.lower():
        return _too_much_memory(name)
    if re.search(r"EXIT\([012]\)", status):
        return RuntimeError(f"The reading process ended: {status} {words[-2000:]}")
    return DamagedFileError(
        f"{name} could not be read: it made the reader crash.",
        hint="Open it in the program it comes from and save it again, or print it to a PDF.",
    )


def _too_long(name: str, timeout: float) -> TooLargeError:
    return _stopped(f"{name} took longer than {_span(timeout)} to read and was stopped.")


def _span(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:g} seconds"


def _too_much_memory(name: str) -> TooLargeError:
    return _stopped(f"{name} needs more memory to read than it is allowed, and was stopped.")


def _stopped(what: str) -> TooLargeError:
    return TooLargeError(what, hint="Split it into several files, or raise the limit in the settings.")
