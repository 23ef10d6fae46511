"""Reads 312 files that are good, damaged, protected, scanned or malicious, and reports unexpected results.

    python -m benchmarks.nasty [folder] [--without-ocr]

Prints one line for each unexpected result, then the counts of each kind. The files are ../shared/data/nasty;
each line of its manifest.jsonl has the expectations for one. They are read in one child process, which
reports when another file is opened or a connection is made.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ragcore.errors
from ragcore.errors import RagError, UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file, suffix_of
from ragcore.readers.zip.archive import unpack

FILES = Path(__file__).parents[2] / "shared" / "data" / "nasty"
MIN_WORDS_SHARE = 0.95  # of the expected words of a file
MAX_SECONDS = 60.0  # of processor time for one file
TEXT = ("text", "text_short", "text_unverified", "encrypted_then_text")
PASSWORDS = {  # which the manifest lacks; it says of the first two that they open without
    "pdf_encrypted/r5-user-password.pdf": "asdfzxcv",
    "pdf_encrypted/r6-user-password.pdf": "asdfzxcv",
    "rtf_odf_epub/testODTEncrypted.odt": "tika",
}
HIDDEN = {  # must_words of the manifest that a browser does not show either
    "html_xml/test_serp.html": {"real", "them", "week"},
}


@dataclass
class Outcome:
    """The result of a file: its text, or the error. `locked`: the error without its password."""

    text: str = ""
    error: str = ""
    what: str = ""
    hint: str = ""
    locked: str = ""
    seconds: float = 0.0
    touched: list[str] = field(default_factory=list)  # other files opened, addresses connected to


def manifest(folder: Path = FILES) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text("utf-8").splitlines()]


def outcomes(
    files: list[dict[str, Any]], folder: Path = FILES, *, ocr: bool = True, timeout: float = 900
) -> list[Outcome]:
    """One for each file, in their order. RuntimeError when a file ended the child that reads them."""
    order = "".join(json.dumps([str(folder / each["file"]), _password(each)]) + "\n" for each in files)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(ragcore.errors.__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",  # the first import of a module is no file that a reader touches
    }
    if not ocr:
        environment["PATH"] = os.devnull
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.nasty", "--read"],
        cwd=Path(__file__).parents[1],
        input=order,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        env=environment,
        check=False,
    )
    results = [Outcome(**json.loads(line)) for line in done.stdout.splitlines()]
    if len(results) < len(files):
        raise RuntimeError(f"{files[len(results)]['file']} ended the reader: {done.stderr[-2000:]}")
    return results


def complaint(file: dict[str, Any], outcome: Outcome, *, ocr: bool = True) -> str:
    """What is not as expected; "" when all is."""
    name = Path(file["file"]).name
    if outcome.touched:
        return f"touched {outcome.touched}"
    if outcome.seconds > MAX_SECONDS:
        return f"took {outcome.seconds:.0f} seconds"
    if outcome.error and not issubclass(getattr(ragcore.errors, outcome.error, int), UnreadableFileError):
        return f"{outcome.error}: {outcome.what}"
    if outcome.error and (name not in outcome.what or not outcome.hint):
        return f"an error that does not name the file or what to do: {outcome.what}"
    if not outcome.error and not outcome.text.strip():
        return "neither text nor an error"
    if _password(file) and "password" not in outcome.locked:
        return f"does not ask for a password: {outcome.locked or 'it opened without'}"
    if _password(file) and outcome.error and file["expect"] != "empty":
        return f"does not open with its password: {outcome.what}"
    return _complaint_about_text(file, outcome, ocr)


def _complaint_about_text(file: dict[str, Any], outcome: Outcome, ocr: bool) -> str:
    seen = [word for word in file["must_words"] if word not in HIDDEN.get(file["file"], ())]
    missing = [word for word in seen if _plain(word) not in _plain(outcome.text)]
    lost = len(missing) > (1 - MIN_WORDS_SHARE) * len(file["must_words"])
    if file["expect"] in TEXT and lost:
        return (
            f"lacks {len(missing)} of {len(file['must_words'])} words ({', '.join(missing[:5])}) "
            f"{outcome.what}"
        )
    escape_formula = (file["must_words"] and not lost) or len(outcome.text) <= file["size"]
    if file["expect"] == "bomb" and not outcome.error and not escape_formula:
        return f"gave {len(outcome.text):,} characters and no error"
    if file["expect"] == "encrypted" and not _password(file) and not outcome.error:
        return "opened without a password"
    if file["expect"] == "archive" and outcome.error and ".zip" not in outcome.what + outcome.hint:
        return f"does not say which archives are supported: {outcome.what}"
    if file["category"] == "pdf_scanned" and ocr and outcome.error:
        return f"was not recognised: {outcome.what}"
    return ""


def _password(file: dict[str, Any]) -> str | None:
    known = file.get("password")
    return str(known) if known is not None else PASSWORDS.get(file["file"])


def _plain(text: str) -> str:
    """Without what two readers may write differently: white space, marks on letters' shapes, case."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).casefold()


# What runs in the child


def _read_all() -> None:
    touched: list[str] = []
    _watch(touched)
    for line in sys.stdin:
        path, password = json.loads(line)
        began = time.process_time()
        outcome = Outcome()
        if password is not None:
            outcome.locked = _read(Path(path), None).what
        with_password = _read(Path(path), password)
        outcome.text, outcome.error = with_password.text, with_password.error
        outcome.what, outcome.hint = with_password.what, with_password.hint
        outcome.seconds = time.process_time() - began
        outcome.touched = sorted({each for each in touched if each != path})
        touched.clear()
        print(json.dumps(outcome.__dict__), flush=True)


def _read(path: Path, password: str | None) -> Outcome:
    options = ReadOptions(path.name, password)
    try:
        if suffix_of(path.name) == ".zip":
            return Outcome(text="\n\n".join(_members(path, options)))
        return Outcome(text=read_file(path, options).text)
    except RagError as error:
        return Outcome(error=type(error).__name__, what=error.what, hint=error.hint)


def _members(path: Path, options: ReadOptions) -> Iterator[str]:
    """The text of each file in the archive, or what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        for member in unpack(path, Path(folder), options):
            try:
                if member.error is not None:
                    raise member.error
                yield read_file(member.path, ReadOptions(member.name, options.password)).text
            except RagError as error:
                yield f"{member.name}: {error.what}"


def _watch(touched: list[str]) -> None:
    own = [
        sys.prefix,
        sys.base_prefix,
        tempfile.gettempdir(),
        *sysconfig.get_paths().values(),
        "/proc/self",
        "/dev/null",
    ]
    own.append("/etc/mime.types")  # which Python itself looks into
    allowed = tuple(str(Path(each).resolve()) for each in [*own, Path(__file__).parents[1]])

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            opened = os.path.realpath(os.fsdecode(arguments[0]))
            if not opened.startswith(allowed):
                touched.append(os.fsdecode(arguments[0]))
        elif event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
            touched.append(f"{event} {arguments[1:]}")

    sys.addaudithook(hook)


def main() -> None:
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    folder = Path(arguments[0]) if arguments else FILES
    ocr = "--without-ocr" not in sys.argv
    files = manifest(folder)
    began = time.monotonic()
    results = outcomes(files, folder, ocr=ocr)
    good: Counter[str] = Counter()
    for file, outcome in zip(files, results, strict=True):
        wrong = complaint(file, outcome, ocr=ocr)
        good[file["expect"]] += not wrong
        if wrong:
            print(f"{file['file']} ({file['expect']}): {wrong}")
    print(f"\n{sum(good.values())} of {len(files)} files as expected, in {time.monotonic() - began:.0f} s:")
    for kind, count in sorted(Counter(file["expect"] for file in files).items()):
        print(f"  {kind:20} {good[kind]:3} of {count}")
    slowest = max(zip(results, files, strict=True), key=lambda each: each[0].seconds)
    print(f"slowest: {slowest[1]['file']}, {slowest[0].seconds:.1f} s of processor time")


if __name__ == "__main__":
    _read_all() if "--read" in sys.argv else main()
