"""What a model lists, one thing a line, without the numbers, bullets, quotation marks and fences it puts around."""

from __future__ import annotations

import re

_MARKED = r"(?:[-*•]|\(?\d{1,2}[.):])\s"  # "2001: A Space Odyssey" is not the item of a list
_MARK = re.compile(rf"^\s*{_MARKED}+")
_FENCE = re.compile(r"^\s*```")
_WRAPPED = re.compile(rf"(?<=[\w,])[ \t]*\n[ \t]+(?=\S)(?!{_MARKED}|```)")


def listed(reply: str) -> list[str]:
    """The items of a list, with their wrapped lines and without what is said around it; the lines of a reply without one.
    Those that have any words, each once, in order."""
    lines = [line for line in reply.splitlines() if not _FENCE.match(line)]
    if any(_MARK.match(line) for line in lines):
        lines = [line for line in _WRAPPED.sub(" ", "\n".join(lines)).split("\n") if _MARK.match(line)]
    bare = (_MARK.sub("", line).strip(" \t\"'`“”*") for line in lines)
    return list(dict.fromkeys(line for line in bare if line))
