"""Splits each document by the rules of its file type: Markdown, HTML or JSON."""

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
    """The metadata `extension` names the file type, or else `file_name`, or else `file_path`.

    >>> document = Document("# One\\nA\\n# Two\\nB", metadata={"extension": ".md"})
    >>> [node.text for node in SimpleFileNodeParser()([document])]
    ['# One\\nA', '# Two\\nB']

    A document of another type is one passage. So is HTML or JSON that a reader has already converted to plain
    text (`FlatReader` reads files without conversion).
    """

    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        names = (str(source.metadata.get(key) or "") for key in ("extension", "file_name", "file_path"))
        name = next(filter(None, names), "")
        parser = _PARSERS.get(suffix_of(f"a{name}" if name.startswith(".") else name))
        try:
            cuts = parser.cuts(source) if parser else ()
        except InputError:  # a reader has converted the JSON to text
            cuts = ()
        return cuts or ([Cut(0, len(source.text))] if source.text.strip() else [])
