"""A file between its reading and its place in an index."""

from __future__ import annotations

from dataclasses import dataclass

from lectern.jobs.file_rows import FileRow
from lectern.jobs.time_left import FILE_SECONDS, kind_of
from ragcore.errors import RagError
from ragcore.readers.ocr.page_words import PageWords
from ragcore.schema import Document, TextNode


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file with what was read of it. `seconds` that reading took; `left_out`, and `words` by page: see `ReadOptions`."""

    file: FileRow
    document: Document
    nodes: list[TextNode]
    left_out: list[RagError]
    words: dict[int, PageWords]
    seconds: float

    @property
    def paces(self) -> list[tuple[str, float, float]]:
        """What its work cost, see `lectern.jobs.time_left.remember`."""
        kind, size = kind_of(self.file.name), self.file.size
        return [(f"read.{kind}", self.seconds - FILE_SECONDS, size), (f"text.{kind}", float(len(self.document.text)), size)]
