"""E-books: the chapters in reading order (EPUB 3.3: META-INF/container.xml names the package, its spine the order)."""

from __future__ import annotations

import posixpath
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, NoTextError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.losses import Losses
from ragcore.readers.office.package import Package, damaged, package
from ragcore.readers.page_spans import joined
from ragcore.readers.web.html_text import html_text, html_title
from ragcore.readers.web.safe_xml import local
from ragcore.schema import Document, Scalar

SUFFIXES = (".epub",)
PARSERS = ("lxml.html", "selectolax.lexbor", "trafilatura")

LISTED = 5  # missing chapters that are named
_PAGES = (".xhtml", ".html", ".htm")


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        book = _package_part(parts, options.name)
        chapters, missing, metadata = _spine(parts, book, options.name)
        _refuse_locked(parts, chapters, options.name)
        pages: list[tuple[str, str]] = []
        losses, css = Losses(), _style_sheets(parts)
        for number, chapter in enumerate(chapters, 1):
            with suppress(EmptyFileError):  # as many chapters are
                html = decode(parts.bytes(chapter), options.name, declares=True)
                text = clean(html_text(html, css=css, on_hidden=losses.add_hidden)).strip()
                if text:
                    pages.append((_label(html, text, len(pages) + 1), text))
            options.progress(number, len(chapters))
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} is an e-book with no text in it.", hint="Its pages are pictures: have their text recognised (OCR)."
        )
    losses.report(options)
    if missing:
        options.left_out(_without(missing, options.name))
    return Document(text, metadata=metadata, pages=stretches, page_word="chapter")


def _style_sheets(parts: Package) -> str:
    """Those of all chapters, which hardly ever differ."""
    sheets = []
    for part in parts.parts:
        if part.lower().endswith(".css"):
            with suppress(DamagedFileError):  # the words do not depend on it
                sheets.append(parts.bytes(part).decode("utf-8", "replace"))
    return "\n".join(sheets)


def _package_part(parts: Package, name: str) -> str:
    if "META-INF/container.xml" in parts:
        for element in parts.xml("META-INF/container.xml").iter():
            path = str(element.get("full-path")) if local(element) == "rootfile" else ""
            if path in parts:
                return path
    found = next((part for part in parts.parts if part.endswith(".opf")), None)
    if found is None:
        raise damaged(name, "its content is not an e-book")
    return found


def _spine(parts: Package, book: str, name: str) -> tuple[list[str], list[str], dict[str, Scalar]]:
    """The chapters, those that are named and are not there, and what is said of the book."""
    folder = posixpath.dirname(book)
    items: dict[str, str] = {}
    order: list[str] = []
    metadata: dict[str, Scalar] = {"file_name": name}
    for element in parts.xml(book).iter():
        kind = local(element)
        if kind == "item":
            href = unquote((element.get("href") or "").partition("#")[0])
            items[element.get("id") or ""] = posixpath.normpath(posixpath.join(folder, href))
        elif kind == "itemref":
            order.append(element.get("idref") or "")
        elif kind in ("title", "creator") and (element.text or "").strip():
            metadata.setdefault("title" if kind == "title" else "author", " ".join((element.text or "").split()))
    named = [items.get(identity, identity) for identity in order]
    chapters = [path for path in named if path in parts]
    missing = [path for path in named if path not in parts and ":/" not in path and path] if chapters else []
    return chapters or [path for path in items.values() if path in parts and path.endswith(_PAGES)], missing, metadata


def _without(chapters: list[str], name: str) -> DamagedFileError:
    missing = ", ".join(chapters[:LISTED]) + (", …" if len(chapters) > LISTED else "")
    return DamagedFileError(
        f"Chapters of {name} are missing in the file: {missing}.",
        hint="Download or copy the book again, or save it again in the program it comes from.",
    )


def _refuse_locked(parts: Package, chapters: list[str], name: str) -> None:
    """Fonts are often scrambled, which does no harm; scrambled chapters are a bookshop's copy protection."""
    if "META-INF/encryption.xml" not in parts:
        return
    for element in parts.xml("META-INF/encryption.xml").iter():
        if local(element) == "CipherReference" and unquote(element.get("URI") or "") in chapters:
            raise EncryptedFileError(
                f"{name} is locked by the copy protection of the shop it comes from.",
                hint="Only that shop's own program can open it.",
            )


def _label(html: str, text: str, number: int) -> str:
    title = html_title(html)
    first = text.split("\n", 1)[0]
    return title if title and len(title) <= 80 and title == first else first if len(first) <= 60 else str(number)
