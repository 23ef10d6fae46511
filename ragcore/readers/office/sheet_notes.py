"""The comments of a workbook, with the answers to them, and the text of its text boxes, charts and diagrams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragcore.readers.losses import Losses
from ragcore.readers.office.drawings import elements, linked_texts, paragraph_text, paragraphs
from ragcore.readers.office.package import Package
from ragcore.readers.web.safe_xml import attribute, local

if TYPE_CHECKING:
    from lxml.etree import _Element

_PLACEHOLDER = "[Threaded comment]"  # what old programs show instead of a thread


def sheet_comments(parts: Package, sheet: str) -> dict[int, list[tuple[str, str]]]:
    """(cell, text) of each comment by the number of its row, in the order of the rows."""
    comments: dict[int, list[tuple[str, str]]] = {}
    threads = parts.linked(sheet, "threadedComment")
    for part in [*threads, *parts.linked(sheet, "comments")]:
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


def _words(comment: _Element) -> Iterator[str]:
    """The text of its runs, without phonetic readings. The text of a thread is in `text` itself."""
    for node in comment.iter():
        if local(node) in ("t", "text") and not any(local(outer) == "rPh" for outer in node.iterancestors()):
            yield node.text or ""


def drawn_text(parts: Package, sheet: str, losses: Losses) -> Iterator[str]:
    """The text of each box, chart and diagram on a sheet."""
    losses.add_links(parts, sheet)
    for drawing in parts.linked(sheet, "drawing"):
        losses.add_links(parts, drawing)
        texts = [
            "\n".join(filter(None, map(paragraph_text, paragraphs(box))))
            for box in elements(parts, drawing)
            if local(box) == "txBody"
        ]
        yield from filter(str.strip, [*texts, *linked_texts(parts, drawing)])
