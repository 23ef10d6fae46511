"""Compares sentences exactly: their words in order, their numbers with signs, and their negations."""

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
        """Whether it is the same number, and the signs of one are among those of the other."""
        return self.number == other.number and (self.signs <= other.signs or other.signs <= self.signs)


def in_a_row(text: str) -> str:
    """Its words between spaces, to find a sentence in a text. A number is one word with its signs."""
    return f" {' '.join(words(_FIGURE.sub(_in_words, one_notation(text))))} "


def one_notation(text: str) -> str:
    """With the digits 0 to 9, and without the marks between thousands."""
    if not text.isascii():
        text = _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), unicodedata.normalize("NFKC", text))
    return _THOUSANDS.sub(lambda match: match[0].replace(match[1], ""), text)


def figures(text: str) -> list[Figure]:
    return list(map(_figure, _FIGURE.finditer(one_notation(text))))


def readings(text: str) -> list[Figure]:
    """Its figures, with other readings: each of several numbers in a row, and 5 pm for 17:00."""
    hours = [int(hour) - 12 for hour in _AFTERNOON.findall(text)] + [int(hour) + 12 for hour in _PM.findall(text)]
    clock = [Figure(str(hour), frozenset(), "") for hour in ([0, *hours] if hours else [])]
    return [*figures(text), *figures(_BETWEEN.sub("  ", text)), *clock]


def unsaid(claimed: Iterable[Figure], known: Iterable[Figure]) -> list[str]:
    """The claimed figures, in their spelling, that agree with no known one."""
    known = list(known)
    return [figure.written for figure in claimed if not any(map(figure.agrees, known))]


def denies(text: str) -> bool:
    return len(_NOT.findall(text)) % 2 == 1


def _figure(match: re.Match[str]) -> Figure:
    before, minus, number, after = match.groups(default="")
    signs = frozenset(before + after) & _NAMES.keys()
    return Figure(f"{'-' if minus else ''}{_ZEROS.sub('', number.replace(',', '.'))}", signs, match[0].strip())


def _in_words(match: re.Match[str]) -> str:
    figure = _figure(match)
    names = "".join(_NAMES[sign] for sign in sorted(figure.signs))
    return f"{names}{figure.number.replace('-', 'minus')}" if names or "-" in figure.number else match[0]


_DIGIT = re.compile(r"[^\D0-9]")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}([ ,.'’])\d{3}(?:\1\d{3})*(?!\d)")
_NAMES = {"<": "lt", ">": "gt", "≤": "le", "≥": "ge", "±": "pm", "€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "%": "percent"}
_FIGURE = re.compile(
    r"((?:(?<![-=])[<>≤≥±€$£¥]\s?)*)"
    r"((?<![^\s(<>≤≥±€$£¥])(?<!\d )(?:[-−–]|[Mm]inus ))?"  # no hyphen, and none of a range
    r"(\d+(?:[.,]\d+)*)(\s?[€$£¥%](?!\d))?"
)
_BETWEEN = re.compile(r"(?<=\d) (?=\d)")
_ZEROS = re.compile(r"^0+(?=\d)")
_AFTERNOON = re.compile(r"(?<![\d.,])(1[3-9]|2[0-3])(?:[:.h]\d\d| Uhr|h)\b")
_PM = re.compile(r"(?<![\d.,:])(\d\d?)(?:[:.]\d\d)? ?[pP]\.?[mM]\b")
_NOT = re.compile(
    r"\b(?:not?|never|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t|nicht|kein\w*|nie|niemals|ohne|pas|jamais|rien|aucun\w*"
    r"|sans|nunca|ning[uú]n\w*|sin|não|sem|niet|geen|не|нет|ни|без|لا|لم|لن|ليس|نہیں|नहीं)\b|[不没未無无非]|ない|ません|않|못하",
    re.IGNORECASE,
)
