"""PowerPoint: each slide's text in its order, with its lists and tables, and the speaker's notes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.office.cell_format import shown
from ragcore.readers.office.package import Package, core_properties, damaged, package
from ragcore.readers.page_spans import joined
from ragcore.readers.pdf.line_joining import is_item
from ragcore.readers.web.safe_xml import attribute, local
from ragcore.schema import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

SUFFIXES = (".pptx", ".pptm", ".ppsx", ".potx")

_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})  # placeholders that say nothing about the subject
_YES = frozenset({"1", "true"})
_TITLES = frozenset({"title", "ctrTitle"})
_BODIES = frozenset({None, "obj", "body"})  # placeholders whose paragraphs have bullets unless they say that they have none


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        slides = list(_slides(parts, options.name))
        pages = []
        for number, slide in enumerate(slides, 1):
            pages.append((str(number), clean("\n\n".join(_slide(parts, slide))).strip()))
            options.progress(number, len(slides))
        metadata = {"file_name": options.name, **core_properties(parts)}
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text on its slides.",
            hint="If they are pictures, save it as PDF and have its text recognised (OCR).",
        )
    return Document(text, metadata=metadata, pages=stretches, page_word="slide")


def _slides(parts: Package, name: str) -> Iterator[str]:
    """The slides' parts in the order in which they are shown."""
    main = next((path for path in (*parts.linked("", "officeDocument"), "ppt/presentation.xml") if path in parts), None)
    if main is None:
        raise damaged(name, "it is no PowerPoint presentation inside")
    links = parts.links(main)
    for entry in parts.xml(main).iter():
        if local(entry) == "sldId":
            identity = next(
                (str(value) for key, value in entry.attrib.items() if str(key).startswith("{") and str(key).endswith("}id")), ""
            )
            path = links.get(identity, ("", ""))[1]
            if path in parts:
                yield path


def _slide(parts: Package, slide: str) -> Iterator[str]:
    yield from _shapes(parts, slide)
    for note in parts.linked(slide, "notesSlide"):
        text = "\n".join(_shapes(parts, note, bodies=frozenset()))
        if text.strip():
            yield f"Notes: {text}"
    for comment in parts.linked(slide, "comments"):
        for element in _tree(parts, comment):
            if local(element) == "text" and (element.text or "").strip():
                yield f"Comment: {(element.text or '').strip()}"


def _shapes(parts: Package, part: str, *, bodies: Container[str | None] = _BODIES) -> list[str]:
    """The text of each shape; the title first, wherever it was drawn. `bodies` are the placeholders that hold lists."""
    titles: list[str] = []
    others: list[str] = []
    for shape in _tree(parts, part):
        kind = local(shape)
        if kind == "sp":
            placeholder = next((attribute(node, "type") for node in shape.iter() if local(node) == "ph"), "none")
            text = _with_marks(shape, bulleted=placeholder in bodies)
            if placeholder in _FURNITURE and (placeholder != "dt" or any(map(str.isdigit, text))):
                continue  # words in the place of the date are none
            (titles if placeholder in _TITLES else others).append(text)
        elif kind == "tbl":
            others.append("\n".join(table_rows.lines(_grid(shape), name_rows=_marked(shape))))
    for diagram in parts.linked(part, "diagramData"):
        others.append("\n".join(_paragraphs(node) for node in _tree(parts, diagram) if local(node) == "t" and len(node)))
    for chart in parts.linked(part, "chart"):
        others.append(_chart(parts, chart))
    return [text for text in (*titles, *others) if text.strip()]


def _grid(table: _Element) -> Iterator[list[str]]:
    above: list[str] = []
    for row in table:
        if local(row) == "tr":
            cells: list[str] = []
            for cell in row:
                if local(cell) == "tc":
                    across, down = attribute(cell, "hMerge") in _YES, attribute(cell, "vMerge") in _YES
                    text = _paragraphs(cell)
                    cells.append(table_rows.LEFT if across else above[len(cells)] if down and len(above) > len(cells) else text)
            yield cells
            above = cells


def _marked(table: _Element) -> int | None:
    """How many rows have names of columns: one, where the first row is drawn as such."""
    properties = next((child for child in table if local(child) == "tblPr"), None)
    return 1 if properties is not None and attribute(properties, "firstRow") in _YES else None


def _tree(parts: Package, part: str) -> Iterator[_Element]:
    try:
        root = parts.xml(part)
    except DamagedFileError:
        return  # the other slides can still be read
    stack = [root]
    while stack:
        element = stack.pop()
        if local(element) == "Fallback":  # the same once more, for old programs
            continue
        yield element
        if local(element) != "sp":
            stack.extend(reversed(element))


def _with_marks(shape: _Element, *, bulleted: bool) -> str:
    """Its paragraphs, with a mark or a number before each item of a list."""
    found = list(_lines(shape))
    if len(found) < 2:
        return "".join(line for _, line in found)
    lines = []
    counts: list[int] = []  # numbered items so far, of each level down to that of the paragraph before
    for paragraph, line in found:
        level, kinds = _list_properties(paragraph)
        counts = [*counts, *[0] * (level + 1 - len(counts))][: level + 1]
        counts[level] = counts[level] + 1 if "buAutoNum" in kinds else 0
        is_marked = (bulleted and "buNone" not in kinds) or not kinds.isdisjoint(("buChar", "buBlip"))
        mark = f"{counts[level]}. " if counts[level] else "- " if is_marked else ""
        lines.append("  " * level + mark + line if mark and not is_item(line) else line)
    return "\n".join(lines)


def _list_properties(paragraph: _Element) -> tuple[int, frozenset[str]]:
    """How deep in a list it stands, 0 to 8, and what it says of its mark."""
    properties = next((child for child in paragraph if local(child) == "pPr"), None)
    if properties is None:
        return 0, frozenset()
    level = attribute(properties, "lvl") or ""
    return int(level) if len(level) == 1 and level.isdecimal() else 0, frozenset(map(local, properties))


def _paragraphs(element: _Element) -> str:
    return "\n".join(line for _, line in _lines(element))


def _lines(element: _Element) -> Iterator[tuple[_Element, str]]:
    """Each paragraph that says something, and what it says."""
    for node in element.iter():
        if local(node) == "p":
            line = "".join((run.text or "") if local(run) == "t" else "\n" if local(run) == "br" else "" for run in node.iter())
            if line.strip():
                yield node, line.strip()


class _Series(NamedTuple):
    """`labels` of its categories, and its values, by their places; `name` is "" where it has none."""

    name: str
    labels: tuple[tuple[int, str], ...]
    values: Mapping[int, str]


def _chart(parts: Package, chart: str) -> str:
    """Its titles, and a row for each category with the value of each series, as the file keeps them."""
    elements = list(_tree(parts, chart))
    found = [line for element in elements if local(element) == "p" and (line := _paragraphs(element))]
    series = [_series(element) for element in elements if local(element) == "ser"]
    for labels, alike in groupby(series, key=lambda each: each.labels):
        together = list(alike)
        rows = [[label, *(each.values.get(place, "") for each in together)] for place, label in labels]
        found += table_rows.lines([["", *(each.name for each in together)], *rows], name_rows=1)
    return "\n".join(found) if any(map(str.isalpha, "".join(found))) else ""


def _series(element: _Element) -> _Series:
    parts = {local(child): _points(child) for child in element}
    values = parts.get("val") or parts.get("yVal") or {}
    labels = parts.get("cat") or parts.get("xVal") or {place: str(place + 1) for place in values}
    places = sorted(labels.keys() | values.keys())
    name = next(iter(parts.get("tx", {}).values()), "")
    return _Series(name, tuple((place, labels.get(place, "")) for place in places), values)


def _points(element: _Element) -> dict[int, str]:
    """What is kept of a series, by place; numbers and dates as the chart shows them."""
    code = next((node.text or "" for node in element.iter() if local(node) == "formatCode"), "")
    found: dict[int, str] = {}
    for node in element.iter():
        value = next((child.text for child in node if local(child) == "v"), None) if local(node) == "pt" else None
        place = attribute(node, "idx") or ""
        if value and place.isdecimal():
            found.setdefault(int(place), _figure(value, code) if code else " ".join(value.split()))
    return found


def _figure(value: str, code: str) -> str:
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import from_excel

    try:
        number = float(value)
        return shown(from_excel(number) if is_date_format(code) else number, code)
    except (ValueError, OverflowError):
        return value
