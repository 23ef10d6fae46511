"""The text of a document that has pages, put together so that every page knows its stretch of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ragcore.schema import Page


def apart(before: str, after: str) -> str:
    return "\n\n"


def joined(pages: Iterable[tuple[str, str]], between: Callable[[str, str], str] = apart) -> tuple[str, tuple[Page, ...]]:
    """(label, text) of each page to the whole text and its pages; a page without text is a stretch of length 0.

    `between` gives what stands between the texts of two pages.
    """
    out: list[str] = []
    stretches: list[Page] = []
    length = 0
    last = ""
    for label, text in pages:
        if text and length:
            separator = between(last, text)
            out.append(separator)
            length += len(separator)
        stretches.append(Page(label, length, length + len(text)))
        out.append(text)
        length += len(text)
        last = text or last
    return "".join(out), tuple(stretches)
