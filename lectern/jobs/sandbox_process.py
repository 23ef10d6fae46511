"""What a process that reads files may do: so much memory and processor time, no network, no other program but the one that
recognises text in pictures, and nothing once its parent has ended.

Everything here runs in that process. What it is asked for and what it answers is JSON, so that nothing a parser made of a
hostile file is ever taken for more than text.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragcore.errors import RagError
    from ragcore.readers.base import ReadOptions

BEGUN = b"begun"  # the first report on every file
SIGNAL_SECONDS = 0.1  # between two reports of progress
PROGRAMS = frozenset({"tesseract"})  # that a reader may start
CPU_SECONDS_MORE = 2  # than the clock allows, for what runs in several threads
WATCHED = 64_000  # bytes of a parser's last words that are kept

CLONE_NEWUSER, CLONE_NEWNET = 0x1000_0000, 0x4000_0000  # unshare(2)
_FORBIDDEN = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname",
              "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile")  # fmt: skip

_signals: Connection  # to the parent, since `confine`


def confine(signals: Connection, said: Connection, lifeline: Connection) -> None:
    """Become a process that reads files: reports go to `signals`, what parsers print to `said`; when the other end of
    `lifeline` closes, the parent has ended, and this process and what it started end too."""
    global _signals
    _signals = signals
    if sys.platform != "win32":
        os.setpgid(0, 0)  # a group of its own: Ctrl+C is the parent's, and what is started here can be ended with it
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.set_blocking(said.fileno(), False)  # what nobody fetches is lost, and holds nobody up
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    _leave_the_network()
    sys.addaudithook(_refuse)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    from ragcore.readers.registry import supported_suffixes

    supported_suffixes()  # every reader is found, so that the first file need not wait for it


def ready() -> None:
    """Done when the process is."""


def done_as_json(order: dict[str, Any]) -> str:
    """Do the `work` of the order on the file that it names; gives what came of it, or the error, with `peak_mb`, the most that
    this process has needed so far."""
    from ragcore.errors import RagError

    _signals.send_bytes(BEGUN)
    _limit(float(order["timeout"]), int(order["memory_mb"]))
    try:
        try:
            done = _WORK[order["work"]](order)
        except RagError as error:
            done = _told(error)
        return json.dumps({**done, "peak_mb": _peak_mb()})
    finally:
        _signals.send_bytes(b"")


def _read(order: dict[str, Any]) -> dict[str, Any]:
    from ragcore.readers.registry import read_file

    left_out: list[RagError] = []
    document = read_file(Path(order["path"]), replace(_options(order), left_out=left_out.append))
    return {
        "text": document.text,
        "metadata": dict(document.metadata),
        "pages": [(page.label, page.start, page.end) for page in document.pages],
        "page_word": document.page_word,
        "left_out": [_told(error) for error in left_out],
    }


def _unpack(order: dict[str, Any]) -> dict[str, Any]:
    from ragcore.readers.zip.archive import unpack

    members = unpack(Path(order["path"]), Path(order["into"]), _options(order))
    return {"members": [(each.name, str(each.path), each.error and _told(each.error)) for each in members]}


def _draw(order: dict[str, Any]) -> dict[str, Any]:
    from ragcore.readers.pdf.page_images import render_page

    image = render_page(Path(order["path"]), order["page_index"], scale=order["scale"], password=order["password"])
    return {"image": base64.b64encode(image).decode("ascii")}


def _find(order: dict[str, Any]) -> dict[str, Any]:
    from ragcore.readers.pdf.page_images import highlight_boxes

    path, password = Path(order["path"]), order["password"]
    return {
        name: [
            [astuple(box) for box in highlight_boxes(path, index, order["quote"], parts=parts, password=password)]
            for index in order["page_indexes"]
        ]
        for name, parts in (("boxes", None), ("parts", order["parts"]))
    }


_WORK: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "read": _read,
    "unpack": _unpack,
    "draw": _draw,
    "find": _find,
}


def _told(error: RagError) -> dict[str, Any]:
    return {"error": type(error).__name__, "what": error.what, "hint": error.hint}


def _options(order: dict[str, Any]) -> ReadOptions:
    from ragcore.readers.base import ReadOptions

    return ReadOptions(order["name"], order["password"], _reporter(), max_text_chars=order["max_text_chars"])


def _reporter() -> Callable[[int, int], None]:
    """Of progress."""
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SIGNAL_SECONDS or done == total:
            last = now
            _signals.send_bytes(b"%d %d" % (done, total))

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


def _peak_mb() -> float:
    if sys.platform == "win32":
        return 0.0
    if sys.platform == "linux":  # where `ru_maxrss` begins at what the process had that started this one
        status = Path("/proc/self/status").read_text("utf-8", "replace")
        return int(status.split("VmHWM:")[1].split()[0]) / 1e3
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _leave_the_network() -> None:
    """Where the kernel lets an ordinary process have a network of its own, this one's is empty, for native code too."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET)  # a refusal leaves `_refuse`


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN or (event == "subprocess.Popen" and Path(str(arguments[0])).name not in PROGRAMS):
        raise PermissionError(f"{event} is not for a process that reads files")


def _end_with_parent(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    if sys.platform != "win32":
        import signal

        os.killpg(0, signal.SIGKILL)
    os._exit(1)
