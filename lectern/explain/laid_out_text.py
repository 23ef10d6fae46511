"""A stretch of a document as cards of blocks: the slides of a presentation, or the headings, lists and tables
of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lectern.explain.text_blocks import Block, Layout, heading_levels, text_blocks
from lectern.jobs.file_rows import FileRow
from lectern.library import Library
from ragcore.errors import InputError
from ragcore.readers.encodings import decode
from ragcore.schema import Document
from ragcore.text.keywords import content_words

if TYPE_CHECKING:
    from ragcore.schema import Page

WEB_PAGES = (".html", ".htm", ".xhtml")
LAYOUTS: Mapping[str, Layout] = {
    **dict.fromkeys(
        (*WEB_PAGES, ".mht", ".mhtml", ".docx", ".docm", ".doc", ".odt", ".rtf", ".epub"), "article"
    ),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".eml", ".msg", ".mbox"), "mail"),
    **dict.fromkeys((".csv", ".tsv"), "sheet"),
}
MAX_HTML_BYTES = 3_000_000  # of a page whose headings are read
MAX_LINE_CHARS = 4_000  # a longer line is cut at the edge of the stretch
MAX_CONTENTS_CHARS = 500_000  # of a text whose headings are listed
MAX_COLUMNS = 8  # of a table in a chat


@dataclass(frozen=True, slots=True)
class Card:
    """`label` is that of the slide, or "" for a document without slides."""

    label: str
    blocks: tuple[Block, ...]


def layout_of(file: FileRow, document: Document) -> Layout | None:
    """None for a document whose text is shown as it is, such as source code."""
    if document.page_word in ("slide", "sheet"):
        return "slide" if document.page_word == "slide" else "sheet"
    return LAYOUTS.get(_suffix(file))


def lay_out(
    library: Library,
    file: FileRow,
    document: Document,
    layout: Layout,
    start: int,
    end: int,
    around: int,
) -> tuple[Card, ...]:
    """The cards of a passage with `around` characters on each side, to the ends of their lines or
    slides."""
    text = document.text
    if layout == "slide":
        slides = [page for page in document.pages if _is_visible(page, start, end, around)]
        return tuple(
            Card(page.label, tuple(text_blocks(text, page.start, page.end, layout))) for page in slides
        )
    first, last = _start_of_line(text, max(0, start - around)), _end_of_line(text, end + around)
    headings = _headings(library, file) if _suffix(file) in WEB_PAGES else None
    return (Card("", tuple(text_blocks(text, first, last, layout, headings))),)


def article_headings(library: Library, file: FileRow, document: Document) -> list[tuple[str, int]]:
    """The headings of an article with their positions; [] for another layout, and for a very long text."""
    text = document.text
    if layout_of(file, document) != "article" or len(text) > MAX_CONTENTS_CHARS:
        return []
    (card,) = lay_out(library, file, document, "article", 0, len(text), 0)
    return [
        (" ".join(text[block.start : block.end].split()), block.start)
        for block in card.blocks
        if block.kind == "heading"
    ]


def choose_columns(columns: Sequence[tuple[str, str]], question: str) -> tuple[int, ...]:
    """The numbers of at most MAX_COLUMNS of these columns, each with its name and the text of its cells.
    Those that the question names come first, then those with a cell that it names. Empty ones are left out.
    A first column without a name, or with a unit, has the names of the rows, and stays the first.

    >>> choose_columns([("Town", "Ostholm"), ("Area", "12"), ("Debt", "0"), ("Note", "")], "debt of Ostholm")
    (2, 0, 1)
    """
    asked = set(content_words(question))
    by_name: list[int] = []
    by_cell: list[int] = []
    others: list[int] = []
    for number, (name, cells) in enumerate(columns):
        if not cells.strip():
            continue
        if (number == 0 and (not name or name.startswith("("))) or asked.intersection(content_words(name)):
            by_name.append(number)
        elif asked.intersection(content_words(cells)):
            by_cell.append(number)
        else:
            others.append(number)
    return tuple([*by_name, *by_cell, *others][:MAX_COLUMNS])


def columns_of(text: str, table: Block, start: int, end: int) -> list[tuple[str, str]]:
    """The names and cells of the columns of a table, in its rows from `start` to `end`; without such rows, in
    all rows."""
    rows = [row for row in table.rows if any(cell and start < cell[1] and cell[0] < end for cell in row)]
    width = max(map(len, table.rows), default=0)
    names = table.columns or ("",) * width
    return [
        (names[number], " ".join(text[slice(*cell)] for row in rows or table.rows if (cell := row[number])))
        for number in range(width)
    ]


def _is_visible(slide: Page, start: int, end: int, around: int) -> bool:
    """Whether any part of a slide is in the passage or in the text around it."""
    return slide.start < max(end + around, start + 1) and max(0, start - around) < slide.end


def _suffix(file: FileRow) -> str:
    return PurePosixPath(file.path or file.name).suffix.lower()


def _start_of_line(text: str, start: int) -> int:
    return text.rfind("\n", max(0, start - MAX_LINE_CHARS), start) + 1 or max(0, start - MAX_LINE_CHARS)


def _end_of_line(text: str, end: int) -> int:
    found = text.find("\n", end, end + MAX_LINE_CHARS)
    return found if found >= 0 else min(len(text), end + MAX_LINE_CHARS)


def _headings(library: Library, file: FileRow) -> Mapping[str, int]:
    """Those of the original. Nothing else of it is parsed here, because that is the work of the reader's
    process."""
    try:
        with library.files.location(file).open("rb") as original:
            return heading_levels(decode(original.read(MAX_HTML_BYTES), file.name, declares=True))
    # It was deleted or changed by hand: the headings are recognised.
    except (OSError, InputError):
        return {}
