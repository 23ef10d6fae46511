"""PowerPoint: the text of each slide with its lists and tables, the speaker's notes and the comments."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.list_numbers import list_number
from ragcore.readers.losses import Losses
from ragcore.readers.office.drawings import (
    alternative_text,
    elements,
    linked_texts,
    paragraph_text,
    paragraphs,
)
from ragcore.readers.office.package import Element, Package, package, title_and_author
from ragcore.readers.page_spans import join_pages
from ragcore.readers.pdf.line_joining import is_item
from ragcore.readers.web.safe_xml import attribute, child, children, local, whole
from ragcore.schema import Document

SUFFIXES = (".pptx", ".pptm", ".ppsx", ".potx")
PARSERS = ("lxml.etree", "PIL.Image")

MAX_SPAN = 100  # columns or rows
LEVELS = 9  # of a list
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})  # placeholders without content
_YES = frozenset({"1", "true"})
_FORMS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_MARKS = ("buNone", "buChar", "buAutoNum", "buBlip")
_TITLES = frozenset({"title", "ctrTitle"})
_BODIES = frozenset({None, "obj", "body"})  # placeholders whose paragraphs have bullets by default


def read(path: Path, options: ReadOptions) -> Document:
    with package(path, options.name) as parts:
        losses = Losses()
        slides = list(_slides(parts))
        first = _first_number(parts)
        pages = []
        for number, slide in enumerate(slides):
            shapes = _slide(parts, slide, losses) if slide in parts else ()
            pages.append((str(first + number), clean("\n\n".join(shapes)).strip()))
            options.progress(number + 1, len(slides))
        metadata = {"file_name": options.name, **title_and_author(parts.optional("docProps/core.xml"))}
    text, spans = join_pages(pages)
    if not text:
        raise NoTextError(
            f"{options.name} has no text on its slides.",
            hint="If they are pictures, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(text, metadata=metadata, pages=spans, page_word="slide")


def _slides(parts: Package) -> Iterator[str]:
    """The slides' parts in the order of the presentation; also those that a damaged file lacks, because they
    count."""
    main = parts.main("ppt/presentation.xml", "a PowerPoint presentation")
    links = parts.links(main)
    for entry in parts.xml(main).iter():
        if local(entry) == "sldId":
            identities = (str(value) for key, value in entry.attrib.items() if str(key).endswith("}id"))
            yield links.get(next(identities, ""), ("", ""))[1]


def _first_number(parts: Package) -> int:
    """The number of the first slide, which a presentation can set: 0 for a title that is not counted."""
    main = parts.xml(parts.main("ppt/presentation.xml", "a PowerPoint presentation"))
    return whole(attribute(main, "firstSlideNum"), 1)


def _slide(parts: Package, slide: str, losses: Losses) -> Iterator[str]:
    losses.add_links(parts, slide)
    yield from _shapes(parts, slide, losses)
    for note in parts.linked_parts(slide, "notesSlide"):
        text = "\n".join(_shapes(parts, note, losses, bodies=frozenset()))
        if text.strip():
            yield f"Notes: {text}"
    for comment in parts.linked_parts(slide, "comments"):
        for element in elements(parts, comment):
            kind = local(element)
            text = (
                (element.text or "") if kind == "text" else _paragraphs(element) if kind == "txBody" else ""
            )
            if text.strip():
                yield f"Comment: {text.strip()}"


def _shapes(
    parts: Package, part: str, losses: Losses, *, bodies: Container[str | None] = _BODIES
) -> list[str]:
    """The text of each shape, titles first. `bodies` are the placeholders with lists."""
    titles: list[str] = []
    others: list[str] = []

    def is_hidden(element: Element) -> bool:
        properties = next((each for each in element if local(each).startswith("nv")), None)
        hidden = attribute(child(properties, "cNvPr"), "hidden") in _YES
        losses.hidden += hidden and bool(_paragraphs(element))
        return hidden

    for shape in elements(parts, part, skip=is_hidden, leaf="sp"):
        kind = local(shape)
        if kind == "sp":
            placeholder = next(
                (attribute(node, "type") for node in shape.iter() if local(node) == "ph"), "none"
            )
            text = _with_marks(shape, bulleted=placeholder in bodies)
            if placeholder in _FURNITURE and (placeholder != "dt" or any(map(str.isdigit, text))):
                continue  # but a text without digits in the place of the date is content
            (titles if placeholder in _TITLES else others).append(text)
        elif kind == "tbl":
            others.append(_table(shape))
        elif kind == "pic":
            others.append(alternative_text(child(child(shape, "nvPicPr"), "cNvPr")))
    return [text for text in (*titles, *others, *linked_texts(parts, part)) if text.strip()]


def _table(table: Element) -> str:
    """The rows of the table. The first one has the names of the columns if the table has a header row."""
    rows = (
        [
            (_paragraphs(cell), _span(cell, "gridSpan"), _span(cell, "rowSpan"))
            for cell in children(row, "tc")
            if attribute(cell, "hMerge") not in _YES and attribute(cell, "vMerge") not in _YES
        ]
        for row in children(table, "tr")
    )
    marked = 1 if attribute(child(table, "tblPr"), "firstRow") in _YES else None
    return "\n".join(table_rows.lines(table_rows.grid(rows), name_rows=marked))


def _span(cell: Element, name: str) -> int:
    return min(whole(attribute(cell, name), 1), MAX_SPAN)


def _with_marks(shape: Element, *, bulleted: bool) -> str:
    """The paragraphs of a shape, with a mark or a number before each item of a list."""
    all_lines = list(_lines(shape))
    styles = {local(style): style for styled in shape.iter("{*}lstStyle") for style in styled}
    lines = []
    # the number of the last item of each level, down to the level of the paragraph before
    counts: list[int | None] = []
    for paragraph, line in all_lines:
        level, kinds, numbered = _list_properties(paragraph, styles)
        counts = [*counts, *[None] * (level + 1 - len(counts))][: level + 1]
        if numbered is not None:
            before = counts[level]
            counts[level] = number = (
                whole(attribute(numbered, "startAt"), 1) if before is None else before + 1
            )
            mark = f"{_number(number, attribute(numbered, 'type') or '')} "
        else:
            counts[level] = None
            is_marked = (bulleted and "buNone" not in kinds) or not kinds.isdisjoint(("buChar", "buBlip"))
            mark = "- " if is_marked and len(all_lines) > 1 else ""
        lines.append("  " * level + mark + line if mark and not is_item(line) else line)
    return "\n".join(lines)


def _list_properties(
    paragraph: Element, styles: Mapping[str, Element]
) -> tuple[int, frozenset[str], Element | None]:
    """The depth of the paragraph in a list, 0 to 8, and the properties of its mark and number, or those of
    its shape."""
    properties = child(paragraph, "pPr")
    depth = min(whole(attribute(properties, "lvl"), 0), LEVELS - 1)
    own = {local(each): each for each in children(properties, *_MARKS)}
    own = own or {local(each): each for each in children(styles.get(f"lvl{depth + 1}pPr"), *_MARKS)}
    return depth, frozenset(own), own.get("buAutoNum")


def _number(number: int, kind: str) -> str:
    """The number in one of the forms of 20.1.10.61, such as romanLcParenR, or in digits for other forms."""
    text = list_number(number, next((form for name, form in _FORMS.items() if kind.startswith(name)), "1"))
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if kind.endswith("ParenR") else text if kind.endswith("Plain") else f"{text}."


def _paragraphs(element: Element) -> str:
    return "\n".join(line for _, line in _lines(element))


def _lines(element: Element) -> Iterator[tuple[Element, str]]:
    """Each paragraph with text, and its text."""
    for paragraph in paragraphs(element):
        if line := paragraph_text(paragraph):
            yield paragraph, line
