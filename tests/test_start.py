"""start.py: which build of PyTorch it installs. A server of our own on this machine stands in for the package
index."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

import start
from tests.loopback_server import QuietHandler, serving


@contextmanager
def package_index(*builds: str, status: int = 200) -> Iterator[str]:
    """A package index with these builds of torch, empty wheels such as "2.13.0+cpu"; without torch if
    `status` is 404."""
    wheels = {f"torch-{build}-py3-none-any.whl": wheel(build) for build in builds}

    class Index(QuietHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2].replace("%2B", "+")
            page = "".join(f'<a href="{each.replace("+", "%2B")}">{each}</a>' for each in wheels).encode()
            body = wheels.get(name, page)
            self.send_response(status)
            self.send_header("Content-Type", "application/octet-stream" if name in wheels else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

    with serving(Index) as address:
        yield address


def wheel(build: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        folder = f"torch-{build}.dist-info"
        archive.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {build}\n")
        archive.writestr(
            f"{folder}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{folder}/RECORD", "")
    return file.getvalue()


def test_cpu_build_is_chosen_without_a_card_if_its_index_answers() -> None:
    with package_index("2.13.0+cpu") as index:
        options, choice = start.torch_build(index, card=False)
    assert options == ["--extra-index-url", index]
    assert choice == f"PyTorch: the CPU build from {index}, because this computer has no NVIDIA card."


def test_with_a_card_no_package_index_is_queried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options, choice = start.torch_build(index, card=True)
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert options == []
    assert choice == "PyTorch: the build that pip finds, because this computer has an NVIDIA card."


def test_a_silent_package_index_is_abandoned_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        options, choice = start.torch_build(index, card=False, seconds=0.3)
        assert 0.25 < time.monotonic() - began < 2
    assert options == []
    assert (
        choice == f"PyTorch: the build that pip finds, because {index} did not list torch within 0.3 seconds."
    )


def test_slow_package_index_is_abandoned_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as slow:

        def trickle() -> None:
            connection, _ = slow.accept()
            with connection:
                for letter in b"HTTP/1.1 200 OK\r\n":
                    connection.send(bytes([letter]))
                    time.sleep(0.1)

        sending = Thread(target=trickle)
        sending.start()
        began = time.monotonic()
        assert not start.answers(f"http://127.0.0.1:{slow.getsockname()[1]}", 0.3)
        assert time.monotonic() - began < 1
        sending.join()


def test_an_index_that_refuses_is_not_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        index = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert start.torch_build(index, card=False)[0] == []


@pytest.mark.skipif(sys.platform == "win32", reason="scripts for a shell")
def test_missing_text_recognition_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = str(tmp_path / "python")  # which has no rapidocr
    Path(python).write_text("#!/bin/sh\nexit 1\n")
    Path(python).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    advice = start.text_recognition_advice(python)
    assert "apt install tesseract-ocr" in advice
    assert advice.endswith(f"{python} -m pip install -e {start.HERE}[ocr]")
    assert "\n" not in advice
    (tmp_path / "tesseract").symlink_to(python)
    assert start.text_recognition_advice(python) == ""
    (tmp_path / "tesseract").unlink()
    Path(python).write_text("#!/bin/sh\nexit 0\n")
    assert start.text_recognition_advice(python) == ""


def test_an_index_without_torch_is_not_used() -> None:
    with package_index(status=404) as index:
        assert start.torch_build(index, card=False)[0] == []


@pytest.mark.parametrize(("builds", "chosen"), [(["2.13.0+cpu"], "2.13.0+cpu"), (["2.12.0+cpu"], "2.13.0")])
def test_pip_installs_the_cpu_build_or_else_the_usual_one(
    builds: list[str], chosen: str, tmp_path: Path
) -> None:
    with package_index("2.13.0") as usual, package_index(*builds) as index:
        options, _ = start.torch_build(index, card=False)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--isolated",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-cache-dir",
        ]
        subprocess.run(
            [*pip, "--no-deps", "--dest", tmp_path, "--index-url", usual, *options, "torch==2.13.0"],
            check=True,
        )
    assert [file.name for file in tmp_path.iterdir()] == [f"torch-{chosen}-py3-none-any.whl"]


def test_a_card_is_known_by_its_driver_or_by_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    driver = tmp_path / "nvidia"
    assert not start.has_nvidia_card(driver)
    driver.mkdir()
    assert start.has_nvidia_card(driver)
    tool = tmp_path / ("nvidia-smi.exe" if os.name == "nt" else "nvidia-smi")
    tool.touch(mode=0o755)
    assert start.has_nvidia_card(tmp_path / "nowhere")


def test_pinned_release_counts_as_installed_in_each_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = (start.HERE / "pyproject.toml").read_text("utf-8").replace("torch==", "torch==9.")
    for build, installed in [("9.2.13.0+cu130", True), ("9.2.13.0", True), ("9.2.12.0+cpu", False)]:
        with zipfile.ZipFile(io.BytesIO(wheel(build))) as archive:
            archive.extractall(tmp_path / build)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / build))
        assert start.has_torch(sys.executable, project) is installed
