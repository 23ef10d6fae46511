"""A cell of a workbook as its program shows it: 0.153 formatted as 0.0% is 15.3%.

Number formats are those of ECMA-376 part 1, 18.8.31. What a format would hide is still said: a date keeps its year, a number
its sign. Dates are written year first, as every reader understands them.
"""

from __future__ import annotations

import datetime
import re
from functools import cache

_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|[_*].')
_PLACES = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*)?|\.[#0?]+")
_DATE_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


def shown(value: object, code: str) -> str:
    """`value` by the number format `code`; "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value, code)
    if isinstance(value, datetime.datetime):
        return _moment(value, code)
    if isinstance(value, datetime.time):
        return value.isoformat("seconds" if value.second else "minutes")
    return str(value)


def _number(value: float, code: str) -> str:
    pattern = _pattern(code)
    if pattern is None:
        return format(value, ".12g") if isinstance(value, float) and abs(value) < 1e15 else str(value)
    before, decimals, grouped, after = pattern
    if "%" in after or "%" in before:
        value *= 100
    amount = f"{abs(value):{',' if grouped else ''}.{decimals}f}"
    return f"{'-' if value < 0 and float(amount.replace(',', '')) else ''}{before}{amount}{after}"


@cache
def _pattern(code: str) -> tuple[str, int, bool, str] | None:
    """(before, decimals, in groups of three, after) of the format of positive numbers; None where it says nothing of them."""
    section = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', code)[0]
    literals: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        literals.append(next(filter(None, match.groups()), ""))
        return chr(0xE000 + len(literals) - 1)

    bare = _LITERAL.sub(put_aside, section)
    places = _PLACES.findall(bare)
    if len(places) != 1 or re.search(r"[a-zA-Z/]", bare) or places[0].endswith(","):
        return None  # General, scientific, fractions, thousands left out
    before, _, after = bare.partition(places[0])
    written = [
        re.sub("[\ue000-\uf8ff]", lambda sign: literals[ord(sign[0]) - 0xE000], part).strip("()") for part in (before, after)
    ]
    whole, _, fraction = places[0].partition(".")
    return written[0].lstrip(), len(fraction), "," in whole, written[1].rstrip()


def _moment(value: datetime.datetime, code: str) -> str:
    signs = _DATE_LITERAL.sub("", code).lower()
    if "y" in signs and "d" not in signs and "h" not in signs and value.day == 1:
        return f"{value:%B %Y}" if "m" in signs else f"{value:%Y}"
    if value.time() == datetime.time() and "h" not in signs:
        return value.date().isoformat()
    return value.isoformat(" ", "minutes")
