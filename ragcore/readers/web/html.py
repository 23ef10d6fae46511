"""Web pages: the article without its frame, or the whole page if it has no article, such as a list or a
table."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, read_text
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.web.html_text import (
    html_title,
    page_html,
    parse_page,
    text_without,
    with_tables_as_lines,
)
from ragcore.readers.web.html_text import page_text as whole_text
from ragcore.readers.web.nesting import parse_html
from ragcore.readers.web.safe_xml import local, parse
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    from lxml.etree import _Element
    from selectolax.lexbor import LexborHTMLParser

SUFFIXES = (".html", ".htm", ".xhtml")
PARSERS = ("lxml.html", "selectolax.lexbor", "trafilatura")

MIN_COVERAGE = 0.7  # of the page's text outside links; with less, the article is probably incomplete
MIN_DECLARED = 0.1  # the same if the page declares an article, as the rest are comments and teasers
NEARLY_ALL = 2 / 3  # of the page's text; with more, the whole page is read
MIN_PAGE = 1_000  # characters; all of a smaller page is read
MAX_PAGE = 1_500_000  # characters; in a larger page the search for the article takes minutes
MAX_ROW = 1_000  # cells in a table row; with more, the search takes minutes too
MENU_LINKS = 20  # links in a list outside the article, such as the languages of an encyclopedia
SAMPLE_LETTERS = 8  # letters in each sample for the comparison of two texts

_DECLARES_ARTICLE = re.compile(
    r"""og:type["'][^>]{0,40}article|"@type"\s*:\s*\[?\s*"(?:\w*Article|BlogPosting)"|"""
    r"""itemtype=["'][^"']{0,60}(?:Article|BlogPosting)""",
    re.I,
)
_FRAME = "a, nav, footer, aside, button, select"
_OWN_LINES = frozenset({"p", "item", "list", "quote", "head", "row", "code"})
_NO_LETTERS = re.compile(r"\W+")


def read(path: Path, options: ReadOptions) -> Document:
    html = read_text(path, options, declares=True)
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
    """The article of a web page, or else its title and all text that it shows. "" if it shows nothing."""
    return _article_or_all(parse_page(html)[0], html, title)


def _article_or_all(page: LexborHTMLParser, source: str, title: str) -> str:
    whole = whole_text(page)
    if whole and title not in whole:
        whole = f"{title}\n\n{whole}"
    if (
        len(source) > MAX_PAGE
        or len(whole) <= MIN_PAGE
        or any(sum(1 for _ in row.iter()) > MAX_ROW for row in page.css("tr"))
    ):
        return whole
    html = page_html(page)
    article = _article(html)
    stretches = _stretches(article)
    if _coverage(text_without(html, _FRAME), stretches) < (
        MIN_DECLARED if _DECLARES_ARTICLE.search(source) else MIN_COVERAGE
    ):
        return whole
    return (
        text_without(_without_menus(html, stretches), "nav")
        if len(article) >= NEARLY_ALL * len(whole)
        else article
    )


def _without_menus(html: str, stretches: frozenset[str]) -> str:
    """The page without long lists of links that are not in the article."""
    tree = parse_html(html)
    for menu in reversed(tree.css("ul, ol")):  # the inner ones first
        links = [link.text() for link in menu.css("li > a:only-child")]
        text = menu.text()
        if (
            len(links) >= MENU_LINKS
            and 2 * len("".join(links)) > len(text)
            and _coverage(text, stretches) < MIN_DECLARED
        ):
            menu.decompose()
    return tree.html or ""


def _stretches(article: str) -> frozenset[str]:
    letters = _NO_LETTERS.sub("", article)
    return frozenset(
        letters[start : start + SAMPLE_LETTERS] for start in range(len(letters) - SAMPLE_LETTERS + 1)
    )


def _coverage(text: str, stretches: frozenset[str]) -> float:
    """The share of the text that is in the article with these stretches, 0 to 1; 0 for no text."""
    text = _NO_LETTERS.sub("", text)
    matches = sum(
        text[start : start + SAMPLE_LETTERS] in stretches for start in range(0, len(text), SAMPLE_LETTERS)
    )
    return SAMPLE_LETTERS * matches / len(text) if text else 0.0


def _article(html: str) -> str:
    import trafilatura

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs whole pages without an article
    article = trafilatura.extract(
        with_tables_as_lines(html),
        output_format="xml",
        include_comments=False,
        include_tables=True,
        favor_precision=True,
    )
    if not article:
        return ""
    try:
        root = parse(article.encode(), "the article")
    except DamagedFileError:  # nested too deeply; the whole page can still be read
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
            lines = [words for line in _inline(block).split("\n") if (words := " ".join(line.split()))]
        if lines:
            yield "\n".join(lines)
        if block.tail and block.tail.strip():
            yield block.tail.strip()


def _inline(element: _Element) -> str:
    """The text of an element, with \\n only where a line ends on the screen."""
    out = (element.text or "").replace("\n", " ")
    for child in element:
        inner, tag = _inline(child), local(child)
        edge = "\n" if tag in _OWN_LINES else " " if tag == "cell" else ""
        out += "\n" if tag == "lb" else f"{edge}{inner}{edge}"
        out += (child.tail or "").replace("\n", " ")
    return out
