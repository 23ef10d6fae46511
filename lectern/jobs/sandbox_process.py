"""What runs in a process that reads files: it has so much memory and processor time, reaches what `lectern.jobs.confinement`
leaves it, and ends when its parent has.

It gets its orders as lines of JSON on its standard input. On what was its standard output it answers in lines, too: `ready`
once, and for each order `begun`, progress such as `3 10`, and an object of JSON. What parsers print goes to standard error.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from lectern.jobs.confinement import confine

if TYPE_CHECKING:
    from ragcore.errors import RagError
    from ragcore.readers.base import ReadOptions
    from ragcore.readers.ocr.page_words import PageWords

READY, BEGUN = b"ready", b"begun"
SIGNAL_SECONDS = 0.1  # between two reports of progress
CPU_SECONDS_MORE = 2  # than the clock allows, for what runs in several threads

_Send = Callable[[bytes], None]


def serve() -> None:
    """Read the files that the parent orders, until it ends. The first line says what this process may reach."""
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    places = json.loads(orders.readline())
    peak_mb = _peak_meter()
    confine(
        inputs=places["inputs"] and Path(places["inputs"]),
        scratch=places["scratch"] and Path(places["scratch"]),
        tesseract=places["tesseract"],
    )
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()
    from ragcore.readers.registry import supported_suffixes

    supported_suffixes()  # every reader is found, so that the first file need not wait for it

    def send(line: bytes) -> None:
        answers.write(line + b"\n")
        answers.flush()

    send(READY)
    while True:
        order = json.loads(waiting.get())
        send(BEGUN)
        _limit(float(order["timeout"]), int(order["memory_mb"]))
        answer = _answer(order, send)
        send(json.dumps({**answer, "peak_mb": peak_mb()}).encode("ascii"))


def _listen(orders: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Take orders; when there can be no more, the parent has ended, and this process and what it started end too."""
    for order in orders:
        waiting.put(order)
    if sys.platform != "win32":
        import signal

        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _answer(order: dict[str, Any], send: _Send) -> dict[str, Any]:
    """Do the `work` of the order on the file that it names; gives what came of it, or the error."""
    from ragcore.errors import RagError

    try:
        return _WORK[order["work"]](order, send)
    except RagError as error:
        return _as_json(error)


def _read(order: dict[str, Any], send: _Send) -> dict[str, Any]:
    from ragcore.readers.registry import read_file

    left_out: list[RagError] = []
    words: dict[int, PageWords] = {}
    options = replace(_options(order, send), left_out=left_out.append, on_words=words.__setitem__)
    document = read_file(Path(order["path"]), options)
    return {
        "text": document.text,
        "metadata": dict(document.metadata),
        "pages": [(page.label, page.start, page.end) for page in document.pages],
        "page_word": document.page_word,
        "left_out": [_as_json(error) for error in left_out],
        "words": [(index, page.as_json()) for index, page in words.items()],
    }


def _unpack(order: dict[str, Any], send: _Send) -> dict[str, Any]:
    from ragcore.readers.zip.archive import unpack

    members = unpack(Path(order["path"]), Path(order["into"]), _options(order, send))
    return {"members": [(each.name, str(each.path), each.error and _as_json(each.error)) for each in members]}


def _draw(order: dict[str, Any], send: _Send) -> dict[str, Any]:
    from ragcore.readers.ocr.image import SUFFIXES, render_picture
    from ragcore.readers.pdf.page_images import render_page

    path, index, turn = Path(order["path"]), order["page_index"], order["turn"]
    if path.suffix in SUFFIXES:
        image = render_picture(path, index, turn=turn)
    else:
        image = render_page(path, index, scale=order["scale"], password=order["password"], turn=turn)
    return {"image": base64.b64encode(image).decode("ascii")}


def _find(order: dict[str, Any], send: _Send) -> dict[str, Any]:
    from ragcore.readers.pdf.page_images import highlight_boxes

    path, password = Path(order["path"]), order["password"]
    return {
        name: [
            [astuple(box) for box in highlight_boxes(path, index, order["quote"], parts=parts, password=password)]
            for index in order["page_indexes"]
        ]
        for name, parts in (("boxes", None), ("parts", order["parts"]))
    }


_WORK: dict[str, Callable[[dict[str, Any], _Send], dict[str, Any]]] = {
    "read": _read,
    "unpack": _unpack,
    "draw": _draw,
    "find": _find,
}


def _as_json(error: RagError) -> dict[str, Any]:
    return {"error": type(error).__name__, "what": error.what, "hint": error.hint}


def _options(order: dict[str, Any], send: _Send) -> ReadOptions:
    from ragcore.readers.base import ReadOptions

    return ReadOptions(order["name"], order["password"], _reporter(send), max_text_chars=order["max_text_chars"])


def _reporter(send: _Send) -> Callable[[int, int], None]:
    """Of progress."""
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SIGNAL_SECONDS or done == total:
            last = now
            send(b"%d %d" % (done, total))

    return progress


def _limit(timeout: float, memory_mb: int) -> None:
    """For the file that comes now; the one before may have had other limits."""
    if sys.platform == "win32":
        return  # it has no such limits; the parent's clock holds there too
    import resource

    def allow(kind: int, value: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))

    used = resource.getrusage(resource.RUSAGE_SELF)
    allow(resource.RLIMIT_CORE, 0)
    allow(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + timeout) + CPU_SECONDS_MORE)
    if sys.platform == "linux":  # macOS refuses it
        allow(resource.RLIMIT_AS, memory_mb * 1_000_000)


def _peak_meter() -> Callable[[], float]:
    """What gives the most megabytes that this process has needed so far."""
    if sys.platform == "win32":
        return lambda: 0.0
    if sys.platform == "linux":  # where `ru_maxrss` begins at what the process had that started this one
        status = Path("/proc/self/status").open("rb")  # noqa: SIM115  it stays open, as it cannot be opened later

        def peak_mb() -> float:
            status.seek(0)
            return int(status.read().split(b"VmHWM:")[1].split()[0]) / 1e3

        return peak_mb
    import resource

    return lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
