"""Word documents: paragraphs, headings, lists and tables in their order, with text boxes, charts, footnotes and comments.

Read from the XML itself (ECMA-376 part 1, 17: WordprocessingML; strict files use other namespaces, so names are compared
without), because it also holds content controls, text boxes and changes that were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError, UnsupportedFileError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.losses import Losses
from ragcore.readers.office.docx_formatting import Formatting, new_run
from ragcore.readers.office.docx_numbering import Numbers
from ragcore.readers.office.drawings import alternative_text, chart_text, diagram_text
from ragcore.readers.office.package import Package, core_properties, package
from ragcore.readers.office.symbol_fonts import unicode_sign
from ragcore.readers.web.html_text import html_text
from ragcore.readers.web.safe_xml import attribute, child, local
from ragcore.schema import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".docx", ".docm", ".dotx")
PARSERS = ("lxml.etree", "PIL.Image")

_LEFT_OUT = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sectPr", "instrText", "delText"})
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
MAX_SPAN = 100  # columns
_SINGLE = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        main = parts.main("word/document.xml", "a Word document")
        root = parts.xml(main)
        preparation = _Preparation(parts, main)
        preparation.write(root, main)
        blocks = [*_margins(parts, main, "header", preparation), *_blocks(root, parts, main)]
        blocks += [*_notes(parts, main, preparation), *_margins(parts, main, "footer", preparation)]
        metadata = {"file_name": options.name, **core_properties(parts)}
    text = typography.plain(clean("\n\n".join(blocks))).strip()
    if not text:
        raise NoTextError(
            f"{options.name} is a Word document with no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    preparation.losses.report(options)
    return Document(text, metadata=metadata)


class _Preparation:
    """Writes into the text of a part what Word shows beside it, and counts what it hides and what is not read."""

    def __init__(self, parts: Package, main: str) -> None:
        styles, numbering = (parts.optional(next(iter(parts.linked(main, kind)), "")) for kind in ("styles", "numbering"))
        self.losses = Losses()
        self._parts = parts
        self._formatting = Formatting(styles)
        self._numbers = Numbers(numbering, styles)

    def write(self, root: _Element, part: str) -> None:
        self.losses.hidden += self._formatting.write(root)
        self.losses.add_links(self._parts, part)
        self._numbers.write(root)
        self._write_drawings(root, part)

    def _write_drawings(self, root: _Element, part: str) -> None:
        """The words of charts and diagrams, and those that stand for pictures, as text boxes in their place."""
        links: dict[str, tuple[str, str]] = {}
        for drawn in list(root.iter("{*}chart", "{*}relIds")):
            links = links or self._parts.links(part)
            is_diagram = local(drawn) == "relIds"
            path = links.get(attribute(drawn, "dm" if is_diagram else "id") or "", ("", ""))[1]
            if path in self._parts:
                _write_box(root, drawn, diagram_text(self._parts, path) if is_diagram else chart_text(self._parts, path))
        for properties in list(root.iter("{*}docPr")):
            around = properties.getparent()
            if around is not None and next(around.iter("{*}pic"), None) is not None and (text := alternative_text(properties)):
                _write_box(root, properties, text)


def _write_box(root: _Element, drawn: _Element, text: str) -> None:
    box, paragraph = (drawn.makeelement(kind, {}, None) for kind in ("txbxContent", "p"))
    paragraph.append(new_run(root, text))
    box.append(paragraph)
    drawn.append(box)


def _blocks(element: Iterable[_Element], parts: Package, part: str) -> Iterator[str]:
    """Paragraphs and tables below `element`, whatever they are wrapped in. Items of a list stay together."""
    for is_item, together in groupby(_texts(element, parts, part), key=itemgetter(0)):
        texts = (text for _, text in together)
        yield from ["\n".join(map(str.strip, texts))] if is_item else texts


def _texts(element: Iterable[_Element], parts: Package, part: str) -> Iterator[tuple[bool, str]]:
    """Each paragraph or table that says something, and whether it is an item of a list."""
    for block in _flat(element):
        kind = local(block)
        if kind == "tbl":
            yield from ((False, text) for text in _table(block, parts, part))
        elif kind == "altChunk":
            yield from ((False, text) for text in _inserted(block, parts, part))
        elif (text := paragraph(block).strip("\n")).strip():
            yield child(child(block, "pPr"), "numPr") is not None, text


def _flat(element: Iterable[_Element]) -> Iterator[_Element]:
    for each in element:
        kind = local(each)
        if kind in ("p", "tbl", "altChunk"):
            yield each
        elif kind and kind not in _LEFT_OUT:
            yield from _flat(each)


def paragraph(element: _Element) -> str:
    """The paragraph's text, with that of text boxes anchored in it after its own."""
    own: list[str] = []
    boxes: list[str] = []
    stack = list(reversed(element))
    while stack:
        node = stack.pop()
        kind = local(node)
        if kind == "t":
            own.append(node.text or "")
        elif kind in _SINGLE:
            own.append(_SINGLE[kind])
        elif kind == "sym":
            own.append(_symbol(node))
        elif kind == "txbxContent":
            boxes += [text for inner in _flat(node) if (text := _box_text(inner)).strip()]
        elif kind and kind not in _LEFT_OUT:
            stack.extend(reversed(node))
    return "\n".join(filter(str.strip, ["".join(own), *boxes]))


def _box_text(block: _Element) -> str:
    return paragraph(block) if local(block) == "p" else "\n".join(table_lines(block))


def _table(table: _Element, parts: Package, part: str) -> Iterator[str]:
    """Its rows as one block; cell by cell where the table only places things on the page."""
    rows = [list(_within(row, "tc")) for row in _within(table, "tr")]
    if all(len(row) < 2 for row in rows) or any(local(block) == "tbl" for row in rows for cell in row for block in _flat(cell)):
        for row in rows:
            for cell in row:
                yield from _blocks(cell, parts, part)
    elif found := "\n".join(table_lines(table)):
        yield found


def table_lines(table: _Element) -> Iterator[str]:
    """As ragcore.readers.table_rows writes them; rows marked to be repeated on each page are the names of the columns."""
    rows = list(_within(table, "tr"))
    marked = next((number for number, row in enumerate(rows) if child(child(row, "trPr"), "tblHeader") is None), 0)
    return table_rows.lines(_grid(rows), name_rows=marked or None)


def _grid(rows: list[_Element]) -> Iterator[list[str]]:
    above: list[str] = []
    for row in rows:
        cells = [""] * _number(child(child(row, "trPr"), "gridBefore"), 0)
        is_new = False
        for cell in _within(row, "tc"):
            properties = child(cell, "tcPr")
            merged = child(properties, "vMerge")
            if merged is not None and attribute(merged, "val") != "restart" and len(above) > len(cells):
                text = above[len(cells)]
            else:
                text = " ".join(" ".join(_box_text(block) for block in _flat(cell) if local(block) != "altChunk").split())
                is_new = is_new or bool(text)
            cells += [text, *[table_rows.LEFT] * (_number(child(properties, "gridSpan"), 1) - 1)]
        if is_new or not any(cells):
            yield cells
        above = cells


def _number(element: _Element | None, otherwise: int) -> int:
    value = (attribute(element, "val") or "") if element is not None else ""
    return min(int(value), MAX_SPAN) if value.isascii() and value.isdigit() else otherwise


def _within(element: _Element, kind: str) -> Iterator[_Element]:
    """The children of one kind, also inside content controls and accepted insertions, but not inside other tables."""
    for each in element:
        name = local(each)
        if name == kind:
            yield each
        elif name in ("sdt", "sdtContent", "ins", "customXml", "smartTag"):
            yield from _within(each, kind)


def _symbol(node: _Element) -> str:
    try:
        code = int(attribute(node, "char") or "", 16)
    except ValueError:
        return ""
    return unicode_sign(code, attribute(node, "font") or "")


def _notes(parts: Package, main: str, preparation: _Preparation) -> Iterator[str]:
    for kind, each in _NOTES:
        for part in parts.linked(main, kind):
            for note in _optional(parts, part, preparation):
                if local(note) == each and attribute(note, "type") in (None, "normal"):
                    text = "\n".join(_blocks(note, parts, part))
                    if text.strip():
                        yield text.strip()


def _margins(parts: Package, main: str, kind: str, preparation: _Preparation) -> Iterator[str]:
    """Headers or footers, each wording once and without those that only hold the page's number."""
    seen = set()
    for part in parts.linked(main, kind):
        text = "\n".join(_blocks(_optional(parts, part, preparation), parts, part))
        if text not in seen and any(character.isalpha() for character in text):
            seen.add(text)
            yield text


def _optional(parts: Package, part: str, preparation: _Preparation) -> list[_Element]:
    """What is in such a part, with its numbers and marks; [] where it cannot be read: the body is what counts."""
    root = parts.optional(part)
    if root is None:
        return []
    preparation.write(root, part)
    return list(root)


def _inserted(chunk: _Element, parts: Package, part: str) -> Iterator[str]:
    """A web page or text that Word shows as part of the document."""
    path = parts.links(part).get(attribute(chunk, "id") or "", ("", ""))[1]
    if path in parts:
        with suppress(DamagedFileError, EmptyFileError, UnsupportedFileError):  # the document itself can be read
            data = parts.bytes(path)
            if path.lower().endswith((".html", ".htm", ".xhtml")):
                yield html_text(decode(data, path, declares=True))
            elif path.lower().endswith(".txt"):
                yield decode(data, path)
