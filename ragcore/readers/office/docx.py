"""Word documents: paragraphs, headings, lists and tables in their order, with text boxes, footnotes and comments.

Read from the XML itself (ECMA-376 part 1, 17: WordprocessingML; strict files use other namespaces, so names are compared
without), because it also holds content controls, text boxes and changes that were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError, UnsupportedFileError
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.office.docx_numbering import Numbers
from ragcore.readers.office.package import Package, core_properties, damaged, package
from ragcore.readers.web.html_text import html_text
from ragcore.readers.web.safe_xml import attribute, local
from ragcore.schema import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".docx", ".docm", ".dotx")

_LEFT_OUT = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sectPr", "instrText", "delText"})
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
MAX_SPAN = 100  # columns
_SINGLE = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        main = _main_part(parts, options.name)
        root = parts.xml(main)
        numbers = Numbers(_linked(parts, main, "numbering"), _linked(parts, main, "styles"))
        numbers.write(root)
        blocks = [*_margins(parts, main, "header", numbers), *_blocks(root, parts, main)]
        blocks += [*_notes(parts, main, numbers), *_margins(parts, main, "footer", numbers)]
        metadata = {"file_name": options.name, **core_properties(parts)}
    text = clean("\n\n".join(blocks)).strip()
    if not text:
        raise NoTextError(
            f"{options.name} is a Word document with no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    return Document(text, metadata=metadata)


def _main_part(parts: Package, name: str) -> str:
    for candidate in (*parts.linked("", "officeDocument"), "word/document.xml"):
        if candidate in parts:
            return candidate
    raise damaged(name, "it is no Word document inside")


def _linked(parts: Package, main: str, kind: str) -> _Element | None:
    """The root of such a part; None where there is none that can be read."""
    with suppress(DamagedFileError):
        return next((parts.xml(part) for part in parts.linked(main, kind)), None)
    return None


def _blocks(element: Iterable[_Element], parts: Package, part: str) -> Iterator[str]:
    """Paragraphs and tables below `element`, whatever they are wrapped in. Items of a list stay together."""
    items: list[str] = []
    for block in _flat(element):
        kind = local(block)
        if kind == "p":
            text = paragraph(block)
            if not text.strip():
                continue
            if _is_item(block):
                items.append(text.strip())
                continue
            if items:
                yield "\n".join(items)
                items = []
            yield text.strip("\n")
            continue
        if items:
            yield "\n".join(items)
            items = []
        if kind == "tbl":
            yield from _table(block, parts, part)
        elif kind == "altChunk":
            yield from _inserted(block, parts, part)
    if items:
        yield "\n".join(items)


def _flat(element: Iterable[_Element]) -> Iterator[_Element]:
    for child in element:
        kind = local(child)
        if kind in ("p", "tbl", "altChunk"):
            yield child
        elif kind and kind not in _LEFT_OUT:
            yield from _flat(child)


def paragraph(element: _Element) -> str:
    """The paragraph's text, with that of text boxes anchored in it after its own."""
    own: list[str] = []
    boxes: list[str] = []
    stack = list(reversed(element))
    while stack:
        node = stack.pop()
        kind = local(node)
        if kind in ("t", "m"):
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
    marked = next((number for number, row in enumerate(rows) if _property(row, "trPr", "tblHeader") is None), 0)
    return table_rows.lines(_grid(rows), name_rows=marked or None)


def _grid(rows: list[_Element]) -> Iterator[list[str]]:
    above: list[str] = []
    for row in rows:
        cells = [""] * _number(_property(row, "trPr", "gridBefore"), 0)
        for cell in _within(row, "tc"):
            merged = _property(cell, "tcPr", "vMerge")
            if merged is not None and attribute(merged, "val") != "restart" and len(above) > len(cells):
                text = above[len(cells)]
            else:
                text = " ".join(" ".join(_box_text(block) for block in _flat(cell) if local(block) != "altChunk").split())
            cells += [text, *[table_rows.LEFT] * (_number(_property(cell, "tcPr", "gridSpan"), 1) - 1)]
        yield cells
        above = cells


def _property(element: _Element, group: str, name: str) -> _Element | None:
    """What a row or a cell says of itself."""
    groups = (child for child in element if local(child) == group)
    return next((each for child in groups for each in child if local(each) == name), None)


def _number(element: _Element | None, otherwise: int) -> int:
    value = (attribute(element, "val") or "") if element is not None else ""
    return min(int(value), MAX_SPAN) if value.isascii() and value.isdigit() else otherwise


def _within(element: _Element, kind: str) -> Iterator[_Element]:
    """The children of one kind, also inside content controls and accepted insertions, but not inside other tables."""
    for child in element:
        name = local(child)
        if name == kind:
            yield child
        elif name in ("sdt", "sdtContent", "ins", "customXml", "smartTag"):
            yield from _within(child, kind)


def _is_item(element: _Element) -> bool:
    return any(local(child) == "pPr" and any(local(inner) == "numPr" for inner in child) for child in element)


def _symbol(node: _Element) -> str:
    try:
        code = int(attribute(node, "char") or "", 16)
    except ValueError:
        return ""
    return "" if 0xE000 <= code <= 0xF8FF or code > 0x10FFFF else chr(code)  # a private sign means nothing without its font


def _notes(parts: Package, main: str, numbers: Numbers) -> Iterator[str]:
    for kind, each in _NOTES:
        for part in parts.linked(main, kind):
            for note in _optional(parts, part, numbers):
                if local(note) == each and attribute(note, "type") in (None, "normal"):
                    text = "\n".join(_blocks(note, parts, part))
                    if text.strip():
                        yield text.strip()


def _margins(parts: Package, main: str, kind: str, numbers: Numbers) -> Iterator[str]:
    """Headers or footers, each wording once and without those that only hold the page's number."""
    seen = set()
    for part in parts.linked(main, kind):
        text = "\n".join(_blocks(_optional(parts, part, numbers), parts, part))
        if text not in seen and any(character.isalpha() for character in text):
            seen.add(text)
            yield text


def _optional(parts: Package, part: str, numbers: Numbers) -> list[_Element]:
    """What is in such a part, with its numbers; [] where it cannot be read: the body is what counts."""
    try:
        root = parts.xml(part)
    except DamagedFileError:
        return []
    numbers.write(root)
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
