"""OpenDocument: texts, sheets and presentations of LibreOffice, with notes and comments (OASIS OpenDocument
1.3, part 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.office.encrypted_odf import UnlockedPackage
from ragcore.readers.office.odf_formatting import MARK, Styles, write_formatting
from ragcore.readers.office.odf_sheet import sheet_lines, table_grid
from ragcore.readers.office.package import Element, damaged_error, package, title_and_author
from ragcore.readers.page_spans import distinct_margins, join_pages
from ragcore.readers.web.safe_xml import attribute, children, local, whole
from ragcore.schema import Document

SUFFIXES = (".odt", ".ods", ".odp", ".ott")
PARSERS = ("lxml.etree",)

_SKIPPED = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "styles", "settings"})


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as locked:
        parts = UnlockedPackage(locked, options.name, options.password)
        if "content.xml" not in parts:
            raise damaged_error(options.name, "its content is not an OpenDocument file")
        root, outer = parts.xml("content.xml"), parts.optional("styles.xml")
        styles, losses = Styles(), Losses()
        roots = [root] if outer is None else [outer, root]
        for each in roots:
            styles.add(each)
        for each in roots:
            write_formatting(each, styles, parts, losses)
        metadata = {"file_name": options.name, **title_and_author(parts.optional("meta.xml"))}
    body = next((child for element in root if local(element) == "body" for child in element), None)
    if body is None:
        raise damaged_error(options.name, "it has no body")
    word = {"spreadsheet": "sheet", "presentation": "slide"}.get(local(body), "page")
    if word == "sheet":
        sheets = enumerate(_sheets(body, styles, losses), 1)
        pages = [(attribute(sheet, "name") or str(number), text) for number, (sheet, text) in sheets]
    elif word == "slide":
        slides = enumerate(children(body, "page"), 1)
        pages = [(str(number), "\n\n".join(blocks(slide))) for number, slide in slides]
    else:
        pages = [("", "\n\n".join([*_margins(outer, "header"), *blocks(body), *_margins(outer, "footer")]))]
    text, spans = join_pages((label, typography.plain(clean(page)).strip()) for label, page in pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(text, metadata=metadata, pages=spans if word != "page" else (), page_word=word)


def _sheets(body: Element, styles: Styles, losses: Losses) -> Iterator[tuple[Element, str]]:
    """Each sheet with its text; hidden ones only if there are no others."""
    tables = list(children(body, "table"))
    hidden = [table for table in tables if attribute(table, "style-name") in styles.hidden_tables]
    if len(hidden) < len(tables):
        losses.sheets = [attribute(table, "name") or "" for table in hidden]
        tables = [table for table in tables if table not in hidden]
    for table in tables:
        lines = list(sheet_lines(table, blocks, losses))
        yield table, "\n".join([attribute(table, "name") or "", *lines]) if lines else ""


def _margins(outer: Element | None, kind: str) -> list[str]:
    """The headers or footers."""
    kinds = (f"{{*}}{kind}", f"{{*}}{kind}-left", f"{{*}}{kind}-first")
    return distinct_margins("\n".join(blocks(each)) for each in (() if outer is None else outer.iter(*kinds)))


def blocks(element: Iterable[Element]) -> Iterator[str]:
    """The text of each paragraph, list, table and note below `element`."""
    for child in element:
        kind = local(child)
        text = ""
        if kind in ("p", "h"):
            text = _inline(child).strip()
        elif kind == "list":
            text = "\n".join(_items(child))
        elif kind == "table":
            text = "\n".join(table_rows.lines(table_grid(child, blocks)))
        elif kind in ("notes", "annotation"):
            notes = "\n".join(blocks(child))
            text = f"{'Notes' if kind == 'notes' else 'Comment'}: {notes}" if notes.strip() else ""
        elif kind and kind not in _SKIPPED:
            yield from blocks(child)
        if text:
            yield text


def _items(listed: Element, depth: int = 0) -> Iterator[str]:
    """A line for each item, with its number; inner lists are indented."""
    for item in listed:
        inner = [child for child in item if local(child)]
        own = " ".join(text for child in inner if local(child) != "list" for text in blocks([child])).strip()
        if own:
            mark = item.get(MARK) or ("-" if local(item) == "list-item" else "")
            yield "  " * depth + f"{mark} {own}".strip()
        for child in inner:
            if local(child) == "list":
                yield from _items(child, depth + bool(own))


def _inline(element: Element) -> str:
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
        elif kind and kind not in _SKIPPED:
            out.append(_inline(child))
        out.append(child.tail or "")
    return "".join(out)
