"""The process that waits for a file, and tesseract, killed by the system: one file says so at most, and the
next is read."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from lectern.jobs import sandbox
from ragcore.errors import TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import tesseract
from ragcore.schema import Document

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture(autouse=True)
def waiting_process() -> Iterator[None]:
    sandbox.end_readers()
    sandbox.start_reader()
    yield
    sandbox.end_readers()


def read(path: Path, looked: Callable[[], bool] = lambda: False) -> Document:
    return sandbox.read_isolated(path, ReadOptions(path.name), timeout=60, memory_mb=2000, cancelled=looked)


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def waiting() -> int:
    """The process that waits for a file."""
    (reader,) = sandbox._idle
    return reader.pid


def test_process_killed_before_a_file_came_does_not_fail_it(tmp_path: Path) -> None:
    assert read(written(tmp_path / "one.txt", "one")).text == "one"
    os.kill(waiting(), signal.SIGKILL)
    assert read(written(tmp_path / "two.txt", "two")).text == "two"
    os.kill(waiting(), signal.SIGKILL)
    time.sleep(0.5)  # it is known to be gone by now
    assert read(written(tmp_path / "three.txt", "three")).text == "three"


def test_a_picture_on_which_tesseract_is_killed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = written(
        tmp_path / "tesseract",
        '#!/bin/sh\ncase "$1" in --list-langs) echo languages:; echo eng;; *) kill -KILL $$;; esac\n',
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    picture = Image.new("L", (60, 60), 255)
    picture.putpixel((30, 30), 0)
    with pytest.raises(TooLargeError, match=r"scan\.png was too much for tesseract"):
        tesseract.read_lines(picture, "scan.png")
