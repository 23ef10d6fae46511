"""What a started application prints and opens, and who else could see it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from lectern.access import access_token
from tests.loopback_server import QuietHandler, serving

if sys.platform == "win32":
    pytest.skip("terminals and signals", allow_module_level=True)

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    """Starts the application on `port`. `output` gets what it prints, and `opened` the address its browser
    would open."""
    (tmp_path / "browser").write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    (tmp_path / "browser").chmod(0o700)
    processes: list[subprocess.Popen[bytes]] = []

    def start_it(output: int, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lectern.cli", "--library", str(tmp_path / "library")]
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "BROWSER": f"{tmp_path}/browser %s", "OMP_NUM_THREADS": "1", **environment},
        )
        processes.append(process)
        return process

    yield start_it
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Terminal:
    """A pseudo-terminal, and what was printed there."""

    def __init__(self) -> None:
        self._reading, self.output = os.openpty()
        self._printed = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._reading, 1000):
                self._printed += data

    def text(self) -> str:
        return self._printed.decode()


def until(reached: Callable[[], object], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.05)


def is_up(port: int, host: str = "127.0.0.1") -> bool:
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://{host}:{port}/_stcore/health", timeout=2) as answer,
    ):
        return bool(answer.status == 200)
    return False


def visit(address: str) -> None:
    """Opens the address as a browser does, with cookies."""
    cookies = urllib.request.HTTPCookieProcessor(CookieJar())
    with urllib.request.build_opener(cookies).open(address, timeout=30) as page:
        page.read()


def test_nothing_leads_to_a_stranger_on_the_same_port(tmp_path: Path, start: Start, port: int) -> None:
    """Where a browser looks first for `localhost`, another account may listen."""
    terminal, opened = Terminal(), tmp_path / "opened"
    with closing(socket.create_server(("::1", port), family=socket.AF_INET6)) as stranger:
        start(terminal.output)
        until(lambda: opened.exists() and opened.read_text().strip())
        address = f"http://127.0.0.1:{port}/?token={access_token(tmp_path / 'library')}"
        assert re.findall(r"\S+://\S+", terminal.text()) == [address]
        page = Path(opened.read_text().strip().removeprefix("file://"))
        assert re.findall(r"url=([^\"]+)", page.read_text()) == [address]
        assert page.stat().st_mode & 0o777 == 0o600
        visit(address)
        stranger.settimeout(0.2)
        with pytest.raises(TimeoutError):
            stranger.accept()


def test_server_on_ipv6_is_opened_at_its_number_in_brackets(tmp_path: Path, start: Start, port: int) -> None:
    terminal = Terminal()
    start(
        terminal.output,
        STREAMLIT_SERVER_ADDRESS="::1",
        STREAMLIT_SERVER_ALLOWED_HOSTS="docs.example,[::1]",
    )
    until(lambda: is_up(port, "[::1]"))
    address = f"http://[::1]:{port}/?token={access_token(tmp_path / 'library')}"
    assert re.findall(r"\S+://\S+", terminal.text()) == [address]
    visit(address)
    request = urllib.request.Request(address, headers={"Host": "docs.example"})
    with urllib.request.urlopen(request, timeout=30) as page:
        assert page.status == 200
    request = urllib.request.Request(address, headers={"Host": "localhost"})
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(request, timeout=30).close()


def test_browser_never_opens_a_port_that_another_took_first(tmp_path: Path, start: Start, port: int) -> None:
    """The port was free when the application looked, and is taken before it listens."""

    class Stranger(QuietHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    terminal, opened = Terminal(), tmp_path / "opened"
    application = start(terminal.output)
    until((tmp_path / "library" / "token").exists)
    with serving(Stranger, port):
        assert application.wait(60) != 0
        assert not opened.exists()
        assert access_token(tmp_path / "library") not in terminal.text()


def test_redirected_output_says_where_the_token_is_without_it(
    tmp_path: Path, start: Start, port: int
) -> None:
    with (tmp_path / "log").open("wb") as log:
        application = start(log.fileno())
    until(lambda: is_up(port))
    token = access_token(tmp_path / "library")
    visit(f"http://127.0.0.1:{port}/?token={token}")
    with suppress(urllib.error.HTTPError):
        visit(f"http://localhost:{port}/chat?token={token}")
    application.terminate()
    application.wait(60)
    printed = (tmp_path / "log").read_text()
    assert f"Lectern is at http://127.0.0.1:{port}\n" in printed
    assert str(tmp_path / "library" / "token") in printed
    logs = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix == ".log"]
    assert not [path for path in [*logs, tmp_path / "log"] if token.encode() in path.read_bytes()]
    assert not (tmp_path / "opened").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk to write to")
def test_output_to_a_full_disk_does_not_stop_the_start(start: Start, port: int) -> None:
    with Path("/dev/full").open("wb") as full:
        start(full.fileno())
    until(lambda: is_up(port))
