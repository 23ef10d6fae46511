"""Markdown of questions, answers, passages and notes, made safe, and parsed alike for every form of an export.

Links, pictures and HTML are text: nothing of an export leads elsewhere or loads anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markdown_it import MarkdownIt

from lectern.schema import Source
from ragcore.text.code_fences import rewrite_outside_code, rewrite_outside_spans

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
# What is escaped already stays so; citations, which lead nowhere, need no backslash. Brackets make links, pictures and their
# definitions; "<" makes HTML and bare links; "&" makes any letter; a lone backtick would pair with one of another line.
_HARMFUL = re.compile(r"\\.|\[\d+(?:[,;] ?\d+)*\](?!\s*[(:])|[\[\]<&`]|\\$")

# Without text_join, what was escaped stays apart from the text around it: \[1\] is no citation.
_NOT_PARSED = ["link", "image", "autolink", "reference", "html_inline", "html_block", "entity", "lheading", "text_join"]


def parser() -> MarkdownIt:
    """CommonMark with tables, in which a line break is one."""
    options = {"html": False, "breaks": True, "xhtmlOut": False}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(_NOT_PARSED)


def plain_markdown(text: str) -> str:
    """On one line, as it is."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))


def quoted_markdown(text: str) -> str:
    """As it is, line by line, in a block of quoted text."""
    return "\n".join(f"> {plain_markdown(line)}".rstrip() for line in text.strip().splitlines())


def safe_markdown(text: str) -> str:
    """An answer keeps its Markdown, but for what would link, load something or be taken for HTML: that is shown as it is."""
    # Without the languages of code: some draw diagrams, which may load pictures.
    return rewrite_outside_code(
        text.strip(), line=lambda line: rewrite_outside_spans(line, _harmless), language=lambda language: ""
    )


def listed_sources(heading: str, sources: Iterable[Source], place: Callable[[Source], str]) -> str:
    """A list of passages with their numbers and places; "" for none."""
    listed = "\n".join(
        f"- \\[{source.number}\\] **{plain_markdown(place(source))}**: {plain_markdown(source.text)}" for source in sources
    )
    return f"{heading}:\n\n{listed}" if listed else ""


def _harmless(text: str) -> str:
    return _HARMFUL.sub(lambda found: found.group() if len(found.group()) > 1 else f"\\{found.group()}", text)
