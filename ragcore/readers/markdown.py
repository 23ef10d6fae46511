"""Markdown. Its markup stays, because `MarkdownNodeParser` cuts at the headings. Tables become lines."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.readers import typography
from ragcore.readers.base import ReadOptions, read_text
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.schema import Document, Scalar
from ragcore.text.code_fences import mark_fenced
from ragcore.text.heading_words import heading_words

SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".qmd")
PLAIN_TEXT = True

_SHIFTED = re.compile(r"<(su[bp])>([^<>\n]*)</\1>", re.I)
_FRONT = re.compile(r"\A---\n(.*?\n)(?:---|\.\.\.)\n", re.S)
_FRONT_LINE = re.compile(r"^(title|author|date):\s*(.+?)\s*$", re.M)
_FIRST_HEADING = re.compile(r"^# +(.+?) *#*$", re.M)


def read(path: Path, options: ReadOptions) -> Document:
    text = read_text(path, options)
    metadata: dict[str, Scalar] = {"file_name": options.name}
    if front := _FRONT.match(text):
        metadata.update((key, value.strip("\"'")) for key, value in _FRONT_LINE.findall(front[1]))
    titles = filter(None, map(heading_words, _FIRST_HEADING.findall(text)))
    if "title" not in metadata and (title := next(titles, "")):
        metadata["title"] = title
    return Document(with_tables_as_lines(_with_powers(text)), metadata=metadata)


def _with_powers(text: str) -> str:
    """Write the superscripts and subscripts of tags as plain text, except in fenced code."""
    if not _SHIFTED.search(text):
        return text
    lines = text.split("\n")
    return "\n".join(
        line if in_code else typography.plain(_SHIFTED.sub(_mark, line))
        for line, in_code in zip(lines, mark_fenced(lines), strict=True)
    )


def _mark(match: re.Match[str]) -> str:
    return typography.mark(typography.RAISED if match[1].lower() == "sup" else typography.LOWERED, match[2])
