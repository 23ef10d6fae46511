"""What a reader is: a module that names its suffixes and turns one file into one Document.

    SUFFIXES = (".docx",)
    def read(path: Path, options: ReadOptions) -> Document: ...

Heavy imports stand inside `read`. `read` raises an UnreadableFileError when the file yields no text; it never returns an
empty document. It writes nothing, fetches nothing, and opens no file but `path`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ragcore.errors import RagError
from ragcore.readers.encodings import decode
from ragcore.schema import Document


def _silent(*told: int) -> None: ...
def _unheard(error: RagError) -> None: ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`name` is the file's name as the person knows it, for messages; `progress(done, total)` counts pages, rows or bytes;
    `left_out(error)` hears why a part of the file could not be read, where the rest could.

    `encoding` and `errors` are those of `ragcore.readers.encodings.decode`, for every format that is text inside.
    """

    name: str
    password: str | None = None
    progress: Callable[[int, int], None] = _silent
    left_out: Callable[[RagError], None] = _unheard
    max_text_chars: int = 50_000_000  # characters of text that one document may have
    encoding: str | None = None
    errors: str = "ignore"


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, path: Path, options: ReadOptions) -> Document: ...


def text_in(path: Path, options: ReadOptions, *, declares: bool = False) -> str:
    """The text of a whole file, as `decode` gives it."""
    return decode(path.read_bytes(), options.name, declares=declares, encoding=options.encoding, errors=options.errors)
