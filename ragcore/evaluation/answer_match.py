"""Whether a text says a known answer: holds it word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.text.keywords import WITHOUT_SPACES


def plain(text: str) -> str:
    """Its words in small letters with one space between: what punctuation and white space cannot change."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def holds(text: str, answers: Sequence[str]) -> bool:
    """Whether any of the answers stands in it, in whole words where spaces part them. An answer of signs alone must stand there
    as it is."""
    said = plain(text)
    return any(_stands(wanted, said) if (wanted := plain(answer)) else answer in text for answer in answers)


def _stands(wanted: str, said: str) -> bool:
    return wanted in said and re.search(_EDGE + wanted + _EDGE, said) is not None


_LETTER = rf"[^\W{WITHOUT_SPACES}]"
_EDGE = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # "1945" is a word in "1945年"
