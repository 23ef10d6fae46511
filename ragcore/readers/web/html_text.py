"""The text of HTML, in reading order, with a line for each block and the rows of tables as ragcore.readers.table_rows writes
them. For e-books, mail, and web pages that have no article in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragcore.readers import table_rows, typography
from ragcore.readers.web.html_marks import MARK, write_list_marks, write_marks
from ragcore.readers.web.nesting import parse_html
from ragcore.readers.web.safe_xml import whole

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "-comment"}) | {
    "ix:header"  # figures for programs, in the reports of companies (Inline XBRL)
}
_WITHOUT_WORDS = frozenset(
    {"hidden", "password", "submit", "button", "reset", "image", "checkbox", "radio", "file", "color", "range"}
)
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre section summary table tbody tfoot thead tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_PARAGRAPHS = frozenset({"blockquote", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_CELLS = frozenset({"td", "th"})
LONGEST_CELL = 600  # characters; a table with longer ones only places things on the page
MAX_SPAN = 100  # columns or rows
_JOINED = re.compile("\x04[\x01\x02 ]*")
_SPACE = re.compile(r"[ \t\n\r\f\u200b]+")


def html_title(html: str) -> str:
    found = parse_html(html).css_first("title")
    return " ".join(found.text().split()) if found else ""


_NOSCRIPT = re.compile(r"</?noscript\b[^>]*>", re.IGNORECASE)


def _ignore(count: int) -> None: ...


def html_text(html: str, *, css: str = "", on_hidden: Callable[[int], None] = _ignore) -> str:
    """Everything a person would see, frame and navigation included; `css` are the style sheets in other files.

    `on_hidden(count)` hears how many pieces of text are hidden.
    """
    tree, hidden = parse_page(html, css=css)
    on_hidden(hidden)
    return page_text(tree)


def parse_page(html: str, *, css: str = "") -> tuple[LexborHTMLParser, int]:
    """The page with what its marks and styles mean written into its text, and how many pieces of text it hides."""
    tree = parse_html(html)
    return tree, write_marks(tree, css)


def page_text(page: LexborHTMLParser) -> str:
    """The text of what `parse_page` gives; of a page that a program builds, what it says to those without programs."""
    text = _text(page.root) if page.root is not None else ""
    if text or page.body is None or page.css_first("body noscript") is None:
        return text
    return html_text(_NOSCRIPT.sub(" ", page.body.html or ""))


def page_html(page: LexborHTMLParser) -> str:
    """The marks and text of what `parse_page` gives."""
    return typography.plain(page.html or "")


def text_without(html: str, selector: str) -> str:
    """The text of what `page_html` gives, without the elements that a CSS selector names."""
    tree = parse_html(html)
    for node in reversed(tree.css(selector)):  # the inner ones first
        node.decompose()
    return page_text(tree)


def with_tables_as_lines(html: str) -> str:
    """The same page with each table of data as a paragraph, a line for each row, and the numbers of lists as text; tables of
    links stay."""
    tree = parse_html(html)
    write_list_marks(tree)
    for table in tree.css("table"):
        if _holds_tables(table):
            continue
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
    return _laid_out(typography.plain(_JOINED.sub("", "".join(out))))


def _walk(root: LexborNode, out: list[str]) -> None:
    """Depth first without recursion: pages nest deeper than Python's stack.

    In `out`, \\x01 ends a line, \\x02 a paragraph, \\x03 a cell, \\x04 joins what is next to the mark of its item; white
    space of the source is only space.
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
        if tag == "input":
            if (node.attributes.get("type") or "text").lower() not in _WITHOUT_WORDS:
                out.append(" " if out and not out[-1].endswith(" ") else "")
                out.append(node.attributes.get("value") or "")
            continue
        if tag == "table" and (rows := _table(node)):
            out.append("\x02" + "\x01".join(rows) + "\x02")
            continue
        around = "\x02" if tag in _PARAGRAPHS else "\x01" if tag in _BLOCKS else ""
        out.append(around)
        if tag == "li":
            out.append(f"{node.attributes.get(MARK) or '-'} \x04")
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
    if _holds_tables(table):
        return []
    rows = [[cell for cell in row.iter() if cell.tag in _CELLS] for row in table.css("tr")]
    if len(rows) < 2 or max(map(len, rows)) < 2 or table.attributes.get("role") == "presentation":
        return []
    cells = [[(cell, " ".join(_text(cell).split())) for cell in row] for row in rows]
    if any(len(text) > LONGEST_CELL for row in cells for _, text in row):
        return []
    marked: int | None = None
    if any(cell.tag == "th" for row in rows for cell in row):
        data = (number for number, row in enumerate(cells) if any(cell.tag == "td" and text for cell, text in row))
        marked = next(data, len(rows))
        if marked < len(rows) and rows[marked][0].tag == "th" and max(map(len, rows[:marked]), default=0) < 2:
            marked = 0  # below titles only the rows have names
        marked = sum(map(bool, rows[:marked]))  # without those that a title reaches over
    grid = table_rows.grid([(text, _span(cell, "colspan"), _span(cell, "rowspan")) for cell, text in row] for row in cells)
    title = table.css_first("caption")
    return [*([_text(title)] if title else []), *table_rows.lines(grid, name_rows=marked)]


def _holds_tables(table: LexborNode) -> bool:
    """Asked first: where tables nest, all that is asked of the rows of each is asked of the innermost again and again."""
    return len(table.css("table")) > 1


def _span(cell: LexborNode, name: str) -> int:
    return max(1, min(whole(cell.attributes.get(name), 1), MAX_SPAN))


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
