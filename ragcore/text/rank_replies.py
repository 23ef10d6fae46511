"""The passages that a model's reply names as helpful: lines like "Doc: 2, Relevance: 7"."""

from __future__ import annotations

import re

MOST = 10.0


def ranked_in(reply: str, count: int) -> list[tuple[int, float]]:
    """(place from 0, relevance 0 to 10) of each of `count` passages that is named, in the order of the reply, each once.

    A number that no passage has is passed over. A relevance above 10 counts as 10, one below 0 as 0, and one that is not given
    as 1.
    """
    return [(place, min(max(relevance, 0.0), MOST)) for place, relevance in named_in(reply, count)]


def named_in(reply: str, count: int) -> list[tuple[int, float]]:
    """As `ranked_in`, with each relevance as it is said, on whatever scale."""
    found: dict[int, float] = {}
    for match in _NAMED.finditer(reply):
        place = int(match["both"] or match["named"] or match["bare"]) - 1
        if 0 <= place < count:
            found.setdefault(place, float(match["of_both"] or match["relevance"] or match["value"] or 1))
    return list(found.items())


_DOC = r"\b(?:doc|document|passage)\b\W*"
_BESIDE = r"[^\w\n]{0,15}"
_VALUE = r"(?:(?<=[\s:=])-)?\d+(?:\.\d+)?"  # a sign stands behind a space or a colon; other dashes divide
_NAMED = re.compile(  # in full anywhere, "**Doc 2** - relevance score: 7.5/10"; more briefly at the beginning of a line
    rf"(?:^[^\w\n]*)?{_DOC}(?P<both>\d{{1,9}})\b\W+relevance\b[^\d\n]{{0,15}}?(?P<of_both>{_VALUE})"
    rf"|^[^\w\n]*{_DOC}(?P<named>\d{{1,9}})\b"
    rf"(?:(?:{_BESIDE}score)?{_BESIDE}?(?P<relevance>{_VALUE})|(?=[ \t]*(?:[^\w\s]|$)))"  # not "document 2 looks best"
    rf"|^[^\w\n]*(?P<bare>\d{{1,9}})\b{_BESIDE}(?:relevance|score|[:=]){_BESIDE}?(?P<value>{_VALUE})",
    re.IGNORECASE | re.MULTILINE,
)
