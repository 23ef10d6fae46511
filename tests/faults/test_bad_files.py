"""Files that are broken, locked, hostile or odd: each gives text or an error that says why, and nothing crashes or hangs."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragcore.errors
from ragcore.errors import UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file, supported_suffixes
from tests.making import MAKERS, make_any

FILES = Path(__file__).parents[3] / "shared" / "data" / "nasty"
READ_ALL = """
import json, sys, time
from pathlib import Path
from ragcore.errors import RagError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
for line in sys.stdin:
    path, password = json.loads(line)
    began = time.process_time()
    try:
        result = {"text": read_file(Path(path), ReadOptions(Path(path).name, password)).text}
    except RagError as error:
        result = {"error": type(error).__name__, "what": error.what, "hint": error.hint}
    print(json.dumps(result | {"seconds": time.process_time() - began}), flush=True)
"""
EXPECTED_ERRORS = {
    "encrypted": {"EncryptedFileError", "UnsupportedFileError"},
    "broken": {"DamagedFileError", "UnsupportedFileError", "NoTextError", "EmptyFileError", "text"},
}


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is known of each file, and what became of it. One child reads them all: a crash would end it early."""
    if not (FILES / "manifest.jsonl").exists():
        pytest.skip("the collection of bad files is not here")
    known = [json.loads(line) for line in (FILES / "manifest.jsonl").read_text("utf-8").splitlines()]
    order = "".join(json.dumps([str(FILES / file["file"]), file.get("password")]) + "\n" for file in known)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL],
        input=order,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(known), f"{known[len(results)]['file']} ended the reader: {done.stderr[-2000:]}"
    return list(zip(known, results, strict=True))


def test_every_file_gives_text_or_an_error_that_names_it(outcomes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for file, result in outcomes:
        if "error" in result:
            assert issubclass(getattr(ragcore.errors, result["error"]), UnreadableFileError), file["file"]
            assert Path(file["file"]).name in result["what"], file["file"]
            assert result["hint"], file["file"]
        else:
            assert result["text"].strip(), file["file"]


def test_no_file_takes_long(outcomes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    assert {file["file"]: result["seconds"] for file, result in outcomes if result["seconds"] > 20} == {}


def test_nearly_all_known_words_are_found(outcomes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    words = found = readable = read = 0
    for file, result in outcomes:
        if file["expect"] in ("text", "text_short", "encrypted_then_text"):
            text = _plain(result.get("text", ""))
            words += len(file["must_words"])
            found += sum(_plain(word) in text for word in file["must_words"])
            readable += 1
            read += "text" in result
    assert read / readable > 0.96
    assert found / words > 0.95


def test_locked_and_broken_files_are_called_what_they_are(outcomes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for file, result in outcomes:
        if file["expect"] in EXPECTED_ERRORS:
            assert result.get("error", "text") in EXPECTED_ERRORS[file["expect"]], (file["file"], result.get("what"))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _outcome(path: Path) -> Iterator[str]:
    try:
        yield read_file(path, ReadOptions(path.name)).text
    except UnreadableFileError as error:
        yield error.what


@pytest.mark.parametrize("suffix", supported_suffixes())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=300))
def test_random_bytes_of_any_name_give_text_or_an_error(suffix: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"random{suffix}"
    path.write_bytes(data)
    assert all(_outcome(path))


@pytest.mark.parametrize("suffix", sorted(MAKERS))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
