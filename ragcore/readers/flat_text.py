"""A file's text exactly as it stands, marks and all, for splitters that read HTML, JSON or Markdown themselves."""

from __future__ import annotations

from pathlib import Path

from ragcore.readers.encodings import decode
from ragcore.readers.registry import suffix_of
from ragcore.schema import Document


class FlatReader:
    def load_data(self, file: str | Path) -> list[Document]:
        """One document, with its `filename` and `extension` in the metadata. UnreadableFileError where it is no text."""
        path = Path(file)
        text = decode(path.read_bytes(), path.name, declares=True)
        return [Document(text, metadata={"filename": path.name, "extension": suffix_of(path.name)})]
