"""Parses the verdict in a judge's reply in any form: in lower case, in bold, behind a label, as "4/5"."""

from __future__ import annotations

import re

_LABEL = (
    r"^\W*(?:(?:my |the |final |overall )*(?:verdict|answer|judge?ment|decision|winner|choice|result"
    r"|response)\W+(?:is\W+)?)?"
)
# "no statement" may be the beginning of either
_YES_NO = re.compile(_LABEL + r"(yes|no(?![^\S\n]+\w))\b", re.IGNORECASE)
_NO = re.compile(_LABEL + r"no\b(?!\s+(?:doubt\b|question\W*[^\w\s]))", re.IGNORECASE)
_IN_CAPITALS = re.compile(r"\b(YES|NO)\b")
_WORSE = (
    r"(?!\W+(?:is|was)(?:n['’]t\b|\W+(?:(?:the|much|far|\w+ly)\W+)*(?:worse|weaker|less|inferior|wrong"
    r"|not?)\b))"
)
_BETTER = re.compile(
    _LABEL + r"(?:(?:answer|response)\W+)?(a|b|tie)\b(?!\s+(?:better|good|right)\b)" + _WORSE, re.IGNORECASE
)
_WINS = re.compile(
    rf"\b(?:[Aa]nswer|[Rr]esponse)\W+([AB])\b{_WORSE}\W+(?:is|wins|was)\b|\[\[([ABC])\]\]|\b(TIE)\b"
)
_RANGE = re.compile(r"\b(?:from\s+)?1\s*(?:-|–|to|bis|à)\s*5\b")
_NUMBER = re.compile(r"(?<![\w.,-])(\d+(?:[.,]\d+)?)(?:\s*(?:/|out of|of)\s*(\d+))?(?![\w-])")
_LEADING = re.compile(rf"\W*(?>{_NUMBER.pattern})(?![^\S\n]+(?!points?\b|because\b|since\b|as\b)\w)")
_GRADE = re.compile(r"\b(?:score|grade|rating)\b\D{0,12}" + _NUMBER.pattern, re.IGNORECASE)

MAX_GRADE = 5.0


def parse_yes_no(reply: str) -> bool | None:
    """True for yes, False for no, None if the reply has neither or both. The word at the beginning counts, or
    a single word in capitals. The "no" of "no question" counts only if there is no such word."""
    if match := _YES_NO.match(reply):
        return match.group(1).lower() == "yes"
    capitals = set(_IN_CAPITALS.findall(reply))
    if len(capitals) == 1:
        return capitals == {"YES"}
    return False if _NO.match(reply) else None


def parse_grade(reply: str) -> float | None:
    """1.0 to 5.0; None without a number in this range. "8/10" is 4.0. The number is the one at the beginning,
    unless it counts something, or the one behind "score", or the first in the first line."""
    text = _RANGE.sub("", reply.strip())
    match = _LEADING.match(text) or _GRADE.search(text) or _NUMBER.search(text.partition("\n")[0])
    if match is None:
        return None
    highest = float(match.group(2) or MAX_GRADE)
    number = float(match.group(1).replace(",", ".")) * MAX_GRADE / (highest or MAX_GRADE)
    return number if 1 <= number <= MAX_GRADE else None


def parse_preference(reply: str) -> float | None:
    """1.0 if the first of two answers is better, 0.0 for the second, 0.5 for a tie; None for none of
    these."""
    match = _BETTER.match(reply) or _WINS.search(reply)
    if match is None:
        return None
    return {"a": 1.0, "b": 0.0}.get(next(filter(None, match.groups())).lower(), 0.5)


def parse_reason(reply: str) -> str:
    """The text below the first line, or a reply of one line."""
    first, _, rest = reply.strip().partition("\n")
    return rest.strip() or first
