"""The sections of a Markdown text: each heading with the text below it, up to the next heading of any
level."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Unpack

from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut, trim_span
from ragcore.schema import Document, Scalar, TextNode
from ragcore.text.code_fences import mark_fenced

_LINE = re.compile(r"[^\r\n]+")  # not splitlines, which knows more line ends (CommonMark 0.31, section 2.1)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


class MarkdownNodeParser(NodeParser):
    """One passage per section, and one for the text before the first heading.

    >>> node = MarkdownNodeParser()([Document("# Ferries\\n## Fares\\nAdults pay 4.50.")])[1]
    >>> node.text, node.metadata["header_path"]
    ('## Fares\\nAdults pay 4.50.', '/Ferries/')

    Its metadata has the headings above its own as `header_path`. A # in a fenced block of code (CommonMark
    0.31, section 4.5) is not a heading. Underlined headings count as text.
    """

    def __init__(self, *, header_path_separator: str = "/", **options: Unpack[NodeOptions]) -> None:
        super().__init__(**options)
        self.header_path_separator = header_path_separator

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        text = source.text
        headings = list(_headings(text))
        ends = [*(start for start, _, _ in headings), len(text)]
        cuts = [Cut(*span, metadata=self._place({}))] if (span := trim_span(text, 0, ends[0])) else []
        path: dict[int, str] = {}  # level to title, of the section and the sections around it
        for (start, level, title), end in zip(headings, ends[1:], strict=True):
            path = {above: name for above, name in path.items() if above < level} | {level: title}
            if span := trim_span(text, start, end):
                cuts.append(Cut(*span, metadata=self._place(path)))
        return cuts

    def _place(self, path: dict[int, str]) -> dict[str, Scalar]:
        separator = self.header_path_separator
        return {"header_path": separator + "".join(title + separator for title in list(path.values())[:-1])}


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """(start of its line, level 1 to 6, title) of each heading."""
    lines = list(_LINE.finditer(text))
    for line, in_code in zip(lines, mark_fenced(each[0] for each in lines), strict=True):
        if not in_code and (heading := _HEADING.match(line[0])):
            yield line.start(), len(heading[1]), heading[2]
