"""A process that reads files, taken over by a file."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.jobs.confinement import confines_files
from lectern.jobs.sandbox import read_isolated
from lectern.jobs.seccomp import can_refuse_calls
from ragcore.readers.base import ReadOptions
from ragcore.schema import Document
from tests.making import make_text

landlocked = pytest.mark.skipif(not confines_files(), reason="this kernel has no Landlock")
filtered = pytest.mark.skipif(not can_refuse_calls(), reason="the calls of this system are not known")

# What each attack begins with: libc, its error as the result, and the file's own place.
PRELUDE = """\
import ctypes, errno, json, os, socket, struct, sys
from pathlib import Path
from ragcore.schema import Document
libc = ctypes.CDLL(None, use_errno=True)
def outcome(result):
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def opened(path, flags=os.O_RDONLY):
    return outcome(libc.open(os.fsencode(str(path)), flags, 0o600))
"""

Attack = Callable[[str], Document]


def read(path: Path) -> Document:
    options = ReadOptions(path.name, max_text_chars=1_000_000)
    return read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)


def secret(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("secret")
    return path


def hijack(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Document:
    """Runs code in the process that reads, as what took over its reader of plain text, and gives what it
    answers."""
    start = folder / "start"
    start.mkdir(exist_ok=True)
    body = textwrap.indent(PRELUDE + code, "    ")
    (start / "sitecustomize.py").write_text(
        f"import ragcore.readers.text as reader\ndef read(path, options):\n{body}\nreader.read = read\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(start), str(Path(__file__).parents[3])]))
    return read(make_text(folder / "evil.txt", "words"))
