"""The numbers that Word writes before paragraphs, such as those of a contract's clauses (ECMA-376 part 1, 17.9).

A file keeps only how to count, so they are counted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ragcore.readers.list_numbers import list_number
from ragcore.readers.office.docx_formatting import new_run, setting
from ragcore.readers.web.safe_xml import attribute, child, children, local

if TYPE_CHECKING:
    from lxml.etree import _Element

LEVELS = 9
BASES = 20  # styles that one may be based on, one on the other
LONGEST = 100  # characters around the numbers of a level
LAST_LETTER = 780  # which is written as thirty letters
BULLET = "-"

_FORMS = {"decimalZero": "01", "lowerRoman": "i", "upperRoman": "I"}
_HAN = "〇一二三四五六七八九"
_IN_HAN = ("chineseCounting", "chineseCountingThousand", "taiwaneseCounting", "taiwaneseCountingThousand", "japaneseCounting")


@dataclass(frozen=True, slots=True)
class _Level:
    """`restarts`: the level, from 1, after which it begins anew; 0 for never."""

    start: int
    format: str
    text: str
    restarts: int
    legal: bool  # all its numbers in digits
    style: str


@dataclass(slots=True)
class _List:
    levels: Mapping[int, _Level]
    counts: list[int | None] = field(default_factory=lambda: [None] * LEVELS)
    begun: set[str] = field(default_factory=set)  # which of the lists that count together have had a paragraph


class Numbers:
    """`numbering` and `styles` are the roots of these parts of a file, where it has them."""

    def __init__(self, numbering: _Element | None, styles: _Element | None) -> None:
        self._styles = {attribute(style, "styleId") or "": style for style in children(styles, "style")}
        self._of_style = lru_cache(None)(self._find_of_style)
        self._lists: dict[str, _List] = {}
        self._counted: dict[str, str] = {}  # what counts together, by list
        self._own: dict[str, dict[int, _Level]] = {}  # where a list begins anew or looks otherwise, by list and level
        linked: dict[str, str] = {}
        for each in children(numbering, "abstractNum"):
            identity = attribute(each, "abstractNumId") or ""
            self._lists[identity] = _List({_whole(level, "ilvl"): _level(level) for level in children(each, "lvl")})
            if style := setting(each, "numStyleLink"):
                linked[identity] = style
        for each in children(numbering, "num"):
            identity = attribute(each, "numId") or ""
            self._counted[identity] = setting(each, "abstractNumId")
            counting = self._lists.get(self._counted[identity])
            self._own[identity] = dict(_overridden(each, counting.levels if counting is not None else {}))
        for identity, style in linked.items():
            if (found := self._lists.get(self._counted.get(self._of_style(style)[0], ""))) is not None:
                self._lists[identity] = found

    def write(self, root: _Element) -> None:
        """Before the text of each paragraph below `root` its number, or a dash, as a run of its own."""
        for paragraph in [each for each in root.iter() if local(each) == "p"]:
            number = self._next(paragraph)  # an empty paragraph counts, too
            if number and any(local(node) == "t" and (node.text or "").strip() for node in paragraph.iter()):
                _put_before(paragraph, f"{number} ")

    def _next(self, paragraph: _Element) -> str:
        """What stands before it, counted on; "" for nothing."""
        properties = child(paragraph, "pPr")
        own = child(properties, "numPr")
        style = setting(properties, "pStyle")
        listed, depth, of = self._of_style(style)
        if own is not None:
            listed = setting(own, "numId") or listed
        if not listed or listed == "0" or any(local(around) == "Fallback" for around in paragraph.iterancestors()):
            return ""
        counting = self._lists.get(self._counted.get(listed, ""))
        if counting is None:
            return BULLET
        if own is not None and setting(own, "ilvl"):
            depth = _number(setting(own, "ilvl"))
        elif own is None:
            depth = next((at for at, level in counting.levels.items() if of and level.style == of), depth)
        return self._count(counting, listed, min(max(depth, 0), LEVELS - 1))

    def _count(self, counting: _List, listed: str, depth: int) -> str:
        own = self._own[listed]
        levels = {**counting.levels, **own}
        if listed not in counting.begun:
            counting.begun.add(listed)
            for at in own:
                counting.counts[at] = None
        level = levels.get(depth)
        if level is None:
            return BULLET
        for at in range(depth):  # one that was passed over counts as begun
            if counting.counts[at] is None and at in levels:
                counting.counts[at] = levels[at].start
        before = counting.counts[depth]
        counting.counts[depth] = level.start if before is None else before + 1
        for below in range(depth + 1, LEVELS):
            if below in levels and levels[below].restarts > depth:
                counting.counts[below] = None
        if level.format == "bullet":
            return BULLET

        def figure(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            form = "decimal" if level.legal or at not in levels else levels[at].format
            return written(counting.counts[at] or 0, form)

        return re.sub("%([1-9])", figure, level.text).strip()

    def _find_of_style(self, style: str) -> tuple[str, int, str]:
        """The list that paragraphs of a style are in, how deep, and which of the styles that it is based on says so."""
        for _ in range(BASES):
            found = self._styles.get(style)
            listed = child(child(found, "pPr"), "numPr")
            if number := setting(listed, "numId"):
                return number, _number(setting(listed, "ilvl")), style
            style = setting(found, "basedOn")
            if not style:
                break
        return "", 0, ""


def written(number: int, form: str) -> str:
    """A number in one of Word's forms (17.18.59), in digits where that is none of the usual ones."""
    if form == "none":
        return ""
    if form.endswith("Letter") and 0 < number <= LAST_LETTER:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if form.startswith("upper") else letters
    if form in _IN_HAN and 0 < number < 100:
        tens, ones = divmod(number, 10)
        return ("" if tens < 2 else _HAN[tens]) + ("十" if tens else "") + (_HAN[ones] if ones else "")
    return list_number(number, _FORMS.get(form, "1"))


def _level(element: _Element) -> _Level:
    depth = _whole(element, "ilvl")
    restarts = setting(element, "lvlRestart")
    legal = child(element, "isLgl")
    return _Level(
        _number(setting(element, "start")),
        setting(element, "numFmt") or "decimal",
        setting(element, "lvlText")[:LONGEST],
        _number(restarts) if restarts else depth,
        legal is not None and attribute(legal, "val") not in ("0", "false", "off"),
        setting(element, "pStyle"),
    )


def _overridden(listed: _Element, levels: Mapping[int, _Level]) -> Iterator[tuple[int, _Level]]:
    for over in children(listed, "lvlOverride"):
        at, start = _whole(over, "ilvl"), setting(over, "startOverride")
        level = next(map(_level, children(over, "lvl")), levels.get(at))
        if level is not None:
            yield at, replace(level, start=_number(start)) if start else level


def _whole(element: _Element, name: str) -> int:
    return min(_number(attribute(element, name) or ""), LEVELS - 1)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _put_before(paragraph: _Element, text: str) -> None:
    paragraph.insert(1 if len(paragraph) and local(paragraph[0]) == "pPr" else 0, new_run(paragraph, text))
