"""Superscripts, subscripts, struck text and ruby in plain text, the same for all formats.

A reader writes marks around such text. At the end `plain` replaces them, as the result depends on the text
before:

    10 with a raised 6         10^6
    H with a lowered 2, O      H2O
    1 with a raised st         1st
    a raised 1, /, a lowered 2 1/2
    a struck 30                ~~30~~
    漢字 below かんじ            漢字(かんじ)
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Noncharacters (The Unicode Standard 16, 23.7), which are allowed in XML but occur in no text. The end mark
# is 8 higher.
RAISED, LOWERED, STRUCK, RUBY, READING = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
_END = {ord(mark): chr(ord(mark) + 8) for mark in (RAISED, LOWERED, STRUCK, RUBY, READING)}

MAX_NESTED = 20  # levels of marks within marks
MAX_MARKED = 200  # characters of raised or lowered text, including marks
MAX_SHIFTED = 30  # characters; longer text is a sentence in small letters

_INNER = "([^\ufdd0-\ufddf]*)"
_ANY = re.compile("[\ufdd0-\ufddf]")
_AGAIN = re.compile("|".join(f"{_END[ord(mark)]}{mark}" for mark in (RAISED, LOWERED, STRUCK)))
_RUBIES = re.compile(f"(?:{RUBY}{_INNER}{READING}{_INNER}{_END[ord(READING)]}{_END[ord(RUBY)]})+")
_ONE_RUBY = re.compile(f"{RUBY}{_INNER}{READING}{_INNER}")
_FRACTION = re.compile(
    rf"{RAISED}\s*(\w{{1,6}})\s*{_END[ord(RAISED)]}\s*[/⁄∕]\s*{LOWERED}\s*(\w{{1,6}})\s*{_END[ord(LOWERED)]}"
)
_SHIFTED = re.compile(f"({RAISED}|{LOWERED}){_INNER}(?:{_END[ord(RAISED)]}|{_END[ord(LOWERED)]})")
_STRUCK = re.compile(f"{STRUCK}(\\s*)([^\\s\ufdd0-\ufddf][^\ufdd0-\ufddf]*?)(\\s*){_END[ord(STRUCK)]}")
_TAGS = re.compile(
    r"(?:</?(?:a|b|i|em|strong|span|font|u|small|big|var|code|cite|abbr|mark|tt)\b[^<>]*>)+\Z", re.I
)
_INDEX = re.compile(r"\d[\w.,()+-]*|\w[\w.,()]*")  # 2, 2.5, 2n+2, max
_ORDINAL = re.compile(r"st|nd|rd|th|er?s?|re|ère|è?mes?|ièmes?|eme|de|ste|os?|as?|lles?|nde?s?|º|ª", re.I)
_COUNTED = re.compile(r"(?:\d|\b[IVXLC]+|\b(?:n|N|M|Mme|Mlle|D|Dr|St|Ste|c))\Z")
_SIGNS = {"tm": "™", "sm": "℠", "®": "®", "©": "©", "(r)": "®", "°": "°", "*": "*", "†": "†", "‡": "‡"}
_CHARGES = frozenset({"+", "-", "−", "–", "++", "--", "*", "′", "″", "'", "†", "‡", "°", "®", "©"})
_MINUS = str.maketrans("−–‐‑", "----")


class Effects(NamedTuple):
    """The effects of a run or a style, None if not set. `shift` is RAISED, LOWERED or "" for neither."""

    shift: str | None = None
    struck: bool | None = None
    hidden: bool | None = None

    def over(self, base: Effects) -> Effects:
        """These effects, with those of `base` for effects that are not set."""
        return Effects(
            base.shift if self.shift is None else self.shift,
            base.struck if self.struck is None else self.struck,
            base.hidden if self.hidden is None else self.hidden,
        )


def mark(kind: str, text: str) -> str:
    """Mark `text` as RAISED, LOWERED or STRUCK. Blank text is not changed."""
    inner = text.strip()
    if not inner:
        return text
    if kind != STRUCK and len(inner) > MAX_MARKED:
        return _ANY.sub("", text)
    start = text.index(inner)
    return f"{text[:start]}{kind}{inner}{_END[ord(kind)]}{text[start + len(inner) :]}"


def around(kind: str) -> tuple[str, str]:
    """The marks before and after text that the caller cannot replace."""
    return kind, _END[ord(kind)]


def ruby(base: str, reading: str) -> str:
    """A word with the reading above it."""
    base, reading = base.strip(), reading.strip()
    return (
        f"{RUBY}{base}{READING}{reading}{_END[ord(READING)]}{_END[ord(RUBY)]}"
        if base and reading
        else base or reading
    )


def plain(text: str) -> str:
    """Replace the marks of a text, which may have HTML tags between them."""
    if not _ANY.search(text):
        return text
    text = _AGAIN.sub("", text)
    text = _RUBIES.sub(_with_reading, text)
    text = _FRACTION.sub(_fraction, text)
    for _ in range(MAX_NESTED):  # the innermost first
        before = text
        text = _STRUCK.sub(r"\1~~\2~~\3", _SHIFTED.sub(_shift, text))
        if text == before:
            break
    return _ANY.sub("", text)


def _with_reading(match: re.Match[str]) -> str:
    """Join letters with one reading each to a whole word with its reading."""
    pairs = _ONE_RUBY.findall(match[0])
    return "".join(base for base, _ in pairs) + "(" + "".join(reading for _, reading in pairs) + ")"


def _fraction(match: re.Match[str]) -> str:
    return f"{' ' if _before(match)[-1:].isdigit() else ''}{match[1]}/{match[2]}"


def _before(match: re.Match[str]) -> str:
    """The text before it, without tags."""
    near = match.string[max(0, match.start() - 20) : match.start()]
    return (
        _TAGS.sub("", match.string[max(0, match.start() - 300) : match.start()])
        if near.endswith(">")
        else near
    )


def _shift(match: re.Match[str]) -> str:
    kind, text = match[1], match[2].strip()
    if text != match[2]:
        start = match[2].find(text)
        # tried again without the blanks
        return f"{match[2][:start]}{mark(kind, text)}{match[2][start + len(text) :]}"
    before = _ANY.sub("", _before(match))
    last = before[-1:]
    if len(text) > MAX_SHIFTED:
        return f" {text}" if last.isalnum() else text
    if not last or not (last.isalnum() or last in ")]}’'\"%°″′") or text[:1] in "[(":
        return text  # the mark of a footnote, or a whole word
    if not (any(map(str.isalnum, text)) or text in _CHARGES):
        return text
    if kind == LOWERED:
        is_plain = (
            _INDEX.fullmatch(text)
            and not last.isdigit()
            and match.string[match.start() - 1] != _END[ord(RAISED)]
        )
        return text if is_plain else f"_{_as_unit(text)}"
    if (sign := _SIGNS.get(text.lower())) is not None:
        return sign
    if _ORDINAL.fullmatch(text) and _COUNTED.search(before):
        return text
    return f"^{_as_unit(text)}"


def _as_unit(text: str) -> str:
    text = text.translate(_MINUS)
    return text if re.fullmatch(r"[+-]?[\w.,*]+[+-]?|[+*-]+", text) else f"({text})"
