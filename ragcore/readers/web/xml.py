"""XML of any kind: the text of its elements, one line each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, decoded
from ragcore.readers.encodings import clean
from ragcore.readers.web import safe_xml
from ragcore.readers.web.html_marks import HIDES
from ragcore.readers.web.html_text import html_text
from ragcore.schema import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".xml", ".rss", ".atom", ".opml", ".svg")
PARSERS = ("lxml.etree",)

_ESCAPED = re.compile(r"<(?:p|br|div|a|b|i|em|strong|img|span|ul|li|h[1-6]|table)\b[^<>]*>", re.I)


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    text = decoded(data, options, declares=True)
    if options.encoding:  # libxml2 believes the mark at the beginning before what the file says of its encoding
        data = text.encode("utf-8-sig")
    try:
        found = "\n".join(_lines(data, options.name))
    except DamagedFileError:
        # Not well formed, or in an encoding that libxml2 does not know: a reader of HTML is not so strict.
        found = html_text(text)
    if not found.strip():
        raise NoTextError(f"{options.name} contains no text.", hint="It contains only markup and numbers for programs.")
    return Document(clean(found), metadata={"file_name": options.name})


def _is_unseen(node: _Element) -> bool:
    """Whether nothing of this part of a drawing is shown: what is for programs, and what is hidden."""
    hidden = node.get("display") == "none" or node.get("visibility") in ("hidden", "collapse")
    return hidden or safe_xml.local(node) in ("style", "script", "metadata") or bool(HIDES.search(node.get("style") or ""))


def _lines(data: bytes, name: str) -> list[str]:
    lines = []
    root = safe_xml.parse(data, name)
    if safe_xml.local(root) == "svg":
        for node in list(root.iter()):
            if _is_unseen(node):
                node.clear(keep_tail=True)
    for text in root.itertext():
        line = " ".join(str(text).split())
        if _ESCAPED.search(line):  # a feed carries its articles as escaped HTML
            line = html_text(line)
        if line:
            lines.append(line)
    return lines
