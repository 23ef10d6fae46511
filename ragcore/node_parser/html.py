"""The text of chosen HTML elements, one passage for each run of elements of the same kind."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import accumulate, groupby

from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.node_building import Cut, trimmed
from ragcore.schema import Document, TextNode

TAGS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "b", "i", "u", "section")
_UNSEEN = frozenset({"script", "style", "template", "noscript"})


class HTMLNodeParser(NodeParser):
    """Each passage says in its metadata, as `tag`, which elements it is the text of.

    Text belongs to the innermost element of `tags` around it; text outside of all is left out. The texts of the elements in a
    run stand on lines of their own. Offsets are those in the HTML, where the passage is one stretch of it.
    """

    def __init__(self, include_metadata: bool = True, include_prev_next_rel: bool = True, tags: Sequence[str] = TAGS) -> None:
        super().__init__(include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel)
        self.tags = tuple(tags)

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        found = []
        elements = [element for element in _elements(source.text, self.tags) if element.spans]
        for tag, run in groupby(elements, key=lambda element: element.tag):
            spans = [span for element in run for span in element.spans]
            text = "\n".join(html.unescape(source.text[start:end]) for start, end in spans)
            if len(spans) == 1 and text == source.text[slice(*spans[0])]:
                found.append(Cut(*spans[0], metadata={"tag": tag}))
            else:
                found.append(Cut(None, None, text, metadata={"tag": tag}))
        return found


@dataclass(slots=True)
class _Element:
    tag: str
    spans: list[tuple[int, int]] = field(default_factory=list)  # its own text in the source, without white space around


def _elements(source: str, tags: Sequence[str]) -> list[_Element]:
    """In the order in which they begin."""
    reader = _Reader(source, frozenset(tags))
    reader.feed(source)
    reader.close()
    reader.end_of_text(len(source))
    return reader.elements


class _Reader(HTMLParser):
    def __init__(self, source: str, tags: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)  # so that every piece of text is as it stands in the source
        self.elements: list[_Element] = []
        self._source = source
        self._tags = tags
        self._open: list[tuple[str, _Element | None]] = []  # the elements we are in, each with the one that its text is of
        self._times_open: Counter[str] = Counter()
        self._lines = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))
        self._text_from: int | None = None  # where the text that is being read began

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.end_of_text(self._here())
        owner = None if tag in _UNSEEN else self._owner()
        if tag in self._tags:
            owner = _Element(tag)
            self.elements.append(owner)
        self._open.append((tag, owner))
        self._times_open[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self.end_of_text(self._here())
        while self._times_open[tag]:
            closed, _ = self._open.pop()
            self._times_open[closed] -= 1
            if closed == tag:
                return

    def _owner(self) -> _Element | None:
        return self._open[-1][1] if self._open else None

    def handle_data(self, data: str) -> None:
        if self._text_from is None:
            self._text_from = self._here()

    def handle_entityref(self, name: str) -> None:
        self.handle_data(name)

    def handle_charref(self, name: str) -> None:
        self.handle_data(name)

    def handle_comment(self, data: str) -> None:
        self.end_of_text(self._here())

    def end_of_text(self, place: int) -> None:
        start, self._text_from = self._text_from, None
        owner = self._owner()
        if start is not None and owner is not None and (span := trimmed(self._source, start, place)):
            owner.spans.append(span)

    def _here(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column
