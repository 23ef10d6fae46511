"""Text recognition with tesseract, if it is installed (https://github.com/tesseract-ocr/tesseract).

It runs as a separate program with one thread, in the process group of its parent, so that it ends with the
group.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import TooLargeError
from ragcore.readers.encodings import clean
from ragcore.readers.ocr.reading_order import PARAGRAPH_SPACE
from ragcore.readers.ocr.recognised_page import MIN_CONFIDENCE, TRUSTED_CONFIDENCE, Line, RecognisedPage, Word
from ragcore.readers.pdf.line_joining import is_ended
from ragcore.text.language import language_of

if TYPE_CHECKING:
    from PIL.Image import Image

DPI = 300  # the resolution that tesseract expects
PAGE_SECONDS = 120  # for one page; a dense one takes six or seven
MAX_PITCH = 1.25  # times the distance of the two lines above; with more, a paragraph begins
MAX_PIXELS = 40_000_000  # of one page; A4 at 300 dots per inch has 9 million

_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}|[\u3040-\u30ff\u3400-\u9fff]")
_SCRIPT = re.compile(r"^Script: (\w+)", re.M)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
# The scripts that tesseract can detect, with their languages. Models for Latin letters read them as similar
# Latin letters.
_SCRIPTS = {
    "Arabic": ("ara", "fas", "urd"),
    "Cyrillic": ("rus", "ukr", "bul", "bel", "srp", "mkd"),
    "Devanagari": ("hin", "mar", "nep", "san"),
    "Greek": ("ell", "grc"),
    "Han": ("chi_sim", "chi_tra", "jpn"),
    "Hangul": ("kor",),
    "Hebrew": ("heb", "yid"),
    "Japanese": ("jpn",),
    "Korean": ("kor",),
    "Thai": ("tha",),
}
# The languages that `ragcore.text.language` detects by their words.
LANGUAGES = {"de": "deu", "en": "eng", "es": "spa", "fr": "fra", "it": "ita", "nl": "nld", "pt": "por"}


def is_installed() -> bool:
    """Whether tesseract and at least one of its languages are installed."""
    return bool(languages())


def languages() -> tuple[str, ...]:
    """The installed languages, English first; () without tesseract."""
    program = find_program()
    return _list_languages(program) if program else ()


def reads(language: str) -> bool:
    """Whether tesseract has that language (ISO 639-1). True for unknown languages."""
    return language not in LANGUAGES or LANGUAGES[language] in languages()


@cache
def _list_languages(program: str) -> tuple[str, ...]:
    done = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False)
    names = [line.strip() for line in done.stdout.splitlines()[1:]]
    models = [
        name for name in names if re.fullmatch(r"[a-z]{3}(_[a-z]+)?", name) and name not in ("osd", "equ")
    ]
    return tuple(sorted(models, key=lambda name: name != "eng"))


def read_lines(picture: Image, name: str) -> RecognisedPage:
    """The lines in the picture, which is not turned; none without a word. TooLargeError after
    PAGE_SECONDS."""
    data = io.BytesIO()
    picture.convert("L").save(data, "PPM")
    lines = _lines(_output(data.getvalue(), name, "-l", "+".join(languages()), "tsv"))
    if not any(_WORD.search(line.text) for line in lines):
        lines = []  # only specks and rules
    page = RecognisedPage(lines, picture.width, picture.height)
    if not MIN_CONFIDENCE <= page.confidence < TRUSTED_CONFIDENCE or language_of(page.text):
        return page  # other pages may have letters that look like Latin ones
    script = _SCRIPT.search(_output(data.getvalue(), name, "--psm", "0"))
    if script and script[1] in _SCRIPTS and not set(_SCRIPTS[script[1]]) & set(languages()):
        lines = [
            replace(line, words=tuple(word._replace(confidence=0.0) for word in line.words)) for line in lines
        ]
    return replace(page, candidates=lines)


def _output(picture: bytes, name: str, *arguments: str) -> str:
    """The output of tesseract for a picture with these arguments; "" if it fails."""
    try:
        done = subprocess.run(
            [find_program(), "stdin", "stdout", *arguments, "--dpi", str(DPI)],
            input=picture,
            capture_output=True,
            timeout=PAGE_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},  # more threads are not faster
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TooLargeError(
            f"A page of {name} took longer than {PAGE_SECONDS} seconds to recognise.",
            hint="Scan it at 300 dots per inch.",
        ) from error
    if done.returncode < 0:
        raise TooLargeError(
            f"A page of {name} was too much for tesseract, which recognises its text.",
            hint="Scan it at 300 dots per inch.",
        )
    return clean(done.stdout.decode("utf-8", "replace"))


def find_program() -> str:
    """The absolute path of tesseract; "" without tesseract. Relative folders in PATH are ignored, because
    they may contain a downloaded file."""
    folders = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if Path(folder).is_absolute()
    ]
    program = shutil.which("tesseract", path=os.pathsep.join(folders)) if folders else None
    return program if program and Path(program).is_absolute() else ""


def _lines(table: str) -> list[Line]:
    """The lines in TSV, whose columns are level, page, block, paragraph, line, word, x, y, width, height,
    conf, text."""
    rows = [row.split("\t", 11) for row in table.splitlines()[1:]]
    words = [row for row in rows if len(row) == 12 and row[0] == "5" and row[11].strip()]
    lines: list[Line] = []
    before: list[str] = []
    for place, of_line in groupby(words, key=lambda row: row[2:5]):  # block, paragraph, line
        line = Line(tuple(_words(of_line)))
        starts = place[:2] != before and not (lines and _goes_on(lines, line))
        lines.append(replace(line, starts_paragraph=starts))
        before = place[:2]
    return lines


def _goes_on(lines: Sequence[Line], line: Line) -> bool:
    """Whether a line goes on with the sentence in the last of `lines`, although tesseract begins a paragraph
    with it: without more space above it and without an indent, it only begins with a word that had room at
    the end of the line above."""
    above = lines[-1]
    upper, lower = above.box, line.box
    height = max(upper.height, lower.height)
    pitch = (1 + PARAGRAPH_SPACE) * height
    if not above.starts_paragraph:
        pitch = max(pitch, MAX_PITCH * (upper.middle - lines[-2].box.middle))
    is_below = abs(lower.x0 - upper.x0) < height and upper.middle < lower.middle < upper.middle + pitch
    return is_below and not is_ended(above.text)


def _words(rows: Iterable[list[str]]) -> Iterator[Word]:
    before = ""
    for row in rows:
        x0, top, width, height = map(int, row[6:10])
        text, confidence = row[11].strip(), max(float(row[10]), 0.0) / 100
        joined = bool(_WIDE.match(before[-1:]) and _WIDE.match(text))
        yield Word(text, x0, top, x0 + width, top + height, confidence, joined)
        before = text
