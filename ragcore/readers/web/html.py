"""Web pages: the article without its frame; the whole page where there is no article, such as a list or a table."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, text_in
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.web.html_text import html_title, page_html, parse_page, text_without, with_tables_as_lines
from ragcore.readers.web.html_text import page_text as whole_text
from ragcore.readers.web.nesting import parse_html
from ragcore.readers.web.safe_xml import local, parse
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    from lxml.etree import _Element
    from selectolax.lexbor import LexborHTMLParser

SUFFIXES = (".html", ".htm", ".xhtml")
PARSERS = ("lxml.html", "selectolax.lexbor", "trafilatura")

ENOUGH = 0.7  # of the page's text outside links; an article with less has probably lost something
ENOUGH_SAID = 0.1  # where the page says that it is an article: the rest are comments and teasers
NEARLY_ALL = 2 / 3  # of the page's text; then its frame is not worth what taking it off might lose
SMALL = 1_000  # characters of a whole page, which then has no frame worth taking off
LARGE = 1_500_000  # characters, above which finding the article takes minutes
WIDE = 1_000  # cells in a row of a table, above which it takes minutes, too
MENU = 20  # links in a list, of which the article has nothing, such as the languages of an encyclopedia
STRETCH = 8  # letters by which text is found again

_SAYS_ARTICLE = re.compile(
    r"""og:type["'][^>]{0,40}article|"@type"\s*:\s*\[?\s*"(?:\w*Article|BlogPosting)"|"""
    r"""itemtype=["'][^"']{0,60}(?:Article|BlogPosting)""",
    re.I,
)
_FRAME = "a, nav, footer, aside, button, select"
_OWN_LINES = frozenset({"p", "item", "list", "quote", "head", "row", "code"})
_NO_LETTERS = re.compile(r"\W+")


def read(path: Path, options: ReadOptions) -> Document:
    html = text_in(path, options, declares=True)
    title = clean(html_title(html))
    losses = Losses()
    page, losses.hidden = parse_page(html)
    text = clean(_article_or_all(page, html, title))
    if not text.strip():
        raise NoTextError(
            f"{options.name} contains no text: the page is built by a program in the browser.",
            hint="Open the page in a browser and print it to PDF.",
        )
    losses.report(options)
    metadata: dict[str, Scalar] = {"file_name": options.name}
    if title:
        metadata["title"] = title
    return Document(text, metadata=metadata)


def page_text(html: str, title: str = "") -> str:
    """The article of a web page; where it has none, everything it shows, below its title. "" where it shows nothing."""
    return _article_or_all(parse_page(html)[0], html, title)


def _article_or_all(page: LexborHTMLParser, source: str, title: str) -> str:
    whole = whole_text(page)
    if whole and title not in whole:
        whole = f"{title}\n\n{whole}"
    if len(source) > LARGE or len(whole) <= SMALL or any(sum(1 for _ in row.iter()) > WIDE for row in page.css("tr")):
        return whole
    html = page_html(page)
    article = _article(html)
    stretches = _stretches(article)
    if _covered(text_without(html, _FRAME), stretches) < (ENOUGH_SAID if _SAYS_ARTICLE.search(source) else ENOUGH):
        return whole
    return text_without(_without_menus(html, stretches), "nav") if len(article) >= NEARLY_ALL * len(whole) else article


def _without_menus(html: str, stretches: frozenset[str]) -> str:
    """Without long lists of links that the article has nothing of."""
    tree = parse_html(html)
    for menu in reversed(tree.css("ul, ol")):  # the inner ones first
        links = [link.text() for link in menu.css("li > a:only-child")]
        text = menu.text()
        if len(links) >= MENU and 2 * len("".join(links)) > len(text) and _covered(text, stretches) < ENOUGH_SAID:
            menu.decompose()
    return tree.html or ""


def _stretches(article: str) -> frozenset[str]:
    letters = _NO_LETTERS.sub("", article)
    return frozenset(letters[start : start + STRETCH] for start in range(len(letters) - STRETCH + 1))


def _covered(text: str, stretches: frozenset[str]) -> float:
    """How much of the text is in the article with these stretches, 0 to 1; 0 for none."""
    text = _NO_LETTERS.sub("", text)
    found = sum(text[start : start + STRETCH] in stretches for start in range(0, len(text), STRETCH))
    return STRETCH * found / len(text) if text else 0.0


def _article(html: str) -> str:
    import trafilatura

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs whole pages that it finds no article in
    found = trafilatura.extract(
        with_tables_as_lines(html), output_format="xml", include_comments=False, include_tables=True, favor_precision=True
    )
    if not found:
        return ""
    try:
        root = parse(found.encode(), "the article")
    except DamagedFileError:  # nested more deeply than is read; the whole page is not
        return ""
    return "\n\n".join(block for element in root if local(element) == "main" for block in _blocks(element))


def _blocks(main: _Element) -> Iterator[str]:
    for block in main:
        if local(block) in ("list", "table"):
            items = (" ".join(_inline(item).split()) for item in block)
            mark = "- " if local(block) == "list" and block.get("rend") != "ol" else ""
            lines = [mark + item for item in items if item]
        elif local(block) == "code":
            lines = ["".join(block.itertext()).strip("\n")]
        else:
            lines = [said for line in _inline(block).split("\n") if (said := " ".join(line.split()))]
        if lines:
            yield "\n".join(lines)
        if block.tail and block.tail.strip():
            yield block.tail.strip()


def _inline(element: _Element) -> str:
    """With \\n for a line that ends on the screen."""
    out = [" ".join((element.text or "").split("\n"))]
    for child in element:
        inner = _inline(child)
        out.append(
            f"\n{inner}\n"
            if local(child) in _OWN_LINES
            else "\n"
            if local(child) == "lb"
            else f" {inner} "
            if local(child) == "cell"
            else inner
        )
        out.append(" ".join((child.tail or "").split("\n")))
    return "".join(out)
