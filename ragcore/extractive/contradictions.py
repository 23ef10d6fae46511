"""Sentences that have the words of a question and yet say something else: what is, where it asks what is not, another month,
the opposite. Closeness of meaning hardly sees such a thing: "allowed" is near "forbidden", both being said of the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ragcore.questions.answer_types import asks_whether, expected_kind, fitting
from ragcore.text.keywords import stem, words
from ragcore.text.quotable_sentences import Quote


@dataclass(frozen=True, slots=True)
class _Said:
    sentence: str  # with what it stands under
    nearby: str  # with the sentences before and after it, too
    passage: str  # with the name of the document


_Test: TypeAlias = Callable[[_Said], bool]


def opposed(question: str, quotes: Sequence[Quote]) -> list[bool]:
    """Of each quote, whether it says something else than what is asked, so that it is no answer; never of one in a script whose
    words for "not" and for numbers are not known here. Quotes of one passage are neighbours in the order given."""
    tests = [test for rule in _RULES if (test := rule(question))]
    if not tests:
        return [False] * len(quotes)
    of_passages: dict[int, list[str]] = defaultdict(list)
    for quote in quotes:
        of_passages[quote.passage].append(quote.read_with_lead)
    named = {(quote.document, quote.passage) for quote in quotes}
    passages = {(document, passage): " ".join([document, *of_passages[passage]]) for document, passage in named}
    found = []
    for row, quote in enumerate(quotes):
        beside = [other.read_with_lead for other in quotes[max(row - 1, 0) : row + 2] if other.passage == quote.passage]
        said = _Said(quote.read_with_lead, " ".join(beside), passages[quote.document, quote.passage])
        found.append(not _UNREAD.search(quote.text) and any(test(said) for test in tests))
    return found


def _what_is(question: str) -> _Test | None:
    """Where it is asked what is not."""
    asked = _ASKS_WHAT_IS_NOT.search(question)
    if asked is None or asks_whether(question) or expected_kind(question) == "advice":
        return None
    if _UNDER_A_CONDITION.search(asked["head"] or asked["spanish"] or ""):
        return None
    return lambda said: _NEGATIVE.search(said.sentence) is None


def _without_prefix(question: str) -> _Test | None:
    """ "Muslims", where is asked about "non-Muslims"."""
    asked = {rf"\b{prefix}\W?{word[:4]}": stem(word) for prefix, word in _PREFIXED.findall(question)}
    if not asked:
        return None

    @cache
    def missing(passage: str) -> list[str]:
        return [word for whole, word in asked.items() if not re.search(whole, passage, re.IGNORECASE)]

    return lambda said: any(word in words(said.nearby) for word in missing(said.passage))


def _at_another_time(question: str) -> _Test | None:
    """Another month, day of the week or year, where one that is asked for is not said at all; "since 2019" asks for others."""
    asked = [(times, found) for times in (_months, _days, _years) if (found := times(question))]
    if not asked or any(times(bound[1]) for bound in _BOUND.finditer(question) for times, _ in asked):
        return None

    @cache
    def missing(passage: str) -> list[tuple[Callable[[str], set[int]], set[int]]]:
        return [(times, found) for times, found in asked if found - times(passage)]

    return lambda said: any(times(said.sentence) - found for times, found in missing(said.passage))


def _the_opposite(question: str) -> _Test | None:
    """ "Different", where is asked what is similar and nothing beside it says so."""
    asked = set(words(question))
    pairs = [(one, other) for one, other in _OPPOSITES if not asked.isdisjoint(one) and asked.isdisjoint(other)]
    if not pairs or asks_whether(question) or _WEIGHS_BOTH.search(question):
        return None

    def says_opposite(said: _Said) -> bool:
        own, nearby = set(words(said.sentence)), set(words(said.nearby))
        return any(nearby.isdisjoint(one) and not own.isdisjoint(other) for one, other in pairs)

    return says_opposite


def _uncounted(question: str) -> _Test | None:
    """No number, where is asked how many, no date, where is asked in what year; nothing about a birth, where is asked when."""
    kind = expected_kind(question)
    if kind in ("number", "price"):
        return lambda said: fitting(kind, said.nearby, question) < 0 and not _SOME.search(said.nearby)
    if kind == "date" and _BORN.search(question):
        return lambda said: not _BIRTH.search(said.nearby)
    if kind == "date" and _NAMES_DATE.search(question) and not _years(question):
        return lambda said: fitting(kind, said.nearby, question) < 0
    return None


_UNREAD = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]")  # all but Latin letters and Chinese

_RULES = (_what_is, _without_prefix, _at_another_time, _the_opposite, _uncounted)

_ASKS_WHAT_IS_NOT = re.compile(
    r"\b(?:(?:what|which|who|whom|whose|where|when|how (?:many|much)"
    r"|was|welche\w*|we[rnm]|wo|wann|wie ?viele?|qu['’]\w*|que|quel\w*|qui|où|quand|combien)\b"
    r"(?P<head>.{0,120}?)(?<!\b(?:of|by|in) )(?<!\bfor )"
    r"\b(?:not|never|\w+n['’]t|cannot|nicht|niemals|nie|kein\w*|pas|jamais)\b"
    r"|(?:qu[eé]|cu[aá]l\w*|qui[eé]n\w*|d[oó]nde|cu[aá]ndo|cu[aá]nt\w*)\b(?P<spanish>.{0,120}?)\b(?:no|nunca)\b)",
    re.IGNORECASE | re.DOTALL,
)
_UNDER_A_CONDITION = re.compile(
    r"\b(?:if|whether|unless|because|when|while|assum\w+|and|or|but|wenn|falls|weil|ob|und|oder|aber"
    r"|si|parce|et|ou|mais|porque|y|o|pero)\b[^,]*$",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:no[tr]?(?! (?:only|just|merely|limited to)\b)|never|none|no(?:body|where|thing|ne)|neither|without|cannot|\w+n['’]t"
    r"|except\w*|exclu\w+|exempt\w*|unless|fail\w*|lack\w*|refus\w+|den(?:y|ied|ies)|forb(?:id|ad)\w*|prohibit\w*"
    r"|prevent(?:s|ed|ing)?|avoid\w*|unable|(?<!not )only|but(?! (?:are |is )?not limited to\b| also\b)|(?:other|rather) than"
    r"|instead|hardly|rarely|few|little|against|reject\w*|limit(?:s|ations?)?|free (?:of|from)|waive\w*|absen\w+|non\W?\w+"
    r"|dis(?:allow|agree|approv|continu|connect|qualif|appear)\w*|un(?!der|til|i)\w{3,}"
    r"|in(?:eligible|valid|sufficient|complete|adequate|appropriate|dependent)\w*|i(?:llegal|mpossible|mproper|rregular)\w*|\w+less"
    r"|nicht\w*|kein\w*|nie(?:mals|mand)?|ohne|außer\w*|ausge(?:schlossen|nommen)\w*|verboten\w*"
    r"|ne|n['’]\w+|pas|jamais|aucun\w*|rien|sans|sauf|interdit\w*|hors|nunca|jamás|ning[uú]n\w*|nada|sin|salvo|prohib\w*)\b"
    r"|-free\b|[不没無无非未除禁别免]",
    re.IGNORECASE,
)
_WEIGHS_BOTH = re.compile(
    r"^\W*why\b|\bshould (?:i|we|you|one|employees)\b|\b(?:aware|if|differen\w*|compar\w*|reasons?)\b", re.IGNORECASE
)
_BOUND = re.compile(
    r"\b(?:since|after|before|until|till|by|from|between|than|through|prior to|up to|seit|nach|vor|bis|ab|zwischen"
    r"|depuis|après|avant|jusqu\w*|entre|desde|después|antes|hasta)\b((?:\W+\w+){1,4})",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r"\b(non|pro|anti|pre|post|ex|un|semi|multi|inter|intra|sub|co|neo|over|under)-(\w{4,})", re.IGNORECASE)
_SOME = re.compile(
    r"\b(?:none|no|all|every\w*|several|many|most|both|few|entire\w*|double|unlimited|vast|unanimous)\b", re.IGNORECASE
)
_NAMES_DATE = re.compile(r"\b(?:what|which) (?:year|date|century|decade)\b", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b", re.IGNORECASE)
_BIRTH = re.compile(
    r"born\b|birth|geb(?:oren|\.)|\bnée?\b|naquit|nació|nacid[oa]|生于|出生|诞生|\(.{0,40}\d{3,4}", re.IGNORECASE
)

_MONTHS = """
January Januar janvier enero, February Februar février febrero, March März mars marzo, April avril abril, May Mai mai mayo,
June Juni juin junio, July Juli juillet julio, August août agosto, September septembre septiembre,
October Oktober octobre octubre, November novembre noviembre, December Dezember décembre diciembre
"""
_DAYS = """
Monday Montag lundi lunes, Tuesday Dienstag mardi martes, Wednesday Mittwoch mercredi miércoles,
Thursday Donnerstag jeudi jueves, Friday Freitag vendredi viernes, Saturday Samstag Sonnabend samedi sábado,
Sunday Sonntag dimanche domingo
"""


def _numbers_of(listed: str) -> dict[str, int]:
    return {name: number for number, names in enumerate(listed.split(","), 1) for name in names.split()}


_MONTH, _DAY = _numbers_of(_MONTHS), _numbers_of(_DAYS)
_MONTH_SAID = re.compile(rf"\b({'|'.join(_MONTH)})\b(?! (?:I|we|you|he|she|it|they|one)\b)|(?<!\d)(1?\d)月")
_DAY_SAID = re.compile(rf"\b({'|'.join(_DAY)})s?\b")
_YEAR_SAID = re.compile(r"(?<![\d.,])(1\d{3}|20\d\d)(?:[-–/](\d\d))?(?![\ds]|[.,]\d)")


def _months(text: str) -> set[int]:
    return {_MONTH[name] if name else int(number) for name, number in _MONTH_SAID.findall(text)}


def _days(text: str) -> set[int]:
    return {_DAY[name] for name in _DAY_SAID.findall(text)}


def _years(text: str) -> set[int]:
    found = set()
    for year, last in _YEAR_SAID.findall(text):  # 2018/19 is two of them
        found |= {int(year), int(year[:2] + last)} if last else {int(year)}
    return found


_PAIRS = """
increase rise grow / decrease decline shrink reduce, encourage / discourage, allow permit / forbid prohibit ban,
accept / reject refuse, agree / disagree, win / lose, succeed success / fail failure, victory / defeat, attack / defend,
advance / retreat, import / export, buy purchase / sell, lend / borrow, highest / lowest,
largest biggest greatest / smallest, longest / shortest, oldest / newest youngest, best / worst, most / least fewest,
maximum / minimum, major / minor, majority / minority, above / below, inside / outside, internal / external,
northern / southern, eastern / western, male man / female woman, same similar / different, high higher / low lower,
large big / small, strong / weak, rich wealthy / poor, hot warm / cold cool, fast quick / slow, early / late,
ancient / modern, public / private, common / rare, true / false, legal lawful / illegal unlawful, possible / impossible,
direct / indirect, formal / informal, voluntary optional / compulsory mandatory, positive / negative, good / bad,
better / worse, more / less fewer, upper / lower, top / bottom, open / closed, arrive / depart, build create / destroy,
appear / disappear, love / hate, friend / enemy, peace / war, summer / winter, day / night, urban / rural,
domestic / foreign, simple / complex, thick / thin, wide / narrow, deep / shallow, active / passive, dry / wet,
freeze / boil melt, melt thaw / freeze, condense / evaporate freeze, primary / secondary, natural / artificial,
temporary / permanent, guilty / innocent, support / oppose, supporter proponent / opponent, optimistic / pessimistic,
visible / invisible, superior / inferior, expand / contract, unite / divide, strengthen / weaken, improve / worsen,
hire employ / dismiss, presence / absence, necessary / unnecessary, safe / dangerous, cheap / expensive
"""


def _sides(pair: str) -> list[frozenset[str]]:
    return [frozenset(map(stem, side.split())) for side in pair.split("/")]


_OPPOSITES = [sides for one, other in map(_sides, _PAIRS.split(",")) for sides in ((one, other), (other, one))]
