"""The keywords of a model's reply."""

from __future__ import annotations

import re


def keywords_in(reply: str) -> list[str]:
    """The keywords of a reply like "KEYWORDS: a, b, c", each once; or the lines of another reply."""
    marked = _MARK.search(reply)
    listed = reply[marked.end() :] if marked else reply
    keywords = (_BULLET.sub("", keyword).strip(" \t.\"'*`") for keyword in re.split(r"[,;\n]", listed))
    return list(dict.fromkeys(filter(None, keywords)))


_MARK = re.compile(r"keywords\W*?:\W*", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
