"""Code in Markdown: blocks between fences, and spans in a line (CommonMark 0.31, sections 4.5 and 6.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ragcore.text.replace import replace_between

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def mark_fenced(lines: Iterable[str]) -> Iterator[bool]:
    """For each line, whether it belongs to a fenced block of code, including the fences."""
    opening = ""  # the mark that opened the current block
    for line in lines:
        inside = bool(opening)
        if opening:
            opening = "" if _closes(line, opening) else opening
        elif fence := _opening_fence(line):
            opening, inside = fence["mark"], True
        yield inside


def rewrite_outside_code(text: str, *, line: Callable[[str], str], language: Callable[[str], str]) -> str:
    """The text with `line` applied to the lines outside blocks of code, and `language` to what follows a
    fence.

    Blocks lose their indentation and are closed at the end of the text. Without that, a Markdown renderer
    ends a block at the end of the list that it is in, and renders the rest of the code as text.
    """
    out, mark, indent = [], "", 0
    for each in text.splitlines():
        if mark:
            out.append(re.sub(rf"^ {{0,{indent}}}", "", each))
            mark = "" if _closes(out[-1], mark) else mark
        elif fence := _opening_fence(each):
            mark, indent = fence["mark"], len(fence["indent"])
            out.append(mark + language(fence["info"].strip()))
        else:
            out.append(line(each))
    return "\n".join([*out, mark] if mark else out)


def rewrite_outside_spans(line: str, rewrite: Callable[[str], str]) -> str:
    """The line with `rewrite` applied to everything but code such as `this`."""
    return replace_between(_CODE_SPAN, line, lambda span: span.group(), rewrite)


def _opening_fence(line: str) -> re.Match[str] | None:
    fence = _FENCE.match(line)
    return None if fence and fence["mark"][0] == "`" and "`" in fence["info"] else fence


def _closes(line: str, mark: str) -> bool:
    fence = _FENCE.match(line)
    return fence is not None and fence["mark"].startswith(mark) and not fence["info"].strip()
