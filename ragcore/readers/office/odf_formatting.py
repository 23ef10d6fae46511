"""What formatting means in an OpenDocument file, written into its text before that is read: raised and struck letters, hidden
text, readings, equations and charts in their place, the numbers of lists and headings (OASIS OpenDocument 1.3, part 3: 16, 20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ragcore.errors import DamagedFileError, UnsupportedFileError
from ragcore.readers import typography
from ragcore.readers.list_numbers import list_number
from ragcore.readers.losses import Losses
from ragcore.readers.office.package import Package
from ragcore.readers.typography import Effects
from ragcore.readers.web import mathml
from ragcore.readers.web.safe_xml import attribute, children, local, whole

if TYPE_CHECKING:
    from lxml.etree import _Element

MARK = "list-mark"  # the attribute of an item that has its number
BASES = 20  # styles that one may be based on, one on the other
LEVELS = 10
_CHART = "{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_HIDDEN = "hidden"  # the tag of elements that are taken out


class _Level(NamedTuple):
    """`form` is "" for none; `shown` is how many levels stand in the number."""

    form: str
    prefix: str
    suffix: str
    start: int
    shown: int


@dataclass(slots=True)
class Styles:
    """Those of a file, by family and name; `lists` have their levels, from 1."""

    effects: dict[tuple[str, str], Effects] = field(default_factory=dict)
    parents: dict[tuple[str, str], str] = field(default_factory=dict)
    lists: dict[str, dict[int, _Level]] = field(default_factory=dict)
    outline: dict[int, _Level] = field(default_factory=dict)
    hidden_tables: set[str] = field(default_factory=set)

    def add(self, root: _Element) -> None:
        for element in root.iter("{*}style", "{*}list-style", "{*}outline-style"):
            name = attribute(element, "name") or ""
            if local(element) == "style":
                key = (attribute(element, "family") or "", name)
                self.effects[key] = _effects(element)
                self.parents[key] = attribute(element, "parent-style-name") or ""
                if any(attribute(each, "display") == "false" for each in children(element, "table-properties")):
                    self.hidden_tables.add(name)
            elif local(element) == "list-style":
                self.lists[name] = dict(_levels(element))
            else:
                self.outline = dict(_levels(element))

    def of(self, family: str, name: str) -> Effects:
        """The effects of a style with those that it is based on."""
        found = Effects()
        for _ in range(BASES):
            if not name:
                break
            own = self.effects.get((family, name), Effects())
            found = found.over(own)
            name = self.parents.get((family, name), "")
        return found


def _effects(style: _Element) -> Effects:
    shift: str | None = None
    struck: bool | None = None
    hidden: bool | None = None
    for properties in style:
        if local(properties) == "text-properties":
            if position := attribute(properties, "text-position"):
                height = position.split()[0]
                low = height == "sub" or height.startswith("-")
                shift = typography.LOWERED if low else typography.RAISED if height == "super" or height.strip("0%") else ""
            for name in ("text-line-through-style", "text-line-through-type"):
                if line := attribute(properties, name):
                    struck = line != "none"
            if display := attribute(properties, "display"):
                hidden = display == "none"
    return Effects(shift, struck, hidden)


def _levels(style: _Element) -> Iterator[tuple[int, _Level]]:
    for element in style:
        level = whole(attribute(element, "level"), 1)
        numbered = local(element) in ("list-level-style-number", "outline-level-style")
        yield (
            level,
            _Level(
                (attribute(element, "num-format") or "") if numbered else "",
                attribute(element, "num-prefix") or "",
                attribute(element, "num-suffix") or "",
                whole(attribute(element, "start-value"), 1),
                min(whole(attribute(element, "display-levels"), 1), LEVELS),
            ),
        )


def write_formatting(root: _Element, styles: Styles, parts: Package, losses: Losses) -> None:
    """Changes the text below `root` to what the document shows."""
    losses.hidden += _remove_hidden(root, styles)
    for ruby in list(root.iter(f"{_TEXT}ruby")):
        base, reading = (
            "".join(words for each in children(ruby, kind) for words in _words(each)) for kind in ("ruby-base", "ruby-text")
        )
        _replace_with_text(ruby, typography.ruby(base, reading))
    for element in root.iter(f"{_TEXT}span", f"{_TEXT}p", f"{_TEXT}h"):
        effects = styles.of("text" if local(element) == "span" else "paragraph", attribute(element, "style-name") or "")
        for kind in filter(None, (effects.shift, typography.STRUCK if effects.struck else "")):
            _surround(element, *typography.around(kind))
    _write_objects(root, parts, losses)
    _write_numbers(root, styles)


def _remove_hidden(root: _Element, styles: Styles) -> int:
    from lxml import etree

    hidden = []
    for element in root.iter(
        f"{_TEXT}span", f"{_TEXT}p", f"{_TEXT}h", f"{_TEXT}section", f"{_TEXT}hidden-text", f"{_TEXT}hidden-paragraph"
    ):
        kind = local(element)
        if kind == "section":
            if attribute(element, "display") == "none" or attribute(element, "is-hidden") == "true":
                hidden.append(element)
        elif kind.startswith("hidden-"):
            if attribute(element, "is-hidden") == "true":
                around = element.getparent()
                hidden.append(around if kind == "hidden-paragraph" and around is not None else element)
        elif styles.of("text" if kind == "span" else "paragraph", attribute(element, "style-name") or "").hidden:
            hidden.append(element)
    count = 0
    for element in hidden:
        count += bool("".join(_words(element)).strip())
        element.tag = _HIDDEN
    etree.strip_elements(root, _HIDDEN, with_tail=False)
    return count


def _write_objects(root: _Element, parts: Package, losses: Losses) -> None:
    for frame in list(root.iter("{*}frame")):
        drawn = {local(child): child for child in frame}
        thing = drawn.get("object")
        if thing is not None:
            _write_object(frame, thing, parts, losses)
        elif "object-ole" in drawn or "plugin" in drawn:
            losses.objects.add(attribute(next(iter(frame)), "href") or str(id(frame)))
        elif "image" in drawn:
            losses.add_picture(parts, (attribute(drawn["image"], "href") or "").removeprefix("./"))


def _write_object(frame: _Element, thing: _Element, parts: Package, losses: Losses) -> None:
    """An equation as text, a chart as its title and the rows of its table; another file is not read."""
    folder = (attribute(thing, "href") or "").removeprefix("./")
    content = next((child for child in thing if local(child)), None)
    if content is None and f"{folder}/content.xml" in parts:
        try:
            content = parts.xml(f"{folder}/content.xml")
        except (DamagedFileError, UnsupportedFileError):
            content = None
    if content is not None and local(content) == "math":
        _replace_with_text(frame, mathml.equation(content))
        return
    chart = next(content.iter(f"{_CHART}chart"), None) if content is not None else None
    if chart is None:
        losses.objects.add(folder or str(id(thing)))
        return
    box = frame.makeelement("text-box", {}, None)
    box.extend([*chart.iter(f"{_TEXT}p")] if next(chart.iter("{*}table"), None) is None else _titles_and_table(chart))
    frame.append(box)


def _titles_and_table(chart: _Element) -> Iterator[_Element]:
    for child in list(chart):
        if local(child) in ("title", "subtitle", "footer"):
            yield from list(child)
        elif local(child) == "plot-area":
            yield from [title for axis in children(child, "axis") for title in axis.iter(f"{_TEXT}p")]
        elif local(child) == "table":
            yield child


def _write_numbers(root: _Element, styles: Styles) -> None:
    """Before each heading its number as text; that of an item of a list as its attribute."""
    by_style: dict[str, dict[int, int]] = {}
    by_identity: dict[str, dict[int, int]] = {}
    headings: dict[int, int] = {}
    for element in root.iter(f"{_TEXT}list", f"{_TEXT}h"):
        if local(element) == "h":
            level = whole(attribute(element, "outline-level"), 1)
            if attribute(element, "is-list-header") != "true" and (
                mark := _next(styles.outline, headings, level, attribute(element, "start-value"))
            ):
                element.text = f"{mark} {element.text or ''}"
        elif not any(local(around) == "list" for around in element.iterancestors()):
            name = attribute(element, "style-name") or ""
            counts: dict[int, int] = {}
            if (before := attribute(element, "continue-list")) is not None:
                counts = by_identity.get(before, counts)
            elif attribute(element, "continue-numbering") == "true":
                counts = by_style.get(name, counts)
            _number_items(element, 1, name, counts, styles)
            by_style[name] = counts
            by_identity[attribute(element, "id") or ""] = counts


def _number_items(items: _Element, level: int, name: str, counts: dict[int, int], styles: Styles) -> None:
    name = attribute(items, "style-name") or name
    for item in items:
        inner = [child for child in item if local(child)]
        is_item = local(item) == "list-item" and any(local(child) != "list" for child in inner)
        if is_item and (mark := _next(styles.lists.get(name, {}), counts, level, attribute(item, "start-value"))):
            item.set(MARK, mark)
        for child in inner:
            if local(child) == "list" and level < LEVELS:
                _number_items(child, level + 1, name, counts, styles)


def _next(levels: dict[int, _Level], counts: dict[int, int], level: int, start: str | None) -> str:
    """The number of the next item of a level, counted on; "" where that level has none."""
    of = levels.get(level)
    if of is None or not of.form:
        return ""
    counts[level] = whole(start, 0) if start else counts.get(level, of.start - 1) + 1
    for below in [each for each in counts if each > level]:
        del counts[below]
    numbers = (
        list_number(counts.get(each, levels[each].start), levels[each].form)
        for each in range(max(1, level - of.shown + 1), level + 1)
        if each in levels and levels[each].form
    )
    return f"{of.prefix}{'.'.join(numbers)}{of.suffix}".strip()


def _words(element: _Element) -> Iterator[str]:
    return map(str, element.itertext())


def _surround(element: _Element, before: str, behind: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + behind
        element.text = before + (element.text or "")
    elif element.text:
        element.text = f"{before}{element.text}{behind}"


def _replace_with_text(element: _Element, text: str) -> None:
    element.clear(keep_tail=True)
    element.tag = f"{_TEXT}span"
    element.text = text
