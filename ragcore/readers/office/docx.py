"""Word documents: paragraphs, headings, lists and tables in their order, with text boxes, charts, footnotes
and comments.

They are read from the XML (ECMA-376 part 1, 17: WordprocessingML), which also has content controls, text
boxes and accepted changes. Names are compared without their namespace, as strict files use other namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError, UnsupportedFileError
from ragcore.readers import render, table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.blocks import NO_EFFECTS, Block, Grid, Group, Item, Note, Paragraph, Run
from ragcore.readers.encodings import clean, decode
from ragcore.readers.losses import Losses
from ragcore.readers.office import omml
from ragcore.readers.office.docx_formatting import RunEffects, continues, field_result, read_setting
from ragcore.readers.office.docx_numbering import Numbers
from ragcore.readers.office.drawings import alternative_text, chart_text, diagram_text
from ragcore.readers.office.package import Element, Package, package, title_and_author
from ragcore.readers.office.symbol_fonts import unicode_sign
from ragcore.readers.page_spans import distinct_margins
from ragcore.readers.typography import Effects
from ragcore.readers.web.html_text import html_text
from ragcore.readers.web.safe_xml import attribute, child, children, local, properties, whole
from ragcore.schema import Document

SUFFIXES = (".docx", ".docm", ".dotx")
PARSERS = ("lxml.etree", "PIL.Image")

_SKIPPED = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sectPr", "delText"})
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
MAX_SPAN = 100  # columns
_RUNS = frozenset({"r", "oMath", "oMathPara"})
_TEXTS = frozenset({"t", "sym", "ruby"})
_DRAWN = frozenset({"chart", "relIds", "docPr"})
_SINGLE = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        document = _Document(parts, parts.main("word/document.xml", "a Word document"))
        blocks = document.blocks()
        metadata = {"file_name": options.name, **title_and_author(parts.optional("docProps/core.xml"))}
    text = clean("\n\n".join(render.texts(blocks))).strip()
    if not text:
        raise NoTextError(
            f"{options.name} is a Word document with no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    document.losses.report(options)
    return Document(text, metadata=metadata)


class _Document:
    """What the parts of a document share. `losses` has what Word hides and what is not read."""

    def __init__(self, parts: Package, main: str) -> None:
        styles, numbering = (
            parts.optional(next(iter(parts.linked_parts(main, kind)), "")) for kind in ("styles", "numbering")
        )
        self.parts = parts
        self.losses = Losses()
        self.effects = RunEffects(styles)
        self.numbers = Numbers(numbering, styles)
        self._main = main

    def blocks(self) -> list[Block]:
        """Headers, text, notes and footers."""
        root = self.parts.xml(self._main)
        body = list(_Part(self, self._main).blocks(root))  # first, as its lists are numbered first
        return [*self._margins("header"), *body, *self._notes(), *self._margins("footer")]

    def _margins(self, kind: str) -> list[Block]:
        """The different headers or footers."""
        texts = ("\n".join(render.texts(part.blocks(root))) for part, root in self._roots(kind))
        return [Paragraph([Run(text)]) for text in distinct_margins(texts)]

    def _notes(self) -> Iterator[Block]:
        for kind, tag in _NOTES:
            for part, root in self._roots(kind):
                for note in children(root, tag):
                    if attribute(note, "type") in (None, "normal"):
                        yield Note(list(part.blocks(note)))

    def _roots(self, kind: str) -> Iterator[tuple[_Part, Element]]:
        """The linked parts of one kind that can be read."""
        for path in self.parts.linked_parts(self._main, kind):
            root = self.parts.optional(path)
            if root is not None:
                yield _Part(self, path), root


class _Part:
    """Reads one part of a document: its text, a header, a footer or notes."""

    def __init__(self, document: _Document, path: str) -> None:
        self._document = document
        self._links = document.parts.links(path)
        self._field: list[Run] = []  # the code of the field that has begun
        document.losses.add_links(document.parts, path)

    def blocks(self, element: Iterable[Element]) -> Iterator[Block]:
        """Each paragraph and table below `element`. A table that is only a layout of the page is read cell by
        cell."""
        for elements in _flat(element):
            if _is_layout(elements[-1]):
                for row in _rows(elements[-1]):
                    yield from (Group(list(self.blocks(cell))) for cell in _within(row, "tc"))
            else:
                yield self._block(elements)

    def _block(self, elements: Sequence[Element]) -> Block:
        last = elements[-1]
        kind = local(last)
        if kind == "tbl":
            return self._grid(_rows(last))
        if kind == "altChunk":
            return Paragraph([Run(self._drawn_text(last))])
        number = self._document.numbers.next(last)
        content = [part for element in elements for part in self._content(element, element, NO_EFFECTS)]
        runs = [part for part in content if isinstance(part, Run)]
        boxes = [part for part in content if not isinstance(part, Run)]
        is_item = child(properties(last, "pPr"), "numPr") is not None
        return (Item if is_item else Paragraph)(runs, number, boxes)

    def _content(self, outer: Element, paragraph: Element, effects: Effects) -> Iterator[Run | Block]:
        """The runs and boxes within an element of a paragraph. `effects` are those of the run around it."""
        for node in outer:
            kind = local(node)
            if kind in _RUNS:
                yield from self._run(node, paragraph)
            elif kind in _SINGLE:
                yield Run(_SINGLE[kind])
            elif kind in _TEXTS:
                yield _text(node, effects)
            elif kind == "instrText":
                self._field.append(Run(node.text or "", effects))
            elif kind == "fldChar":
                yield from self._end_of_code()
            elif kind == "txbxContent":
                yield from map(self._block, _flat(node))
            elif kind in _DRAWN:
                yield Paragraph([Run(self._drawn_text(node))])
            elif kind and kind not in _SKIPPED:
                yield from self._content(node, paragraph, effects)

    def _run(self, run: Element, paragraph: Element) -> Iterator[Run | Block]:
        """The content of a run or an equation, unless it is hidden."""
        effects = self._document.effects.of(run, paragraph)
        if effects.hidden:
            self._document.losses.hidden += any((node.text or "").strip() for node in run.iter("{*}t"))
        elif local(run) == "r":
            yield from self._content(run, paragraph, effects)
        else:
            yield Run(omml.equation(run), effects)

    def _end_of_code(self) -> Iterator[Run]:
        """What a field draws whose code has ended."""
        code = "".join(run.text for run in self._field).strip()
        result = field_result(code, self._field[0].effects) if code else None
        self._field = []
        if result is not None:
            yield result

    def _drawn_text(self, node: Element) -> str:
        """The text of a chart, diagram, picture or file that Word shows as part of the document."""
        kind = local(node)
        if kind == "docPr":
            outer = node.getparent()
            is_picture = outer is not None and next(outer.iter("{*}pic"), None) is not None
            return alternative_text(node) if is_picture else ""
        link = attribute(node, "dm" if kind == "relIds" else "id") or ""
        _, path = self._links.get(link, ("", ""))
        parts = self._document.parts
        return _DRAWN_TEXTS[kind](parts, path) if path in parts else ""

    def _grid(self, rows: Sequence[Element]) -> Grid:
        """The first rows name the columns if Word repeats them on each page."""
        is_repeated = [child(child(row, "trPr"), "tblHeader") is not None for row in rows]
        name_rows = is_repeated.index(False) if False in is_repeated else 0
        return Grid(list(self._cells(rows)), name_rows or None)

    def _cells(self, rows: Sequence[Element]) -> Iterator[list[str]]:
        above: list[str] = []
        for row in rows:
            cells = [""] * _span(child(row, "trPr"), "gridBefore", 0)
            is_new = False
            for cell in _within(row, "tc"):
                of_cell = child(cell, "tcPr")
                merged = child(of_cell, "vMerge")
                text = render.line(map(self._block, _flat(cell)))  # also if it is not shown, as it may count
                if merged is not None and attribute(merged, "val") != "restart" and len(above) > len(cells):
                    text = above[len(cells)]
                else:
                    is_new = is_new or bool(text)
                cells += [text, *[table_rows.MERGED] * (_span(of_cell, "gridSpan", 1) - 1)]
            if is_new or not any(cells):
                yield cells
            above = cells


def _flat(element: Iterable[Element]) -> Iterator[list[Element]]:
    """Each table, inserted file and paragraph below `element`. Paragraphs that continue in the next one are
    with it."""
    joined: list[Element] = []
    for node in element:
        kind = local(node)
        if kind == "p":
            is_joined = continues(node)
            if not is_joined or any(local(part) != "pPr" for part in node):
                joined.append(node)
            following = node.getnext()
            if joined and not (is_joined and following is not None and local(following) == "p"):
                yield joined
                joined = []
        elif kind in ("tbl", "altChunk"):
            yield [node]
        elif kind and kind not in _SKIPPED:
            yield from _flat(node)


def _rows(table: Element) -> list[Element]:
    """The rows of a table without deleted ones."""
    return [row for row in _within(table, "tr") if child(child(row, "trPr"), "del") is None]


def _is_layout(element: Element) -> bool:
    """Whether a block is a table that is only a layout: of one column, or with tables inside."""
    if local(element) != "tbl":
        return False
    rows = [list(_within(row, "tc")) for row in _rows(element)]
    if all(len(row) < 2 for row in rows):
        return True
    blocks = chain.from_iterable(_flat(cell) for row in rows for cell in row)
    return any(local(elements[-1]) == "tbl" for elements in blocks)


def _inserted_text(parts: Package, path: str) -> str:
    """The text of a web page or text file; "" for other files."""
    with suppress(DamagedFileError, EmptyFileError, UnsupportedFileError):  # the document itself can be read
        if path.lower().endswith((".html", ".htm", ".xhtml")):
            return html_text(decode(parts.bytes(path), path, declares=True))
        if path.lower().endswith(".txt"):
            return decode(parts.bytes(path), path)
    return ""


_DRAWN_TEXTS = {"chart": chart_text, "relIds": diagram_text, "altChunk": _inserted_text}


def _span(properties: Element | None, kind: str, default: int) -> int:
    return min(whole(read_setting(properties, kind), default), MAX_SPAN)


def _within(element: Element, kind: str) -> Iterator[Element]:
    """The children of one kind, also inside content controls and accepted insertions, but not inside other
    tables."""
    for each in element:
        name = local(each)
        if name == kind:
            yield each
        elif name in ("sdt", "sdtContent", "ins", "customXml", "smartTag"):
            yield from _within(each, kind)


def _text(node: Element, effects: Effects) -> Run:
    """The run of an element of _TEXTS."""
    kind = local(node)
    if kind == "ruby":
        return Run(_words(node, "rubyBase"), effects, _words(node, "rt"))
    return Run(_symbol(node)) if kind == "sym" else Run(node.text or "", effects)


def _words(element: Element, kind: str) -> str:
    """The text of runs below the children of one kind."""
    return "".join(node.text or "" for part in children(element, kind) for node in part.iter("{*}t"))


def _symbol(node: Element) -> str:
    try:
        return unicode_sign(int(attribute(node, "char") or "", 16), attribute(node, "font") or "")
    except ValueError:
        return ""
