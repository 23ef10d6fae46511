"""Safe Markdown of questions, answers, passages and notes, and its parser for all exports.

Links, pictures and HTML become text: an export has no links to other places, and loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markdown_it import MarkdownIt

from lectern.export.excerpts import quoted_excerpt
from lectern.schema import Source
from ragcore.text.code_fences import rewrite_outside_code, rewrite_outside_spans

_BLOCK_MARK = re.compile(r"^(\d*)([-+=.)])")  # at the start of a list or the underline of a heading
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
# Escaped characters and citations do not change. Brackets make links, pictures and their definitions; "<"
# makes HTML and bare links; "&" makes any letter; a single backtick would pair with one of another line.
_HARMFUL = re.compile(r"\\.|\[\d+(?:[,;] ?\d+)*\](?!\s*[(:])|[\[\]<&`]|\\$")

# Without text_join, escaped characters are tokens of their own, so that \[1\] is no citation.
_NOT_PARSED = [
    "link",
    "image",
    "autolink",
    "reference",
    "html_inline",
    "html_block",
    "entity",
    "lheading",
    "text_join",
]


def parser() -> MarkdownIt:
    """CommonMark with tables. Each line break is a hard break."""
    options = {"html": False, "breaks": True, "xhtmlOut": False}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(_NOT_PARSED)


def plain_markdown(text: str) -> str:
    """Text on one line, with all Markdown escaped."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))


def quoted_markdown(text: str) -> str:
    """Text in a block quote, with all Markdown escaped."""
    return "\n".join(f"> {plain_markdown(line)}".rstrip() for line in text.strip().splitlines())


def safe_markdown(text: str) -> str:
    """The Markdown of an answer, with links, pictures and HTML escaped."""

    def escape(line: str) -> str:
        return _HARMFUL.sub(
            lambda match: match.group() if len(match.group()) > 1 else f"\\{match.group()}", line
        )

    # Without the languages of code, because some draw diagrams, which may load pictures.
    return rewrite_outside_code(
        text.strip(), line=lambda line: rewrite_outside_spans(line, escape), language=lambda language: ""
    )


def listed_sources(
    heading: str, sources: Iterable[Source], place: Callable[[Source], str], answer: str
) -> str:
    """A heading, and below it the sources with their numbers, places and what `answer` quotes from them; ""
    for none."""
    items = "\n".join(
        f"- \\[{source.number}\\] **{plain_markdown(place(source))}**: "
        + _in_item(quoted_excerpt(source.text, answer, source.number))
        for source in sources
    )
    return f"### {plain_markdown(heading)}\n\n{items}" if items else ""


def _in_item(text: str) -> str:
    """The paragraphs and lines of a text in a list item, with all Markdown escaped."""
    first, *others = text.split("\n")
    lines = [plain_markdown(first)]
    for other in others:
        line = _BLOCK_MARK.sub(r"\1\\\2", plain_markdown(other))
        lines.append(f"  {line}" if line else "")
        if line and lines[-2]:
            lines[-2] += "\\"  # a line break
    return "\n".join(lines)
