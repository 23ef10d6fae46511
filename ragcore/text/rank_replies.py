"""Parses the ranking of passages in a model's reply: lines such as "Doc: 2, Relevance: 7"."""

from __future__ import annotations

import re

MAX_RELEVANCE = 10.0


def parse_ranking(reply: str, count: int) -> list[tuple[int, float]]:
    """(place from 0, relevance 0 to 10) of each passage in the reply, in its order, each once.

    Numbers above `count` are ignored. A relevance is cut to 0 to 10, and a missing one counts as 1.
    """
    return [
        (place, min(max(relevance, 0.0), MAX_RELEVANCE)) for place, relevance in parse_scores(reply, count)
    ]


def parse_scores(reply: str, count: int) -> list[tuple[int, float]]:
    """Like `parse_ranking`, with each relevance on the scale of the reply."""
    ranked: dict[int, float] = {}
    for match in _NAMED.finditer(reply):
        place = int(match["both"] or match["named"] or match["bare"]) - 1
        if 0 <= place < count:
            ranked.setdefault(place, float(match["of_both"] or match["relevance"] or match["value"] or 1))
    return list(ranked.items())


_DOC = r"\b(?:doc|document|passage)\b\W*"
_BETWEEN = r"[^\w\n]{0,15}"
_VALUE = r"(?:(?<=[\s:=])-)?\d+(?:\.\d+)?"  # a dash after a space or a colon is a sign, any other divides
# the full form anywhere, "**Doc 2** - relevance score: 7.5/10"; shorter ones at the beginning of a line
_NAMED = re.compile(
    rf"(?:^[^\w\n]*)?{_DOC}(?P<both>\d{{1,9}})\b\W+relevance\b[^\d\n]{{0,15}}?(?P<of_both>{_VALUE})"
    rf"|^[^\w\n]*{_DOC}(?P<named>\d{{1,9}})\b"
    # not "document 2 looks best"
    rf"(?:(?:{_BETWEEN}score)?{_BETWEEN}?(?P<relevance>{_VALUE})|(?=[ \t]*(?:[^\w\s]|$)))"
    rf"|^[^\w\n]*(?P<bare>\d{{1,9}})\b{_BETWEEN}(?:relevance|score|[:=]){_BETWEEN}?(?P<value>{_VALUE})",
    re.IGNORECASE | re.MULTILINE,
)
