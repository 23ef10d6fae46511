"""Replacing the matches of a pattern in a text, and the text between them."""

from __future__ import annotations

import re
from collections.abc import Callable


def replace_between(
    pattern: re.Pattern[str], text: str, match: Callable[[re.Match[str]], str], between: Callable[[str], str]
) -> str:
    """The text with `match` applied to every match of the pattern, and `between` to all text between them.

    >>> replace_between(re.compile(r"\\d+"), "a1b", lambda match: f"<{match.group()}>", str.upper)
    'A<1>B'
    """
    parts, end = [], 0
    for each in pattern.finditer(text):
        parts += [between(text[end : each.start()]), match(each)]
        end = each.end()
    return "".join([*parts, between(text[end:])])
