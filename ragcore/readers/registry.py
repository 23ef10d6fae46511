"""Chooses the reader of a file by its name, unless its first bytes show another type, and reads it.

A file with an unknown ending, such as source code or settings, is read as plain text if its bytes are text. A
reader is any module in this folder or below with `SUFFIXES`, a tuple of texts. It is imported for its first
file.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import cast

from ragcore.errors import (
    DamagedFileError,
    EmptyFileError,
    NoTextError,
    RagError,
    TooLargeError,
    UnreadableFileError,
    UnsupportedFileError,
)
from ragcore.readers import text
from ragcore.readers.base import Reader, ReadOptions
from ragcore.readers.encodings import has_more_characters, is_text_file
from ragcore.readers.file_type import true_suffix
from ragcore.readers.office import encrypted_ooxml
from ragcore.schema import Document

# Import names of packages that are installed under another name.
_PACKAGES = {
    "PIL": "pillow",
    "lxml_html_clean": "lxml-html-clean",
    "msoffcrypto": "msoffcrypto-tool",
    "pdfminer": "pdfminer.six",
}


_SUFFIXES = re.compile(r"^SUFFIXES = (\(.*?\))$", re.MULTILINE | re.DOTALL)
_TEXT = cast(Reader, text)


def _reader_of(suffix: str) -> Reader | None:
    module = _modules().get(suffix)
    return None if module is None else _import_reader(module)


def reader_for(name: str) -> Reader:
    """The reader for the ending of `name`, or that of plain text."""
    return _reader_of(suffix_of(name)) or _TEXT


def has_reader(name: str) -> bool:
    """Whether a reader supports the ending of `name`. For other files see `check_readable`."""
    return _reader_of(suffix_of(name)) is not None


def check_readable(path: Path, name: str) -> None:
    """UnsupportedFileError if no reader supports the type of the file at `path`, and its bytes are not
    text."""
    suffix = suffix_of(name)
    if has_reader(name) or has_reader(name + true_suffix(path, name, suffix)) or is_text_file(path):
        return
    raise UnsupportedFileError(
        f"{name} is a {suffix} file, which cannot be read."
        if suffix
        else f"{name} has no file extension that says what it is.",
        hint="Save what you want to read as PDF or as text and add that.",
    )


def has_too_much_text(path: Path, name: str, most: int) -> bool:
    """Whether the file at `path` is plain text with more than `most` characters, which is known before it is
    read. A file of another type may have too much text as well."""
    if path.stat().st_size <= most or not getattr(reader_for(name), "PLAIN_TEXT", False):
        return False
    with path.open("rb") as file:
        is_another_type = file.read(4).startswith((b"PK\3\4", b"\xd0\xcf\x11\xe0", b"%PDF", b"{\\rt"))
    return not is_another_type and is_text_file(path) and has_more_characters(path, most)


def supported_suffixes() -> tuple[str, ...]:
    """All endings with a reader, with their dots, in alphabetical order."""
    return tuple(sorted(_modules()))


def suffix_of(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def read_file(path: Path, options: ReadOptions) -> Document:
    """Read the file at `path`, whose name is `options.name`. Every failure is an UnreadableFileError with
    this name."""
    name = options.name
    if path.stat().st_size == 0:
        raise EmptyFileError(f"{name} is empty.", hint="Save it again from the program it comes from.")
    named = suffix_of(name)
    suffix = true_suffix(path, name, named)
    if suffix == encrypted_ooxml.SUFFIX:
        with encrypted_ooxml.open_decrypted(path, name, options.password) as plain:
            return _read(plain, options, true_suffix(plain, name, named))
    return _read(path, options, suffix)


def _read(path: Path, options: ReadOptions, suffix: str) -> Document:
    name = options.name
    reader = reader_for(name if suffix == suffix_of(name) else name + suffix)
    if not has_reader(name + suffix):
        check_readable(path, name)
    if getattr(reader, "PLAIN_TEXT", False) and has_more_characters(path, options.max_text_chars):
        options.check_length(path.stat().st_size)
    try:
        document = reader.read(path, options)
    except RagError:
        raise
    except MemoryError as error:
        raise TooLargeError(
            f"{name} needs more memory to read than is available.", hint="Split it into several files."
        ) from error
    except ImportError as error:
        package = (error.name or "lectern").partition(".")[0]
        package = _PACKAGES.get(package, package)
        raise UnreadableFileError(
            f"{name} could not be read: the package {package} is not installed.",
            hint=f"Install it with: pip install {package}",
        ) from error
    except Exception as error:  # parsers raise all types of errors for broken files
        raise DamagedFileError(
            f"{name} could not be read: it seems to be damaged.",
            hint="Open it in the program it comes from and save it again, or save it as PDF.",
        ) from error
    if not document.text.strip():
        raise NoTextError(
            f"{name} contains no text.",
            hint="If it holds pictures of text, save it as PDF: pictures in a PDF are read.",
        )
    if len(document.text) > options.max_text_chars:
        raise TooLargeError(
            f"{name} has {len(document.text):,} characters of text; the limit for one file is "
            f"{options.max_text_chars:,}.",
            hint="Split it into several files, or raise the limit in Settings.",
        )
    return document


@cache
def _import_reader(module: str) -> Reader:
    return cast(Reader, importlib.import_module(module))


@cache
def _modules() -> dict[str, str]:
    """The module of the reader for each ending. The endings are read out of the sources, because importing
    all readers takes long."""
    folder = Path(__file__).parent
    modules: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        if match := _SUFFIXES.search(path.read_text("utf-8")):
            name = ".".join(("ragcore.readers", *path.relative_to(folder).with_suffix("").parts))
            modules |= dict.fromkeys(ast.literal_eval(match[1]), name)
    return modules
