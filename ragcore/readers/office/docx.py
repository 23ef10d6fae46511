"""Word documents: paragraphs, headings, lists and tables in their order, with text boxes, charts, footnotes
and comments.

They are read from the XML (ECMA-376 part 1, 17: WordprocessingML), which also has content controls, text
boxes and accepted changes. Names are compared without their namespace, as strict files use other namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError, UnsupportedFileError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.losses import Losses
from ragcore.readers.office.docx_formatting import Formatting, new_run, read_setting
from ragcore.readers.office.docx_numbering import Numbers
from ragcore.readers.office.drawings import alternative_text, chart_text, diagram_text
from ragcore.readers.office.package import Element, Package, package, title_and_author
from ragcore.readers.office.symbol_fonts import unicode_sign
from ragcore.readers.page_spans import distinct_margins
from ragcore.readers.web.html_text import html_text
from ragcore.readers.web.safe_xml import attribute, child, children, local, whole
from ragcore.schema import Document

SUFFIXES = (".docx", ".docm", ".dotx")
PARSERS = ("lxml.etree", "PIL.Image")

_SKIPPED = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sectPr", "instrText", "delText"})
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
MAX_SPAN = 100  # columns
_NOT_IN_XML = re.compile("[\x01-\x08\x0b\x0e-\x1f\ufffe\uffff]")
_SINGLE = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        main = parts.main("word/document.xml", "a Word document")
        root = parts.xml(main)
        preparation = _Preparation(parts, main)
        preparation.write(root, main)
        blocks = [*_margins(parts, main, "header", preparation), *_blocks(root)]
        blocks += [*_notes(parts, main, preparation), *_margins(parts, main, "footer", preparation)]
        metadata = {"file_name": options.name, **title_and_author(parts.optional("docProps/core.xml"))}
    text = typography.plain(clean("\n\n".join(blocks))).strip()
    if not text:
        raise NoTextError(
            f"{options.name} is a Word document with no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    preparation.losses.report(options)
    return Document(text, metadata=metadata)


class _Preparation:
    """Writes into the XML of a part what Word shows besides its text, and counts what it hides and what is
    not read."""

    def __init__(self, parts: Package, main: str) -> None:
        styles, numbering = (
            parts.optional(next(iter(parts.linked_parts(main, kind)), "")) for kind in ("styles", "numbering")
        )
        self.losses = Losses()
        self._parts = parts
        self._formatting = Formatting(styles)
        self._numbers = Numbers(numbering, styles)

    def write(self, root: Element, part: str) -> None:
        self.losses.hidden += self._formatting.write(root)
        self.losses.add_links(self._parts, part)
        self._numbers.write(root)
        self._write_linked(root, part)

    def _write_linked(self, root: Element, part: str) -> None:
        """Insert the text of charts, diagrams, pictures and files that Word shows as part of the document."""
        parts = self._parts
        links: dict[str, tuple[str, str]] = {}
        for element in list(root.iter("{*}chart", "{*}relIds", "{*}altChunk")):
            links = links or parts.links(part)
            kind = local(element)
            path = links.get(attribute(element, "dm" if kind == "relIds" else "id") or "", ("", ""))[1]
            if path not in parts:
                continue
            if kind == "altChunk":
                element.append(
                    _new_paragraph(root, element, _NOT_IN_XML.sub(" ", _inserted_text(parts, path)))
                )
            else:
                _write_box(
                    root, element, diagram_text(parts, path) if kind == "relIds" else chart_text(parts, path)
                )
        for properties in list(root.iter("{*}docPr")):
            outer = properties.getparent()
            if (
                outer is not None
                and next(outer.iter("{*}pic"), None) is not None
                and (text := alternative_text(properties))
            ):
                _write_box(root, properties, text)


def _inserted_text(parts: Package, path: str) -> str:
    """The text of a web page or text file; "" for other files."""
    with suppress(DamagedFileError, EmptyFileError, UnsupportedFileError):  # the document itself can be read
        if path.lower().endswith((".html", ".htm", ".xhtml")):
            return html_text(decode(parts.bytes(path), path, declares=True))
        if path.lower().endswith(".txt"):
            return decode(parts.bytes(path), path)
    return ""


def _new_paragraph(root: Element, near: Element, text: str) -> Element:
    paragraph = near.makeelement("p", {}, None)
    paragraph.append(new_run(root, text))
    return paragraph


def _write_box(root: Element, drawn: Element, text: str) -> None:
    box = drawn.makeelement("txbxContent", {}, None)
    box.append(_new_paragraph(root, drawn, text))
    drawn.append(box)


def _blocks(element: Iterable[Element] | None) -> Iterator[str]:
    """The text of each paragraph and table below `element`. Items of a list are one block."""
    for is_item, group in groupby(_texts(() if element is None else element), key=itemgetter(0)):
        texts = (text for _, text in group)
        yield from ["\n".join(map(str.strip, texts))] if is_item else texts


def _texts(element: Iterable[Element]) -> Iterator[tuple[bool, str]]:
    """The text of each paragraph or table, and whether it is an item of a list."""
    for block in _flat(element):
        if local(block) == "tbl":
            yield from ((False, text) for text in _table(block))
        elif (text := paragraph(block).strip("\n")).strip():
            yield child(child(block, "pPr"), "numPr") is not None, text


def _flat(element: Iterable[Element]) -> Iterator[Element]:
    """The paragraphs and tables below `element`."""
    for each in element:
        kind = local(each)
        if kind in ("p", "tbl"):
            yield each
        elif kind and kind not in _SKIPPED:
            yield from _flat(each)


def paragraph(element: Element) -> str:
    """The paragraph's text, followed by that of its text boxes."""
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
        elif kind and kind not in _SKIPPED:
            stack.extend(reversed(node))
    return "\n".join(filter(str.strip, ["".join(own), *boxes]))


def _box_text(block: Element) -> str:
    return paragraph(block) if local(block) == "p" else "\n".join(_table_lines(block))


def _table(table: Element) -> Iterator[str]:
    """The rows of the table as one block; cell by cell if the table is only a layout of the page."""
    rows = [list(_within(row, "tc")) for row in _within(table, "tr")]
    cells = [cell for row in rows for cell in row]
    if all(len(row) < 2 for row in rows) or any(
        local(block) == "tbl" for cell in cells for block in _flat(cell)
    ):
        for cell in cells:
            yield from _blocks(cell)
    elif lines := "\n".join(_table_lines(table)):
        yield lines


def _table_lines(table: Element) -> Iterator[str]:
    """The lines of the table. The first rows name the columns if Word repeats them on each page."""
    rows = list(_within(table, "tr"))
    marked = next(
        (number for number, row in enumerate(rows) if child(child(row, "trPr"), "tblHeader") is None), 0
    )
    return table_rows.lines(_grid(rows), name_rows=marked or None)


def _grid(rows: list[Element]) -> Iterator[list[str]]:
    above: list[str] = []
    for row in rows:
        cells = [""] * _span(child(row, "trPr"), "gridBefore", 0)
        is_new = False
        for cell in _within(row, "tc"):
            properties = child(cell, "tcPr")
            merged = child(properties, "vMerge")
            if merged is not None and attribute(merged, "val") != "restart" and len(above) > len(cells):
                text = above[len(cells)]
            else:
                text = " ".join(" ".join(map(_box_text, _flat(cell))).split())
                is_new = is_new or bool(text)
            cells += [text, *[table_rows.MERGED] * (_span(properties, "gridSpan", 1) - 1)]
        if is_new or not any(cells):
            yield cells
        above = cells


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


def _symbol(node: Element) -> str:
    try:
        return unicode_sign(int(attribute(node, "char") or "", 16), attribute(node, "font") or "")
    except ValueError:
        return ""


def _notes(parts: Package, main: str, preparation: _Preparation) -> Iterator[str]:
    for kind, each in _NOTES:
        for part in parts.linked_parts(main, kind):
            notes = children(_prepare(parts, part, preparation), each)
            texts = (
                "\n".join(_blocks(note)) for note in notes if attribute(note, "type") in (None, "normal")
            )
            yield from filter(None, map(str.strip, texts))


def _margins(parts: Package, main: str, kind: str, preparation: _Preparation) -> list[str]:
    """The headers or footers."""
    roots = (_prepare(parts, part, preparation) for part in parts.linked_parts(main, kind))
    return distinct_margins("\n".join(_blocks(root)) for root in roots)


def _prepare(parts: Package, part: str, preparation: _Preparation) -> Element | None:
    """The root of notes, a header or a footer after its preparation; None if it cannot be read."""
    root = parts.optional(part)
    if root is not None:
        preparation.write(root, part)
    return root
