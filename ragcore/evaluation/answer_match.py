"""Checks whether a text contains a known answer word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.text.keywords import WITHOUT_SPACES


def plain(text: str) -> str:
    """The words of a text in small letters, with one space between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether the text contains any of the answers, as whole words in scripts with spaces. An answer without
    words, such as "§", must occur character for character."""
    words = plain(text)
    return any(_contains(words, match) if (match := plain(answer)) else answer in text for answer in answers)


def _contains(words: str, answer: str) -> bool:
    return answer in words and re.search(_EDGE + answer + _EDGE, words) is not None


_LETTER = rf"[^\W{WITHOUT_SPACES}]"
_EDGE = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # "1945" is a word in "1945年"
