"""Source code in chunks that begin and end with whole statements, functions or classes where these fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any, Protocol, Unpack

from ragcore.errors import ConfigError, MissingPackageError
from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut, trim_span
from ragcore.schema import Document, TextNode


class Parser(Protocol):
    def parse(self, source: bytes) -> Any:
        """A tree like tree-sitter's: its `root_node` has start_byte, end_byte, start_point, end_point and
        children."""


class CodeSplitter(NodeParser):
    """No chunk has more than `chunk_lines` lines or `max_chars` characters. Consecutive chunks share at most
    `chunk_lines_overlap` lines of whole pieces. The first line keeps its indentation.

    `language` is the name of a tree-sitter grammar: "python", "javascript", "go". Its package is loaded when
    a text is split: MissingPackageError without tree-sitter, ConfigError without the grammar. Your own
    `parser` replaces both. Code with syntax errors is split too.

    >>> splitter = CodeSplitter("python", chunk_lines=2, chunk_lines_overlap=0)
    >>> splitter.split_text("def one():\\n    return 1\\n\\ndef two():\\n    return 2")
    ['def one():\\n    return 1', 'def two():\\n    return 2']
    """

    def __init__(
        self,
        language: str,
        chunk_lines: int = 40,
        chunk_lines_overlap: int = 15,
        max_chars: int = 1500,
        parser: Parser | None = None,
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(**options)
        if chunk_lines < 1 or max_chars < 1:
            raise ValueError(
                f"chunk_lines is {chunk_lines} and max_chars {max_chars}; each must be at least 1."
            )
        if not 0 <= chunk_lines_overlap <= chunk_lines:
            raise ValueError(
                f"chunk_lines_overlap is {chunk_lines_overlap}; it is from 0 to chunk_lines, {chunk_lines}."
            )
        self.language = language
        self.chunk_lines = chunk_lines
        self.chunk_lines_overlap = chunk_lines_overlap
        self.max_chars = max_chars
        self._parser = parser

    def split_text(self, text: str) -> list[str]:
        """The chunks' texts; [] for no text."""
        return [text[start:end] for start, end in self._spans(text)]

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        return [Cut(start, end) for start, end in self._spans(source.text)]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        if not text.strip():
            return []
        parser = self._parser or _parser_of(self.language)
        data = text.encode("utf-8", "replace")
        starts = _characters(data, self._syntax_cuts(parser.parse(data).root_node))
        ruler = _Ruler(text, self.chunk_lines, self.max_chars)
        return list(_pack(list(_pieces(text, starts, ruler)), ruler, self.chunk_lines_overlap))

    def _syntax_cuts(self, root: Any) -> list[int]:
        """Where each child of a node that is too large for a chunk begins, in bytes, ascending."""
        starts: set[int] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            lines = node.end_point[0] - node.start_point[0] + 1
            if lines > self.chunk_lines or node.end_byte - node.start_byte > self.max_chars:
                starts.update(child.start_byte for child in node.children)
                stack.extend(node.children)
        return sorted(starts)


class _Ruler:
    """Measures spans of one text against the limits of a chunk."""

    def __init__(self, text: str, max_lines: int, max_chars: int) -> None:
        self._text = text
        self._max_lines = max_lines
        self._max_chars = max_chars
        self._newlines = [place for place, character in enumerate(text) if character == "\n"]

    def lines(self, start: int, end: int) -> int:
        return bisect_left(self._newlines, end) - bisect_left(self._newlines, start) + 1

    def fits(self, start: int, end: int) -> bool:
        return end - start <= self._max_chars and self.lines(start, end) <= self._max_lines

    def divide(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The span without blank lines around it. If it is too large, its lines, and parts of lines that are
        too long."""
        body = self._body(start, end)
        if body is None or self.fits(*body):
            yield from [body] if body else []
            return
        start, end = body
        line_end = self._text.find("\n", start, end) + 1
        while line_end:
            yield from self._strides(start, line_end)
            start, line_end = line_end, self._text.find("\n", line_end, end) + 1
        yield from self._strides(start, end)

    def _strides(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for place in range(start, end, self._max_chars):
            if body := self._body(place, min(place + self._max_chars, end)):
                yield body

    def _body(self, start: int, end: int) -> tuple[int, int] | None:
        body = trim_span(self._text, start, end)
        if body is None:
            return None
        line = max(self._text.rfind("\n", start, body[0]) + 1, start)
        at_line_start = line == 0 or self._text[line - 1] == "\n"
        return (line, body[1]) if at_line_start and body[1] - line <= self._max_chars else body


def _pieces(text: str, starts: Iterable[int], ruler: _Ruler) -> Iterator[tuple[int, int]]:
    """Cut where a part of the syntax begins a line. Cut within a line only if the pieces are still too
    large."""
    places = sorted({0, len(text), *(_before_indentation(text, start) for start in starts)})
    lines = [place for place in places if place in (0, len(text)) or text[place - 1] == "\n"]
    for start, end in pairwise(lines):
        inner = places[bisect_left(places, start) : bisect_right(places, end)]
        for part in [(start, end)] if ruler.fits(start, end) else pairwise(inner):
            yield from ruler.divide(*part)


def _pack(pieces: list[tuple[int, int]], ruler: _Ruler, overlap: int) -> Iterator[tuple[int, int]]:
    """Greedy: as many pieces as fit, beginning with at most `overlap` lines from the end of the previous
    chunk."""
    first = fresh = (
        0  # the chunk begins with piece `first`; `fresh` is the first piece that is in no chunk yet
    )
    while fresh < len(pieces):
        while first < fresh and not ruler.fits(pieces[first][0], pieces[fresh][1]):
            first += 1
        last = fresh
        while last + 1 < len(pieces) and ruler.fits(pieces[first][0], pieces[last + 1][1]):
            last += 1
        yield pieces[first][0], pieces[last][1]
        first = fresh = last + 1
        while first and ruler.lines(pieces[first - 1][0], pieces[last][1]) <= overlap:
            first -= 1


def _before_indentation(text: str, place: int) -> int:
    while place and text[place - 1] in " \t":
        place -= 1
    return place


def _characters(data: bytes, places: list[int]) -> Iterator[int]:
    """From ascending byte positions in UTF-8 to character positions."""
    characters = byte = 0
    for place in places:
        characters += len(data[byte:place].decode("utf-8"))
        byte = place
        yield characters


def _parser_of(language: str) -> Parser:
    try:
        import tree_sitter
    except ImportError as error:
        raise MissingPackageError("tree-sitter", extra="code") from error
    name = language.replace("-", "_")
    try:
        grammar = import_module(f"tree_sitter_{name}")
    except ImportError as error:
        raise ConfigError(
            f"There is no grammar for the language {language!r} on this computer.",
            hint=f"Install it with: pip install tree-sitter-{name.replace('_', '-')}",
        ) from error
    # A package of two languages, such as TypeScript's, names each function after its language.
    language_function = getattr(grammar, "language", None) or getattr(grammar, f"language_{name}")
    return tree_sitter.Parser(tree_sitter.Language(language_function()))
