"""The text of drawings in an Office file: charts (ECMA-376 part 1, 21.2) and diagrams of SmartArt (21.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from ragcore.readers import render, table_rows, typography
from ragcore.readers.blocks import Run
from ragcore.readers.office import omml
from ragcore.readers.office.cell_format import format_cell
from ragcore.readers.office.package import Element, Package
from ragcore.readers.typography import Effects
from ragcore.readers.web.safe_xml import attribute, child, children, local, properties, whole

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".emf", ".wmf", ".svg", ".tif", ".tiff")

_GENERATED = re.compile(  # the texts that Word appends to its own descriptions
    r"Description (?:automatically generated|generated with \w+(?: \w+)? confidence)"
    r"|AI-generated content may be incorrect"
    r"|Automatisch generierte Beschreibung|KI-generierte Inhalte können fehlerhaft sein"
    r"|Description générée automatiquement|Le contenu généré par l[’']IA peut être incorrect"
    r"|Descripción generada automáticamente|El contenido generado por IA puede ser incorrecto"
    r"|描述已自动生成|AI ?生成的内容可能不正确",
    re.I,
)


def elements(
    parts: Package, part: str, *, skip: Callable[[Element], bool] = lambda element: False, leaf: str = ""
) -> Iterator[Element]:
    """Every element of a part in document order, without copies for old programs; none if the part is
    damaged."""
    root = parts.optional(part)
    stack = [] if root is None else [root]
    while stack:
        element = stack.pop()
        if local(element) == "Fallback" or skip(element):
            continue
        yield element
        if local(element) != leaf:
            stack.extend(reversed(element))


def paragraphs(element: Element) -> Iterator[Element]:
    """The paragraphs of DrawingML below `element`, without copies for old programs."""
    for each in element:
        kind = local(each)
        if kind == "p":
            yield each
        elif kind and kind != "Fallback":
            yield from paragraphs(each)


def paragraph_text(paragraph: Element) -> str:
    """The text of a paragraph of DrawingML."""
    return render.inline(_runs(paragraph)).strip()


def _runs(element: Element) -> Iterator[Run]:
    for each in element:
        kind = local(each)
        if kind == "t":
            yield Run(each.text or "", _effects(properties(each.getparent(), "rPr")))
        elif kind == "br":
            yield Run("\n")
        elif kind in ("oMath", "oMathPara"):
            yield Run(omml.equation(each))
        elif kind and kind != "Fallback":
            yield from _runs(each)


def _effects(of_run: Element | None) -> Effects:
    """The effects of a run (21.1.2.3.9)."""
    baseline = attribute(of_run, "baseline") or ""
    shift = ""
    if baseline.strip("-0%"):
        shift = typography.LOWERED if baseline.startswith("-") else typography.RAISED
    return Effects(shift, attribute(of_run, "strike") in ("sngStrike", "dblStrike"))


def alternative_text(properties: Element | None) -> str:
    """The author's description of a picture; "" for the name of a file, or for a description that a program
    generated."""
    text = " ".join((attribute(properties, "descr") or "").split())
    return "" if text.lower().endswith(_PICTURES) or _GENERATED.search(text) else text


def linked_texts(parts: Package, part: str) -> Iterator[str]:
    """The text of each diagram and chart that a part shows; "" if it has none."""
    yield from (diagram_text(parts, path) for path in parts.linked_parts(part, "diagramData"))
    yield from (
        chart_text(parts, path) for kind in ("chart", "chartEx") for path in parts.linked_parts(part, kind)
    )


def diagram_text(parts: Package, diagram: str) -> str:
    """A line for each paragraph in its shapes."""
    lists = (element for element in elements(parts, diagram) if local(element) == "t")
    return "\n".join(
        text for each in lists for paragraph in children(each, "p") if (text := paragraph_text(paragraph))
    )


def chart_text(parts: Package, chart: str) -> str:
    """The titles of a chart, and a row for each category with the value of each series."""
    nodes = list(elements(parts, chart))
    lines = [text for node in nodes if local(node) == "p" and (text := paragraph_text(node))]
    series = [_series(node) for node in nodes if local(node) == "ser"]
    for labels, grouped in groupby(series, key=lambda each: each.labels):
        group = list(grouped)
        rows = [[label, *(each.values.get(place, "") for each in group)] for place, label in labels]
        lines += table_rows.lines([["", *(each.name for each in group)], *rows], name_rows=1)
    lines += table_rows.lines(_extended_rows(nodes))
    return "\n".join(lines) if any(map(str.isalpha, "".join(lines))) else ""


class _Series(NamedTuple):
    """The labels of its categories and its values, by index; `name` is "" if it has none."""

    name: str
    labels: tuple[tuple[int, str], ...]
    values: Mapping[int, str]


def _series(element: Element) -> _Series:
    parts = {local(each): _points(each) for each in element}
    values = parts.get("val") or parts.get("yVal") or {}
    labels = parts.get("cat") or parts.get("xVal") or {place: str(place + 1) for place in values}
    places = sorted(labels.keys() | values.keys())
    name = next(iter(parts.get("tx", {}).values()), "")
    return _Series(name, tuple((place, labels.get(place, "")) for place in places), values)


def _points(element: Element) -> dict[int, str]:
    """The values of a series by index; numbers and dates in the chart's format."""
    code = next((node.text or "" for node in element.iter() if local(node) == "formatCode"), "")
    points: dict[int, str] = {}
    for node in element.iter():
        value = child(node, "v") if local(node) == "pt" else None
        place = whole(attribute(node, "idx"), -1)
        if value is not None and value.text and place >= 0:
            points.setdefault(place, _figure(value.text, code) if code else " ".join(value.text.split()))
    return points


def _extended_rows(nodes: list[Element]) -> Iterator[list[str]]:
    """The charts of Office 2016, such as waterfalls and tree maps: a row for each point, with its names and
    its number."""
    for data in nodes:
        if local(data) == "data" and [*children(data, "strDim", "numDim")]:
            levels = [level for level in data.iter() if local(level) == "lvl"]
            columns = [{attribute(point, "idx"): point.text or "" for point in level} for level in levels]
            for place in columns[0] if columns else ():
                yield [column.get(place, "") for column in columns]


def _figure(value: str, code: str) -> str:
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import from_excel

    try:
        number = float(value)
        return format_cell(from_excel(number) if is_date_format(code) else number, code)
    except (ValueError, OverflowError):
        return value
