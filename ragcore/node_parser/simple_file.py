"""Splits each document as its kind of file is best split: Markdown, HTML and JSON by their own rules."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.errors import InputError
from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.html import HTMLNodeParser
from ragcore.node_parser.json import JSONNodeParser
from ragcore.node_parser.markdown import MarkdownNodeParser
from ragcore.node_parser.node_building import Cut
from ragcore.readers.registry import suffix_of
from ragcore.schema import Document, TextNode

_PARSERS: dict[str, NodeParser] = {
    ".md": MarkdownNodeParser(),
    ".markdown": MarkdownNodeParser(),
    ".html": HTMLNodeParser(),
    ".htm": HTMLNodeParser(),
    ".json": JSONNodeParser(),
}


class SimpleFileNodeParser(NodeParser):
    """The kind is what the metadata `extension` says, else `file_name`, else `file_path`.

    A document of another kind is one passage; so is one that a reader has made plain text of already, where there are no
    HTML elements and no JSON left (`FlatReader` reads files as they are).
    """

    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        parser = _PARSERS.get(_suffix(source))
        try:
            found = parser.cuts(source) if parser else ()
        except InputError:  # not JSON any more
            found = ()
        return found or ([Cut(0, len(source.text))] if source.text.strip() else [])


def _suffix(source: Document | TextNode) -> str:
    for key in ("extension", "file_name", "file_path"):
        if value := source.metadata.get(key):
            name = str(value)
            return suffix_of(f"a{name}" if name.startswith(".") else name)
    return ""
