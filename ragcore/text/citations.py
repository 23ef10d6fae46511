"""Citations in an answer: [3] is the third passage that it was made from, [3, 5] the third and the fifth."""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBER = r"\d{1,6}"  # an answer may be made from all passages of a library

CITATION = re.compile(rf"\[{_NUMBER}(?:\s*[,;]\s*{_NUMBER})*\](?!\()")  # of one passage or of several; no link
MARKS = re.compile(rf"(?:\s*{CITATION.pattern})+")  # those that stand together, and the space before them


def cited_in(text: str) -> list[int]:
    """The numbers that a text cites, in its order, as often as it does."""
    return [int(number) for cited in CITATION.findall(text) for number in re.findall(_NUMBER, cited)]


def recited(text: str, shown: Callable[[int], str]) -> str:
    """The text with what `shown` makes of each number that it cites in the place of the citation."""
    return CITATION.sub(lambda cited: "".join(map(shown, cited_in(cited.group()))), text)
