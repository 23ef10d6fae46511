"""The numbers that Word writes before paragraphs, such as those of a contract's clauses (ECMA-376 part 1,
17.9).

A file has only the rules for counting, so this module counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ragcore.readers.list_numbers import list_number
from ragcore.readers.office.docx_formatting import read_setting
from ragcore.readers.office.package import Element
from ragcore.readers.web.safe_xml import attribute, child, children, properties, whole

LEVELS = 9
MAX_BASES = 20  # styles in a chain of styles that are based on each other
MAX_TEXT = 100  # characters around the numbers of a level
MAX_LETTER = 780  # largest number in letters; it has thirty of them
BULLET = "-"

_FORMS = {"decimalZero": "01", "lowerRoman": "i", "upperRoman": "I"}
_HAN = "〇一二三四五六七八九"
_IN_HAN = (
    "chineseCounting",
    "chineseCountingThousand",
    "taiwaneseCounting",
    "taiwaneseCountingThousand",
    "japaneseCounting",
)


@dataclass(frozen=True, slots=True)
class _Level:
    """`restarts`: the level, from 1, after which it restarts; 0 for never."""

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
    begun: set[str] = field(default_factory=set)  # the lists with this count that had a paragraph


class Numbers:
    """Counts the paragraphs of a document. `numbering` and `styles` are the roots of these parts of its
    file."""

    def __init__(self, numbering: Element | None, styles: Element | None) -> None:
        self._styles = {attribute(style, "styleId") or "": style for style in children(styles, "style")}
        self._of_style = lru_cache(None)(self._find_of_style)
        self._lists: dict[str, _List] = {}
        self._abstract: dict[str, str] = {}  # by list, the identity that all lists with one count share
        self._own: dict[str, dict[int, _Level]] = {}  # levels that a list overrides, by list and level
        linked: dict[str, str] = {}
        for each in children(numbering, "abstractNum"):
            identity = attribute(each, "abstractNumId") or ""
            self._lists[identity] = _List({_depth(level): _level(level) for level in children(each, "lvl")})
            if style := read_setting(each, "numStyleLink"):
                linked[identity] = style
        for each in children(numbering, "num"):
            identity = attribute(each, "numId") or ""
            self._abstract[identity] = read_setting(each, "abstractNumId")
            counting = self._lists.get(self._abstract[identity])
            self._own[identity] = dict(_overrides(each, counting.levels if counting is not None else {}))
        for identity, style in linked.items():
            if (counting := self._lists.get(self._abstract.get(self._of_style(style)[0], ""))) is not None:
                self._lists[identity] = counting

    def next(self, paragraph: Element) -> str:
        """The number of the next paragraph, or a dash; "" for none. Empty paragraphs count too."""
        of_paragraph = properties(paragraph, "pPr")
        numbering = child(of_paragraph, "numPr")
        style = read_setting(of_paragraph, "pStyle")
        list_id, depth, of = self._of_style(style)
        if numbering is not None:
            list_id = read_setting(numbering, "numId") or list_id
        if not list_id or list_id == "0":
            return ""
        counting = self._lists.get(self._abstract.get(list_id, ""))
        if counting is None:
            return BULLET
        if numbering is not None and read_setting(numbering, "ilvl"):
            depth = whole(read_setting(numbering, "ilvl"), 0)
        elif numbering is None:
            depth = next((at for at, level in counting.levels.items() if of and level.style == of), depth)
        return self._count(counting, list_id, min(max(depth, 0), LEVELS - 1))

    def _count(self, counting: _List, list_id: str, depth: int) -> str:
        own = self._own[list_id]
        levels = {**counting.levels, **own}
        if list_id not in counting.begun:
            counting.begun.add(list_id)
            for at in own:
                counting.counts[at] = None
        level = levels.get(depth)
        if level is None:
            return BULLET
        for at in range(depth):  # a skipped level counts as begun
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
            return format_number(counting.counts[at] or 0, form)

        return re.sub("%([1-9])", figure, level.text).strip()

    def _find_of_style(self, style: str) -> tuple[str, int, str]:
        """The list of a style's paragraphs, their depth, and the style that defines both, which may be a base
        of it."""
        for _ in range(MAX_BASES):
            element = self._styles.get(style)
            numbering = child(child(element, "pPr"), "numPr")
            if list_id := read_setting(numbering, "numId"):
                return list_id, whole(read_setting(numbering, "ilvl"), 0), style
            style = read_setting(element, "basedOn")
            if not style:
                break
        return "", 0, ""


def format_number(number: int, form: str) -> str:
    """A number in one of Word's forms (17.18.59), in digits for unusual forms."""
    if form == "none":
        return ""
    if form.endswith("Letter") and 0 < number <= MAX_LETTER:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if form.startswith("upper") else letters
    if form in _IN_HAN and 0 < number < 100:
        tens, ones = divmod(number, 10)
        return ("" if tens < 2 else _HAN[tens]) + ("十" if tens else "") + (_HAN[ones] if ones else "")
    return list_number(number, _FORMS.get(form, "1"))


def _level(element: Element) -> _Level:
    legal = child(element, "isLgl")
    return _Level(
        whole(read_setting(element, "start"), 0),
        read_setting(element, "numFmt") or "decimal",
        read_setting(element, "lvlText")[:MAX_TEXT],
        whole(read_setting(element, "lvlRestart"), _depth(element)),
        legal is not None and attribute(legal, "val") not in ("0", "false", "off"),
        read_setting(element, "pStyle"),
    )


def _overrides(numbering: Element, levels: Mapping[int, _Level]) -> Iterator[tuple[int, _Level]]:
    for override in children(numbering, "lvlOverride"):
        depth, start = _depth(override), read_setting(override, "startOverride")
        level = next(map(_level, children(override, "lvl")), levels.get(depth))
        if level is not None:
            yield depth, replace(level, start=whole(start, 0)) if start else level


def _depth(element: Element) -> int:
    return min(whole(attribute(element, "ilvl"), 0), LEVELS - 1)
