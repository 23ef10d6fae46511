"""The words of a Markdown heading without its pictures, whose alternative texts are no names."""

from __future__ import annotations

import re

_PICTURE = re.compile(r"!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])?|<img\b[^>\n]*>", re.IGNORECASE)


def heading_words(heading: str) -> str:
    """The heading without pictures; "" if it is nothing else.

    >>> heading_words("![A cliff](cliff.png) The railway")
    'The railway'
    """
    return " ".join(_PICTURE.sub(" ", heading).split())
