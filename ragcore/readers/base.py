"""The interface of a reader: a module with the suffixes of its files and a function that reads one file into
one Document.

    SUFFIXES = (".docx",)
    def read(path: Path, options: ReadOptions) -> Document: ...

Heavy imports are inside `read`. It raises an UnreadableFileError if the file has no text, and never returns
an empty document. It writes nothing, uses no network, and opens no file except `path`. A script's own reader
is a BaseReader instead.

`PLAIN_TEXT = True` says that the text of a file is its characters, so that a file with too many is refused
before it is read.

`PARSERS` may list modules that most files of this kind need, such as ("lxml.etree",), so that a process can
import them before it starts one process per file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ragcore.concurrency import awaitable
from ragcore.errors import DamagedFileError, RagError, TooLargeError, UnsupportedFileError
from ragcore.readers.encodings import decode_and_count
from ragcore.schema import Document

if TYPE_CHECKING:
    from ragcore.readers.ocr.page_words import PageWords


class BaseReader:
    """The base of your own reader. A subclass has `load_data` or `lazy_load_data`, with the arguments that it
    needs.

    >>> class Lines(BaseReader):
    ...     def lazy_load_data(self, text):
    ...         return (Document(line) for line in text.splitlines())
    >>> [document.text for document in Lines().load_data("A boat.\\nA gull.")]
    ['A boat.', 'A gull.']
    """

    def lazy_load_data(self, *args: Any, **kwargs: Any) -> Iterable[Document]:
        """The documents one after the other."""
        raise NotImplementedError(f"{type(self).__name__} must have load_data or lazy_load_data")

    def load_data(self, *args: Any, **kwargs: Any) -> list[Document]:
        """All documents."""
        return list(self.lazy_load_data(*args, **kwargs))

    alazy_load_data = awaitable(lazy_load_data)
    aload_data = awaitable(load_data)


DEEPEST = 10  # levels of files inside files, such as messages attached to messages


def _ignore(*event: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`name` is the file's name in messages. `progress(done, total)` counts pages, rows or bytes.
    `on_loss(error)` is called for each part of the file that could not be read. `on_words(page_index, words)`
    receives the places of the words that OCR recognised on a page of the file itself, not of a file inside
    it.

    `encoding` and `errors` apply to all text formats, see `ragcore.readers.encodings.decode_and_count`.
    """

    name: str
    password: str | None = None
    progress: Callable[[int, int], None] = _ignore
    on_loss: Callable[[RagError], None] = _ignore
    on_words: Callable[[int, PageWords], None] = _ignore
    max_text_chars: int = 50_000_000  # characters of text that one document may have
    encoding: str | None = None
    errors: str = "ignore"
    depth: int = 0  # number of files around this one

    def inside(self, name: str, progress: Callable[[int, int], None] = _ignore) -> ReadOptions:
        """The options for a file inside this one. UnsupportedFileError if there are too many levels."""
        if self.depth >= DEEPEST:
            raise UnsupportedFileError(
                f"{name} is inside more than {DEEPEST} other files.",
                hint="Save it as a separate file and add that.",
            )
        return replace(self, name=name, progress=progress, on_words=_ignore, depth=self.depth + 1)

    def check_length(self, length: int) -> None:
        """TooLargeError for more characters of text than a document may have."""
        if length > self.max_text_chars:
            raise TooLargeError(
                f"{self.name} has more than {self.max_text_chars:,} characters of text.",
                hint="Split it into several files, or raise the limit in Settings.",
            )


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, path: Path, options: ReadOptions) -> Document: ...


def read_text(path: Path, options: ReadOptions, *, declares: bool = False) -> str:
    """The text of a file, see `ragcore.readers.encodings.decode`. Broken bytes are reported to
    `options.on_loss`."""
    return decode_text(path.read_bytes(), options, declares=declares)


def decode_text(data: bytes, options: ReadOptions, *, declares: bool = False) -> str:
    """Like `read_text`, for the bytes of a file."""
    text, broken = decode_and_count(
        data, options.name, declares=declares, encoding=options.encoding, errors=options.errors
    )
    report_broken(options, broken)
    return text


def report_broken(options: ReadOptions, count: int) -> None:
    """Report that `count` characters of the file could not be decoded, if there are any."""
    if not count:
        return
    places = "1 place" if count == 1 else f"{count:,} places"
    options.on_loss(
        DamagedFileError(
            f"{options.name} has broken characters in {places}, shown as �.",
            hint="Save it again as UTF-8 from the program it comes from.",
        )
    )
