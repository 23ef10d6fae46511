"""Texts without conversion as documents: strings, and files for splitters that parse HTML, JSON or Markdown
themselves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ragcore.readers.encodings import decode
from ragcore.readers.registry import suffix_of
from ragcore.schema import Document


class StringIterableReader:
    """Converts strings to documents.

    >>> [document.text for document in StringIterableReader().load_data(["A boat.", "A gull."])]
    ['A boat.', 'A gull.']
    """

    def load_data(self, texts: Iterable[str]) -> list[Document]:
        """One document per text, in order, with random ids."""
        return [Document(text) for text in texts]


class FlatReader:
    """Reads a file as text without interpreting its markup.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "fares.md").write_text("# Fares")
    ...     FlatReader().load_data(Path(folder, "fares.md"))[0].text
    '# Fares'
    """

    def load_data(self, file: str | Path) -> list[Document]:
        """One document with `filename` and `extension` in its metadata. UnreadableFileError if the file is
        not text."""
        path = Path(file)
        text = decode(path.read_bytes(), path.name, declares=True)
        return [Document(text, metadata={"filename": path.name, "extension": suffix_of(path.name)})]
