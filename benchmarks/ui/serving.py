"""A Streamlit application as a process of its own, with what it takes of the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.first_answer import wait_for

ROOT = Path(__file__).parents[2]
OF_THE_PEER = ("--server.headless=true", "--browser.gatherUsageStats=false", "--server.address=127.0.0.1")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> int:
        """Bytes in memory of the server's process that are its own: pages of files, which come and go, are
        not counted, nor is the process that reads documents for it."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))

    def cpu(self) -> float:
        """Seconds of processor time that it has used so far."""
        times = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1]
        return sum(map(int, times.split()[11:13])) / TICKS


@contextmanager
def our_server(home: Path) -> Iterator[Server]:
    with _run_server(
        ROOT / "app.py", (), ROOT, {"LECTERN_HOME": str(home), "LECTERN_TOKEN": "off"}
    ) as server:
        yield server


@contextmanager
def peer_server(folder: Path) -> Iterator[Server]:
    with _run_server(ROOT / "benchmarks" / "ui" / "peer.py", OF_THE_PEER, folder, {}) as server:
        yield server


@contextmanager
def _run_server(
    script: Path, options: tuple[str, ...], folder: Path, environment: dict[str, str]
) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}", *options],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait()
