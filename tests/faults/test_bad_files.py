"""Files that are broken, locked, hostile or odd: each gives text or an error that says why, and nothing
crashes or hangs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import nasty
from ragcore.errors import UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file, supported_suffixes
from tests.making import MAKERS, make_any
from tests.needs import needs_documents, needs_program, needs_tesseract

ROOT = Path(__file__).parents[2]
with_files = needs_documents(nasty.FILES / "manifest.jsonl")
FEW = settings().max_examples // 10  # random examples of each file type
SCANS = {
    "pdf_scanned/testOCR.pdf": "Happy New Year 2003!",
    "pdf_scanned/pdf_scanned_meeting_minutes.pdf": "Phase 1 completed successfully",
}


@with_files
def test_bad_files_give_text_or_a_clear_error_and_change_nothing() -> None:
    """One child reads them all, which a crash would end early. Pictures are left alone here: they take
    long."""
    files = nasty.manifest()
    found = nasty.outcomes(files, ocr=False, timeout=280)
    wrong = {
        file["file"]: nasty.complaint(file, each, ocr=False) for file, each in zip(files, found, strict=True)
    }
    assert {name: complaint for name, complaint in wrong.items() if complaint} == {}


@with_files
@needs_tesseract
def test_scans_give_the_words_that_are_seen_on_them() -> None:
    files = [file for file in nasty.manifest() if file["file"] in SCANS]
    for file, outcome in zip(files, nasty.outcomes(files), strict=True):
        assert SCANS[file["file"]] in outcome.text, outcome.what


@with_files
@needs_program("strace")
def test_no_system_call_opens_or_fetches_what_a_file_names() -> None:
    """Libraries written in C open files without Python's knowing."""
    named = re.compile(r"couldnt_possibly_exist|xmltestdata|w3schools|www\.w3\.org|AF_INET")
    files = [
        file
        for file in nasty.manifest()
        if file["category"] in ("bombs", "html_xml") and file["size"] < 50_000
    ]
    order = "".join(json.dumps([str(nasty.FILES / file["file"]), None]) + "\n" for file in files)
    command = [
        "strace",
        "-f",
        "-s",
        "200",
        "-e",
        "trace=open,openat,connect",
        sys.executable,
        "-m",
        "benchmarks.nasty",
        "--read",
    ]
    done = subprocess.run(
        command, input=order, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert len(done.stdout.splitlines()) == len(files)
    assert str(nasty.FILES / files[0]["file"]) in done.stderr
    assert [line for line in done.stderr.splitlines() if named.search(line)] == []


def _outcome(path: Path) -> Iterator[str]:
    try:
        yield read_file(path, ReadOptions(path.name)).text
    except UnreadableFileError as error:
        yield error.what


@pytest.mark.parametrize("suffix", supported_suffixes())
@settings(max_examples=FEW)
@given(data=st.binary(min_size=1, max_size=300))
def test_random_bytes_of_any_name_give_text_or_an_error(suffix: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"random{suffix}"
    path.write_bytes(data)
    assert all(_outcome(path))


@pytest.mark.parametrize("suffix", sorted(MAKERS))
@settings(max_examples=FEW)
@given(places=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6))
def test_a_file_with_some_bytes_spoiled_gives_text_or_an_error(
    suffix: str, places: list[tuple[float, bytes]], tmp_path: Path
) -> None:
    path = tmp_path / f"spoiled{suffix}"
    whole = tmp_path / f"whole{suffix}"
    if not whole.exists():
        make_any(whole, ["The cliff railway opened in 1871.", "Ada built it."])
    data = bytearray(whole.read_bytes())
    for place, spoiled in places:
        at = int(place * (len(data) - 1))
        data[at : at + len(spoiled)] = spoiled
    path.write_bytes(data)
    assert all(_outcome(path))
