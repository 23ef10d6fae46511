"""The text of a file without conversion, for splitters that parse HTML, JSON or Markdown themselves."""

from __future__ import annotations

from pathlib import Path

from ragcore.readers.encodings import decode
from ragcore.readers.registry import suffix_of
from ragcore.schema import Document


class FlatReader:
    def load_data(self, file: str | Path) -> list[Document]:
        """One document with `filename` and `extension` in its metadata. UnreadableFileError if the file is not text."""
        path = Path(file)
        text = decode(path.read_bytes(), path.name, declares=True)
        return [Document(text, metadata={"filename": path.name, "extension": suffix_of(path.name)})]
