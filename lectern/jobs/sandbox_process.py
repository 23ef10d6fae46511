"""The main function of a process that reads files. It is confined (`lectern.jobs.confinement`), and ends with
its parent.

It gets orders as lines on its standard input. For each file it forks a process with limits of memory,
processor time and disk, which ends afterwards, so a file that takes a process over sees no other file. On a
system without fork, it reads the files itself.

It writes lines to its standard output: `ready` once, and for each order `begun`, progress such as `3 10`, and
`answer` with the sizes of what follows: a JSON object, a text or an image, and the words of recognised pages,
a line for each page. An order ends with another line, which is repeated after `ended`. The output of parsers
goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from lectern.jobs.confinement import confine, confine_further

if TYPE_CHECKING:
    from ragcore.errors import RagError
    from ragcore.readers.base import ReadOptions
    from ragcore.readers.ocr.page_words import PageWords

READY, BEGUN, ANSWER, DIED, ENDED = b"ready", b"begun", b"answer", b"died", b"ended"
HEAD_BYTES = 16_000_000  # Maximum size of the JSON of an answer; its objects need up to 27 times as much.
WORDS_BYTES = 100_000_000  # Maximum size of the words of all recognised pages of a file.
SIGNAL_SECONDS = 0.1  # between two reports of progress
CPU_SECONDS_MORE = 2  # in addition to the timeout, for several threads

# Modules that Python loads for every file, or every archive.
_COMMON = ("resource", "encodings.utf_16_le", "encodings.utf_16_be", "encodings.cp437")

_Send = Callable[[bytes], None]
_Result = tuple[dict[str, Any], bytes, bytes]  # the head, body and words of an answer


def serve() -> None:
    """Read the files that the parent orders, until it ends. The first line has the arguments of `confine`."""
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    places = json.loads(orders.readline())
    confine(
        inputs=places["inputs"] and Path(places["inputs"]),
        scratch=places["scratch"] and Path(places["scratch"]),
        tesseract=places["tesseract"],
    )

    def send(line: bytes) -> None:
        answers.write(line + b"\n")
        answers.flush()

    send(READY)
    (_serve_here if sys.platform == "win32" else _serve_by_forks)(orders, send, places["tesseract"])


def _serve_here(orders: IO[bytes], send: _Send, tesseract: str) -> None:
    confine_further(tesseract, os.getppid())
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()
    while True:
        _carry_out(json.loads(waiting.get()), send)
        send(ENDED + b" " + waiting.get().strip())


def _listen(orders: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Queue orders, and end this process when the parent has ended."""
    for order in orders:
        waiting.put(order)
    os._exit(1)


def _serve_by_forks(orders: IO[bytes], send: _Send, tesseract: str) -> None:
    """This process never looks at a file, and has a single thread, because a fork copies only one."""
    if sys.platform == "win32":
        return
    import gc

    parent = os.getpid()
    while line := orders.readline():
        order = json.loads(line)
        _load_parsers(order["name"])
        gc.freeze()  # else the garbage collector writes to all objects, and the fork has to copy them
        read_end, write_end = os.pipe()  # closed when the other process ends
        process = os.fork()
        if not process:
            orders.close()
            os.close(read_end)
            _read_and_exit(order, send, tesseract, parent)
        os.close(write_end)
        with suppress(OSError):  # it does the same itself, perhaps earlier
            os.setpgid(process, process)
        has_order = orders.fileno() in select.select([orders.fileno(), read_end], [], [])[0]
        with suppress(ProcessLookupError, PermissionError):  # already ended; macOS raises the second
            os.killpg(process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.close(read_end)
        if status and not has_order:
            send(DIED + b" %d" % status)
        if not (line := orders.readline()):
            break
        send(ENDED + b" " + line.strip())
    os._exit(0)


def _load_parsers(name: str) -> None:
    """Load the parsers for this file name before the fork. For a text these are few, because a fork copies
    all memory."""
    from ragcore.readers.registry import reader_for

    for parser in (*_COMMON, *getattr(reader_for(name), "PARSERS", ())):
        with suppress(Exception):  # the reader reports it
            importlib.import_module(parser)


def _read_and_exit(order: dict[str, Any], send: _Send, tesseract: str, parent: int) -> None:
    """Runs in the forked process."""
    status = 1
    try:
        confine_further(tesseract, parent)
        _carry_out(order, send)
        status = 0
    except BaseException:  # noqa: BLE001 - the parent's frames must not go on in this process
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _carry_out(order: dict[str, Any], send: _Send) -> None:
    send(BEGUN + b" %s %d" % (order["nonce"].encode("ascii"), os.getpid()))
    _limit(order)
    head, body, words = _answer(order, send)
    sizes = b" %s %d %d %d\n" % (order["nonce"].encode("ascii"), len(head), len(body), len(words))
    send(b"".join((ANSWER, sizes, head, body, words)))


def _answer(order: dict[str, Any], send: _Send) -> tuple[bytes, bytes, bytes]:
    """The result of the order's `work`, or its error."""
    from ragcore.errors import RagError, TooLargeError

    try:
        head, body, words = _WORK[order["work"]](order, send)
        packed = json.dumps(head, ensure_ascii=False).encode("utf-8", "replace")
        if len(packed) > HEAD_BYTES:
            name = order["name"]
            raise TooLargeError(
                f"{name} has too many parts to be read as one file.", hint="Split it into several files."
            )
        return packed, body, words
    except RagError as error:
        return json.dumps(_as_json(error), ensure_ascii=False).encode("utf-8", "replace"), b"", b""


def _read(order: dict[str, Any], send: _Send) -> _Result:
    from ragcore.readers.registry import read_file

    left_out: list[RagError] = []
    words = _Words()
    options = replace(_options(order, send), on_loss=left_out.append, on_words=words.add)
    document = read_file(Path(order["path"]), options)
    head = {
        "metadata": dict(document.metadata),
        "pages": [(page.label, page.start, page.end) for page in document.pages],
        "page_word": document.page_word,
        "left_out": [_as_json(error) for error in left_out],
    }
    return head, document.text.encode("utf-8", "replace"), bytes(words.packed)


class _Words:
    """The words of recognised pages, as lines of JSON, up to WORDS_BYTES: the words of thousands of pages."""

    def __init__(self) -> None:
        self.packed = bytearray()

    def add(self, index: int, page: PageWords) -> None:
        line = json.dumps([index, page.as_json()], ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        if len(self.packed) + len(line) <= WORDS_BYTES:
            self.packed += line


def _unpack(order: dict[str, Any], send: _Send) -> _Result:
    from ragcore.readers.zip.archive import unpack

    members = unpack(Path(order["path"]), Path(order["into"]), _options(order, send))
    return (
        {"members": [(each.name, str(each.path), each.error and _as_json(each.error)) for each in members]},
        b"",
        b"",
    )


def _draw(order: dict[str, Any], send: _Send) -> _Result:
    from ragcore.readers.ocr.image import SUFFIXES, render_picture
    from ragcore.readers.pdf.page_images import render_page

    path, index, turn = Path(order["path"]), order["page_index"], order["turn"]
    if path.suffix in SUFFIXES:
        image = render_picture(path, index, turn=turn)
    else:
        image = render_page(path, index, scale=order["scale"], password=order["password"], turn=turn)
    return {}, image, b""


def _find(order: dict[str, Any], send: _Send) -> _Result:
    from ragcore.readers.pdf.page_images import highlight_boxes

    path, password = Path(order["path"]), order["password"]
    boxes = {
        name: [
            [
                astuple(box)
                for box in highlight_boxes(path, index, order["quote"], parts=parts, password=password)
            ]
            for index in order["page_indexes"]
        ]
        for name, parts in (("boxes", None), ("parts", order["parts"]))
    }
    return boxes, b"", b""


def _copy(order: dict[str, Any], send: _Send) -> _Result:
    from lectern.jobs.copy_contents import read_contents

    contents = read_contents(
        Path(order["path"]),
        Path(order["into"]),
        _options(order, send),
        with_files=order["with_files"],
        max_file_mb=order["max_file_mb"],
        room=order["room"],
    )
    return contents, b"", b""


_WORK: dict[str, Callable[[dict[str, Any], _Send], _Result]] = {
    "read": _read,
    "unpack": _unpack,
    "draw": _draw,
    "find": _find,
    "copy": _copy,
}


def _as_json(error: RagError) -> dict[str, Any]:
    return {"error": type(error).__name__, "what": error.what, "hint": error.hint}


def _options(order: dict[str, Any], send: _Send) -> ReadOptions:
    from ragcore.readers.base import ReadOptions

    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SIGNAL_SECONDS or done == total:
            last = now
            send(b"%d %d" % (done, total))

    return ReadOptions(order["name"], order["password"], progress, max_text_chars=order["max_text_chars"])


def _limit(order: dict[str, Any]) -> None:
    """Limit this process and its children; it cannot be undone."""
    if sys.platform == "win32":
        return  # without such limits; the parent's clock works there too
    import resource

    def allow(kind: int, soft: int, more: int = 0) -> None:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            soft, more = min(soft, hard), min(more, hard - min(soft, hard))
        resource.setrlimit(kind, (soft, soft + more))

    used = resource.getrusage(resource.RUSAGE_SELF)
    allow(resource.RLIMIT_CORE, 0)
    allow(resource.RLIMIT_FSIZE, order["max_file_bytes"])
    # The soft limit sends a signal by which the parent knows the reason; the hard limit ends the process.
    allow(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + order["timeout"]) + CPU_SECONDS_MORE, 1)
    if sys.platform == "linux":  # macOS refuses it
        allow(resource.RLIMIT_AS, order["memory_mb"] * 1_000_000)
