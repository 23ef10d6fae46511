"""Installs Lectern and starts it, or runs its tests, with nothing but Python 3.11 or newer.

    python start.py              install and start the application; --port NUMBER and the other arguments of lectern follow
    python start.py test         install and run all tests, or those that pytest's own arguments behind it name; of the long
                                 ones a sample, and everything with --all

Inside a virtual environment it installs there; otherwise it makes one in the folder .venv next to this file. On Linux without
an NVIDIA card it installs PyTorch's CPU build, which is smaller by several GB.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

HERE = Path(__file__).resolve().parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_SECONDS = 3.0  # how long the CPU index may take to answer


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
    command = [python, "-m", "lectern.cli", *sys.argv[1:]]
    if os.name != "nt":
        os.chdir(HERE)
        os.execv(python, command)  # in the place of this process, so that whatever ends it ends the application
    return subprocess.call(command, cwd=HERE)


def test(python: str, arguments: list[str]) -> int:
    """Run the tests named, or all: those in the browser, whose driver leaves its event loop running, beside the others; then
    those with a real language model, which needs the whole processor."""
    pytest = [python, "-m", "pytest", *arguments]
    # Some images of containers set it; hundreds of processes would compile the application, each for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if arguments not in ([], ["--all"]):
        return subprocess.call(pytest, cwd=HERE)
    # A file's tests share what was made for them; in the order in which files are taken no long one is left for the end.
    two = [*pytest, "-n2", "--dist=loadfile", "--no-loadscope-reorder"]
    with tempfile.TemporaryFile() as said:
        browser = subprocess.Popen([*two, "tests/app"], cwd=HERE, stdout=said, stderr=subprocess.STDOUT)
        try:
            others = subprocess.call([*two, "--ignore=tests/app", "--ignore=tests/real"], cwd=HERE)
            print("The tests in the browser:", flush=True)
            failed = browser.wait() or others
        finally:
            browser.terminate()  # where the others were broken off; nothing when it has ended
            said.seek(0)
            sys.stdout.buffer.write(said.read())
            sys.stdout.flush()
    print("The tests with a real language model:", flush=True)
    return subprocess.call([*pytest, "-rs", "tests/real"], cwd=HERE) or failed


def environment() -> str:
    """The Python to install into: this one when it is in a virtual environment, or that of .venv, made when missing."""
    if sys.prefix != sys.base_prefix:
        return sys.executable
    folder = HERE / ".venv"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"Making a virtual environment in {folder}", flush=True)
        venv.create(folder, with_pip=True)
    return str(python)


def install(python: str, extra: str) -> bool:
    """Whether Lectern, with `extra`, is installed now. Skipped when nothing has changed since the last time."""
    stamp = (
        Path(subprocess.check_output([python, "-c", "import sys; print(sys.prefix)"], text=True).strip()) / "lectern-installed"
    )
    wanted = (HERE / "pyproject.toml").read_text("utf-8")
    if stamp.exists() and stamp.read_text("utf-8") in (f"{HERE}[test]{wanted}", f"{HERE}{extra}{wanted}"):
        return True
    print("Installing; this takes some minutes the first time.", flush=True)
    options: list[str] = []
    if sys.platform == "linux" and not has_torch(python, wanted):
        options, choice = torch_build(CPU_INDEX, card=has_nvidia_card())
        print(choice, flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call([*pip, *options, "-e", f"{HERE}{extra}"]):
        print("The installation failed; what pip says above tells why.", file=sys.stderr)
        return False
    stamp.write_text(f"{HERE}{extra}{wanted}", "utf-8")
    return True


def text_recognition_advice(python: str) -> str:
    """How to have scans and pictures read, in one line; "" where tesseract is installed, or rapidocr in that Python."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('rapidocr') is None)"
    if shutil.which("tesseract") or not subprocess.call([python, "-c", code]):
        return ""
    install = subprocess.list2cmdline([python, "-m", "pip", "install", "-e", f"{HERE}[ocr]"])
    return f"To read scans and pictures, install tesseract (Debian, Ubuntu: apt install tesseract-ocr), or run: {install}"


def has_torch(python: str, project: str) -> bool:
    """Whether that Python has the release of PyTorch that `project`, the text of pyproject.toml, pins, in whichever build."""
    pinned = re.search(r'"torch==([\d.]+)"', project)
    code = "from importlib.metadata import version; print(version('torch').partition('+')[0])"
    installed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    return pinned is not None and installed == pinned[1]


def has_nvidia_card(driver: Path = Path("/proc/driver/nvidia")) -> bool:
    return driver.exists() or shutil.which("nvidia-smi") is not None


def torch_build(index: str, *, card: bool, seconds: float = INDEX_SECONDS) -> tuple[list[str], str]:
    """The options with which pip installs PyTorch, and a sentence about the choice. `index`: of the CPU builds.

    The index is an additional one, because pip prefers 2.13.0+cpu to 2.13.0 (PEP 440). Everything else still comes from the
    person's own index, and if the CPU index lacks this version or fails later, pip installs the usual build.
    """
    if card:
        return [], "PyTorch: the build that pip finds, because this computer has an NVIDIA card."
    if not answers(index, seconds):
        return [], f"PyTorch: the build that pip finds, because {index} did not list torch within {seconds:g} seconds."
    return ["--extra-index-url", index], f"PyTorch: the CPU build from {index}, because this computer has no NVIDIA card."


def answers(index: str, seconds: float) -> bool:
    """Whether the package index lists torch, within `seconds` in all."""
    listed: list[bool] = []

    def ask() -> None:
        with suppress(OSError, HTTPException), urlopen(Request(f"{index}/torch/", method="HEAD"), timeout=seconds) as reply:
            listed.append(reply.status == 200)

    # A thread, because the time-out of urlopen does not limit the look-up of the name.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    return listed == [True]


if __name__ == "__main__":
    sys.exit(main())
