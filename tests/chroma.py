"""Chroma in tests: a real server, and closing what tests opened, so that a long run does not run out of
files."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from sysconfig import get_path

import httpx

START_SECONDS = 60.0

_running: list[tuple[subprocess.Popen[bytes], Path]] = []


@cache
def server() -> int:
    """The port, on this machine, of the run's Chroma server; `end_server` ends it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="lectern-chroma-"))
    command = [
        f"{get_path('scripts')}/chroma",
        "run",
        "--path",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, "ANONYMIZED_TELEMETRY": "False"}
        )
    _running.append((process, folder))
    give_up = time.monotonic() + START_SECONDS
    while not _answers(port):
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < give_up
        time.sleep(0.1)
    return port


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").status_code == 200
    except httpx.TransportError:
        return False


def end_server() -> None:
    while _running:
        process, folder = _running.pop()
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def close_clients() -> None:
    """Stop every embedded Chroma of this process."""
    from chromadb.api.shared_system_client import SharedSystemClient

    systems = SharedSystemClient._identifier_to_system
    for identifier in [key for key, system in systems.items() if system.settings.is_persistent]:
        systems.pop(identifier).stop()
