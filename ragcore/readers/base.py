"""What a reader is: a module that names its suffixes and turns one file into one Document.

    SUFFIXES = (".docx",)
    def read(path: Path, options: ReadOptions) -> Document: ...

Heavy imports stand inside `read`. `read` raises an UnreadableFileError when the file yields no text; it never returns an
empty document. It writes nothing, fetches nothing, and opens no file but `path`.

`PARSERS` may name the modules that reading most files of its kind imports, such as ("lxml.etree",): whoever reads each file
in a process of its own imports them once before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragcore.errors import DamagedFileError, RagError, UnsupportedFileError
from ragcore.readers.encodings import decode_and_count
from ragcore.schema import Document

if TYPE_CHECKING:
    from ragcore.readers.ocr.page_words import PageWords

DEEPEST = 10  # files inside each other, such as messages that are attached to messages


def _ignore(*event: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`name` is the file's name as the person knows it, for messages; `progress(done, total)` counts pages, rows or bytes;
    `left_out(error)` hears why a part of the file could not be read, where the rest could. `on_words(page_index, words)` gets
    the places of the words that were recognised on a page of the file itself, and not of one inside it.

    `encoding` and `errors` are those of `ragcore.readers.encodings.decode_and_count`, for every format that is text inside.
    """

    name: str
    password: str | None = None
    progress: Callable[[int, int], None] = _ignore
    left_out: Callable[[RagError], None] = _ignore
    on_words: Callable[[int, PageWords], None] = _ignore
    max_text_chars: int = 50_000_000  # characters of text that one document may have
    encoding: str | None = None
    errors: str = "ignore"
    depth: int = 0  # of a file inside others: how many there are around it

    def inside(self, name: str, progress: Callable[[int, int], None] = _ignore) -> ReadOptions:
        """For a file of this name inside this one. UnsupportedFileError where too many are inside each other."""
        if self.depth >= DEEPEST:
            raise UnsupportedFileError(
                f"{name} is inside more than {DEEPEST} other files.", hint="Save it as a file of its own and add that."
            )
        return replace(self, name=name, progress=progress, on_words=_ignore, depth=self.depth + 1)


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, path: Path, options: ReadOptions) -> Document: ...


def text_in(path: Path, options: ReadOptions, *, declares: bool = False) -> str:
    """The text of a whole file, as `decode` gives it. `options.left_out` hears of broken bytes."""
    return decoded(path.read_bytes(), options, declares=declares)


def decoded(data: bytes, options: ReadOptions, *, declares: bool = False) -> str:
    """As `text_in`, of bytes that were read."""
    text, broken = decode_and_count(data, options.name, declares=declares, encoding=options.encoding, errors=options.errors)
    report_broken(options, broken)
    return text


def report_broken(options: ReadOptions, count: int) -> None:
    """Report that so many characters of the file could not be decoded, if any."""
    if not count:
        return
    places = "1 place" if count == 1 else f"{count:,} places"
    options.left_out(
        DamagedFileError(
            f"{options.name} has broken characters in {places}, shown as �.",
            hint="Save it again as UTF-8 from the program it comes from.",
        )
    )
