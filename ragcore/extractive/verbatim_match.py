"""Compares sentences word for word: the order of words, numbers with their signs, and negations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from ragcore.text.keywords import words


@dataclass(frozen=True, slots=True)
class Figure:
    """`number` in one notation, "-1234.5"; `signs` such as "<" and "€"."""

    number: str
    signs: frozenset[str]
    written: str

    def agrees(self, other: Figure) -> bool:
        """Whether the numbers are equal, and one has all signs of the other."""
        return self.number == other.number and (self.signs <= other.signs or other.signs <= self.signs)


def stem_text(text: str) -> str:
    """The stems of the words between spaces, to search a sentence in a text. A number is one word with its
    signs."""
    return f" {' '.join(words(_FIGURE.sub(_in_words, normalize(text))))} "


def normalize(text: str) -> str:
    """The text with the digits 0 to 9, without the marks between thousands and without zeros as decimals, and
    with the signs of currencies and percent in place of their names."""
    if not text.isascii():
        text = _DIGIT.sub(
            lambda match: str(unicodedata.decimal(match[0])), unicodedata.normalize("NFKC", text)
        )
    text = _ZERO_DECIMALS.sub(r"\1", _THOUSANDS.sub(lambda match: match[0].replace(match[1], ""), text))
    return _UNIT.sub(lambda match: _SIGNS[match.lastindex or 0], text)


def figures_in(text: str) -> list[Figure]:
    return list(map(_figure, _FIGURE.finditer(normalize(text))))


def readings_in(text: str) -> list[Figure]:
    """The figures of the text with alternative readings: each of several numbers in a row, and 5 pm for
    17:00."""
    hours = [int(hour) - 12 for hour in _AFTERNOON.findall(text)] + [
        int(hour) + 12 for hour in _PM.findall(text)
    ]
    clock = [Figure(str(hour), frozenset(), "") for hour in ([0, *hours] if hours else [])]
    return [*figures_in(text), *figures_in(_BETWEEN.sub("  ", text)), *clock]


def missing_figures(claimed: Iterable[Figure], known: Iterable[Figure]) -> list[str]:
    """The claimed figures, as they are written, that agree with no known figure."""
    known = list(known)
    return [figure.written for figure in claimed if not any(map(figure.agrees, known))]


def is_negated(text: str) -> bool:
    return len(_NOT.findall(text)) % 2 == 1


def _figure(match: re.Match[str]) -> Figure:
    before, minus, number, after = match.groups(default="")
    signs = frozenset(before + after) & _NAMES.keys()
    return Figure(
        f"{'-' if minus else ''}{_ZEROS.sub('', number.replace(',', '.'))}", signs, match[0].strip()
    )


def _in_words(match: re.Match[str]) -> str:
    figure = _figure(match)
    names = "".join(_NAMES[sign] for sign in sorted(figure.signs))
    return f"{names}{figure.number.replace('-', 'minus')}" if names or "-" in figure.number else match[0]


_DIGIT = re.compile(r"[^\D0-9]")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}([ ,.'’])\d{3}(?:\1\d{3})*(?!\d)")
_ZERO_DECIMALS = re.compile(r"(?<![\d.,])(\d+)[.,]00?(?![.,]?\d)")
_SIGNS = " £€$%£€$"  # of the groups of _UNIT
_UNIT = re.compile(
    r"(?<=\d)\s?(?:(pounds?|Pfund|GBP)|(euros?|EUR)|(dollars?|USD)|(per ?cent|Prozent|pour ?cent"
    r"|por ciento))\b|\b(?:(GBP)|(EUR)|(USD))\s?(?=\d)",
    re.IGNORECASE,
)
_NAMES = {
    "<": "lt",
    ">": "gt",
    "≤": "le",
    "≥": "ge",
    "±": "pm",
    "€": "eur",
    "$": "usd",
    "£": "gbp",
    "¥": "jpy",
    "%": "percent",
}
_FIGURE = re.compile(
    r"((?:(?<![-=])[<>≤≥±€$£¥]\s?)*)"
    r"((?<![^\s(<>≤≥±€$£¥])(?<!\d )(?:[-−–]|[Mm]inus ))?"  # not a hyphen, and not the dash of a range
    r"(\d+(?:[.,]\d+)*)(\s?[€$£¥%](?!\d))?"
)
_BETWEEN = re.compile(r"(?<=\d) (?=\d)")
_ZEROS = re.compile(r"^0+(?=\d)")
_AFTERNOON = re.compile(r"(?<![\d.,])(1[3-9]|2[0-3])(?:[:.h]\d\d| Uhr|h)\b")
_PM = re.compile(r"(?<![\d.,:])(\d\d?)(?:[:.]\d\d)? ?[pP]\.?[mM]\b")
_NOT = re.compile(
    r"\b(?:not?|never|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t|nicht|kein\w*|nie"
    r"|niemals|ohne|pas|jamais|rien|aucun\w*"
    r"|sans|nunca|ning[uú]n\w*|sin|não|sem|niet|geen|не|нет|ни|без|لا|لم|لن|ليس|نہیں|नहीं)\b|[不没未無无非]"
    r"|ない|ません|않|못하",
    re.IGNORECASE,
)
