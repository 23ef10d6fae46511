"""OpenDocument: texts, sheets and presentations of LibreOffice (OASIS OpenDocument 1.3, part 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.office.encrypted_odf import UnlockedPackage
from ragcore.readers.office.package import Package, damaged, package
from ragcore.readers.page_spans import joined
from ragcore.readers.web.safe_xml import attribute, local
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".odt", ".ods", ".odp", ".ott")

MAX_REPEAT = 50  # a cell or row may say that it stands a million times

_LEFT_OUT = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "styles", "settings"})


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as locked:
        parts = UnlockedPackage(locked, options.name, options.password)
        if "content.xml" not in parts:
            raise damaged(options.name, "it is no OpenDocument file inside")
        root = parts.xml("content.xml")
        metadata = _metadata(parts, options.name)
    body = next((child for element in root if local(element) == "body" for child in element), None)
    if body is None:
        raise damaged(options.name, "it has no body")
    word, each = {"spreadsheet": ("sheet", "table"), "presentation": ("slide", "page")}.get(local(body), ("page", ""))
    if each:
        units = [element for element in body if local(element) == each]
        pages = [(_label(unit, number, word), clean(_unit(unit)).strip()) for number, unit in enumerate(units, 1)]
    else:
        pages = [("", clean("\n\n".join(_blocks(body))).strip())]
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    return Document(text, metadata=metadata, pages=stretches if each else (), page_word=word)


def _label(unit: _Element, number: int, word: str) -> str:
    return (attribute(unit, "name") if word == "sheet" else None) or str(number)


def _unit(unit: _Element) -> str:
    if local(unit) == "table":
        found = list(table_rows.lines(_rows(unit), names_first=True))
        return "\n".join([attribute(unit, "name") or "", *found]) if found else ""
    return "\n\n".join(_blocks(unit))


def _blocks(element: _Element) -> Iterator[str]:
    for child in element:
        kind = local(child)
        if kind in ("p", "h"):
            text = _inline(child).strip()
            if text:
                yield text
        elif kind == "list":
            items = [f"- {text}" for item in child if (text := " ".join(_blocks(item)).strip())]
            if items:
                yield "\n".join(items)
        elif kind == "table":
            if lines := "\n".join(table_rows.lines(_rows(child))):
                yield lines
        elif kind == "notes":
            notes = "\n".join(_blocks(child))
            if notes.strip():
                yield f"Notes: {notes}"
        elif kind and kind not in _LEFT_OUT:
            yield from _blocks(child)


def _inline(element: _Element) -> str:
    out = [element.text or ""]
    for child in element:
        kind = local(child)
        if kind == "s":
            out.append(" " * min(_number(attribute(child, "c")), 100))
        elif kind == "tab":
            out.append("\t")
        elif kind == "line-break":
            out.append("\n")
        elif kind == "note":
            body = next((part for part in child if local(part) == "note-body"), None)
            out.append(f" [{' '.join(_blocks(body))}]" if body is not None else "")
        elif kind in ("frame", "text-box", "custom-shape", "annotation", "a") and any(
            local(part) in ("p", "h", "text-box") for part in child
        ):
            out.append("\n" + "\n".join(_blocks(child)))
        elif kind and kind not in _LEFT_OUT:
            out.append(_inline(child))
        out.append(child.tail or "")
    return "".join(out)


def _rows(table: _Element) -> Iterator[list[str]]:
    for child in table:
        kind = local(child)
        if kind == "table-row":
            cells: list[str] = []
            for cell in child:
                if local(cell) in ("table-cell", "covered-table-cell"):
                    text = " ".join(" ".join(_blocks(cell)).split())
                    cells += [text] * min(_number(attribute(cell, "number-columns-repeated")), MAX_REPEAT)
            repeats = _number(attribute(child, "number-rows-repeated"))
            for _ in range(min(repeats, MAX_REPEAT) if any(cells) else 0):
                yield cells
        elif kind in ("table-rows", "table-header-rows", "table-row-group"):
            yield from _rows(child)


def _number(value: str | None) -> int:
    return int(value) if value and value.isdigit() else 1


def _metadata(parts: Package, name: str) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {"file_name": name}
    if "meta.xml" not in parts:
        return metadata
    try:
        root = parts.xml("meta.xml")
    except DamagedFileError:
        return metadata  # the text does not depend on it
    for element in root.iter():
        key = {"title": "title", "creator": "author", "initial-creator": "author"}.get(local(element))
        if key and key not in metadata and (value := " ".join((element.text or "").split())):
            metadata[key] = value
    return metadata
