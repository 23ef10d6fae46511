"""Joins the texts of pages, and records the span of each page."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ragcore.schema import Page


def newlines(before: str, after: str) -> str:
    return "\n\n"


def distinct_margins(texts: Iterable[str]) -> list[str]:
    """The different headers or footers, without those that have no letters, such as the page's number."""
    return [text for text in dict.fromkeys(texts) if any(map(str.isalpha, text))]


def join_pages(
    pages: Iterable[tuple[str, str]], between: Callable[[str, str], str] = newlines
) -> tuple[str, tuple[Page, ...]]:
    """From (label, text) of each page to the whole text and its pages. A page without text has an empty span.

    `between` returns the separator of the texts of two pages.
    """
    out: list[str] = []
    spans: list[Page] = []
    length, last = 0, ""
    for label, text in pages:
        if text and length:
            out.append(between(last, text))
            length += len(out[-1])
        spans.append(Page(label, length, length + len(text)))
        out.append(text)
        length += len(text)
        last = text or last
    return "".join(out), tuple(spans)
