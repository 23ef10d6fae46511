"""Plain text, and every format that is plain text to a reader: logs, settings, subtitles, source code."""

from __future__ import annotations

from pathlib import Path

from ragcore.readers.base import ReadOptions, text_in
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


def read(path: Path, options: ReadOptions) -> Document:
    return Document(text_in(path, options), metadata={"file_name": options.name})
