"""OpenDocument: texts, sheets and presentations of LibreOffice, with notes and comments (OASIS OpenDocument 1.3, part 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import NoTextError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.office.encrypted_odf import UnlockedPackage
from ragcore.readers.office.odf_formatting import MARK, Styles, write_formatting
from ragcore.readers.office.odf_sheet import sheet_lines, table_grid
from ragcore.readers.office.package import Package, damaged, package
from ragcore.readers.page_spans import joined
from ragcore.readers.web.safe_xml import attribute, children, local, whole
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".odt", ".ods", ".odp", ".ott")
PARSERS = ("lxml.etree",)

_LEFT_OUT = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "styles", "settings"})


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as locked:
        parts = UnlockedPackage(locked, options.name, options.password)
        if "content.xml" not in parts:
            raise damaged(options.name, "its content is not an OpenDocument file")
        root, outer = parts.xml("content.xml"), parts.optional("styles.xml")
        styles, losses = Styles(), Losses()
        shown = [root] if outer is None else [outer, root]
        for each in shown:
            styles.add(each)
        for each in shown:
            write_formatting(each, styles, parts, losses)
        metadata = _metadata(parts, options.name)
    body = next((child for element in root if local(element) == "body" for child in element), None)
    if body is None:
        raise damaged(options.name, "it has no body")
    word, each = {"spreadsheet": ("sheet", "table"), "presentation": ("slide", "page")}.get(local(body), ("page", ""))
    if word == "sheet":
        pages = [
            (attribute(unit, "name") or str(n), _clean_text(text))
            for n, (unit, text) in enumerate(_sheets(body, styles, losses), 1)
        ]
    elif word == "slide":
        pages = [(str(n), _clean_text("\n\n".join(blocks(unit)))) for n, unit in enumerate(children(body, each), 1)]
    else:
        pages = [("", _clean_text("\n\n".join([*_margins(outer, "header"), *blocks(body), *_margins(outer, "footer")])))]
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(text, metadata=metadata, pages=stretches if each else (), page_word=word)


def _clean_text(text: str) -> str:
    return typography.plain(clean(text)).strip()


def _sheets(body: _Element, styles: Styles, losses: Losses) -> Iterator[tuple[_Element, str]]:
    """Each sheet with its text; the hidden ones only where there are no others."""
    tables = list(children(body, "table"))
    hidden = [table for table in tables if attribute(table, "style-name") in styles.hidden_tables]
    if len(hidden) < len(tables):
        losses.sheets = [attribute(table, "name") or "" for table in hidden]
        tables = [table for table in tables if table not in hidden]
    for table in tables:
        lines = list(sheet_lines(table, blocks, losses))
        yield table, "\n".join([attribute(table, "name") or "", *lines]) if lines else ""


def _margins(outer: _Element | None, kind: str) -> Iterator[str]:
    """Headers or footers, each wording once and without those that only hold the page's number."""
    seen = set()
    for element in () if outer is None else outer.iter(f"{{*}}{kind}", f"{{*}}{kind}-left", f"{{*}}{kind}-first"):
        text = "\n".join(blocks(element))
        if text not in seen and any(map(str.isalpha, text)):
            seen.add(text)
            yield text


def blocks(element: Iterable[_Element]) -> Iterator[str]:
    """The paragraphs, lists, tables and notes below `element`."""
    for child in element:
        kind = local(child)
        if kind in ("p", "h"):
            text = _inline(child).strip()
            if text:
                yield text
        elif kind == "list":
            if items := "\n".join(_items(child)):
                yield items
        elif kind == "table":
            if lines := "\n".join(table_rows.lines(table_grid(child, blocks))):
                yield lines
        elif kind in ("notes", "annotation"):
            notes = "\n".join(blocks(child))
            if notes.strip():
                yield f"{'Notes' if kind == 'notes' else 'Comment'}: {notes}"
        elif kind and kind not in _LEFT_OUT:
            yield from blocks(child)


def _items(listed: _Element, depth: int = 0) -> Iterator[str]:
    """A line for each item, with its number; lists within it are further to the right."""
    for item in listed:
        inner = [child for child in item if local(child)]
        own = " ".join(text for child in inner if local(child) != "list" for text in blocks([child])).strip()
        if own:
            mark = item.get(MARK) or ("-" if local(item) == "list-item" else "")
            yield "  " * depth + f"{mark} {own}".strip()
        for child in inner:
            if local(child) == "list":
                yield from _items(child, depth + bool(own))


def _inline(element: _Element) -> str:
    out = [element.text or ""]
    for child in element:
        kind = local(child)
        if kind == "s":
            out.append(" " * min(whole(attribute(child, "c"), 1), 100))
        elif kind == "tab":
            out.append("\t")
        elif kind == "line-break":
            out.append("\n")
        elif kind == "note":
            out += [f" [{' '.join(blocks(body))}]" for body in children(child, "note-body")]
        elif kind == "annotation":
            comment = " ".join(blocks(child))
            out.append(f" [Comment: {comment}] " if comment else "")
        elif kind in ("frame", "text-box", "custom-shape", "a") and any(
            local(part) in ("p", "h", "text-box") for part in child
        ):
            out.append("\n" + "\n".join(blocks(child)))
        elif kind and kind not in _LEFT_OUT:
            out.append(_inline(child))
        out.append(child.tail or "")
    return "".join(out)


def _metadata(parts: Package, name: str) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {"file_name": name}
    root = parts.optional("meta.xml")
    for element in root.iter() if root is not None else ():  # the text does not depend on it
        key = {"title": "title", "creator": "author", "initial-creator": "author"}.get(local(element))
        if key and key not in metadata and (value := " ".join((element.text or "").split())):
            metadata[key] = value
    return metadata
