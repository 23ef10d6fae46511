"""The text of HTML, in reading order, with a line for each block and each table row. For e-books, mail, and web pages that
have no article in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "-comment"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html"}
    | {"legend", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"}
)
_PARAGRAPHS = frozenset({"blockquote", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"})
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\n\r\f\u200b]+")


def html_title(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    found = LexborHTMLParser(html).css_first("title")
    return " ".join(found.text().split()) if found else ""


def html_text(html: str) -> str:
    """Everything a person would see, frame and navigation included."""
    from selectolax.lexbor import LexborHTMLParser

    root = LexborHTMLParser(html).root
    if root is None:
        return ""
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


def _laid_out(text: str) -> str:
    paragraphs = []
    for paragraph in text.split("\x02"):
        kept = []
        for line in paragraph.split("\x01"):
            cells = [cell.strip(" ") for cell in line.split("\x03")]
            while cells and not cells[-1]:
                cells.pop()
            joined = " | ".join(cells)
            if joined.strip(" -|"):
                kept.append(joined)
        if kept:
            paragraphs.append("\n".join(kept))
    return re.sub(r"(?m)^- \n+", "- ", "\n\n".join(paragraphs))
