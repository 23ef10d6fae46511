"""The text of HTML, in reading order, with a line for each block and the rows of tables as ragcore.readers.table_rows writes
them. For e-books, mail, and web pages that have no article in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragcore.readers import table_rows

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "-comment"}) | {
    "ix:header"  # figures for programs, in the reports of companies (Inline XBRL)
}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html"}
    | {
        "legend",
        "li",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    }
)
_PARAGRAPHS = frozenset({"blockquote", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_CELLS = frozenset({"td", "th"})
LONGEST_CELL = 600  # characters; a table with longer ones only places things on the page
MAX_SPAN = 100  # columns or rows
_SPACE = re.compile(r"[ \t\n\r\f\u200b]+")


def html_title(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    found = LexborHTMLParser(html).css_first("title")
    return " ".join(found.text().split()) if found else ""


def html_text(html: str, *, without: str = "") -> str:
    """Everything a person would see, frame and navigation included; `without` the elements that a CSS selector names."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for node in reversed(tree.css(without) if without else []):  # the inner ones first
        node.decompose()
    return _text(tree.root) if tree.root is not None else ""


def with_tables_as_lines(html: str) -> str:
    """The same page with each table of data as a paragraph, a line for each row; tables of links stay."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for table in tree.css("table"):
        links = sum(len(link.text()) for link in table.css("a"))
        if 2 * links < len(table.text()) and (rows := _table(table)):
            paragraph = tree.create_node("p")
            for row in rows:
                paragraph.insert_child(row)
                paragraph.insert_child(tree.create_node("br"))
            table.replace_with(paragraph)
    return tree.html or ""


def _text(root: LexborNode) -> str:
    out: list[str] = []
    _walk(root, out)
    return _laid_out("".join(out))


def _walk(root: LexborNode, out: list[str]) -> None:
    """Depth first without recursion: pages nest deeper than Python's stack.

    In `out`, \\x01 ends a line, \\x02 a paragraph, \\x03 a cell; white space of the source is only space.
    """
    stack: list[tuple[LexborNode | None, str, bool]] = [(root, "", False)]
    while stack:
        node, closing, verbatim = stack.pop()
        if node is None:
            out.append(closing)
            continue
        tag = node.tag or ""
        if tag == "-text":
            text = node.text(deep=False) or ""
            out.append(text.replace("\n", "\x01") if verbatim else _SPACE.sub(" ", text))
            continue
        if tag in _SKIPPED:
            continue
        if tag == "br":
            out.append("\x01")
            continue
        if tag == "img":
            out.append(node.attributes.get("alt") or "")
            continue
        if tag == "table" and (rows := _table(node)):
            out.append("\x02" + "\x01".join(rows) + "\x02")
            continue
        around = "\x02" if tag in _PARAGRAPHS else "\x01" if tag in _BLOCKS else ""
        out.append(around)
        if tag == "li":
            out.append("- ")
        stack.append((None, "\x03" if tag in _CELLS else around, False))
        children = []
        child = node.child
        while child is not None:
            children.append(child)
            child = child.next
        verbatim = verbatim or tag == "pre"
        stack.extend((child, "", verbatim) for child in reversed(children))


def _table(table: LexborNode) -> list[str]:
    """The lines of a table; [] for one that only places things on the page, which are then read one by one."""
    rows = [[cell for cell in row.iter() if cell.tag in _CELLS] for row in table.css("tr")]
    if (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or table.attributes.get("role") == "presentation"
        or len(table.css("table")) > 1
    ):
        return []
    texts = [[" ".join(_text(cell).split()) for cell in row] for row in rows]
    if any(len(text) > LONGEST_CELL for row in texts for text in row):
        return []
    marked: int | None = None
    if any(cell.tag == "th" for row in rows for cell in row):
        marked = next(
            (
                number
                for number, row in enumerate(rows)
                if any(cell.tag == "td" and text for cell, text in zip(row, texts[number], strict=True))
            ),
            len(rows),
        )
    title = table.css_first("caption")
    return [*([_text(title)] if title else []), *table_rows.lines(_grid(rows, texts), name_rows=marked)]


def _grid(rows: list[list[LexborNode]], texts: list[list[str]]) -> Iterator[list[str]]:
    """A cell that spans rows in each of them, one that spans columns with tables.LEFT beside it."""
    below: dict[int, tuple[int, str]] = {}  # column to the number of rows that a cell still reaches down, and what it says
    for row, said in zip(rows, texts, strict=True):
        cells: list[str] = []
        for cell, text in zip(row, said, strict=True):
            _fill(cells, below)
            down = _span(cell, "rowspan") - 1
            for part in (text, *[table_rows.LEFT] * (_span(cell, "colspan") - 1)):
                if down:
                    below[len(cells)] = (down, part)
                cells.append(part)
        _fill(cells, below)
        yield cells


def _fill(cells: list[str], below: dict[int, tuple[int, str]]) -> None:
    while len(cells) in below:
        left, text = below.pop(len(cells))
        if left > 1:
            below[len(cells)] = (left - 1, text)
        cells.append(text)


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return max(1, min(int(value), MAX_SPAN)) if value.isascii() and value.isdigit() else 1


def _laid_out(text: str) -> str:
    paragraphs = []
    for paragraph in text.split("\x02"):
        kept = []
        for line in paragraph.split("\x01"):
            cells = [cell.strip(" ") for cell in line.split("\x03")]
            while cells and not cells[-1]:
                cells.pop()
            joined = " | ".join(cells)
            if joined.strip(" -|\xa0"):
                kept.append(joined)
        if kept:
            paragraphs.append("\n".join(kept))
    return re.sub(r"(?m)^- \n+", "- ", "\n\n".join(paragraphs))
