"""Formats the cells of a workbook as its program does: 0.153 with the format 0.0% is 15.3%, -5 with 0;(0) is
(5).

The number formats are those of ECMA-376 part 1, 18.8.31, for which there is no maintained package on PyPI. A
value never loses its sign or its year, even where the format hides them. Dates are written year first, which
is unambiguous.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

_SECTIONS = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)\]")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].')
_PLACES = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*,*)?|\.[#0?]+,*")
_FRACTION = re.compile(r"(?:([#0?]+)\s+)?[#0?]+\s*/\s*(\d+|[#0?]+)")
_DATE_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_PLACEHOLDER = 0xE000  # the first of the characters that replace literals while a format is parsed
MAX_DIGITS = 30  # of decimals
EXACT = 1e13  # below it a float has enough digits to round half up, as workbooks do
HALF_UP = 1 + 1e-15
_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


@dataclass(frozen=True, slots=True)
class _Section:
    """One of the up to four sections of a format. `places` are its digits, "" for none, between `before` and
    `after`."""

    condition: tuple[str, float] | None
    before: str
    places: str
    after: str
    kind: str  # "general", "number", "scientific", "fraction", "digits" or "text"
    literals: tuple[str, ...] = ()  # between the digits


def format_cell(value: object, code: str) -> str:
    """`value` in the number format `code`; "" for None.

    >>> (
    ...     format_cell(-1234.5, "#,##0.00;(#,##0.00)"),
    ...     format_cell(1.5, "# ?/?"),
    ...     format_cell(1_500_000, '0.0,,"M"'),
    ... )
    ('(1,234.50)', '1 1/2', '1.5M')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _format_number(value, code)
    if isinstance(value, datetime.datetime):
        return _format_moment(value, code)
    if isinstance(value, datetime.timedelta):
        return _format_duration(value, code)
    if isinstance(value, datetime.time):
        return value.isoformat("seconds" if value.second else "minutes")
    return str(value)


def _format_number(value: float, code: str) -> str:
    if code in ("General", "@") or not math.isfinite(value):
        return _general(value)
    sections = _sections(code)
    section, has_own_sign = _section_for(value, sections)
    if section.kind == "general":
        return f"{section.before}{_general(abs(value) if has_own_sign else value)}{section.after}"
    if section.kind == "text":
        return section.before if section.before.strip() or code.count(";") > 1 else _general(value)
    if section.kind == "number":
        number = _plain(abs(value), section)
    else:
        number = _RARE[section.kind](Decimal(repr(abs(value))), section)
    text = f"{section.before}{number}{section.after}".strip()
    is_zero = not number.strip("0.,")
    has_sign = has_own_sign and ("-" in section.before + section.after or "(" in section.before)
    return text if value >= 0 or is_zero or has_sign else f"-{text}"


def _section_for(value: float, sections: Sequence[_Section]) -> tuple[_Section, bool]:
    """The section of a format for a value, and whether it is the section for negative numbers, which has its
    own sign."""
    if any(section.condition for section in sections):
        fits = (
            each
            for each in sections
            if each.condition is None or _COMPARE[each.condition[0]](value, each.condition[1])
        )
        return next(fits, sections[-1]), False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    return sections[2 if value == 0 and len(sections) > 2 else 0], False


@cache
def _sections(code: str) -> tuple[_Section, ...]:
    return tuple(map(_section, _SECTIONS.split(code)[:3]))


def _section(text: str) -> _Section:
    match = _CONDITION.search(text)
    condition = (match[1], float(match[2])) if match else None
    literals: list[str] = []

    def replace_literal(match: re.Match[str]) -> str:
        literals.append(next(filter(None, match.groups()), ""))
        return chr(_PLACEHOLDER + len(literals) - 1)

    def fill(part: str) -> str:
        return _fill_literals(part, literals)

    bare = _LITERAL.sub(replace_literal, text)
    if "general" in bare.lower():
        before, _, after = re.split("(general)", bare, maxsplit=1, flags=re.I)
        return _Section(condition, fill(before), "", fill(after), "general")
    if fraction := _FRACTION.search(bare):
        return _Section(
            condition, fill(bare[: fraction.start()]), fraction[0], fill(bare[fraction.end() :]), "fraction"
        )
    places = list(_PLACES.finditer(bare))
    if not places:
        return _Section(condition, fill(bare), "", "", "text")
    first, last = places[0], places[-1]
    if exponent := re.match(r"E[+-]([0#?]+)", bare[first.end() :], re.I):
        end = first.end() + exponent.end()
        return _Section(
            condition, fill(bare[: first.start()]), bare[first.start() : end], fill(bare[end:]), "scientific"
        )
    before, after = fill(bare[: first.start()]).lstrip(), fill(bare[last.end() :]).rstrip()
    if len(places) > 1:  # digits with signs between, such as a telephone number
        return _Section(condition, before, bare[first.start() : last.end()], after, "digits", tuple(literals))
    return _Section(condition, before, first[0], after, "number")


def _general(value: float) -> str:
    return format(value, ".12g") if isinstance(value, float) and abs(value) < 1e15 else str(value)


def _plain(amount: float, section: _Section) -> str:
    form = _form(section.places, "%" in section.before or "%" in section.after)
    if form.factor != 1:
        amount *= form.factor
    if amount % 1 and amount < EXACT:
        amount *= HALF_UP
    number = format(amount, form.code)
    if form.spare:
        zeros = len(number) - len(number.rstrip("0"))
        number = number[: len(number) - min(zeros, form.spare)].rstrip(".")
    if form.may_be_blank and number in ("0", "") and section.before.strip():
        return ""  # accounting formats have a dash for zero
    return number.rjust(form.width, "0")


class _Form(NamedTuple):
    """`factor` is 100 for percent. `spare` is the number of optional decimals, which are omitted if they are
    zeros. Numbers are padded with zeros to `width` characters."""

    code: str
    factor: float
    spare: int
    width: int
    may_be_blank: bool


@cache
def _form(places: str, is_percent: bool) -> _Form:
    bare = places.rstrip(",")
    whole, _, decimals = bare.partition(".")
    factor = 10.0 ** ((2 if is_percent else 0) - 3 * (len(places) - len(bare)))
    digits = min(len(decimals), MAX_DIGITS)
    width = 0 if "," in whole else whole.count("0") + (digits + 1 if digits else 0)
    spare = len(decimals) - len(decimals.rstrip("#?"))
    return _Form(
        f"{',' if ',' in whole else ''}.{digits}f",
        factor,
        spare,
        0 if spare else width,
        not set(whole) & set("0#"),
    )


def _round(amount: Decimal, decimals: int) -> Decimal:
    unit = Decimal(1).scaleb(-min(decimals, MAX_DIGITS))
    return amount.quantize(unit, ROUND_HALF_UP) if amount < Decimal("1e20") else amount


def _scientific(amount: Decimal, section: _Section) -> str:
    mantissa, exponent = re.split("E", section.places, maxsplit=1, flags=re.I)
    whole, _, decimals = mantissa.partition(".")
    step = max(len(whole), 1)
    power = amount.adjusted() // step * step if amount else 0
    number = _round(amount.scaleb(-power), len(decimals))
    if number >= Decimal(10) ** step:
        power += step
        number = _round(amount.scaleb(-power), len(decimals))
    return f"{number:f}E{'-' if power < 0 else '+'}{str(abs(power)).rjust(exponent.count('0'), '0')}"


def _fraction(amount: Decimal, section: _Section) -> str:
    match = _FRACTION.fullmatch(section.places)
    below = match[2] if match else "?"
    exact = Fraction(amount)
    if below.isdigit() and int(below):
        above, bottom = round(exact * int(below)), int(below)
    else:
        near = exact.limit_denominator(10 ** min(len(below), 6) - 1)
        above, bottom = near.numerator, near.denominator
    whole, rest = divmod(above, bottom) if match and match[1] else (0, above)
    if not rest:
        return str(whole)
    return f"{whole} {rest}/{bottom}" if whole else f"{rest}/{bottom}"


def _digits(amount: Decimal, section: _Section) -> str:
    """One digit for each place. Before the point they are filled from the right, and all further digits are
    in the first."""
    before, point, behind = section.places.partition(".")
    decimals = sum(sign in "#0?" for sign in behind)
    whole, _, rest = f"{_round(amount, decimals):f}".partition(".")
    out: list[str] = []
    digits = list(whole)
    first = next((place for place, sign in enumerate(before) if sign in "#0?"), 0)
    for place in range(len(before) - 1, -1, -1):
        sign = before[place]
        out.append((digits.pop() if digits else "0" if sign == "0" else "") if sign in "#0?" else sign)
        if place == first:
            out.append("".join(digits))
    after = iter(rest)
    text = (
        "".join(reversed(out))
        + point
        + "".join(next(after, "") if sign in "#0?" else sign for sign in behind)
    )
    return _fill_literals(text, section.literals)


def _fill_literals(part: str, literals: Sequence[str]) -> str:
    return re.sub("[\ue000-\uf8ff]", lambda sign: literals[ord(sign[0]) - _PLACEHOLDER], part)


_RARE = {"scientific": _scientific, "fraction": _fraction, "digits": _digits}


def _format_moment(value: datetime.datetime, code: str) -> str:
    signs = _DATE_LITERAL.sub("", code).lower()
    if "y" in signs and "d" not in signs and "h" not in signs and value.day == 1:
        return f"{value:%B %Y}" if "m" in signs else f"{value:%Y}"
    if value.time() == datetime.time() and "h" not in signs:
        return value.date().isoformat()
    return value.isoformat(" ", "minutes")


def _format_duration(value: datetime.timedelta, code: str) -> str:
    minutes, seconds = divmod(round(abs(value.total_seconds())), 60)
    sign = "-" if value < datetime.timedelta() else ""
    return f"{sign}{minutes // 60}:{minutes % 60:02}" + (
        f":{seconds:02}" if seconds or "s" in code.lower() else ""
    )
