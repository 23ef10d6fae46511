"""Writes the meaning of an OpenDocument file's formatting into its text before that is read: raised and
struck letters, hidden text, phonetic readings, equations, charts, the numbers of lists and headings (OASIS
OpenDocument 1.3, part 3: 16, 20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ragcore.errors import DamagedFileError, UnsupportedFileError
from ragcore.readers import typography
from ragcore.readers.list_numbers import list_number
from ragcore.readers.losses import Losses
from ragcore.readers.office.package import Element, Package
from ragcore.readers.typography import Effects
from ragcore.readers.web import mathml
from ragcore.readers.web.safe_xml import attribute, children, local, whole

MARK = "list-mark"  # the attribute of a list item with its number
MAX_BASES = 20  # styles in a chain of styles that are based on each other
LEVELS = 10
_CHART = "{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_HIDDEN = "hidden"  # the tag of elements that are removed
_STYLED = (f"{_TEXT}span", f"{_TEXT}p", f"{_TEXT}h")


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
        family, name = (
            "text" if local(element) == "span" else "paragraph",
            attribute(element, "style-name") or "",
        )
        effects = Effects()
        for _ in range(MAX_BASES if name else 0):
            effects = effects.over(self.effects.get((family, name), Effects()))
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


def write_formatting(root: Element, styles: Styles, parts: Package, losses: Losses) -> None:
    """Change the text below `root` to what the document shows."""
    losses.hidden += _remove_hidden(root, styles)
    for ruby in list(root.iter(f"{_TEXT}ruby")):
        base, reading = (
            "".join(words for each in children(ruby, kind) for words in _words(each))
            for kind in ("ruby-base", "ruby-text")
        )
        _replace_with_text(ruby, typography.ruby(base, reading))
    for element in root.iter(*_STYLED):
        effects = styles.of(element)
        for kind in filter(None, (effects.shift, typography.STRUCK if effects.struck else "")):
            _surround(element, *typography.around(kind))
    _write_objects(root, parts, losses)
    _write_numbers(root, styles)


def _remove_hidden(root: Element, styles: Styles) -> int:
    """Returns how many elements with text were removed."""
    from lxml import etree

    hidden = [each for each in root.iter(*_STYLED) if styles.of(each).hidden]
    for element in root.iter(f"{_TEXT}section", f"{_TEXT}hidden-text", f"{_TEXT}hidden-paragraph"):
        outer = element.getparent()
        if attribute(element, "is-hidden") == "true":
            hidden.append(outer if local(element) == "hidden-paragraph" and outer is not None else element)
        elif local(element) == "section" and attribute(element, "display") == "none":
            hidden.append(element)
    count = 0
    for element in hidden:
        count += bool("".join(_words(element)).strip())
        element.tag = _HIDDEN
    etree.strip_elements(root, _HIDDEN, with_tail=False)
    return count


def _write_objects(root: Element, parts: Package, losses: Losses) -> None:
    for frame in list(root.iter("{*}frame")):
        drawn = {local(child): child for child in frame}
        thing = drawn.get("object")
        if thing is not None:
            _write_object(frame, thing, parts, losses)
        elif "object-ole" in drawn or "plugin" in drawn:
            losses.objects.add(attribute(next(iter(frame)), "href") or str(id(frame)))
        elif "image" in drawn:
            losses.add_picture(parts, (attribute(drawn["image"], "href") or "").removeprefix("./"))


def _write_object(frame: Element, thing: Element, parts: Package, losses: Losses) -> None:
    """An equation as text, a chart as its title and the rows of its table. Other objects are not read."""
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
    box.extend(
        [*chart.iter(f"{_TEXT}p")] if next(chart.iter("{*}table"), None) is None else _titles_and_table(chart)
    )
    frame.append(box)


def _titles_and_table(chart: Element) -> Iterator[Element]:
    for child in list(chart):
        if local(child) in ("title", "subtitle", "footer"):
            yield from list(child)
        elif local(child) == "plot-area":
            yield from [title for axis in children(child, "axis") for title in axis.iter(f"{_TEXT}p")]
        elif local(child) == "table":
            yield child


def _write_numbers(root: Element, styles: Styles) -> None:
    """Insert the number of each heading into its text, and set that of each list item as an attribute."""
    by_style: dict[str, dict[int, int]] = {}
    by_identity: dict[str, dict[int, int]] = {}
    headings: dict[int, int] = {}
    for element in root.iter(f"{_TEXT}list", f"{_TEXT}h"):
        if local(element) == "h":
            level, start = whole(attribute(element, "outline-level"), 1), attribute(element, "start-value")
            is_numbered = attribute(element, "is-list-header") != "true"
            if is_numbered and (mark := _next(styles.outline, headings, level, start)):
                element.text = f"{mark} {element.text or ''}"
        elif not any(local(outer) == "list" for outer in element.iterancestors()):
            name = attribute(element, "style-name") or ""
            counts: dict[int, int] = {}
            if (identity := attribute(element, "continue-list")) is not None:
                counts = by_identity.get(identity, counts)
            elif attribute(element, "continue-numbering") == "true":
                counts = by_style.get(name, counts)
            _number_items(element, 1, name, counts, styles)
            by_style[name] = counts
            by_identity[attribute(element, "id") or ""] = counts


def _number_items(items: Element, level: int, name: str, counts: dict[int, int], styles: Styles) -> None:
    name = attribute(items, "style-name") or name
    for item in items:
        inner = [child for child in item if local(child)]
        is_item = local(item) == "list-item" and any(local(child) != "list" for child in inner)
        if is_item and (
            mark := _next(styles.lists.get(name, {}), counts, level, attribute(item, "start-value"))
        ):
            item.set(MARK, mark)
        for child in inner:
            if local(child) == "list" and level < LEVELS:
                _number_items(child, level + 1, name, counts, styles)


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


def _words(element: Element) -> Iterator[str]:
    return map(str, element.itertext())


def _surround(element: Element, before: str, behind: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + behind
        element.text = before + (element.text or "")
    elif element.text:
        element.text = f"{before}{element.text}{behind}"


def _replace_with_text(element: Element, text: str) -> None:
    element.clear(keep_tail=True)
    element.tag = f"{_TEXT}span"
    element.text = text
