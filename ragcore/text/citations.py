"""Citations in an answer: [3] is the third passage that it was made from, [3, 5] the third and the fifth."""

from __future__ import annotations

import re

NUMBER = r"\d{1,6}"  # an answer may be made from all passages of a library

CITATION = re.compile(rf"\[({NUMBER})\]")
CITATIONS = re.compile(rf"\[({NUMBER}(?:\s*[,;]\s*{NUMBER})*)\]")  # of one passage, or of several


def cited_in(text: str) -> list[int]:
    """The numbers that a text cites, in its order, as often as it does."""
    return [int(number) for numbers in CITATIONS.findall(text) for number in re.findall(NUMBER, numbers)]
