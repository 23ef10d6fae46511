"""What a model lists, one thing a line, without the numbers, bullets, quotation marks and fences it puts around."""

from __future__ import annotations

import re

_MARK = re.compile(r"^\s*(?:(?:[-*•]|\(?\d+[.):])\s+|```.*$)")


def listed(reply: str) -> list[str]:
    """The lines of a reply that have any words, each once, in order."""
    lines = (_MARK.sub("", line).strip(" \t\"'`“”*") for line in reply.splitlines())
    return list(dict.fromkeys(line for line in lines if line))
