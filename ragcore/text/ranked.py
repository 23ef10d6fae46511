"""The passages that a model's reply names as helpful: lines like "Doc: 2, Relevance: 7"."""

from __future__ import annotations

import re

MOST = 10.0


def ranked_in(reply: str, count: int) -> list[tuple[int, float]]:
    """(place from 0, relevance 0 to 10) of each of `count` passages that is named, in the order of the reply, each once.

    A number that no passage has is passed over; a relevance above 10 counts as 10, and one that is not given as 1.
    """
    found: dict[int, float] = {}
    for match in _LINE.finditer(reply):
        place = int(match["named"] or match["bare"]) - 1
        if 0 <= place < count:
            found.setdefault(place, min(float(match["relevance"] or match["value"] or 1), MOST))
    return list(found.items())


_LINE = re.compile(
    r"^\W*(?:doc|document|passage)\b\W*(?P<named>\d+)\b"
    r"(?:[^\w\n]*(?:relevance)?(?: score)?[^\w\n]*(?P<relevance>\d+(?:\.\d+)?))?"
    r"|^\W*(?P<bare>\d+)\b[^\w\n]*(?:relevance|score|[:=])[^\w\n]*(?P<value>\d+(?:\.\d+)?)",
    re.IGNORECASE | re.MULTILINE,
)
