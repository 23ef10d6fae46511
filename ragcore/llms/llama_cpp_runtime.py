"""llama.cpp in its own process, on a random port of this computer's loopback and with a random key.

All users of a model file share one process. It starts with the first use, ends when nobody has used it for a
while or when this process ends, and is started again after a crash.
"""

from __future__ import annotations

import atexit
import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import httpx

from ragcore.errors import LLMError, LLMServerError, MissingPackageError
from ragcore.llms.call_stages import CallStage
from ragcore.llms.gguf_header import GGUFHeader, ModelFileError, read_header
from ragcore.llms.http_client import ModelServer
from ragcore.llms.http_errors import final
from ragcore.llms.llama_cpp_server import NOT_LOADED
from ragcore.llms.local_resources import free_memory, physical_cores
from ragcore.observe import set_stage

SERVER = Path(__file__).with_name("llama_cpp_server.py")
MOST_SLOTS = 4
SMALLEST_CONTEXT = 4096  # tokens, the minimum if memory is short
RESERVE = 256 * 2**20  # bytes of memory for this process
END_SECONDS = 5.0  # before an ending process is killed
LOAD_SECONDS = 600.0  # before a loading process is killed
NAME, DOWN_HINT = "The language model", "Ask again: it is being restarted."

_lock = threading.Lock()
_runtimes: dict[tuple[Path, int, int | None], LlamaCPPRuntime] = {}


class NotEnoughMemoryError(LLMError):
    """The model needs more memory than is free."""


def runtime_of(model_path: Path, context: int, threads: int | None, idle_seconds: float) -> LlamaCPPRuntime:
    """The shared runtime for these arguments. The last call sets `idle_seconds`. ModelFileError."""
    key = (model_path.resolve(), context, threads)
    with _lock:
        runtime = _runtimes.get(key)
        if runtime is None:
            header = read_header(model_path)
            runtime = _runtimes[key] = LlamaCPPRuntime(
                key[0], header, _fitting_context(header, context), threads
            )
        runtime.idle_seconds = idle_seconds
        return runtime


def drop_runtimes(model_path: Path) -> None:
    """End the runtimes of a file before it is deleted or replaced."""
    path = model_path.resolve()
    with _lock:
        dropped = [_runtimes.pop(key) for key in list(_runtimes) if key[0] == path]
    for runtime in dropped:
        runtime.stop()


def _fitting_context(header: GGUFHeader, context: int) -> int:
    """At most `context` and the trained context; halved as long as memory is short, but not below 4096."""
    context = min(context, header.trained_context)
    free = free_memory() - RESERVE
    while context // 2 >= SMALLEST_CONTEXT and header.memory(context) > free:
        context //= 2
    return context


class LlamaCPPRuntime:
    """One model file. Several threads may use it at once; `context` is tokens a slot."""

    def __init__(self, model_path: Path, header: GGUFHeader, context: int, threads: int | None) -> None:
        self.model_path = model_path
        self.header = header
        self.context = context
        self.idle_seconds = 600.0
        self._threads = threads
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._running: _Running | None = None
        self._users = 0
        self._used = 0.0  # when it was last used, by the monotonic clock

    @property
    def pid(self) -> int | None:
        """The id of the process, if it runs."""
        running = self._running
        return running.process.pid if running is not None and running.process.poll() is None else None

    @property
    def slots(self) -> int:
        """The calls at once, at least 1, of the running process, or of one started now."""
        running = self._running
        return running.slots if running is not None else max(1, self._slots_that_fit())

    @contextmanager
    def in_use(self) -> Iterator[ModelServer]:
        """The server, started if necessary; it does not end inside.

        MissingPackageError, NotEnoughMemoryError, ModelFileError or LLMServerError if it cannot be started.
        """
        if self.pid is None:
            set_stage(CallStage.LOADING)  # by this thread or the one that has the lock
        with self._lock:
            if self.pid is None:
                self._running = self._start()
            running = self._running
            assert running is not None
            self._users += 1
        try:
            yield running.server
        finally:
            with self._lock:
                self._users -= 1
                self._used = time.monotonic()
                self._changed.notify_all()

    def stop(self) -> None:
        """End the process; the next use starts another."""
        with self._lock:
            if self._running is not None:
                self._running.end()
            self._running = None
            self._changed.notify_all()

    def stop_if_idle(self) -> None:
        """End the process unless it is in use."""
        if self._lock.acquire(blocking=False):  # a starting process holds the lock
            try:
                if self._users == 0:
                    self.stop()
            finally:
                self._lock.release()

    def _start(self) -> _Running:
        if find_spec("xllamacpp") is None:
            raise MissingPackageError("xllamacpp")
        if self._running is not None:
            self._running.end()  # it has crashed
            self._running = None
        self.header = read_header(self.model_path)  # it may have been deleted or replaced
        if self._slots_that_fit() == 0:
            for other in [other for other in list(_runtimes.values()) if other is not self]:
                other.stop_if_idle()
        slots = self._slots_that_fit()
        if slots == 0:
            need, free = self.header.memory(self.context), free_memory()
            raise NotEnoughMemoryError(
                f"{self.model_path.name} needs about {need / 1e9:.1f} GB of memory, but only "
                f"{max(free - RESERVE, 0) / 1e9:.1f} GB are free.",
                hint="Close other programs, choose a smaller model, or lower the context window in Settings.",
            )
        running = _Running(self.model_path, self.context, slots, self._threads or physical_cores())
        self._used = time.monotonic()
        threading.Thread(target=self._end_when_idle, args=(running,), name="llama.cpp", daemon=True).start()
        return running

    def _slots_that_fit(self) -> int:
        free = free_memory() - RESERVE
        return next(
            (slots for slots in range(MOST_SLOTS, 0, -1) if self.header.memory(self.context * slots) <= free),
            0,
        )

    def _end_when_idle(self, running: _Running) -> None:
        with self._changed:
            while self._running is running and running.process.poll() is None:
                remaining = self._used + self.idle_seconds - time.monotonic()
                if self._users == 0 and remaining <= 0:
                    self.stop()
                else:
                    self._changed.wait(remaining if remaining > 0 else None)


class _Running:
    """A process that has loaded its model."""

    def __init__(self, model_path: Path, context: int, slots: int, threads: int) -> None:
        self.slots = slots
        self._model_name = model_path.name
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process runs
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                str(SERVER),
            ],  # -P: it imports none of our modules
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in a terminal is for this process only
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        atexit.register(self.end)
        key = secrets.token_urlsafe(32)
        config = {
            "model": str(model_path),
            "context": context,
            "slots": slots,
            "threads": threads,
            "key": key,
        }
        with ExitStack() as unless_loaded:
            unless_loaded.callback(self.end)
            address = self._address(config)
            unless_loaded.pop_all()
        self.server = ModelServer(
            httpx.URL(f"{address}/v1"), kind="llama.cpp", name=NAME, down_hint=DOWN_HINT, key=key
        )

    def end(self) -> None:
        """End the process: closing its input ends it."""
        atexit.unregister(self.end)
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()

    def _address(self, config: dict[str, Any]) -> str:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(OSError):  # it has ended already, see below
            stdin.write(json.dumps(config).encode() + b"\n")
            stdin.flush()
        limit = threading.Timer(LOAD_SECONDS, self.process.kill)
        limit.start()
        try:
            line = stdout.readline()
        finally:
            limit.cancel()
        if line:
            return str(json.loads(line)["address"])
        raise self._failure(self.process.wait())

    def _failure(self, status: int) -> LLMError:
        self._log.seek(0)
        lines = [line for line in self._log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if status == NOT_LOADED:
            error: LLMError = ModelFileError(
                f"The language model {self._model_name} cannot be loaded.",
                hint=(
                    "The file may be damaged, or of a type that this version cannot read. Download it "
                    "again, or choose another model."
                ),
            )
        else:
            error = final(
                LLMServerError(
                    f"Llama.cpp stopped while it was loading {self._model_name}.",
                    hint=(
                        "There may not have been enough memory. Close other programs, or choose a "
                        "smaller model."
                    ),
                )
            )
        error.__cause__ = RuntimeError("\n".join(lines[-20:]))
        return error
