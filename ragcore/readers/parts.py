"""The text of a document that has pages, put together so that every page knows its stretch of it."""

from __future__ import annotations

from collections.abc import Iterable

from ragcore.schema import Page


def joined(pages: Iterable[tuple[str, str]], separator: str = "\n\n") -> tuple[str, tuple[Page, ...]]:
    """(label, text) of each page to the whole text and its pages; a page without text is a stretch of length 0."""
    out: list[str] = []
    stretches: list[Page] = []
    length = 0
    for label, text in pages:
        if text and length:
            out.append(separator)
            length += len(separator)
        stretches.append(Page(label, length, length + len(text)))
        out.append(text)
        length += len(text)
    return "".join(out), tuple(stretches)
