"""OpenDocument: texts, sheets and presentations of LibreOffice, with notes and comments (OASIS OpenDocument
1.3, part 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ragcore.errors import DamagedFileError, NoTextError, UnsupportedFileError
from ragcore.readers import render
from ragcore.readers.base import ReadOptions
from ragcore.readers.blocks import Block, Grid, Group, Item, Note, Paragraph, Run
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.office.encrypted_odf import UnlockedPackage
from ragcore.readers.office.odf_formatting import Numbers, Styles
from ragcore.readers.office.odf_sheet import sheet_lines, table_grid
from ragcore.readers.office.package import Element, Package, damaged_error, package, title_and_author
from ragcore.readers.page_spans import distinct_margins, join_pages
from ragcore.readers.typography import Effects
from ragcore.readers.web import mathml
from ragcore.readers.web.safe_xml import attribute, child, children, local, whole
from ragcore.schema import Document

SUFFIXES = (".odt", ".ods", ".odp", ".ott")
PARSERS = ("lxml.etree",)

_SKIPPED = frozenset({"tracked-changes", "annotation-end", "forms", "sequence-decls", "styles", "settings"})
_BOXED = frozenset({"p", "h", "text-box", "table"})
_CHART = "{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}chart"


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as locked:
        parts = UnlockedPackage(locked, options.name, options.password)
        if "content.xml" not in parts:
            raise damaged_error(options.name, "its content is not an OpenDocument file")
        root, outer = parts.xml("content.xml"), parts.optional("styles.xml")
        styles, losses = Styles(), Losses()
        for part in (outer, root):
            if part is not None:
                styles.add(part)
                _add_losses(part, parts, losses)
        body = next((child for element in root if local(element) == "body" for child in element), None)
        if body is None:
            raise damaged_error(options.name, "it has no body")
        word = {"spreadsheet": "sheet", "presentation": "slide"}.get(local(body), "page")
        reader = _Reader(styles, parts, losses)
        if word == "sheet":
            pages = list(_sheets(body, reader))
        elif word == "slide":
            slides = enumerate(children(body, "page"), 1)
            pages = [(str(number), "\n\n".join(reader.texts(slide))) for number, slide in slides]
        else:
            margins = _Reader(styles, parts, losses).margins
            texts = [*margins(outer, "header"), *reader.texts(body), *margins(outer, "footer")]
            pages = [("", "\n\n".join(texts))]
        metadata = {"file_name": options.name, **title_and_author(parts.optional("meta.xml"))}
    text, spans = join_pages((label, clean(page).strip()) for label, page in pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(text, metadata=metadata, pages=spans if word != "page" else (), page_word=word)


def _add_losses(root: Element, parts: Package, losses: Losses) -> None:
    """Count the pictures and the objects of other programs."""
    for frame in root.iter("{*}frame"):
        drawn = {local(child): child for child in frame}
        if "object" in drawn:
            continue
        if "object-ole" in drawn or "plugin" in drawn:
            losses.objects.add(attribute(next(iter(frame)), "href") or str(id(frame)))
        elif "image" in drawn:
            losses.add_picture(parts, (attribute(drawn["image"], "href") or "").removeprefix("./"))


def _sheets(body: Element, reader: _Reader) -> Iterator[tuple[str, str]]:
    """The name and text of each sheet; hidden ones only if there are no others."""
    tables = list(children(body, "table"))
    hidden = [table for table in tables if attribute(table, "style-name") in reader.styles.hidden_tables]
    if len(hidden) < len(tables):
        reader.losses.sheets = [attribute(table, "name") or "" for table in hidden]
        tables = [table for table in tables if table not in hidden]
    for number, table in enumerate(tables, 1):
        name = attribute(table, "name") or ""
        lines = list(sheet_lines(table, reader.texts, reader.losses))
        yield name or str(number), "\n".join([name, *lines]) if lines else ""


class _Reader:
    """Reads the blocks of one part of a file. `losses` counts what the file hides."""

    def __init__(self, styles: Styles, parts: Package, losses: Losses) -> None:
        self.styles = styles
        self.losses = losses
        self._parts = parts
        self._numbers = Numbers(styles)

    def texts(self, elements: Iterable[Element]) -> Iterator[str]:
        """The text of each block below `elements`."""
        return render.texts(self.blocks(elements))

    def margins(self, root: Element | None, kind: str) -> list[str]:
        """The headers or footers."""
        kinds = (f"{{*}}{kind}", f"{{*}}{kind}-left", f"{{*}}{kind}-first")
        margins = () if root is None else root.iter(*kinds)
        return distinct_margins("\n".join(self.texts(margin)) for margin in margins)

    def blocks(self, elements: Iterable[Element]) -> Iterator[Block]:
        """Each paragraph, list, table and note below `elements`."""
        for element in elements:
            kind = local(element)
            if not kind or kind in _SKIPPED or self._is_hidden(element):
                continue
            if kind in ("p", "h"):
                number = self._numbers.heading(element) if kind == "h" else ""
                yield Paragraph(_strip(list(self._runs(element, self.styles.of(element)))), number)
            elif kind == "list":
                counts = self._numbers.counts(element)
                yield Group(list(self._items(element, "", counts)))
            elif kind == "table":
                yield Grid(list(table_grid(element, self.texts)))
            elif kind in ("notes", "annotation"):
                yield Note(list(self.blocks(element)), "Notes" if kind == "notes" else "Comment")
            elif kind == "math":
                yield Paragraph([Run(mathml.equation(element))])
            elif kind == "frame":
                yield from self.blocks(self._shown(element))
            else:
                yield from self.blocks(element)

    def _items(
        self, listed: Element, style: str, counts: dict[int, int], depth: int = 0, level: int = 1
    ) -> Iterator[Item]:
        """`depth` is that of the items with text, from 0; `level` that of the list, from 1."""
        style = attribute(listed, "style-name") or style
        for item in listed:
            parts = [part for part in item if local(part) not in ("", "list") and not self._is_hidden(part)]
            number = ""
            if local(item) == "list-item":
                number = (parts and self._numbers.item(item, style, counts, level)) or "-"
            text = " ".join(self.texts(parts)).strip()
            if text:
                yield Item([Run(text)], number, level=depth)
            for inner in children(item, "list"):
                yield from self._items(inner, style, counts, depth + bool(text), level + 1)

    def _runs(self, element: Element, effects: Effects) -> Iterator[Run]:
        if element.text:
            yield Run(element.text, effects)
        for inner in element:
            if local(inner) and local(inner) not in _SKIPPED and not self._is_hidden(inner):
                yield from self._inner_runs(inner, effects)
            if inner.tail:
                yield Run(inner.tail, effects)

    def _inner_runs(self, element: Element, effects: Effects) -> Iterator[Run]:
        match local(element):
            case "s":
                yield Run(" " * min(whole(attribute(element, "c"), 1), 100), effects)
            case "tab":
                yield Run("\t", effects)
            case "line-break":
                yield Run("\n", effects)
            case "span":
                yield from self._runs(element, self.styles.of(element).over(effects))
            case "ruby":
                yield Run(_words(child(element, "ruby-base")), effects, _words(child(element, "ruby-text")))
            case "note":
                for body in children(element, "note-body"):
                    yield Run(f" [{' '.join(self.texts(body))}]", effects)
            case "annotation":
                comment = " ".join(self.texts(element))
                yield Run(f" [Comment: {comment}] " if comment else "", effects)
            case "math":
                yield Run(mathml.equation(element), effects)
            case "frame" | "text-box" | "custom-shape" | "a":
                yield from self._box_runs(element, effects)
            case _:
                yield from self._runs(element, effects)

    def _box_runs(self, box: Element, effects: Effects) -> Iterator[Run]:
        """The text of a box is below that of the paragraph before it."""
        shown = self._shown(box)
        if any(local(part) in _BOXED for part in shown):
            yield Run("\n" + "\n".join(self.texts(shown)), effects)
        elif shown and local(shown[0]) == "math":
            yield from self._inner_runs(shown[0], effects)
        else:
            yield from self._runs(box, effects)

    def _shown(self, box: Element) -> list[Element]:
        """What a box shows: its elements, or its equation or chart. Other objects are not read."""
        thing = child(box, "object")
        if thing is None:
            return list(box)
        folder = (attribute(thing, "href") or "").removeprefix("./")
        content = next((part for part in thing if local(part)), None)
        if content is None and f"{folder}/content.xml" in self._parts:
            with suppress(DamagedFileError, UnsupportedFileError):
                content = self._parts.xml(f"{folder}/content.xml")
        if content is not None and local(content) == "math":
            return [content]
        chart = None if content is None else next(content.iter(_CHART), None)
        if chart is not None:
            return list(_chart_parts(chart))
        self.losses.objects.add(folder or str(id(thing)))
        return list(box)

    def _is_hidden(self, element: Element) -> bool:
        kind = local(element)
        hidden = False
        if kind in ("p", "h", "span"):
            hidden = self.styles.of(element).hidden is True or any(
                attribute(part, "is-hidden") == "true" for part in children(element, "hidden-paragraph")
            )
        elif kind in ("section", "hidden-text"):
            hidden = attribute(element, "is-hidden") == "true" or attribute(element, "display") == "none"
        if hidden:
            self.losses.hidden += bool(_words(element).strip())
        return hidden


def _strip(runs: list[Run]) -> list[Run]:
    """The runs of a paragraph without the blanks around them."""
    while runs and not runs[0].text.strip():
        del runs[0]
    while runs and not runs[-1].text.strip():
        del runs[-1]
    if runs:
        runs[0] = runs[0]._replace(text=runs[0].text.lstrip())
        runs[-1] = runs[-1]._replace(text=runs[-1].text.rstrip())
    return runs


def _words(element: Element | None) -> str:
    return "" if element is None else "".join(map(str, element.itertext()))


def _chart_parts(chart: Element) -> Iterator[Element]:
    """The titles and the table of a chart; all its paragraphs if it has no table."""
    if next(chart.iter("{*}table"), None) is None:
        yield from chart.iter("{*}p")
        return
    for part in chart:
        if local(part) in ("title", "subtitle", "footer"):
            yield from part
        elif local(part) == "table":
            yield part
        elif local(part) == "plot-area":
            for axis in children(part, "axis"):
                yield from axis.iter("{*}p")
