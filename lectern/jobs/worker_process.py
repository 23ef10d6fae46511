"""The worker process of an open library. It reads added files, and is started again when it dies."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO

import lectern
from lectern.jobs.file_queue import process_name
from lectern.jobs.files import Files
from lectern.settings import DATABASE, absolute_environment, on_server
from ragcore.errors import StoreError, UnreadableFileError

logger = logging.getLogger(__name__)

RESTART_SECONDS = (
    1.0  # First pause before a restart. It doubles each time a worker dies within YOUNG_SECONDS.
)
MAX_RESTART_SECONDS = 60.0  # longest pause
YOUNG_SECONDS = 30.0
CLOSE_SECONDS = 5.0  # for a worker to end by itself
MAX_DEATHS = 3  # of workers with the same file, before the file fails
LOG_BYTES = 1_000_000  # Maximum size of a worker's log file.


class WorkerProcess:
    """`where` is the library: its folder, or the address of its server. `folder` is the local folder for the
    worker's log."""

    def __init__(self, where: Path | str, folder: Path, files: Files) -> None:
        self._where = where
        self._folder = folder
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths: Counter[str] = Counter()  # by file
        self._closed = False
        self._has_warned = False  # that the log cannot be written
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start a worker, and restart it until this is closed. A read-only library needs none."""
        with self._lock:
            if (
                self._process is None
                and not self._closed
                and (on_server(self._where) or os.access(self._folder, os.W_OK))
            ):
                self._process = self._spawn()
                threading.Thread(target=self._keep_alive, name="keep-worker", daemon=True).start()

    def close(self) -> None:
        """End the worker, and queue again what it was working on."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()  # tells it to end
        try:
            process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
        with contextlib.suppress(StoreError):  # its files are claimed again after SILENT_SECONDS
            self._files.queue.release(process_name(process.pid))

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._open_log() as log:
            return subprocess.Popen(
                command_for("lectern.jobs.worker", self._folder),
                env=environment_for(self._where),
                cwd=self._folder,  # PyTorch ends a process whose folder was deleted
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def _open_log(self) -> IO[bytes]:
        """The worker's log file. If it cannot be written, the worker works without one."""
        path = self._folder / "worker.log"
        with contextlib.suppress(OSError):  # it does not exist yet, or is open in another worker
            if path.stat().st_size > LOG_BYTES:
                path.replace(path.with_suffix(".old.log"))
        try:
            with path.open("ab") as log:
                log.write(b"\n")  # fails on a full disk
            return path.open("ab")
        except OSError as error:
            if not self._has_warned:
                logger.warning("the worker has no log: %s cannot be written: %s", path, error.strerror)
            self._has_warned = True
            return Path(os.devnull).open("ab")

    def _keep_alive(self) -> None:
        """Restart the worker each time it dies."""
        pause = RESTART_SECONDS
        while (process := self._process) is not None:
            began = time.monotonic()
            status = process.wait()
            if process.stdin:
                process.stdin.close()
            if self._closed:
                return
            logger.warning("the worker ended with status %d and is started again", status)
            try:
                self._release(process_name(process.pid))
            except StoreError:
                logger.exception("the files of the worker are claimed again after some seconds")
            pause = (
                min(2 * pause, MAX_RESTART_SECONDS)
                if time.monotonic() - began < YOUNG_SECONDS
                else RESTART_SECONDS
            )
            time.sleep(pause)
            with self._lock:
                if not self._closed:
                    try:
                        self._process = self._spawn()
                    except OSError:
                        logger.exception("the worker cannot be started; another attempt follows")

    def _release(self, process: str) -> None:
        """Queue the files of a dead worker. A file that several workers died of fails."""
        for file in self._files.queue.release(process):
            self._files.queue.isolate(file.id)
            self._deaths[file.id] += 1
            if self._deaths[file.id] >= MAX_DEATHS:
                del self._deaths[file.id]
                error = UnreadableFileError(
                    f"Reading {file.name} was given up, because the process that reads it ended "
                    f"{MAX_DEATHS} times.",
                    hint=(
                        "It may need more memory than is available. Split it into several files, or "
                        "close other programs and try again."
                    ),
                )
                self._files.queue.give_up(file.id, error)


def environment_for(where: Path | str) -> dict[str, str]:
    """The environment of a process that works on the library, with the address of its server. An argument
    would be visible to all users of the machine."""
    others = absolute_environment()
    others.pop(DATABASE, None)
    return {**others, DATABASE: str(where)} if on_server(where) else others


def command_for(module: str, folder: Path) -> list[str]:
    """Run `main` of this module on the library's folder. The process finds Lectern where this one did, and
    imports nothing from its own folder."""
    start = f"import sys; sys.path.append(sys.argv.pop(1)); from {module} import main; main()"
    return [sys.executable, "-P", "-c", start, str(Path(lectern.__file__).parents[1]), str(folder)]
