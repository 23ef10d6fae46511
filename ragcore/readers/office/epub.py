"""E-books: the chapters in reading order (EPUB 3.3: META-INF/container.xml names the package, its spine the
chapters)."""

from __future__ import annotations

import posixpath
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, NoTextError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.losses import Losses
from ragcore.readers.office.package import Package, damaged_error, package, title_and_author
from ragcore.readers.page_spans import join_pages
from ragcore.readers.web.html_text import html_title, page_html, page_text, parse_page, text_without
from ragcore.readers.web.safe_xml import local
from ragcore.schema import Document

SUFFIXES = (".epub",)
PARSERS = ("lxml.html", "selectolax.lexbor", "trafilatura")

LISTED = 5  # missing chapters in a message
_PAGES = (".xhtml", ".html", ".htm")
# A line in brackets stands for something that the book was made without: "[Image unavailable.]"
_PLACEHOLDER = re.compile(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}")


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        book = _package_part(parts, options.name)
        chapters, absent = _spine(parts, book)
        metadata = {"file_name": options.name, **title_and_author(parts.xml(book))}
        _refuse_locked(parts, chapters, options.name)
        pages: list[tuple[str, str]] = []
        losses, css = Losses(), _style_sheets(parts)
        for number, chapter in enumerate(chapters, 1):
            with suppress(EmptyFileError):  # a chapter without text
                html = decode(parts.bytes(chapter), options.name, declares=True)
                page, hidden = parse_page(html, css=css)
                losses.add_hidden(hidden)
                text = clean(page_text(page)).strip()
                if text:
                    words = clean(text_without(page_html(page), "img")).strip()
                    pages.append((_label(html_title(html), words, len(pages) + 1), text))
            options.progress(number, len(chapters))
    text, spans = join_pages(pages)
    if not text:
        raise NoTextError(
            f"{options.name} is an e-book with no text in it.",
            hint="Its pages are pictures: have their text recognised (OCR).",
        )
    losses.report(options)
    if absent:
        missing = ", ".join(absent[:LISTED]) + (", …" if len(absent) > LISTED else "")
        options.on_loss(
            DamagedFileError(
                f"Chapters of {options.name} are missing in the file: {missing}.",
                hint="Download or copy the book again, or save it again in the program it comes from.",
            )
        )
    return Document(text, metadata=metadata, pages=spans, page_word="chapter")


def _style_sheets(parts: Package) -> str:
    """The style sheets of the book. Those of different chapters rarely differ."""
    sheets = []
    for part in parts.parts:
        if part.lower().endswith(".css"):
            with suppress(DamagedFileError):  # the chapters can be read without it
                sheets.append(parts.bytes(part).decode("utf-8", "replace"))
    return "\n".join(sheets)


def _package_part(parts: Package, name: str) -> str:
    if "META-INF/container.xml" in parts:
        for element in parts.xml("META-INF/container.xml").iter():
            path = str(element.get("full-path")) if local(element) == "rootfile" else ""
            if path in parts:
                return path
    book = next((part for part in parts.parts if part.endswith(".opf")), None)
    if book is None:
        raise damaged_error(name, "its content is not an e-book")
    return book


def _spine(parts: Package, book: str) -> tuple[list[str], list[str]]:
    """The chapters, and those that are missing in the file."""
    folder = posixpath.dirname(book)
    items: dict[str, str] = {}
    order: list[str] = []
    for element in parts.xml(book).iter():
        kind = local(element)
        if kind == "item":
            href = unquote((element.get("href") or "").partition("#")[0])
            items[element.get("id") or ""] = posixpath.normpath(posixpath.join(folder, href))
        elif kind == "itemref":
            order.append(element.get("idref") or "")
    named = [items.get(identity, identity) for identity in order]
    chapters = [path for path in named if path in parts]
    missing = [path for path in named if path not in parts and ":/" not in path and path] if chapters else []
    return chapters or [path for path in items.values() if path in parts and path.endswith(_PAGES)], missing


def _refuse_locked(parts: Package, chapters: list[str], name: str) -> None:
    """Raises EncryptedFileError for encrypted chapters, a bookshop's copy protection. Encrypted fonts do no
    harm."""
    if "META-INF/encryption.xml" not in parts:
        return
    for element in parts.xml("META-INF/encryption.xml").iter():
        if local(element) == "CipherReference" and unquote(element.get("URI") or "") in chapters:
            raise EncryptedFileError(
                f"{name} is locked by the copy protection of the shop it comes from.",
                hint="Only that shop's own program can open it.",
            )


def _label(title: str, words: str, number: int) -> str:
    """The first line of a chapter if it is short, or else its number. `words` is its text without those that
    stand for pictures."""
    lines = (line for line in words.splitlines() if line.strip() and not _PLACEHOLDER.fullmatch(line.strip()))
    first = next(lines, "")
    is_title = first == title and len(first) <= 80
    return first if first and (is_title or len(first) <= 60) else str(number)
