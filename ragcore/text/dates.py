"""Dates in running text and in file names, in English, German, French, Spanish and Chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

MONTHS = 12
_MONTH_NAMES = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "zh": "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
}
MONTH_NAMES = {language: names.split() for language, names in _MONTH_NAMES.items()}
"""By ISO 639-1 code, from January on, in small letters."""
_WEEKDAY_NAMES = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "zh": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
}
WEEKDAY_NAMES = {language: names.split() for language, names in _WEEKDAY_NAMES.items()}
"""By ISO 639-1 code, from Monday on, in small letters."""
_MONTH = (
    r"(?P<name>jan(?:uary?|vier)?|ene(?:ro)?|feb(?:ruary?|rero)?|fév(?:rier)?|mar(?:ch|s|zo)?|märz|apr(?:il)?"
    r"|abr(?:il)?|avr(?:il)?|ma[iy]o?|jun[eio]?o?|juin|jul[yi]?o?|juil(?:let)?|aug(?:ust)?|ago(?:sto)?|août"
    r"|sept?(?:ember|embre|iembre)?|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember)?"
    r"|dic(?:iembre)?|déc(?:embre)?)\.?"
)
# The beginnings of the names of each month; "juil" is July.
_BEGINNINGS = (
    ("jan", "ene"),
    ("feb", "fév"),
    ("mar", "mär"),
    ("apr", "abr", "avr"),
    ("mai", "may"),
    ("jun", "jui"),
    ("jul", "juil"),
    ("aug", "ago", "aoû"),
    ("sep",),
    ("oct", "okt"),
    ("nov",),
    ("dec", "dez", "déc", "dic"),
)
_YEAR, _M, _D = r"(?P<year>(?:19|20)\d\d)", r"(?P<month>0?[1-9]|1[0-2])", r"(?P<day>0?[1-9]|[12]\d|3[01])"
_OF = r"(?:\s+(?:de|del|of))?"
_FORMATS = tuple(
    re.compile(rf"(?<!\d){form}(?!\d)", re.IGNORECASE)
    for form in (
        rf"{_D}(?:st|nd|rd|th|er|\.|º)?{_OF}\s+{_MONTH}{_OF},?\s+{_YEAR}",
        rf"\b{_MONTH}\s+{_D}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        rf"(?<![^\W_]){_MONTH}{_OF}[\s_.-]*{_YEAR}",
        rf"{_YEAR}\s*年(?:\s*{_M}\s*月)?(?:\s*{_D}\s*[日号])?",
        rf"{_YEAR}(?P<divider>[-_./]?)(?:0[1-9]|1[0-2])(?:(?P=divider)(?:0[1-9]|[12]\d|3[01]))?",
        rf"{_D}[./-]{_M}[./-]{_YEAR}",
        rf"{_M}[./-]{_YEAR}",
        _YEAR,
    )
)


class FoundDate(NamedTuple):
    """(year, month, day), 0 where it is not said, and where and how it is written."""

    date: tuple[int, int, int]
    text: str
    start: int


def find_date(text: str) -> FoundDate | None:
    """The first date in the text.

    >>> find_date("Valid from 1 March 2026")
    FoundDate(date=(2026, 3, 1), text='1 March 2026', start=11)
    >>> [find_date(text).date for text in ("rules_2024.txt", "1er août 2025", "2026年3月1日", "01.03.2026")]
    [(2024, 0, 0), (2025, 8, 1), (2026, 3, 1), (2026, 3, 1)]
    """
    matches = [match for form in _FORMATS if (match := form.search(text))]
    if not matches:
        return None
    first = min(matches, key=lambda match: (match.start(), match.start() - match.end()))
    return FoundDate(_read(first), first.group(), first.start())


def _read(match: re.Match[str]) -> tuple[int, int, int]:
    parts = match.groupdict()
    year = int(parts["year"])
    if "divider" in parts:
        digits = re.sub(r"\D", "", match.group())
        return year, int(digits[4:6]), int(digits[6:8] or 0)
    day, month = int(parts.get("day") or 0), int(parts.get("month") or 0)
    if name := parts.get("name"):
        month = max(
            number for number, starts in enumerate(_BEGINNINGS, 1) if name.casefold().startswith(starts)
        )
    # 03/04/2025 may be of March or of April.
    if "/" in match.group() and day and max(day, month) <= MONTHS and day != month:
        return year, 0, 0
    return year, month, day
