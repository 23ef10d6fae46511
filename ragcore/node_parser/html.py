"""The text of chosen HTML elements, one passage for each run of elements of the same kind."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import accumulate, groupby
from typing import Unpack

from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut, trim_span
from ragcore.node_parser.text_pieces import Span
from ragcore.schema import Document, TextNode

TAGS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "b", "i", "u", "section")
_INVISIBLE_TAGS = frozenset({"script", "style", "template", "noscript"})


class HTMLNodeParser(NodeParser):
    """Makes one passage of each run of elements with the same tag, which becomes the passage's metadata
    `tag`.

    >>> document = Document("<h1>Ferries</h1><p>One sails.</p><p>One waits.</p>")
    >>> [node.text for node in HTMLNodeParser()([document])]
    ['Ferries', 'One sails.\\nOne waits.']

    Text belongs to the innermost element of `tags` around it; text outside these elements is omitted. Each
    element of a run begins a new line. A passage has offsets in the HTML if it is one span of it.
    """

    def __init__(self, *, tags: Sequence[str] = TAGS, **options: Unpack[NodeOptions]) -> None:
        super().__init__(**options)
        self.tags = tuple(tags)

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        cuts = []
        elements = _Reader(source.text, frozenset(self.tags)).read()
        for tag, run in groupby(elements, key=lambda element: element[0]):
            spans = [span for _, spans_of_element in run for span in spans_of_element]
            text = "\n".join(html.unescape(source.text[start:end]) for start, end in spans)
            start, end = spans[0]
            if len(spans) == 1 and text == source.text[start:end]:
                cuts.append(Cut(start, end, metadata={"tag": tag}))
            else:
                cuts.append(Cut(None, None, text, metadata={"tag": tag}))
        return cuts


class _Reader(HTMLParser):
    def __init__(self, source: str, tags: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)  # text must have the same length as in the source
        self._source = source
        self._tags = tags
        # tag, and the spans of the element's own text, without white space
        self._elements: list[tuple[str, list[Span]]] = []
        self._open: list[tuple[str, list[Span] | None]] = []  # tag, list for the spans of its text or None
        self._times_open: Counter[str] = Counter()
        self._line_starts = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))
        self._text_start: int | None = None

    def read(self) -> list[tuple[str, list[Span]]]:
        """The elements with text, in the order in which they begin."""
        self.feed(self._source)
        self.close()
        self._end_text(len(self._source))
        return [element for element in self._elements if element[1]]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._end_text(self._position())
        spans = None if tag in _INVISIBLE_TAGS else self._current_spans()
        if tag in self._tags:
            spans = []
            self._elements.append((tag, spans))
        self._open.append((tag, spans))
        self._times_open[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._end_text(self._position())
        # 0 for an end tag without a start; elements still open inside end here too
        while self._times_open[tag]:
            closed, _ = self._open.pop()
            self._times_open[closed] -= 1
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._text_start is None:  # The text before a character reference such as &amp; goes on after it.
            self._text_start = self._position()

    def handle_entityref(self, name: str) -> None:
        self.handle_data(name)

    def handle_charref(self, name: str) -> None:
        self.handle_data(name)

    def handle_comment(self, data: str) -> None:
        self._end_text(self._position())

    def _current_spans(self) -> list[Span] | None:
        return self._open[-1][1] if self._open else None

    def _end_text(self, end: int) -> None:
        """Add the text that ends at this position to its element."""
        start, self._text_start = self._text_start, None
        spans = self._current_spans()
        if start is not None and spans is not None and (span := trim_span(self._source, start, end)):
            spans.append(span)

    def _position(self) -> int:
        """The index in the source at which the parser is."""
        line, column = self.getpos()
        return self._line_starts[line - 1] + column
