"""Parses the items of a list in a model's reply, without numbers, bullets, quotation marks and fences."""

from __future__ import annotations

import re

_MARKED = r"(?:[-*•]|\(?\d{1,2}[.):])\s"  # "2001: A Space Odyssey" is not the item of a list
_MARK = re.compile(rf"^\s*{_MARKED}+")
_FENCE = re.compile(r"^\s*```")
_WRAPPED = re.compile(rf"(?<=[\w,])[ \t]*\n[ \t]+(?=\S)(?!{_MARKED}|```)")


def parse_list(reply: str) -> list[str]:
    """The items of the list in order, each once, with wrapped lines joined. A reply without a list gives all
    its lines."""
    lines = [line for line in reply.splitlines() if not _FENCE.match(line)]
    if any(_MARK.match(line) for line in lines):
        lines = [line for line in _WRAPPED.sub(" ", "\n".join(lines)).split("\n") if _MARK.match(line)]
    bare = (_MARK.sub("", line).strip(" \t\"'`“”*") for line in lines)
    return list(dict.fromkeys(line for line in bare if line))
