"""Plain text, and every format that is plain text to a reader: logs, settings, subtitles, source code. Files with endings that
no reader names come here, too, where their bytes are text (`ragcore.readers.registry`).
"""

from __future__ import annotations

from pathlib import Path, PurePath

from ragcore.readers.base import ReadOptions, text_in
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document

SUFFIXES = (".txt", ".text", ".log", ".org", ".adoc")

WITH_TABLES = frozenset({".txt", ".text", ".org", ".adoc"})  # in others a bar may mean anything


def read(path: Path, options: ReadOptions) -> Document:
    text = text_in(path, options)
    if PurePath(options.name).suffix.lower() in WITH_TABLES:
        text = with_tables_as_lines(text)
    return Document(text, metadata={"file_name": options.name})
