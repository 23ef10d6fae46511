"""Plain text, and all files with unknown endings whose bytes are text (`ragcore.readers.registry`): logs,
settings, subtitles, source code.
"""

from __future__ import annotations

from pathlib import Path, PurePath

from ragcore.readers.base import ReadOptions, read_text
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document

SUFFIXES = (".txt", ".text", ".log", ".org", ".adoc")
PLAIN_TEXT = True

WITH_TABLES = frozenset({".txt", ".text", ".org", ".adoc"})  # in other files a bar may have any meaning


def read(path: Path, options: ReadOptions) -> Document:
    text = read_text(path, options)
    if PurePath(options.name).suffix.lower() in WITH_TABLES:
        text = with_tables_as_lines(text)
    return Document(text, metadata={"file_name": options.name})
