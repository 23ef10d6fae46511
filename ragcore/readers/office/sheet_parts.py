"""Reads the parts of a workbook's XML that openpyxl ignores: merged cells, hidden rows and columns, letters
within a cell that are raised, lowered or struck (ECMA-376 part 1, 18.3 and 18.4), comments with their
answers, text boxes, charts and diagrams.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from ragcore.readers import typography
from ragcore.readers.losses import MAX_COLUMNS, Losses
from ragcore.readers.office.drawings import elements, linked_texts, paragraph_text, paragraphs
from ragcore.readers.office.package import Element, Package
from ragcore.readers.web.safe_xml import attribute, local

# The namespaces of "Strict Open XML", which openpyxl does not know, and the usual ones (ISO/IEC 29500-1,
# annex A).
_STRICT = (
    (
        b"http://purl.oclc.org/ooxml/spreadsheetml/main",
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    ),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
)
MAX_MERGED = 1_000_000  # merged cells; further ones are read as separate cells
MAX_MARKED = 100_000_000  # bytes of a part in which letters may have marks
MAX_TAG = 600  # bytes
PIECE = 1 << 20  # bytes that are searched at once

_PLACEHOLDER = "[Threaded comment]"  # the text that old programs show instead of a thread
_MERGE = re.compile(rb'mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_HIDDEN = re.compile(rb'<(?:\w+:)?(row|col)\b([^<>]*?\bhidden="(?:1|true)"[^<>]*)>')
_UNSOLVED = re.compile(  # a formula without its last value
    rb"<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_NUMBER = {
    name: re.compile(rb"\b%s=\"(\d{1,7})\"" % name) for name in (b"r", b"min", b"max", b"outlineLevel")
}
_RUN = re.compile(rb"(<(?:\w+:)?rPr>)(.*?)(</(?:\w+:)?rPr>\s*<(?:\w+:)?t\b[^>]*>)([^<]*)", re.S)
_STRUCK = re.compile(rb'<(?:\w+:)?strike(?:\s*/>|\s+val="(?:1|true)")')
_SHIFTED = re.compile(rb'<(?:\w+:)?vertAlign\s+val="(super|sub)script"')


class Merge(NamedTuple):
    """Merged cells: the first and last column and row, from 1."""

    min_col: int
    min_row: int
    max_col: int
    max_row: int


@dataclass(slots=True)
class Layout:
    """Rows and columns are counted from 1. Rows that are only folded are not in `hidden_rows`."""

    merges: dict[int, list[Merge]] = field(default_factory=dict)  # by row
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    is_filtered: bool = False
    unsolved: int = 0  # formulas without a value, as programs other than spreadsheets write them


def sheet_layout(part: IO[bytes]) -> Layout:
    """The layout of a sheet, from its XML."""
    layout, merged = Layout(), 0
    rest = b""
    while piece := part.read(PIECE):
        piece, end = rest + piece, 0
        for match in _MERGE.finditer(piece):
            end = match.end()
            min_col, min_row, max_col, max_row = match.groups()
            merge = Merge(_column(min_col), int(min_row), min(_column(max_col), MAX_COLUMNS), int(max_row))
            rows, columns = range(merge.min_row, merge.max_row + 1), range(merge.min_col, merge.max_col + 1)
            merged += len(rows) * len(columns)
            if columns and merged <= MAX_MERGED:
                for row in rows:
                    layout.merges.setdefault(row, []).append(merge)
        if b'hidden="' in piece:
            for match in _HIDDEN.finditer(piece):
                end = max(end, match.end())
                _hide(layout, match[1], match[2])
        for match in _UNSOLVED.finditer(piece):
            end = max(end, match.end())
            layout.unsolved += b't="str"' not in match[1]  # "" may be the value of a text
        layout.is_filtered = layout.is_filtered or b"filterColumn" in piece
        rest = piece[max(end, len(piece) - MAX_TAG) :]  # a tag may continue in the next piece
    return layout


def _hide(layout: Layout, kind: bytes, attributes: bytes) -> None:
    numbers = {
        name: int(match[1]) for name, pattern in _NUMBER.items() if (match := pattern.search(attributes))
    }
    if numbers.get(b"outlineLevel"):
        return  # folded, not hidden
    if kind == b"row":
        layout.hidden_rows.add(numbers.get(b"r", 0))
    else:
        layout.hidden_columns |= set(
            range(numbers.get(b"min", 1), min(numbers.get(b"max", 0), MAX_COLUMNS) + 1)
        )


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def workbook_bytes(path: Path, parts: Package) -> tuple[bytes, bool]:
    """The file for openpyxl, with marks of `typography` around letters within its cells, and whether cells
    may have marks."""
    is_strict = "xl/workbook.xml" in parts and _STRICT[0][0] in parts.bytes("xl/workbook.xml")
    marked = set(_parts_to_mark(parts))
    struck = "xl/styles.xml" in parts and bool(_STRUCK.search(parts.bytes("xl/styles.xml")))
    if not is_strict and not marked:
        return path.read_bytes(), struck
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as archive:
        for part in parts.parts:
            if part.endswith((".xml", ".rels")):
                data = parts.bytes(part)
                for strict, usual in _STRICT if is_strict else ():
                    data = data.replace(strict, usual)
                archive.writestr(part, _RUN.sub(_mark, data) if part in marked else data)
    return copy.getvalue(), struck or bool(marked)


def _parts_to_mark(parts: Package) -> Iterator[str]:
    for part in parts.parts:
        is_text = part == "xl/sharedStrings.xml" or part.startswith("xl/worksheets/sheet")
        if is_text and parts.parts[part].file_size < MAX_MARKED:
            data = parts.bytes(part)
            if b"rPr>" in data and (_SHIFTED.search(data) or _STRUCK.search(data)):
                yield part


def _mark(match: re.Match[bytes]) -> bytes:
    text = match[4].decode("utf-8", "replace")
    if shifted := _SHIFTED.search(match[2]):
        text = typography.mark(typography.RAISED if shifted[1] == b"super" else typography.LOWERED, text)
    if _STRUCK.search(match[2]):
        text = typography.mark(typography.STRUCK, text)
    return match[1] + match[2] + match[3] + text.encode()


def sheet_comments(parts: Package, sheet: str) -> dict[int, list[tuple[str, str]]]:
    """(cell, text) of each comment by the number of its row, in the order of the rows."""
    comments: dict[int, list[tuple[str, str]]] = {}
    threads = parts.linked_parts(sheet, "threadedComment")
    for part in [*threads, *parts.linked_parts(sheet, "comments")]:
        for element in elements(parts, part):
            if local(element) in ("comment", "threadedComment"):
                cell = attribute(element, "ref") or ""
                text = " ".join("".join(_words(element)).split())
                row = re.search(r"\d{1,7}\Z", cell)
                if text and row and not (threads and text.startswith(_PLACEHOLDER)):
                    comments.setdefault(int(row[0]), []).append((cell, text))
    return dict(sorted(comments.items()))


def comment_line(cell: str, row_text: str, comment: str) -> str:
    """A comment as a line of its sheet, with the row that it belongs to."""
    return f"Comment on {cell} ({row_text}): {comment}" if row_text else f"Comment on {cell}: {comment}"


def _words(comment: Element) -> Iterator[str]:
    """The text of its runs, without phonetic readings. The text of a thread is in `text` itself."""
    for node in comment.iter():
        if local(node) in ("t", "text") and not any(local(outer) == "rPh" for outer in node.iterancestors()):
            yield node.text or ""


def drawn_text(parts: Package, sheet: str, losses: Losses) -> Iterator[str]:
    """The text of each box, chart and diagram on a sheet."""
    losses.add_links(parts, sheet)
    for drawing in parts.linked_parts(sheet, "drawing"):
        losses.add_links(parts, drawing)
        texts = [
            "\n".join(filter(None, map(paragraph_text, paragraphs(box))))
            for box in elements(parts, drawing)
            if local(box) == "txBody"
        ]
        yield from filter(str.strip, [*texts, *linked_texts(parts, drawing)])
