"""XML of any kind: the text of its elements, one line each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, decode_text
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
    text = decode_text(data, options, declares=True)
    if options.encoding:  # libxml2 prefers the byte order mark to the declaration
        data = text.encode("utf-8-sig")
    try:
        result = "\n".join(_lines(data, options.name))
    except DamagedFileError:
        # It is not well-formed, or in an encoding that libxml2 does not support. An HTML parser is less
        # strict.
        result = html_text(text)
    if not result.strip():
        raise NoTextError(
            f"{options.name} contains no text.", hint="It contains only markup and numbers for programs."
        )
    return Document(clean(result), metadata={"file_name": options.name})


def _is_unseen(node: _Element) -> bool:
    """Whether a part of a drawing is hidden, or only for programs."""
    hidden = node.get("display") == "none" or node.get("visibility") in ("hidden", "collapse")
    return (
        hidden
        or safe_xml.local(node) in ("style", "script", "metadata")
        or bool(HIDES.search(node.get("style") or ""))
    )


def _lines(data: bytes, name: str) -> list[str]:
    root = safe_xml.parse(data, name)
    if safe_xml.local(root) == "svg":
        for node in list(root.iter()):
            if _is_unseen(node):
                node.clear(keep_tail=True)
    lines = (" ".join(str(text).split()) for text in root.itertext())
    # The articles of a feed are escaped HTML.
    return list(filter(None, (html_text(line) if _ESCAPED.search(line) else line for line in lines)))
