"""Installs Lectern and starts it, or runs its tests, with nothing but Python 3.11 or newer.

    python start.py              install and start the application
    python start.py test         install and run all tests, or those that pytest's own arguments behind it name

Inside a virtual environment it installs there; otherwise it makes one in the folder .venv beside this file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


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
    return subprocess.call([python, "-m", "lectern.cli", *sys.argv[1:]], cwd=HERE)


def test(python: str, arguments: list[str]) -> int:
    """Run the tests named, or all, two at a time: those in the browser last, whose driver leaves its event loop running."""
    pytest = [python, "-m", "pytest"]
    if arguments:
        return subprocess.call([*pytest, *arguments], cwd=HERE)
    # A file's tests share what was made for them; in the order in which files are taken no long one is left for the end.
    two = [*pytest, "-n2", "--dist=loadfile", "--no-loadscope-reorder"]
    others = subprocess.call([*two, "--ignore=tests/app"], cwd=HERE)
    print("The tests in the browser:", flush=True)
    return subprocess.call([*two, "tests/app"], cwd=HERE) or others


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
    if subprocess.call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f"{HERE}{extra}"]):
        print("The installation failed; what pip says above tells why.", file=sys.stderr)
        return False
    stamp.write_text(f"{HERE}{extra}{wanted}", "utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main())
