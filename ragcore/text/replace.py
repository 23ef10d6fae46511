"""Replacing what a pattern finds in a text, and what stands between."""

from __future__ import annotations

import re
from collections.abc import Callable


def replace_between(
    pattern: re.Pattern[str], text: str, found: Callable[[re.Match[str]], str], between: Callable[[str], str]
) -> str:
    """The text with `found` applied to every match of the pattern, and `between` to the stretches between them.

    >>> replace_between(re.compile(r"\\d+"), "a1b", lambda match: f"<{match.group()}>", str.upper)
    'A<1>B'
    """
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [between(text[end : match.start()]), found(match)]
        end = match.end()
    return "".join([*parts, between(text[end:])])
