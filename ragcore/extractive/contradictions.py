"""Finds sentences that have the words of a question but contradict it, by a missing "not" or by another
month.

The vectors of an embedder hardly show such a difference: "allowed" and "forbidden" have the same contexts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ragcore.text.dates import MONTH_NAMES, WEEKDAY_NAMES
from ragcore.text.keywords import stem, words
from ragcore.text.quotable_sentences import Quote

_Test: TypeAlias = Callable[[str, str], bool]
"""From a sentence with its heading, and the same with the sentences around it, to whether it contradicts."""


def contradict(question: str, quotes: Sequence[Quote]) -> list[bool]:
    """For each quote, whether it contradicts the question, so that it is no answer. Never in a script whose
    words for "not" are unknown here. The quotes of a passage are neighbours."""
    passages: dict[tuple[str, int], list[str]] = defaultdict(list)
    for quote in quotes:
        passages[quote.document, quote.passage].append(quote.read_with_lead)
    tests = {
        place: [test for rule in _RULES if (test := rule(question, " ".join([place[0], *sentences])))]
        for place, sentences in passages.items()
    }

    def contradicts(row: int, quote: Quote) -> bool:
        around = " ".join(
            each.read_with_lead for each in quotes[max(row - 1, 0) : row + 2] if each.passage == quote.passage
        )
        return any(test(quote.read_with_lead, around) for test in tests[quote.document, quote.passage])

    return [
        not _UNKNOWN_SCRIPT.search(quote.text) and contradicts(row, quote) for row, quote in enumerate(quotes)
    ]


def _asks_what_is_not(question: str, passage: str) -> _Test | None:
    """If it asks what is not, a sentence without a negation contradicts."""
    match = _WHAT_IS_NOT.search(question)
    if match is None or _UNDER_A_CONDITION.search(match[1]):
        return None
    return lambda sentence, around: _NEGATIVE.search(sentence) is None


def _asks_with_prefix(question: str, passage: str) -> _Test | None:
    """If it asks about "non-Muslims" and the passage never mentions those, "Muslims" contradicts."""
    missing = {
        stem(word)
        for prefix, word in _PREFIXED.findall(question)
        if not re.search(rf"\b{prefix}\W?{word[:4]}", passage, re.IGNORECASE)
    }
    return (lambda sentence, around: not missing.isdisjoint(words(around))) if missing else None


def _asks_of_another_time(question: str, passage: str) -> _Test | None:
    """If the passage lacks the month, day or year of the question, another one contradicts."""
    times = _times(question)
    kinds = {kind for kind, _ in times - _times(passage)}
    if not kinds or any(_times(bound[1]) for bound in _BOUND.finditer(question)):
        return None
    return lambda sentence, around: any(kind in kinds for kind, _ in _times(sentence) - times)


def _times(text: str) -> set[tuple[str, int]]:
    """The months, days of the week and years in the text. 2018/19 is two years."""
    times = {_NAMES[name] for name in _NAME.findall(text)} | {
        ("month", int(number)) for number in _CHINESE.findall(text)
    }
    for year, last in _YEAR.findall(text):
        times |= {("year", int(year)), ("year", int(year[:2] + last) if last else int(year))}
    return times


_RULES = (_asks_what_is_not, _asks_with_prefix, _asks_of_another_time)
# all but Latin letters and Chinese
_UNKNOWN_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]")
_WHAT_IS_NOT = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|how (?:many|much)|was(?! (?:the|there|it|he|she|they"
    r"|an?)\b)|welche\w*|we[rnm]"
    r"|wo|wann|wie ?viele?|qu['’]\w*|que|quel\w*|qui|où|quand|combien|qué|cu[aá]l\w*|quién\w*|dónde"
    r"|cu[aá]nd?t?[oa]s?)\b(.{0,120}?)(?<!\b(?:of|by|in) )(?<!\b(?:for|the) )"
    r"\b(?:not|never|\w+n['’]t|cannot|nicht|niemals|nie|kein\w*|pas|jamais|no(?= \w+ (?:el|la|los|las"
    r"|una?|se)\b)|nunca)\b",
    re.IGNORECASE | re.DOTALL,
)
_UNDER_A_CONDITION = re.compile(
    r"\b(?:if|whether|unless|because|when|while|assum\w+|and|or|but|wenn|falls|weil|ob|und|oder|aber"
    r"|si|parce|et|ou|mais|porque|y|o|pero)\b[^,]*$",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:no[tr]?(?! (?:only|just|merely|limited to)\b)|never|none|no(?:body|where|thing)|neither"
    r"|without|cannot|\w+n['’]t"
    r"|ex(?:cept|clu|empt)\w*|unless|fail\w*|lack\w*|refus\w+|den(?:y|ie[sd])|forb\w+|prohibit\w*"
    r"|prevent(?:s|ed|ing)?|avoid\w*"
    r"|(?<!not )only|(?:other|rather) than|instead|few|little|against|reject\w*|limit(?:s|ations?)?"
    r"|free (?:of|from)"
    r"|non\W?\w+|dis\w{5,}|un(?!der|til|i)\w{4,}|i[nlmr](?:elig|valid|suff|leg|poss|prop|reg)\w*|\w+less"
    r"|nicht\w*|kein\w*|nie(?:mals|mand)?|ohne|au(?:ß|sge)\w+|verboten\w*|ne|n['’]\w+|pas|jamais"
    r"|aucun\w*|sans|sauf|hors|interdit\w*|nunca|jamás|ning[uú]n\w*|nada|sin|salvo)\b|-free\b|[不没無无非未除禁别免]",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:since|after|before|until|till|by|from|between|than|through|prior to|up to|seit|nach|vor|bis"
    r"|ab|zwischen|depuis|après|avant|jusqu\w*|entre|desde|después|antes|hasta)\b((?:\W+\w+){1,4})",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r"\b(non|pro|anti|pre|post|ex|semi|multi|inter|neo)-(\w{4,})", re.IGNORECASE)
_NAMES: dict[str, tuple[str, int]] = {}
for _language in ("en", "de", "fr", "es"):
    for _number, _day in enumerate(WEEKDAY_NAMES[_language], 1):
        _NAMES[_day.capitalize() if _language in ("en", "de") else _day] = ("day", _number)
    for _number, _month in enumerate(MONTH_NAMES[_language], 1):
        _NAMES[_month.capitalize() if _language in ("en", "de") else _month] = ("month", _number)
_NAME = re.compile(rf"\b({'|'.join(_NAMES)})s?\b(?! (?:I|we|you|he|she|it|they|one)\b)")
_CHINESE = re.compile(r"(?<!\d)(1?\d)月")
_YEAR = re.compile(r"(?<![\d.,])(1\d{3}|20\d\d)(?:[-–/](\d\d))?(?![\ds]|[.,]\d)")
