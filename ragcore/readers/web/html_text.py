"""The text of HTML in reading order, with a line for each block and table rows from
ragcore.readers.table_rows.

Used for e-books, mail, and web pages without an article.
"""

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

_SKIPPED = frozenset(  # ix:header has the data of Inline XBRL, in reports of companies
    {"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "-comment", "ix:header"}
)
_WITHOUT_WORDS = frozenset(
    {
        "hidden",
        "password",
        "submit",
        "button",
        "reset",
        "image",
        "checkbox",
        "radio",
        "file",
        "color",
        "range",
    }
)
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre section summary table tbody "
    "tfoot thead tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_PARAGRAPHS = frozenset(
    {"blockquote", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"}
)
_CELLS = frozenset({"td", "th"})
MAX_CELL = 600  # characters; a table with longer cells is only layout
MAX_SPAN = 100  # columns or rows
_AFTER_MARK = re.compile("\x04[\x01\x02 ]*")
_SPACE = re.compile(r"[ \t\n\r\f\u200b]+")
_NOSCRIPT = re.compile(r"</?noscript\b[^>]*>", re.IGNORECASE)


def html_title(html: str) -> str:
    title = parse_html(html).css_first("title")
    return " ".join(title.text().split()) if title else ""


def _ignore(count: int) -> None: ...


def html_text(html: str, *, css: str = "", on_hidden: Callable[[int], None] = _ignore) -> str:
    """All text that a page shows, with its menus. `css` has the style sheets of other files.

    `on_hidden(count)` is called with the number of hidden pieces of text.
    """
    tree, hidden = parse_page(html, css=css)
    on_hidden(hidden)
    return page_text(tree)


def parse_page(html: str, *, css: str = "") -> tuple[LexborHTMLParser, int]:
    """The page after `write_marks`, and how many pieces of text it hides."""
    tree = parse_html(html)
    return tree, write_marks(tree, css)


def page_text(page: LexborHTMLParser) -> str:
    """The text of a page from `parse_page`. If it has none without scripts, the text of its noscript
    elements."""
    text = _text(page.root) if page.root is not None else ""
    if text or page.body is None or page.css_first("body noscript") is None:
        return text
    return html_text(_NOSCRIPT.sub(" ", page.body.html or ""))


def page_html(page: LexborHTMLParser) -> str:
    """The HTML of a page from `parse_page`."""
    return typography.plain(page.html or "")


def text_without(html: str, selector: str) -> str:
    """The text of HTML from `page_html`, without the elements of a CSS selector."""
    tree = parse_html(html)
    for node in reversed(tree.css(selector)):  # the inner ones first
        node.decompose()
    return page_text(tree)


def with_tables_as_lines(html: str) -> str:
    """The same page with the numbers of lists as text, and with each data table as a paragraph with a line
    for each row. Tables of links stay."""
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
    return _join_lines(typography.plain(_AFTER_MARK.sub("", "".join(out))))


def _walk(root: LexborNode, out: list[str]) -> None:
    """Depth first without recursion: pages nest deeper than Python's stack.

    In `out`, \\x01 ends a line, \\x02 a paragraph and \\x03 a cell. \\x04 joins the mark of a list item with
    the text after it.
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
        if tag in ("br", "img"):
            out.append("\x01" if tag == "br" else node.attributes.get("alt") or "")
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
        children = list(node.iter(include_text=True))
        stack.extend((child, "", verbatim or tag == "pre") for child in reversed(children))


def _table(table: LexborNode) -> list[str]:
    """The lines of a table; [] for a table that is only layout, whose cells are then read one by one."""
    if _holds_tables(table):
        return []
    rows = [[cell for cell in row.iter() if cell.tag in _CELLS] for row in table.css("tr")]
    if len(rows) < 2 or max(map(len, rows)) < 2 or table.attributes.get("role") == "presentation":
        return []
    cells = [[(cell, " ".join(_text(cell).split())) for cell in row] for row in rows]
    if any(len(text) > MAX_CELL for row in cells for _, text in row):
        return []
    name_rows: int | None = None
    if any(cell.tag == "th" for row in rows for cell in row):
        data = (
            number for number, row in enumerate(cells) if any(cell.tag == "td" and text for cell, text in row)
        )
        name_rows = next(data, len(rows))
        if (
            name_rows < len(rows)
            and rows[name_rows][0].tag == "th"
            and max(map(len, rows[:name_rows]), default=0) < 2
        ):
            name_rows = 0  # only titles stand above rows with names
        name_rows = sum(map(bool, rows[:name_rows]))  # without empty rows below a spanning title
    grid = table_rows.grid(
        [(text, _span(cell, "colspan"), _span(cell, "rowspan")) for cell, text in row] for row in cells
    )
    title = table.css_first("caption")
    return [*([_text(title)] if title else []), *table_rows.lines(grid, name_rows=name_rows)]


def _holds_tables(table: LexborNode) -> bool:
    """Check this first: all other checks would visit the rows of inner tables again for each table around
    them."""
    return len(table.css("table")) > 1


def _span(cell: LexborNode, name: str) -> int:
    return max(1, min(whole(cell.attributes.get(name), 1), MAX_SPAN))


def _join_lines(text: str) -> str:
    paragraphs = []
    for paragraph in text.split("\x02"):
        lines = []
        for line in paragraph.split("\x01"):
            cells = [cell.strip(" ") for cell in line.split("\x03")]
            while cells and not cells[-1]:
                cells.pop()
            joined = " | ".join(cells)
            if joined.strip(" -|\xa0"):
                lines.append(joined)
        if lines:
            paragraphs.append("\n".join(lines))
    return re.sub(r"(?m)^- \n+", "- ", "\n\n".join(paragraphs))
