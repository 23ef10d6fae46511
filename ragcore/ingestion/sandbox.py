"""Reads a file in a process of its own, with limits of time and memory: a file that crashes, hangs or explodes a parser
costs that process and nothing else.

    python -m ragcore.ingestion.sandbox

takes one line of JSON on standard input (path, options, limits), writes progress as lines `done total` to standard output,
and leaves the result, JSON too, in the file it was told. It ends when standard input closes, so it does not outlive its
parent. Nothing is unpickled: what comes from the child is data, and an error is rebuilt by the name of its class.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TextIO

import ragcore.errors
from ragcore.errors import DamagedFileError, RagError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.schema import Document, Page

LOOK_SECONDS = 0.1  # between two looks at the clock and at `cancelled`
SIGNAL_SECONDS = 0.1  # between two progress lines


class Cancelled(Exception):
    """The reading was stopped because the caller said so."""


def read_isolated(
    path: Path, options: ReadOptions, *, timeout: float, memory_mb: int, cancelled: Callable[[], bool]
) -> Document:
    """`read_file` in a child process. `timeout` in seconds, `memory_mb` of address space, where the system limits it.

    Raises what `read_file` raises; TooLargeError beyond a limit; DamagedFileError when the child crashes; Cancelled at most
    0.2 seconds after `cancelled` says so. `options.progress` is called in the caller's thread.
    """
    if cancelled():
        raise Cancelled
    with tempfile.TemporaryDirectory(prefix="lectern-read-") as folder:
        result = Path(folder) / "result.json"
        order = {
            "path": str(path.absolute()),
            "name": options.name,
            "password": options.password,
            "max_text_chars": options.max_text_chars,
            "timeout": timeout,
            "memory_mb": memory_mb,
            "result": str(result),
        }
        with (Path(folder) / "errors.txt").open("w+b") as errors:
            status = _run(order, errors, options, timeout, cancelled)
            if result.exists():
                return _rebuilt(json.loads(result.read_text("utf-8")))
            errors.seek(0)
            raise _crash(status, errors.read().decode("utf-8", "replace"), options.name, timeout)


def _run(order: dict[str, Any], errors: IO[bytes], options: ReadOptions, timeout: float, cancelled: Callable[[], bool]) -> int:
    """The child's exit status."""
    with subprocess.Popen(
        [sys.executable, "-m", "ragcore.ingestion.sandbox"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=_environment(),
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:  # whatever happens from here on ends the child: its output cannot be closed while the thread waits for it
            signals: queue.SimpleQueue[bytes] = queue.SimpleQueue()
            # A pipe cannot be waited for with a time-out on every system; a thread can be.
            threading.Thread(target=_listen, args=(child.stdout, signals), daemon=True).start()
            child.stdin.write(json.dumps(order).encode() + b"\n")
            child.stdin.flush()
            _watch(child, signals, options, timeout, cancelled)
        except BrokenPipeError:
            pass  # it ended before it listened; its status says why
        finally:
            if child.poll() is None:
                child.kill()
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        return child.wait()


def _watch(
    child: subprocess.Popen[bytes],
    signals: queue.SimpleQueue[bytes],
    options: ReadOptions,
    timeout: float,
    cancelled: Callable[[], bool],
) -> None:
    """Until the child has closed its output; Cancelled and TooLargeError end it."""
    end = time.monotonic() + timeout
    while True:
        try:
            line = signals.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            line = b" "
        if not line:
            child.wait(max(end - time.monotonic(), 1.0))
            return
        if cancelled():
            raise Cancelled
        if time.monotonic() > end:
            raise _too_long(options.name, timeout)
        numbers = line.split()
        if len(numbers) == 2:
            options.progress(int(numbers[0]), int(numbers[1]))


def _listen(output: IO[bytes], signals: queue.SimpleQueue[bytes]) -> None:
    for line in output:
        signals.put(line)
    signals.put(b"")


def _environment() -> dict[str, str]:
    root = str(Path(ragcore.errors.__file__).parent.parent)
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    # One thread and one heap: each further one reserves memory that the limit counts.
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


def _rebuilt(result: dict[str, Any]) -> Document:
    if "error" in result:
        kind = getattr(ragcore.errors, str(result["error"]), None)
        if not (isinstance(kind, type) and issubclass(kind, RagError)):
            raise RuntimeError(f"The reading process failed: {result['what']}")
        error = kind.__new__(kind)
        RagError.__init__(error, str(result["what"]), hint=str(result["hint"]))
        raise error
    return Document(
        result["text"],
        metadata=result["metadata"],
        pages=tuple(Page(label, start, end) for label, start, end in result["pages"]),
        page_word=result["page_word"],
    )


def _crash(status: int, errors: str, name: str, timeout: float) -> Exception:
    import signal

    if status == -getattr(signal, "SIGXCPU", 0) and status != 0:
        return _too_long(name, timeout)
    if "MemoryError" in errors or "bad_alloc" in errors or "out of memory" in errors.lower():
        return _too_much_memory(name)
    if status < 0 or status > 2:  # a signal; on Windows the code of an exception
        return DamagedFileError(
            f"{name} could not be read: it made the reader crash.",
            hint="Open it in the program it comes from and save it again, or print it to a PDF.",
        )
    return RuntimeError(f"The reading process ended with status {status}: {errors[-2000:]}")


def _too_long(name: str, timeout: float) -> TooLargeError:
    span = f"{timeout / 60:.0f} minutes" if timeout >= 120 else f"{timeout:g} seconds"
    return TooLargeError(
        f"{name} took longer than {span} to read and was stopped.",
        hint="Split it into several files, or raise the limit in the settings.",
    )


def _too_much_memory(name: str) -> TooLargeError:
    return TooLargeError(
        f"{name} needs more memory to read than it is allowed, and was stopped.",
        hint="Split it into several files, or raise the limit in the settings.",
    )


# What runs in the child


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit(float(order["timeout"]), int(order["memory_mb"]))
    # What a parser prints must not be taken for progress: from here on standard output is where errors go.
    signals = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1)
    os.dup2(2, 1)
    result = Path(order["result"])
    draft = result.with_suffix(".new")
    draft.write_text(json.dumps(_read(order, signals)), "utf-8")
    draft.replace(result)  # whole or not at all
    # Parsers' own clean-up is not worth waiting for, and a crash in it would be for nothing.
    os._exit(0)


def _read(order: dict[str, Any], signals: TextIO) -> dict[str, Any]:
    from ragcore.readers.registry import read_file

    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SIGNAL_SECONDS or done == total:
            last = now
            signals.write(f"{done} {total}\n")

    options = ReadOptions(order["name"], order["password"], progress, order["max_text_chars"])
    try:
        document = read_file(Path(order["path"]), options)
    except RagError as error:
        return {"error": type(error).__name__, "what": error.what, "hint": error.hint}
    return {
        "text": document.text,
        "metadata": dict(document.metadata),
        "pages": [(page.label, page.start, page.end) for page in document.pages],
        "page_word": document.page_word,
    }


def _limit(timeout: float, memory_mb: int) -> None:
    if sys.platform == "win32":
        return  # it has no such limits; the parent's clock holds there too
    import resource

    def lower(kind: int, value: int) -> None:
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, hard))

    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_CPU, int(timeout) + 2)
    if sys.platform == "linux":  # macOS refuses it
        lower(resource.RLIMIT_AS, memory_mb * 1_000_000)


def _end_with_parent() -> None:
    # os.read and not sys.stdin: a thread that holds sys.stdin makes an orderly end of the process a crash.
    while os.read(0, 4096):
        continue
    os._exit(1)


if __name__ == "__main__":
    main()
