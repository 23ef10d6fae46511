"""The parent's end of one process that reads files (`lectern.jobs.sandbox_process`).

What comes from there is lines of bytes, and for each file one object of JSON and a text: nothing that it sends can become code
here. Each order has a secret, which only its own answer repeats.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any

import lectern
from lectern.jobs.confinement import confines_files, environment
from lectern.jobs.sandbox_process import ANSWER, BEGUN, DIED, ENDED, HEAD_BYTES, READY, WORDS_BYTES
from lectern.jobs.scratch import Scratch
from ragcore.errors import DamagedFileError, TooLargeError
from ragcore.readers.ocr.tesseract import find_program

LOOK_SECONDS = 0.1  # between two looks at the clock and at `cancelled`
LONGEST = 40  # times `timeout`, however well it gets on: 2,000 scanned pages take four hours
END_SECONDS = 1.0  # in which a process ends what read a file, or itself, and its last words come
WATCHED = 64_000  # bytes of a parser's last words that are kept
LINES = 100  # that wait for whoever reads them; then the process waits
BUFFER = 1 << 16  # bytes
LINE = 1000  # bytes
NOT_OURS = b"?"  # for a line that is too long, or announces too much
CHAR_BYTES = 4  # of a character in UTF-8, at most
# With -P, which leaves the current folder out: a module may lie there that nobody meant to import.
START = "import sys; sys.path.append(sys.argv[1]); from lectern.jobs.sandbox_process import serve; serve()"


class Cancelled(Exception):
    """The reading was stopped because the caller said so."""


class EndedBeforeError(Exception):
    """The process was ended while it waited, and the file is not to blame."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a file: an object of JSON, a text or an image in `body`, and a line of JSON for each recognised page."""

    nonce: str
    head: bytes
    body: bytes
    words: bytes


class ReaderProcess:
    """Reads one file at a time. `beside`: a folder on the file system of the files."""

    def __init__(self, beside: Path | None = None) -> None:
        self.files = 0
        self.waited = False
        self.reusable = True
        self.beside = beside
        self.tesseract = find_program()
        self.scratch = Scratch(beside) if confines_files() else None
        place = None if self.scratch is None else self.scratch.work
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(Path(lectern.__file__).parents[1])],
            bufsize=BUFFER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(place),
            cwd=place,
            # A group of its own: Ctrl+C is the parent's, and what is started there can be ended with it.
            process_group=None if sys.platform == "win32" else 0,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._orders, self._body_bytes = self._process.stdin, 0
        self._group = 0  # of what reads the file
        self._lines: Queue[bytes | Answer] = Queue(LINES)  # b"" for their end
        self._words = b""
        threads = ((self._listen, self._process.stdout), (self._hear, self._process.stderr))
        self._threads = [threading.Thread(target=each, args=(pipe,), daemon=True) for each, pipe in threads]
        for thread in self._threads:
            thread.start()
        with suppress(OSError):  # it has ended already, as the first file will say
            self._send(
                {
                    "inputs": self.scratch and str(self.scratch.inputs),
                    "scratch": place and str(place),
                    "tesseract": self.tesseract,
                }
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def input(self, path: Path) -> AbstractContextManager[Path]:
        """Where the process finds the file, while this is open."""
        return nullcontext(path) if self.scratch is None else self.scratch.holding(path)

    def read(
        self,
        order: Mapping[str, Any],
        name: str,
        timeout: float,
        on_progress: Callable[[int, int], None],
        cancelled: Callable[[], bool],
    ) -> Answer:
        """What the process answers to the order, when whatever read the file has ended. `timeout` in seconds from the last
        sign of progress.

        EndedBeforeError where the process had ended before it began, or is no longer ours, and the errors of
        `lectern.jobs.sandbox.read_isolated`.
        """
        if not self._has_said_nothing():
            raise EndedBeforeError
        self.files += 1
        nonce, end = secrets.token_hex(16), time.monotonic() + LONGEST * timeout
        progress = _Progress(on_progress)
        # It holds from the answer on, for whose line `_listen` waits already.
        self._body_bytes = CHAR_BYTES * int(order["max_text_chars"])
        with suppress(OSError):  # it has ended, as its lines will say
            self._send({**order, "nonce": nonce})
        while True:
            if cancelled():
                raise Cancelled
            _check_clock(name, timeout, progress.last, end)
            try:
                line = self._lines.get(timeout=LOOK_SECONDS)
            except Empty:
                continue
            if isinstance(line, Answer):
                if line.nonce != nonce:
                    raise crashed(name)
                self._end_file()
                return line
            if self._group and line and not line.startswith(DIED):
                progress.take(line, name)
            elif line.startswith(BEGUN + b" " + nonce.encode("ascii")):
                self._group = int(line.split()[2])
            elif line != READY:
                if self.waited and not self._group:
                    raise EndedBeforeError
                raise self._explain_end(line, name, LONGEST * timeout)

    def _has_said_nothing(self) -> bool:
        """Whether only READY is in the pipe, or nothing: else it is not known who wrote it."""
        while True:
            try:
                if self._lines.get_nowait() != READY:
                    return not self.waited
            except Empty:
                return True

    def _end_file(self) -> None:
        """Have all ended that read the file. Where that is not confirmed, end the process, which is then not reusable."""
        nonce = secrets.token_hex(16).encode("ascii")
        try:
            self._orders.write(nonce + b"\n")
            self._orders.flush()
            self.reusable = self._lines.get(timeout=END_SECONDS) == ENDED + b" " + nonce
        except (OSError, Empty):
            self.reusable = False
        if not self.reusable:
            self._end()
        self._group = 0

    def kill(self) -> None:
        """End the process, and what it started, at once, and delete what it wrote."""
        self._end()
        while any(thread.is_alive() for thread in self._threads):
            with suppress(Empty):
                self._lines.get(timeout=0.01)  # room for the last ones
        with suppress(OSError):
            self._orders.close()
        if self.scratch is not None:
            self.scratch.remove()

    def _end(self) -> None:
        if sys.platform == "win32":
            import psutil

            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(self.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
        else:
            with suppress(OSError):  # by which it knows that it is to end, and what reads the file with it
                self._orders.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
            if self._process.returncode != 0:
                for group in {self._group, self.pid} - {0}:
                    with suppress(ProcessLookupError, PermissionError):  # gone; macOS says the second
                        os.killpg(group, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _send(self, order: Mapping[str, Any]) -> None:
        self._orders.write(json.dumps(order).encode("ascii") + b"\n")
        self._orders.flush()

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            while (line := pipe.readline(LINE)).endswith(b"\n"):
                message = self._answer(pipe, line) if line.startswith(ANSWER) else line[:-1]
                if message is None:
                    break
                self._lines.put(message)
        if line:
            self._lines.put(NOT_OURS)
        self._lines.put(b"")

    def _answer(self, pipe: IO[bytes], line: bytes) -> Answer | None:
        """What an answer's line announces; None where it is no such line, or too much."""
        try:
            nonce, *sizes = line.decode("ascii").split()[1:]
            head, body, words = map(int, sizes)
        except ValueError:
            return None
        if not (0 <= head <= HEAD_BYTES and 0 <= body <= self._body_bytes and 0 <= words <= WORDS_BYTES):
            return None
        answer = Answer(nonce, pipe.read(head), pipe.read(body), pipe.read(words))
        return answer if pipe.readline(LINE) == b"\n" else None

    def _hear(self, pipe: IO[bytes]) -> None:
        """Fetch what parsers print: a crash is explained by the last of it."""
        with pipe:
            while words := os.read(pipe.fileno(), WATCHED):
                self._words = (self._words + words)[-WATCHED:]

    def _explain_end(self, line: bytes, name: str, timeout: float) -> Exception:
        """Why there is no answer. `line` says how the process that read the file ended, or is empty, or not ours."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if line else END_SECONDS)
        status = self._process.returncode
        self._end()
        self._threads[1].join(END_SECONDS)
        if line:
            found = re.fullmatch(DIED + rb" (-?[0-9]{1,9})", line)
            status = int(found[1]) if found else -signal.SIGABRT
        words = self._words.decode("utf-8", "replace")
        if sys.platform != "win32" and status == -signal.SIGXCPU:
            return _too_long(name, timeout)
        killed = sys.platform != "win32" and status == -signal.SIGKILL  # by a system that has run out of memory
        if killed or "MemoryError" in words or "bad_alloc" in words or "out of memory" in words.lower():
            return _too_much_memory(name)
        if status in (0, 1, 2):  # ours: a bad file is an error in its answer
            return RuntimeError(f"The reading process ended with status {status}: {words[-2000:]}")
        return crashed(name)


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

    def take(self, line: bytes, name: str) -> None:
        try:
            done, total = map(int, line[:40].split())
        except ValueError as error:  # the process is no longer ours
            raise crashed(name) from error
        self(done, total)


def _check_clock(name: str, timeout: float, last: float, end: float) -> None:
    if time.monotonic() > last + timeout:
        raise _stopped(f"Reading {name} made no progress for {_span(timeout)} and was stopped.")
    if time.monotonic() > end:
        raise _too_long(name, LONGEST * timeout)


def crashed(name: str) -> DamagedFileError:
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
    return _stopped(f"Reading {name} needs more memory than is allowed, so it was stopped.")


def _stopped(what: str) -> TooLargeError:
    return TooLargeError(what, hint="Split it into several files, or raise the limit in Settings.")
