"""Text in pictures, by tesseract, where it is installed (https://github.com/tesseract-ocr/tesseract).

It runs as a program of its own with one thread and a picture on its standard input, in the process group of its parent:
what ends the group ends it too.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from ragcore.errors import NoTextError, TooLargeError
from ragcore.readers.encodings import clean

if TYPE_CHECKING:
    from PIL.Image import Image

DPI = 300  # which tesseract was made for
PAGE_SECONDS = 120  # for one page; a dense one takes six or seven
MAX_PIXELS = 40_000_000  # of one page; A4 at 300 dots per inch has 9 million

_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_WIDE_GAP = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])")


def installed() -> bool:
    """Whether tesseract and at least one of its languages are there."""
    return bool(languages())


def languages() -> tuple[str, ...]:
    """Those installed, English first; () where there is no tesseract, which may be installed any moment."""
    program = _program()
    return _listed(program) if program else ()


@cache
def _listed(program: str) -> tuple[str, ...]:
    done = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False)
    names = [line.strip() for line in done.stdout.splitlines()[1:]]
    wanted = [name for name in names if re.fullmatch(r"[a-z]{3}(_[a-z]+)?", name) and name not in ("osd", "equ")]
    return tuple(sorted(wanted, key=lambda name: name != "eng"))


def recognised(picture: Image, name: str) -> str:
    """The text in the picture, its lines as they stand; "" where it holds none. TooLargeError beyond PAGE_SECONDS."""
    shades = picture.convert("L")
    if shades.getextrema()[0] == shades.getextrema()[1]:
        return ""  # one colour
    data = io.BytesIO()
    shades.save(data, "PPM")
    try:
        done = subprocess.run(
            [_program(), "stdin", "stdout", "-l", "+".join(languages()), "--dpi", str(DPI)],
            input=data.getvalue(),
            capture_output=True,
            timeout=PAGE_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},  # more threads only wait for each other
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TooLargeError(
            f"A page of {name} took longer than {PAGE_SECONDS} seconds to recognise.", hint="Scan it at 300 dots per inch."
        ) from error
    text = clean(done.stdout.decode("utf-8", "replace")).strip()
    if done.returncode < 0:
        raise TooLargeError(
            f"A page of {name} was too much for tesseract, which recognises its text.", hint="Scan it at 300 dots per inch."
        )
    return _WIDE_GAP.sub("", text) if _WORD.search(text) else ""  # no word: specks and lines taken for signs


def scan_without_tesseract(what: str) -> NoTextError:
    """`what` says which file is a scan or a picture."""
    return NoTextError(
        f"{what}, and the program that reads pictures, tesseract, is not installed.",
        hint="Install tesseract (on Debian and Ubuntu: apt install tesseract-ocr), then try again.",
    )


def _program() -> str:
    return shutil.which("tesseract") or ""
