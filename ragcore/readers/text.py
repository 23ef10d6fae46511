"""Plain text, and every format that is plain text to a reader: logs, settings, subtitles, source code."""

from __future__ import annotations

from pathlib import Path, PurePath

from ragcore.readers.base import ReadOptions, text_in
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document

SUFFIXES = (
    *(
        ".txt",
        ".text",
        ".log",
        ".rst",
        ".adoc",
        ".org",
        ".tex",
        ".srt",
        ".vtt",
        ".ini",
        ".cfg",
        ".conf",
        ".toml",
        ".yaml",
        ".yml",
    ),
    *(
        ".py",
        ".js",
        ".ts",
        ".java",
        ".c",
        ".h",
        ".cpp",
        ".cs",
        ".go",
        ".rs",
        ".rb",
        ".php",
        ".sh",
        ".sql",
        ".r",
        ".css",
        ".diff",
    ),
)

WITH_TABLES = frozenset({".txt", ".text", ".org", ".adoc"})  # in others a bar may mean anything


def read(path: Path, options: ReadOptions) -> Document:
    text = text_in(path, options)
    if PurePath(options.name).suffix.lower() in WITH_TABLES:
        text = with_tables_as_lines(text)
    return Document(text, metadata={"file_name": options.name})
