"""Blocks of code in Markdown that stand between fences (CommonMark 0.31, section 4.5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


def fenced(lines: Iterable[str]) -> Iterator[bool]:
    """Of each line, whether it belongs to such a block; the fences do, too."""
    opening = ""  # the mark that opened the block we are in
    for line in lines:
        mark = _FENCE.match(line)
        inside = bool(opening)
        if opening:
            if mark and mark[1].startswith(opening) and not mark[2].strip():
                opening = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            opening, inside = mark[1], True
        yield inside
