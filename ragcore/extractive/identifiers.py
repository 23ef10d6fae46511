"""Identifiers in a question: numbers, codes, references and dates, which a passage has or lacks.

They are compared by equality, because vectors put "invoice 1042" and "invoice 1043" in the same place.
"""

from __future__ import annotations

import re

# words before a number that is a quantity or an order, and not the name of something
_BEFORE_QUANTITIES = (
    r"a|about|above|after|all|among|an|and|any|approximately|are|around|as|at|before|below|between|by"
    r"|costs?|each|equals|every|exactly|exceed|exceeds|first|for|from|how|in|is|it|last|least|less|many"
    r"|more|most|much|my|next|no|nearly|of|on|only|or|over|per|previous|some|than|that|the|these|they"
    r"|this|those|to|top|under|until|up|using|was|were|with|within|you|als|auf|bei|bis|das|dem|den|der"
    r"|des|die|ein|eine|einem|einer|etwa|für|ist|in|mehr|mit|nach|oder|pro|seit|sind|um|und|unter|vom"
    r"|von|vor|wie|zu|zum|zur|zwischen|über|au|aux|avec|dans|de|du|en|entre|est|et|jusque|la|las|le|les"
    r"|los|moins|par|plus|pour|que|quels|sont|sous|sur|un|une|al|con|desde|es|hasta|menos|más|o|para|por"
    r"|son|una|y"
)
_NAMED_NUMBER = re.compile(
    rf"\b(?!(?:{_BEFORE_QUANTITIES})\b)[^\W\d_]{{2,}}\.?"
    r"(?: (?:no|nr|nº|n°|number|nummer|numéro|número)\b\.?)?[ #№]{1,2}(\d+(?:[.\-/]\d+)*)"
    r"(?![\w%€$£]|[.,:]\d)(?! ?[%€$£])(?! (?:percent|euros?|dollars?|pounds?)\b)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![\w.-])(?=[\w/.-]*\d)(?=[\w/.-]*[A-Z])[A-Z\d][A-Za-z\d]*(?:[-/.][A-Za-z\d]+)*(?![\w-])"
)
_LONG_NUMBER = re.compile(r"(?<![\d.,$€£¥])\d{4,}(?![\d.,]*[%€$£¥\d])")
_PART = re.compile(r"\d+|[^\W\d_]+")


def identifiers(question: str) -> list[str]:
    """The identifiers in the order of the text, as they are written.

    >>> identifiers("What is the total of invoice 1042, and is it more than 50?")
    ['1042']
    """
    found: dict[int, str] = {}
    for pattern in (_NAMED_NUMBER, _CODE, _LONG_NUMBER):
        for match in pattern.finditer(question):
            group = match.lastindex or 0
            found.setdefault(match.start(group), match.group(group))
    return [found[start] for start in sorted(found)]


def has_identifier(identifier: str, text: str) -> bool:
    """Whether the text has it, however it is divided: "E-42" is "E42", and 1042 is 1,042. A number may be a
    part of a date.

    >>> has_identifier("1042", "Invoice no. 1043"), has_identifier("E-42", "Error E42: no water.")
    (False, True)
    """
    parts = [_as_written(part) for part in _PART.findall(identifier)]
    pattern = r"(?<![^\W_])" + r"[\W_]{0,2}".join(parts) + r"(?!\d)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def names_other(question: str, heading: str) -> bool:
    """Whether the heading names another one of what the question names by its number.

    >>> names_other("What is the total of invoice 17?", "Invoice no. 18")
    True
    """
    sought = {match[0].split()[0].casefold(): match[1] for match in _NAMED_NUMBER.finditer(question)}
    named = {match[0].split()[0].casefold() for match in _NAMED_NUMBER.finditer(heading)}
    return any(word in named and not has_identifier(number, heading) for word, number in sought.items())


def _as_written(part: str) -> str:
    """A pattern of a number with or without zeros before it and marks between thousands, or of a word."""
    if not part.isdigit():
        return part
    digits = part.lstrip("0") or "0"
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[start : start + 3] for start in range(first, len(digits), 3))]
    return "0*" + "[,.'’ \u00a0\u202f]?".join(groups)
