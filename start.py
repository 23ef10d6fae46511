"""Installs Lectern and starts it, or runs its tests, with nothing but Python 3.11 or newer.

    python start.py              install and start the application, with the arguments of lectern, such as
                                 --port NUMBER
    python start.py test         install and run the tests; --nightly adds those that repeat a promise at
                                 length, --changed [REF] runs those that a change since REF can break, and
                                 arguments of pytest select tests

It installs into the active virtual environment, or else creates one in the folder .venv next to this file. On
Linux without an NVIDIA card it installs PyTorch's CPU build, which is smaller by several GB.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

HERE = Path(__file__).resolve().parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_SECONDS = 3.0  # time limit for the answer of the CPU index


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python runs first
        print(f"Lectern needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 1
    testing = sys.argv[1:2] == ["test"]
    python = environment()
    if not install(python, "[test]" if testing else ""):
        return 1
    if testing:
        return test(python, sys.argv[2:])
    if advice := text_recognition_advice(python):
        print(advice, flush=True)
    # in the current folder, where relative paths in the arguments are, but with no module of it
    command = [python, "-P", "-m", "lectern.cli", *sys.argv[1:]]
    if os.name != "nt":
        os.execv(python, command)  # replaces this process, so that a signal to it reaches the application
    return subprocess.call(command)


def test(python: str, arguments: list[str]) -> int:
    """Runs the suite, what a change can break, or the tests that `arguments` name."""
    # Some images of containers set it; hundreds of processes would compile the application, each for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if arguments[:1] == ["--changed"]:
        command = [python, "-m", "tests.changed", *arguments[1:]]
        done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return done.returncode
        tests = done.stdout.split()
        others = [test for test in tests if not test.startswith("tests/app/")]
        browser = [test for test in tests if test.startswith("tests/app/")]
        return run_lanes(python, ["-m", "not nightly"], others, browser)
    if arguments in ([], ["--nightly"]):
        return run_lanes(python, arguments, ["--ignore=tests/app", "--ignore=tests/real"], ["tests/app"])
    return subprocess.call([python, "-m", "pytest", *arguments], cwd=HERE)


def run_lanes(python: str, options: list[str], others: list[str], browser: list[str]) -> int:
    """Runs two groups of tests with these options of pytest, and prints how many passed, failed and were
    skipped. A group without arguments is left out.

    The tests in the browser run in a process of their own, because their driver leaves its event loop
    running. They come after the others: what a person waits for on a screen is late on a busy machine.
    """
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, arguments in (("others", others), ("browser", browser)):
            if not arguments:
                continue
            if name == "browser":
                print("The tests in the browser:", flush=True)
            results.append(Path(folder) / f"{name}.xml")
            # The tests of a file share their fixtures. In this order no long file runs alone at the end.
            command = [python, "-m", "pytest", *options, "-rs", f"--junit-xml={results[-1]}"]
            command += ["-n2", "--dist=loadfile", "--no-loadscope-reorder", *arguments]
            failed = subprocess.call(command, cwd=HERE) or failed
        print("In all, where a line that begins with SKIPPED says why and what to install:")
        print(total(results), flush=True)
    return failed


def total(results: list[Path]) -> str:
    """The number of tests that passed, failed and were skipped, from files of results in JUnit's format.

    A run that was interrupted has written none.
    """
    tests = failed = skipped = 0
    for result in results:
        if not result.exists():
            continue
        for suite in ElementTree.parse(result).iter("testsuite"):
            tests += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
    return f"{tests - failed - skipped} passed, {failed} failed, {skipped} skipped"


def environment() -> str:
    """The Python to install into: this one if it is in a virtual environment, or else that of .venv, created
    if missing."""
    if sys.prefix != sys.base_prefix:
        return sys.executable
    folder = HERE / ".venv"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"Making a virtual environment in {folder}", flush=True)
        venv.create(folder, with_pip=True)
    return str(python)


def install(python: str, extra: str) -> bool:
    """Installs Lectern with `extra`, unless nothing has changed since the last time. Returns whether it is
    installed."""
    stamp = (
        Path(subprocess.check_output([python, "-c", "import sys; print(sys.prefix)"], text=True).strip())
        / "lectern-installed"
    )
    project = (HERE / "pyproject.toml").read_text("utf-8")
    if stamp.exists() and stamp.read_text("utf-8") in (f"{HERE}[test]{project}", f"{HERE}{extra}{project}"):
        return True
    print("Installing; this takes some minutes the first time.", flush=True)
    options: list[str] = []
    if sys.platform == "linux" and not has_torch(python, project):
        options, choice = torch_build(CPU_INDEX, card=has_nvidia_card())
        print(choice, flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call([*pip, *options, "-e", f"{HERE}{extra}"]):
        print("The installation failed; what pip says above tells why.", file=sys.stderr)
        return False
    stamp.write_text(f"{HERE}{extra}{project}", "utf-8")
    return True


def text_recognition_advice(python: str) -> str:
    """One line about how to read scans and pictures; "" if tesseract is installed, or rapidocr in that
    Python."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('rapidocr') is None)"
    if shutil.which("tesseract") or not subprocess.call([python, "-c", code]):
        return ""
    install = subprocess.list2cmdline([python, "-m", "pip", "install", "-e", f"{HERE}[ocr]"])
    return (
        "To read scans and pictures, install tesseract (Debian, Ubuntu: apt install tesseract-ocr), or "
        f"run: {install}"
    )


def has_torch(python: str, project: str) -> bool:
    """Whether that Python has the release of PyTorch that `project`, the text of pyproject.toml, pins, in any
    build."""
    pinned = re.search(r'"torch==([\d.]+)"', project)
    code = "from importlib.metadata import version; print(version('torch').partition('+')[0])"
    installed = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False
    ).stdout.strip()
    return pinned is not None and installed == pinned[1]


def has_nvidia_card(driver: Path = Path("/proc/driver/nvidia")) -> bool:
    return driver.exists() or shutil.which("nvidia-smi") is not None


def torch_build(index: str, *, card: bool, seconds: float = INDEX_SECONDS) -> tuple[list[str], str]:
    """The options with which pip installs PyTorch, and a sentence about the choice. `index`: of the CPU
    builds.

    The index is an additional one, because pip prefers 2.13.0+cpu to 2.13.0 (PEP 440). Everything else still
    comes from the person's own index, and if the CPU index lacks this version or fails later, pip installs
    the usual build.
    """
    if card:
        return [], "PyTorch: the build that pip finds, because this computer has an NVIDIA card."
    if not answers(index, seconds):
        return (
            [],
            f"PyTorch: the build that pip finds, because {index} did not list torch within {seconds:g} "
            "seconds.",
        )
    return [
        "--extra-index-url",
        index,
    ], f"PyTorch: the CPU build from {index}, because this computer has no NVIDIA card."


def answers(index: str, seconds: float) -> bool:
    """Whether the package index answers within `seconds` that it has torch."""
    listed: list[bool] = []

    def ask() -> None:
        with (
            suppress(OSError, HTTPException),
            urlopen(Request(f"{index}/torch/", method="HEAD"), timeout=seconds) as reply,
        ):
            listed.append(reply.status == 200)

    # A thread, because the time-out of urlopen does not limit the look-up of the name.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    return listed == [True]


if __name__ == "__main__":
    sys.exit(main())
