"""Web pages: the article without its frame; the whole page where there is no article, such as a list or a table."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions
from ragcore.readers.decode import clean, decode
from ragcore.readers.markup import html_text, html_title
from ragcore.schema import Document, Scalar

SUFFIXES = (".html", ".htm", ".xhtml")

_BORDERS = re.compile(r"(?m)^\| | \|[ \t]*$")

ENOUGH = 0.35  # of the whole page's text; an article that is less has probably lost something
SMALL = 1_000  # characters of a whole page, which then has no frame worth taking off
LARGE = 1_500_000  # characters, above which finding the article takes minutes


def read(path: Path, options: ReadOptions) -> Document:
    html = decode(path.read_bytes(), options.name, declares=True)
    whole = clean(html_text(html))
    article = clean(_article(html)) if len(html) <= LARGE and len(whole) > SMALL else ""
    text = article if len(article) >= ENOUGH * len(whole) else whole
    if not text.strip():
        raise NoTextError(
            f"{options.name} holds no text: the page is built by a program in the browser.",
            hint="Open the page in a browser and print it to PDF.",
        )
    metadata: dict[str, Scalar] = {"file_name": options.name}
    if title := clean(html_title(html)):
        metadata["title"] = title
    return Document(text, metadata=metadata)


def _article(html: str) -> str:
    import trafilatura

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs whole pages that it finds no article in
    found = trafilatura.extract(html, include_comments=False, include_tables=True, favor_recall=True)
    return _BORDERS.sub("", found or "")
