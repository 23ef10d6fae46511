"""The sections of a Markdown text: each heading with what stands below it, until the next heading of any rank."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.node_building import Cut, trimmed
from ragcore.schema import Document, Scalar, TextNode
from ragcore.text.code_fences import fenced

_LINE = re.compile(r"[^\r\n]+")  # not splitlines, which ends lines that Markdown goes on with (CommonMark 0.31, section 2.1)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


class MarkdownNodeParser(NodeParser):
    """One passage per section; what stands before the first heading is one too.

    Each says in its metadata where it stands: `header_path` has the headings above its own, "/Railway/Tickets/", and
    `Header_1`, `Header_2`, ... those and its own, by rank. A # in a fenced block of code (CommonMark 0.31, section 4.5) is no
    heading. Headings that are underlined count as text.
    """

    def __init__(
        self, include_metadata: bool = True, include_prev_next_rel: bool = True, header_path_separator: str = "/"
    ) -> None:
        super().__init__(include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel)
        self.header_path_separator = header_path_separator

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        text = source.text
        headings = list(_headings(text))
        ends = [*(start for start, _, _ in headings), len(text)]
        found = [Cut(*span, metadata=self._place({}))] if (span := trimmed(text, 0, ends[0])) else []
        path: dict[int, str] = {}  # rank to title, of the section and those around it
        for (start, rank, title), end in zip(headings, ends[1:], strict=True):
            path = {above: name for above, name in path.items() if above < rank} | {rank: title}
            if span := trimmed(text, start, end):
                found.append(Cut(*span, metadata=self._place(path)))
        return found

    def _place(self, path: dict[int, str]) -> dict[str, Scalar]:
        mark = self.header_path_separator
        above = list(path.values())[:-1]
        return {
            "header_path": mark + "".join(title + mark for title in above),
            **{f"Header_{rank}": title for rank, title in path.items()},
        }


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """(where its line begins, rank 1 to 6, title) of each."""
    lines = list(_LINE.finditer(text))
    for found, in_code in zip(lines, fenced(line[0] for line in lines), strict=True):
        if not in_code and (heading := _HEADING.match(found[0])):
            yield found.start(), len(heading[1]), heading[2]
