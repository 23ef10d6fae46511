"""The parent's side of a process that reads files (`lectern.jobs.sandbox_process`).

The process sends lines of bytes, and for each file a JSON object and a text: nothing that it sends can become
code here. Each order has a secret, and its answer must repeat it.
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

POLL_SECONDS = 0.1  # between two checks of the clock and of `cancelled`
MAX_TIMEOUTS = 40  # Time limit for a file with progress, in timeouts: 2,000 scanned pages take four hours.
END_SECONDS = 1.0  # for a process to end, or to end its child that read a file
STDERR_BYTES = 64_000  # of a parser's last output
MAX_LINES = 100  # unread; then the process waits
BUFFER_BYTES = 1 << 16
MAX_LINE_BYTES = 1000
INVALID = b"?"  # in place of a line that is too long, or announces too many bytes
CHAR_BYTES = 4  # Maximum size of a character in UTF-8.
# With -P, because the current folder may have a module of the same name.
START = "import sys; sys.path.append(sys.argv[1]); from lectern.jobs.sandbox_process import serve; serve()"


class Cancelled(Exception):
    """The caller cancelled the work."""


class EndedBeforeError(Exception):
    """The process ended while it was idle: the file is not at fault."""


class KilledError(Exception):
    """Another program or the system ended the process while it read. `reason` is the error if that happens
    again."""

    def __init__(self, reason: TooLargeError) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Answer:
    """The result for a file: a JSON object, a text or an image in `body`, and a line of JSON for each
    recognised page."""

    nonce: str
    head: bytes
    body: bytes
    words: bytes


class ReaderProcess:
    """Reads one file at a time. `parent`: a folder for its scratch folder, on the file system of the
    files."""

    def __init__(self, parent: Path | None = None) -> None:
        self.files = 0
        self.was_idle = False
        self.reusable = True
        self.parent = parent
        self.tesseract = find_program()
        self.scratch = Scratch(parent) if confines_files() else None
        place = None if self.scratch is None else self.scratch.work
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, str(Path(lectern.__file__).parents[1])],
            bufsize=BUFFER_BYTES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(place),
            cwd=place,
            # A group of its own: Ctrl+C does not reach it, and its children can be ended with it.
            process_group=None if sys.platform == "win32" else 0,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._orders, self._body_bytes = self._process.stdin, 0
        self._group = 0  # of the process that reads the file
        self._lines: Queue[bytes | Answer] = Queue(MAX_LINES)  # b"" for their end
        self._stderr = b""
        threads = ((self._read_lines, self._process.stdout), (self._read_stderr, self._process.stderr))
        self._threads = [threading.Thread(target=each, args=(pipe,), daemon=True) for each, pipe in threads]
        for thread in self._threads:
            thread.start()
        with suppress(OSError):  # it has ended already; reading the first file reports that
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
        """The path of the file for the process, inside the context."""
        return nullcontext(path) if self.scratch is None else self.scratch.link(path)

    def read(
        self,
        order: Mapping[str, Any],
        name: str,
        timeout: float,
        on_progress: Callable[[int, int], None],
        cancelled: Callable[[], bool],
    ) -> Answer:
        """The answer to the order, after the process that read the file has ended. `timeout` in seconds since
        the last progress.

        EndedBeforeError if the process ended before, or was taken over, KilledError, and the errors of
        `lectern.jobs.sandbox.read_isolated`.
        """
        if not self._is_silent():
            raise EndedBeforeError
        self.files += 1
        nonce, progress = secrets.token_hex(16), _Progress(on_progress, name, timeout)
        self._body_bytes = CHAR_BYTES * int(order["max_text_chars"])
        with suppress(OSError):  # it has ended; the end of its lines reports that
            self._send({**order, "nonce": nonce})
        while True:
            if cancelled():
                raise Cancelled
            progress.check_clock()
            try:
                line = self._lines.get(timeout=POLL_SECONDS)
            except Empty:
                continue
            if isinstance(line, Answer):
                if line.nonce != nonce:
                    raise crash_error(name)
                self._end_file()
                return line
            if self._group and line and not line.startswith(DIED):
                progress.take(line)
            elif line.startswith(BEGUN + b" " + nonce.encode("ascii")):
                self._group = int(line.split()[2])
            elif line != READY:
                if self.was_idle and not self._group:
                    raise EndedBeforeError
                raise self._explain_end(line, name, timeout)

    def _is_silent(self) -> bool:
        """Whether nothing but READY is in the pipe. The origin of other lines would be unknown."""
        while True:
            try:
                if self._lines.get_nowait() != READY:
                    return not self.was_idle
            except Empty:
                return True

    def _end_file(self) -> None:
        """End all processes that read the file. Without a confirmation, end this process, which is then not
        reusable."""
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
        """End the process and its children at once, and delete its files."""
        self._end()
        while any(thread.is_alive() for thread in self._threads):
            with suppress(Empty):
                self._lines.get(timeout=0.01)  # makes room in the queue, so that the threads can end
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
            with suppress(OSError):
                self._orders.close()  # tells it to end, with its children
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
            if self._process.returncode != 0:
                for group in {self._group, self.pid} - {0}:
                    # already ended; macOS raises the second
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _send(self, order: Mapping[str, Any]) -> None:
        self._orders.write(json.dumps(order).encode("ascii") + b"\n")
        self._orders.flush()

    def _read_lines(self, pipe: IO[bytes]) -> None:
        with pipe:
            while (line := pipe.readline(MAX_LINE_BYTES)).endswith(b"\n"):
                message = self._read_answer(pipe, line) if line.startswith(ANSWER) else line[:-1]
                if message is None:
                    break
                self._lines.put(message)
        if line:
            self._lines.put(INVALID)
        self._lines.put(b"")

    def _read_answer(self, pipe: IO[bytes], line: bytes) -> Answer | None:
        """The answer that this line announces; None if the line is invalid, or announces too many bytes."""
        try:
            nonce, *sizes = line.decode("ascii").split()[1:]
            head, body, words = map(int, sizes)
        except ValueError:
            return None
        if not (0 <= head <= HEAD_BYTES and 0 <= body <= self._body_bytes and 0 <= words <= WORDS_BYTES):
            return None
        answer = Answer(nonce, pipe.read(head), pipe.read(body), pipe.read(words))
        return answer if pipe.readline(MAX_LINE_BYTES) == b"\n" else None

    def _read_stderr(self, pipe: IO[bytes]) -> None:
        """Read the output of parsers; the end of it explains a crash."""
        with pipe:
            while output := os.read(pipe.fileno(), STDERR_BYTES):
                self._stderr = (self._stderr + output)[-STDERR_BYTES:]

    def _explain_end(self, line: bytes, name: str, timeout: float) -> Exception:
        """The reason why there is no answer. `line` is the end of the process that read the file, empty, or
        invalid."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if line else END_SECONDS)
        status = self._process.returncode
        self._end()
        self._threads[1].join(END_SECONDS)
        if line:
            match = re.fullmatch(DIED + rb" (-?[0-9]{1,9})", line)
            status = int(match[1]) if match else -signal.SIGABRT
        output = self._stderr.decode("utf-8", "replace")
        if sys.platform != "win32" and status == -signal.SIGXCPU:
            return _too_slow(name, MAX_TIMEOUTS * timeout)
        needs_memory = _limit_error(f"Reading {name} needs more memory than is allowed, so it was stopped.")
        if "MemoryError" in output or "bad_alloc" in output or "out of memory" in output.lower():
            return needs_memory
        # What ends processes when memory is short sends these; so do people and service managers.
        if sys.platform != "win32" and status in (-signal.SIGKILL, -signal.SIGTERM):
            return KilledError(needs_memory)
        if status in (0, 1, 2):  # a bug: for a bad file there is an answer with an error
            return RuntimeError(f"The reading process ended with status {status}: {output[-2000:]}")
        return crash_error(name)


class _Progress:
    """Passes progress of one file on, and checks the time limits."""

    def __init__(self, report: Callable[[int, int], None], name: str, timeout: float) -> None:
        self._report = report
        self._name = name
        self._timeout = timeout
        self._most = (0, 0)
        self._began = self._last = time.monotonic()

    def check_clock(self) -> None:
        now = time.monotonic()
        if now > self._last + self._timeout:
            raise _limit_error(
                f"Reading {self._name} made no progress for {_span(self._timeout)} and was stopped."
            )
        if now > self._began + MAX_TIMEOUTS * self._timeout:
            raise _too_slow(self._name, MAX_TIMEOUTS * self._timeout)

    def take(self, line: bytes) -> None:
        try:
            done, total = map(int, line[:40].split())
        except ValueError as error:  # the process was taken over
            raise crash_error(self._name) from error
        if (done, total) > self._most:
            self._last, self._most = time.monotonic(), (done, total)
        self._report(done, total)


def crash_error(name: str) -> DamagedFileError:
    return DamagedFileError(
        f"{name} could not be read: it made the reader crash.",
        hint="Open it in the program it comes from and save it again, or print it to a PDF.",
    )


def _too_slow(name: str, timeout: float) -> TooLargeError:
    return _limit_error(f"{name} took longer than {_span(timeout)} to read and was stopped.")


def _span(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:g} seconds"


def _limit_error(what: str) -> TooLargeError:
    return TooLargeError(what, hint="Split it into several files, or raise the limit in Settings.")
