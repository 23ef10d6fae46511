"""Rich Text Format."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError
from ragcore.readers import typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.office.rtf_marks import with_marks
from ragcore.schema import Document

SUFFIXES = (".rtf",)

_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(f"{options.name} is empty.", hint="Save it again from the program it comes from.")
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DamagedFileError(f"{options.name} is no rich text inside.", hint="Save it again from the program it comes from.")
    losses = Losses()
    rtf, losses.hidden = with_marks(_without_binary(data).decode("latin-1"))
    text = typography.plain(clean(_plain(rtf)).replace("\x0b", "\n")).strip()
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(re.sub("\n{3,}", "\n\n", text), metadata={"file_name": options.name})


def _plain(rtf: str) -> str:
    from striprtf import striprtf

    return str(striprtf.rtf_to_text(rtf, errors="replace"))  # type: ignore[no-untyped-call]


def _without_binary(data: bytes) -> bytes:
    r"""`\binN` is followed by N bytes that are no text, which may hold braces."""
    out, place = [], 0
    while found := _BINARY.search(data, place):
        out.append(data[place : found.start()])
        place = found.end() + int(found[1])
    return b"".join(out) + data[place:]
