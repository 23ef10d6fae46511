"""Reading in a process of its own. The hostile readers here are real files in a folder that the child finds by PYTHONPATH."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore.errors import DamagedFileError, EncryptedFileError, TooLargeError
from ragcore.ingestion.sandbox import Cancelled, read_isolated
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.schema import Document
from tests.making import make_pdf, make_pptx, make_text


def isolated(
    path: Path, *, timeout: float = 30.0, memory_mb: int = 1_000, cancelled: Callable[[], bool] = lambda: False
) -> Document:
    return read_isolated(path, ReadOptions(path.name), timeout=timeout, memory_mb=memory_mb, cancelled=cancelled)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a file whose reading runs `code` in the child, by a module that Python loads when it starts."""

    def make(code: str) -> Path:
        folder = tmp_path / "start"
        folder.mkdir()
        body = textwrap.indent(code, "    ")
        hook = f"import ragcore.readers.text as reader\ndef read(path, options):\n{body}\nreader.read = read\n"
        (folder / "sitecustomize.py").write_text(hook)
        root = str(Path(__file__).parents[3])
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), root]))
        return make_text(tmp_path / "evil.txt", "words")

    return make


def test_it_reads_what_read_file_reads(tmp_path: Path) -> None:
    for path in (
        make_pdf(tmp_path / "a.pdf", ["Grüße.", "Second."], title="T"),
        make_pptx(tmp_path / "a.pptx", [("Łódź 🚋", "x")]),
        make_text(tmp_path / "a b.txt", "plain"),
    ):
        here, there = read_file(path, ReadOptions(path.name)), isolated(path)
        assert (here.text, here.metadata, here.pages, here.page_word) == (
            there.text,
            there.metadata,
            there.pages,
            there.page_word,
        )


def test_errors_come_back_as_they_are(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["Secret."], password="sesame")
    with pytest.raises(EncryptedFileError, match=r"a\.pdf is protected") as caught:
        isolated(path)
    assert caught.value.hint == "Enter its password to read it."
    options = ReadOptions("a.pdf", "sesame")
    assert read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False).text == "Secret."


def test_progress_comes_through(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = make_pdf(tmp_path / "a.pdf", [f"Page {number}" for number in range(30)])
    options = ReadOptions("a.pdf", progress=lambda done, total: seen.append((done, total)))
    read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)


def test_a_reader_that_hangs_is_stopped(hostile: Callable[[str], Path]) -> None:
    path = hostile("import time\ntime.sleep(60)")
    began = time.monotonic()
    with pytest.raises(TooLargeError, match=r"evil\.txt took longer than 1 seconds"):
        isolated(path, timeout=1)
    assert time.monotonic() - began < 5


def test_a_reader_that_crashes_is_one_damaged_file(hostile: Callable[[str], Path]) -> None:
    with pytest.raises(DamagedFileError, match=r"evil\.txt.*crash"):
        isolated(hostile("import os\nos.abort()"))


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_a_reader_that_takes_too_much_memory_is_stopped(hostile: Callable[[str], Path]) -> None:
    with pytest.raises(TooLargeError, match=r"evil\.txt needs more memory"):
        isolated(hostile("x = bytearray(3_000_000_000)"), memory_mb=500)


def test_cancelling_ends_the_child_at_once(hostile: Callable[[str], Path], tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    path = hostile(f"import os, pathlib, time\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\ntime.sleep(60)")
    with pytest.raises(Cancelled):
        isolated(path, cancelled=pid.exists)
    if sys.platform != "win32":
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_a_failure_of_our_own_is_not_taken_for_a_bad_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import ragcore.readers.registry as r\ndel r.read_file\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])]))
    with pytest.raises(RuntimeError, match="read_file"):
        isolated(make_text(tmp_path / "a.txt", "words"))


@pytest.mark.skipif(sys.platform == "win32", reason="no resource usage there")
def test_a_plain_text_costs_little(tmp_path: Path) -> None:
    import resource

    path = make_text(tmp_path / "a.txt", "words")
    isolated(path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    isolated(path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


def test_what_a_parser_prints_is_not_taken_for_progress(hostile: Callable[[str], Path]) -> None:
    path = hostile(
        "import os\nfrom ragcore.schema import Document\nprint('two words', flush=True)\nos.write(1, b'7 3\\n')\n"
        "return Document(path.read_text())"
    )
    seen: list[tuple[int, int]] = []
    options = ReadOptions(path.name, progress=lambda done, total: seen.append((done, total)))
    assert read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False).text == "words"
    assert seen == []
