"""The styles of an OpenDocument file that change what is read, such as raised or hidden text, and the numbers
of lists and headings (OASIS OpenDocument 1.3, part 3: 16, 20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ragcore.readers import typography
from ragcore.readers.blocks import NO_EFFECTS
from ragcore.readers.list_numbers import list_number
from ragcore.readers.office.package import Element
from ragcore.readers.typography import Effects
from ragcore.readers.web.safe_xml import attribute, children, local, whole

MAX_BASES = 20  # styles in a chain of styles that are based on each other
LEVELS = 10


class _Level(NamedTuple):
    """`form` is "" for none; `levels`: how many levels the number has."""

    form: str
    prefix: str
    suffix: str
    start: int
    levels: int


@dataclass(slots=True)
class Styles:
    """The styles of a file, by family and name. The levels of a list count from 1."""

    effects: dict[tuple[str, str], Effects] = field(default_factory=dict)
    parents: dict[tuple[str, str], str] = field(default_factory=dict)
    lists: dict[str, dict[int, _Level]] = field(default_factory=dict)
    outline: dict[int, _Level] = field(default_factory=dict)
    hidden_tables: set[str] = field(default_factory=set)
    _resolved: dict[tuple[str, str], Effects] = field(default_factory=dict)

    def add(self, root: Element) -> None:
        for element in root.iter("{*}style", "{*}list-style", "{*}outline-style"):
            name = attribute(element, "name") or ""
            if local(element) == "style":
                key = (attribute(element, "family") or "", name)
                self.effects[key] = _effects(element)
                self.parents[key] = attribute(element, "parent-style-name") or ""
                if any(
                    attribute(each, "display") == "false" for each in children(element, "table-properties")
                ):
                    self.hidden_tables.add(name)
            elif local(element) == "list-style":
                self.lists[name] = dict(_levels(element))
            else:
                self.outline = dict(_levels(element))

    def of(self, element: Element) -> Effects:
        """The effects of the element's style with those of the styles that it is based on."""
        name = attribute(element, "style-name")
        if not name:
            return NO_EFFECTS
        family = "text" if local(element) == "span" else "paragraph"
        if (family, name) not in self._resolved:
            self._resolved[family, name] = self._resolve(family, name)
        return self._resolved[family, name]

    def _resolve(self, family: str, name: str) -> Effects:
        effects = NO_EFFECTS
        for _ in range(MAX_BASES):
            effects = effects.over(self.effects.get((family, name), NO_EFFECTS))
            name = self.parents.get((family, name), "")
            if not name:
                break
        return effects


def _effects(style: Element) -> Effects:
    shift: str | None = None
    struck: bool | None = None
    hidden: bool | None = None
    for properties in style:
        if local(properties) == "text-properties":
            if position := attribute(properties, "text-position"):
                height = position.split()[0]
                low = height == "sub" or height.startswith("-")
                shift = (
                    typography.LOWERED
                    if low
                    else typography.RAISED
                    if height == "super" or height.strip("0%")
                    else ""
                )
            for name in ("text-line-through-style", "text-line-through-type"):
                if line := attribute(properties, name):
                    struck = line != "none"
            if display := attribute(properties, "display"):
                hidden = display == "none"
    return Effects(shift, struck, hidden)


def _levels(style: Element) -> Iterator[tuple[int, _Level]]:
    for element in style:
        level = whole(attribute(element, "level"), 1)
        numbered = local(element) in ("list-level-style-number", "outline-level-style")
        form, prefix, suffix = (
            attribute(element, f"num-{name}") or "" for name in ("format", "prefix", "suffix")
        )
        start = whole(attribute(element, "start-value"), 1)
        levels = min(whole(attribute(element, "display-levels"), 1), LEVELS)
        yield level, _Level(form if numbered else "", prefix, suffix, start, levels)


class Numbers:
    """Counts the headings and the items of lists of a part, in its order."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._headings: dict[int, int] = {}
        self._by_style: dict[str, dict[int, int]] = {}
        self._by_identity: dict[str, dict[int, int]] = {}

    def heading(self, heading: Element) -> str:
        """The number of the next heading, "" for none."""
        if attribute(heading, "is-list-header") == "true":
            return ""
        level = whole(attribute(heading, "outline-level"), 1)
        return _next(self._styles.outline, self._headings, level, attribute(heading, "start-value"))

    def counts(self, listed: Element) -> dict[int, int]:
        """The numbers that a list begins with, by level. It may continue another list."""
        name = attribute(listed, "style-name") or ""
        counts: dict[int, int] = {}
        if (identity := attribute(listed, "continue-list")) is not None:
            counts = self._by_identity.get(identity, counts)
        elif attribute(listed, "continue-numbering") == "true":
            counts = self._by_style.get(name, counts)
        self._by_style[name] = counts
        self._by_identity[attribute(listed, "id") or ""] = counts
        return counts

    def item(self, item: Element, style: str, counts: dict[int, int], level: int) -> str:
        """The number of the next item, "" for none."""
        return _next(self._styles.lists.get(style, {}), counts, level, attribute(item, "start-value"))


def _next(levels: dict[int, _Level], counts: dict[int, int], level: int, start: str | None) -> str:
    """The number of the next item of a level; "" if the level has no numbers."""
    own = levels.get(level)
    if own is None or not own.form:
        return ""
    counts[level] = whole(start, 0) if start else counts.get(level, own.start - 1) + 1
    for below in [each for each in counts if each > level]:
        del counts[below]
    numbers = (
        list_number(counts.get(each, levels[each].start), levels[each].form)
        for each in range(max(1, level - own.levels + 1), level + 1)
        if each in levels and levels[each].form
    )
    return f"{own.prefix}{'.'.join(numbers)}{own.suffix}".strip()
