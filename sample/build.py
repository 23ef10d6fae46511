"""Makes the sample documents from their sources: `python -m sample.build` writes sample/documents, the same
bytes each time.

The sources are plain text. A line `key: value` at the top of a source is about the whole document; `# ` and
`## ` are headings; lines of `| a | b |` are a table, whose first row is its head; `table: ` before one is its
caption; `{figure: name}` is a drawing made here.
"""

# mypy: disable-error-code="import-untyped"
# reportlab, which only the tests install, has no type hints.

from __future__ import annotations

import argparse
import csv
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.parser import Parser
from email.policy import SMTP
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE / "source"
DOCUMENTS = HERE / "documents"
MADE = datetime(2025, 5, 19, 9, 0, 0, tzinfo=UTC)  # written into files that must carry a date


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list item, caption, signature or figure with its text, or a table with its
    rows."""

    kind: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    about: dict[str, str]
    blocks: tuple[Block, ...]


def build(folder: Path = DOCUMENTS) -> list[Path]:
    """Writes every document into `folder` and gives their paths, in the order of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        (folder / name).write_bytes(make())
    return sorted(folder / name for name in MAKERS)


def parse(text: str) -> Source:
    lines = text.splitlines()
    about: dict[str, str] = {}
    while lines and (match := re.fullmatch(r"(\w+): (.+)", lines[0])):
        about[match[1]] = match[2]
        del lines[0]
    blocks: list[Block] = []
    for line in lines:
        if line.startswith("|"):
            row = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
            if blocks and blocks[-1].kind == "table":
                blocks[-1] = Block("table", rows=(*blocks[-1].rows, row))
            else:
                blocks.append(Block("table", rows=(row,)))
        elif line.strip():
            blocks.append(_line(line.strip()))
    return Source(about, tuple(blocks))


_MARKS = (
    ("## ", "h2"),
    ("# ", "h1"),
    ("- ", "item"),
    ("table: ", "caption"),
    ("signed: ", "signed"),
    ("notes: ", "notes"),
)


def _line(line: str) -> Block:
    for mark, kind in _MARKS:
        if line.startswith(mark):
            return Block(kind, line.removeprefix(mark))
    if figure := re.fullmatch(r"\{figure: (\w+)\}", line):
        return Block("figure", figure[1])
    if re.match(r"\d+\. ", line):
        return Block("step", line)
    return Block("p", line)


def _read(name: str) -> Source:
    return parse((SOURCE / name).read_text("utf-8"))


def curly(text: str) -> str:
    """Typewriter quotation marks as printed ones."""
    text = re.sub(r'(^|[\s(\[])"', "\\1\u201c", text).replace('"', "\u201d")
    return re.sub(r"(^|[\s(\[])'", "\\1\u2018", text).replace("'", "\u2019")


# PDF


@dataclass(frozen=True, slots=True)
class Look:
    """How a PDF is set: faces, body size and leading in points, and the colour of headings and rules."""

    body: str
    bold: str
    italic: str
    size: float
    leading: float
    ink: str
    heading: float
    justified: bool = True
    indent: float = 0.0


BOOK = Look("Times-Roman", "Times-Bold", "Times-Italic", 11.6, 16.4, "#14453d", 17, indent=14)
REPORT = Look("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", 10.2, 14.8, "#1f3a5f", 14, justified=False)
PRESS = Look("Times-Roman", "Times-Bold", "Times-Italic", 10.1, 12.7, "#111111", 16, indent=9)
MARGIN = 72.0  # points


def _pdf(title: str, author: str, story: list[Any], templates: list[Any]) -> bytes:
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import BaseDocTemplate

    out = io.BytesIO()
    document = BaseDocTemplate(
        out, pagesize=A4, title=title, author=author, invariant=1, pageTemplates=templates
    )
    document.build(story)
    return out.getvalue()


def _styles(look: Look) -> dict[str, Any]:
    from reportlab.lib.colors import HexColor
    from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_LEFT
    from reportlab.lib.styles import ParagraphStyle

    ink = HexColor(look.ink)
    size, leading = look.size, look.leading
    base = ParagraphStyle(
        "p",
        fontName=look.body,
        fontSize=size,
        leading=leading,
        alignment=TA_JUSTIFY if look.justified else TA_LEFT,
        firstLineIndent=look.indent,
        spaceAfter=0 if look.indent else leading * 0.55,
        allowWidows=0,
        allowOrphans=0,
    )
    plain = {"alignment": TA_LEFT, "firstLineIndent": 0}

    def style(name: str, settings: dict[str, Any]) -> ParagraphStyle:
        return ParagraphStyle(name, parent=base, **settings)

    head = {**plain, "fontName": look.bold, "textColor": ink}
    return {
        "p": base,
        "first": style("first", {"firstLineIndent": 0}),
        "h1": style(
            "h1",
            {
                **head,
                "fontSize": look.heading,
                "leading": look.heading * 1.25,
                "spaceBefore": 20,
                "spaceAfter": 8,
            },
        ),
        "h2": style(
            "h2", {**head, "fontSize": size + 1.6, "leading": leading + 1, "spaceBefore": 9, "spaceAfter": 4}
        ),
        "caption": style(
            "caption", {**head, "fontSize": size - 0.8, "spaceBefore": 8, "spaceAfter": 4, "keepWithNext": 1}
        ),
        "legend": style(
            "legend", {**plain, "fontName": look.italic, "fontSize": size - 1.2, "spaceAfter": 10}
        ),
        "signed": style("signed", {**plain, "fontName": look.italic, "spaceBefore": 8}),
        "cell": style("cell", {**plain, "fontSize": size - 1.2, "leading": leading - 2.6, "spaceAfter": 0}),
        "head": style(
            "head",
            {
                **plain,
                "fontName": look.bold,
                "fontSize": size - 1.2,
                "leading": leading - 2.6,
                "spaceAfter": 0,
            },
        ),
        "title": style(
            "title",
            {
                "alignment": TA_CENTER,
                "firstLineIndent": 0,
                "fontName": look.bold,
                "fontSize": 34,
                "leading": 42,
            },
        ),
        "subtitle": style(
            "subtitle",
            {
                "alignment": TA_CENTER,
                "firstLineIndent": 0,
                "fontName": look.italic,
                "fontSize": 16,
                "leading": 22,
            },
        ),
        "imprint": style("imprint", {"alignment": TA_CENTER, "firstLineIndent": 0, "spaceBefore": 6}),
    }


def _flow(source: Source, look: Look, width: float) -> list[Any]:
    from reportlab.platypus import CondPageBreak, KeepTogether, Paragraph, Spacer

    styles = _styles(look)
    story: list[Any] = []
    after_text = False
    caption: Any = None
    for n, block in enumerate(source.blocks):
        text = escape(curly(block.text), quote=False)
        if block.kind in ("h1", "h2"):
            # A heading takes at least three lines, or the head of a table, along with it.
            follows = source.blocks[n + 1].kind if n + 1 < len(source.blocks) else ""
            story.append(
                CondPageBreak(look.heading * 1.5 + (12 if follows == "caption" else 4) * look.leading)
            )
        if block.kind == "caption":
            caption = Paragraph(text, styles["caption"])
        elif block.kind == "table":
            story += [caption or Spacer(1, 6), _table(block.rows, look, width), Spacer(1, 10)]
            caption = None
        elif block.kind == "figure":
            drawing, legend = FIGURES[block.text](width)
            story.append(
                KeepTogether(
                    [Spacer(1, 8), drawing, Spacer(1, 4), Paragraph(curly(legend), styles["legend"])]
                )
            )
        else:
            name = "p" if block.kind == "p" and after_text else {"p": "first"}.get(block.kind, block.kind)
            story.append(Paragraph(text, styles[name]))
        after_text = block.kind == "p"
    return story


def _table(rows: tuple[tuple[str, ...], ...], look: Look, width: float) -> Any:
    from reportlab.lib.colors import HexColor
    from reportlab.platypus import Paragraph, Table

    styles = _styles(look)
    cells = [
        [Paragraph(escape(curly(cell), quote=False), styles["cell" if n else "head"]) for cell in row]
        for n, row in enumerate(rows)
    ]
    # A column is as wide as its longest cell asks, within reason.
    wants = [min(max(max(len(row[i]) for row in rows), 9), 46) for i in range(len(rows[0]))]
    table = Table(cells, colWidths=[width * want / sum(wants) for want in wants], repeatRows=1, hAlign="LEFT")
    ink = HexColor(look.ink)
    table.setStyle(
        [
            ("LINEABOVE", (0, 0), (-1, 0), 1.0, ink),
            ("LINEBELOW", (0, 0), (-1, 0), 0.6, ink),
            ("LINEBELOW", (0, -1), (-1, -1), 1.0, ink),
            ("ROWBACKGROUNDS", (0, 1), (-1, -1), [HexColor("#ffffff"), HexColor("#f3f5f4")]),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
        ]
    )
    return table


def _figure_section(width: float) -> tuple[Any, str]:
    """The line seen from the side: cliff, stations, two cars, the rope and the cistern."""
    from reportlab.graphics.shapes import Circle, Drawing, Group, Line, Polygon, Rect, String
    from reportlab.lib.colors import HexColor

    height = 226.0
    drawing = Drawing(width, height)
    x0, y0, x1, y1 = width * 0.26, 34.0, width * 0.66, 158.0
    chalk, sea, ink = HexColor("#e9e4d6"), HexColor("#bcd3da"), HexColor("#333333")
    drawing.add(
        Polygon([x0 - 6, y0, x1, y1, width, y1, width, 0, x0 - 6, 0], fillColor=chalk, strokeColor=None)
    )
    drawing.add(Rect(0, 0, x0 - 52, 22, fillColor=sea, strokeColor=None))
    drawing.add(Rect(x0 - 52, 0, 46, y0, fillColor=HexColor("#cfcabb"), strokeColor=None))
    drawing.add(Line(x0, y0 + 4, x1, y1 + 4, strokeColor=ink, strokeWidth=1.6))
    drawing.add(Rect(x1 + 22, y1, 54, 32, fillColor=HexColor("#b4725a"), strokeColor=ink, strokeWidth=0.5))
    drawing.add(
        Polygon(
            [x1 + 16, y1 + 32, x1 + 49, y1 + 50, x1 + 82, y1 + 32],
            fillColor=HexColor("#5a6470"),
            strokeColor=ink,
        )
    )
    drawing.add(Rect(x1 + 92, y1 - 30, 46, 22, fillColor=sea, strokeColor=ink, strokeWidth=0.5))
    drawing.add(Circle(x1 + 8, y1 + 10, 10, fillColor=None, strokeColor=ink, strokeWidth=1.4))
    for share, colour, name, dx in ((0.2, "#2f6b4f", "Prudence", -74), (0.72, "#b23a36", "Patience", -70)):
        x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
        car = Group(
            Rect(-16, 10, 33, 17, fillColor=HexColor(colour), strokeColor=ink, strokeWidth=0.6),
            Rect(-11, 16, 7, 7, fillColor=HexColor("#ffffff"), strokeColor=None),
            Rect(-2, 16, 7, 7, fillColor=HexColor("#ffffff"), strokeColor=None),
            Rect(7, 16, 7, 7, fillColor=HexColor("#ffffff"), strokeColor=None),
            Polygon([-16, 10, 17, 10, -16, -12], fillColor=sea, strokeColor=ink, strokeWidth=0.6),
        )
        car.translate(x, y + 6)
        drawing.add(car)
        drawing.add(String(x + dx, y + 22, name, fontName="Times-Italic", fontSize=10, fillColor=ink))
    for x, y, label in (
        (x1 + 20, y1 - 48, "Cistern, 27,000 litres"),
        (x1 + 12, y1 + 38 + 16, "Windle Terrace"),
        (x0 - 50, 8, "Fish Street"),
        (8, 8, "Harbour"),
        (x0 + (x1 - x0) * 0.55, y0 + (y1 - y0) * 0.28, "71 metres of track, rising 44"),
    ):
        drawing.add(String(x, y, label, fontName="Times-Roman", fontSize=9.5, fillColor=ink))
    return (
        drawing,
        "Figure 1. The line in section, not to scale. The tank is the pale wedge beneath each car.",
    )


def _figure_speed(width: float) -> tuple[Any, str]:
    """Speed against time for the last journey, with the speed at which the clamp is set to act."""
    from reportlab.graphics.shapes import Drawing, Line, PolyLine, String
    from reportlab.lib.colors import HexColor

    height, left, bottom = 170.0, 40.0, 30.0
    drawing = Drawing(width, height)
    ink, line, limit = HexColor("#333333"), HexColor("#1f3a5f"), HexColor("#b23a36")
    # points to the second, to the metre per second
    across, up = (width - left - 90) / 40, (height - bottom - 20) / 2.0
    drawing.add(Line(left, bottom, left + 40 * across, bottom, strokeColor=ink))
    drawing.add(Line(left, bottom, left, bottom + 2.0 * up, strokeColor=ink))
    for tenth in range(0, 21, 5):
        y = bottom + tenth / 10 * up
        drawing.add(Line(left - 3, y, left, y, strokeColor=ink))
        drawing.add(
            String(left - 24, y - 3, f"{tenth / 10:.1f}", fontName="Helvetica", fontSize=8.5, fillColor=ink)
        )
    for second in range(0, 41, 10):
        x = left + second * across
        drawing.add(Line(x, bottom - 3, x, bottom, strokeColor=ink))
        drawing.add(
            String(x - 4, bottom - 14, str(second), fontName="Helvetica", fontSize=8.5, fillColor=ink)
        )
    drawing.add(
        Line(
            left,
            bottom + 1.5 * up,
            left + 40 * across,
            bottom + 1.5 * up,
            strokeColor=limit,
            strokeDashArray=[4, 3],
        )
    )
    drawing.add(
        String(
            left + 40 * across + 5,
            bottom + 1.5 * up - 3,
            "clamp set at 1.50",
            fontName="Helvetica",
            fontSize=8.5,
        )
    )
    speeds = [
        (0.0, 0.0),
        (4, 0.35),
        (8, 0.66),
        (12, 0.9),
        (16, 1.1),
        (20, 1.24),
        (24, 1.37),
        (28, 1.47),
        (30, 1.53),
    ]
    speeds += [(31, 1.62), (32, 1.1), (33, 0.4), (33.6, 0.0), (40, 0.0)]
    points = [value for second, speed in speeds for value in (left + second * across, bottom + speed * up)]
    drawing.add(PolyLine(points, strokeColor=line, strokeWidth=1.8))
    drawing.add(
        String(left + 31 * across + 4, bottom + 1.66 * up, "1.62", fontName="Helvetica-Bold", fontSize=8.5)
    )
    drawing.add(
        String(
            left + 14 * across, 4, "seconds after leaving", fontName="Helvetica", fontSize=8.5, fillColor=ink
        )
    )
    return (
        drawing,
        "Figure 1. Speed of Patience on the last journey, in metres per second, from the data logger.",
    )


FIGURES: dict[str, Callable[[float], tuple[Any, str]]] = {"section": _figure_section, "speed": _figure_speed}


def _book(name: str, look: Look, running: str) -> bytes:
    """A title page, then numbered pages with a running head."""
    from reportlab.lib.colors import HexColor
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import (
        Frame,
        HRFlowable,
        NextPageTemplate,
        PageBreak,
        PageTemplate,
        Paragraph,
        Spacer,
    )

    source = _read(name)
    wide, high = A4
    width = wide - 2 * MARGIN
    ink = HexColor(look.ink)

    def cover(canvas: Any, _document: Any) -> None:
        canvas.setStrokeColor(ink)
        canvas.setLineWidth(1.2)
        canvas.rect(40, 40, wide - 80, high - 80)
        canvas.setLineWidth(0.4)
        canvas.rect(46, 46, wide - 92, high - 92)

    def page(canvas: Any, document: Any) -> None:
        canvas.setFillColor(HexColor("#666666"))
        canvas.setFont(look.italic, 9.5)
        canvas.drawString(MARGIN, high - 50, running)
        canvas.setFont(look.body, 9.5)
        canvas.drawRightString(wide - MARGIN, high - 50, str(document.page))
        canvas.setStrokeColor(ink)
        canvas.setLineWidth(0.5)
        canvas.line(MARGIN, high - 56, wide - MARGIN, high - 56)

    frame = Frame(
        MARGIN, 62, width, high - 62 - 70, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0
    )
    templates = [PageTemplate("cover", [frame], onPage=cover), PageTemplate("page", [frame], onPage=page)]
    styles = _styles(look)
    about = {key: escape(curly(value), quote=False) for key, value in source.about.items()}
    styles["title"].textColor = ink
    story: list[Any] = [
        Spacer(1, high * 0.2),
        Paragraph(about["title"], styles["title"]),
        Spacer(1, 10),
        Paragraph(about["subtitle"], styles["subtitle"]),
        Spacer(1, 26),
        HRFlowable(width="30%", thickness=1, color=ink),
        Spacer(1, 26),
        Paragraph(about["author"], styles["imprint"]),
        Paragraph(about["date"], styles["imprint"]),
        Spacer(1, high * 0.26),
        Paragraph(about["publisher"], styles["imprint"]),
        NextPageTemplate("page"),
        PageBreak(),
        *_flow(source, look, width),
    ]
    return _pdf(source.about["title"], source.about["author"], story, templates)


def _newspaper(name: str) -> bytes:
    """Two columns under a masthead and a headline."""
    from reportlab.lib.colors import HexColor
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Frame, FrameBreak, PageTemplate, Paragraph

    source = _read(name)
    wide, high = A4
    side, gap = 48.0, 20.0
    column = (wide - 2 * side - gap) / 2
    top = high - 196  # below masthead and headline

    def frame(x: float, y: float, width: float, height: float) -> Any:
        return Frame(x, y, width, height, leftPadding=0, rightPadding=0, topPadding=4, bottomPadding=0)

    def masthead(canvas: Any, _document: Any) -> None:
        canvas.setFont("Times-Bold", 46)
        canvas.drawCentredString(wide / 2, high - 84, source.about["title"])
        canvas.setLineWidth(1.4)
        canvas.line(side, high - 98, wide - side, high - 98)
        canvas.setFont("Times-Roman", 10)
        canvas.drawString(side, high - 111, source.about["subtitle"])
        canvas.drawCentredString(wide / 2, high - 111, source.about["byline"])
        canvas.drawRightString(wide - side, high - 111, source.about["price"])
        canvas.setLineWidth(0.5)
        canvas.line(side, high - 117, wide - side, high - 117)
        canvas.setLineWidth(0.4)
        canvas.setStrokeColor(HexColor("#888888"))
        canvas.line(wide / 2, 40, wide / 2, top - 8)

    headline = frame(side, top, wide - 2 * side, 76)
    columns = [frame(side + n * (column + gap), 36, column, top - 36) for n in (0, 1)]
    styles = _styles(PRESS)
    big = ParagraphStyle(
        "headline", parent=styles["h1"], fontSize=34, leading=38, spaceBefore=0, spaceAfter=4
    )
    deck = ParagraphStyle(
        "deck", parent=styles["h2"], fontName=PRESS.italic, fontSize=15, leading=19, spaceBefore=0
    )
    story = [
        Paragraph(curly(source.blocks[0].text), big),
        Paragraph(curly(source.blocks[1].text), deck),
        FrameBreak(),
        *_flow(Source(source.about, source.blocks[2:]), PRESS, column),
    ]
    template = PageTemplate("front", [headline, *columns], onPage=masthead)
    return _pdf(f"{source.about['title']}, {source.about['subtitle']}", "Kit Larwood", story, [template])


# Office files


def _docx(name: str) -> bytes:
    import docx
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    source = _read(name)
    document = docx.Document()
    document.styles["Normal"].font.name = "Georgia"
    document.styles["Normal"].font.size = Pt(11)
    document.add_heading(curly(source.about["title"]), 0)
    for key in ("subtitle", "author", "date", "publisher"):
        document.add_paragraph(curly(source.about[key])).alignment = WD_ALIGN_PARAGRAPH.LEFT
    for block in source.blocks:
        if block.kind in ("h1", "h2"):
            document.add_heading(curly(block.text), int(block.kind[1]))
        elif block.kind == "table":
            table = document.add_table(0, len(block.rows[0]), style="Light Grid Accent 1")
            for row in block.rows:
                for cell, words in zip(table.add_row().cells, row, strict=True):
                    cell.text = curly(words)
        else:
            document.add_paragraph(curly(block.text))
    properties = document.core_properties
    properties.title, properties.author = source.about["title"], source.about["author"]
    properties.created = properties.modified = MADE.replace(tzinfo=None)
    properties.last_modified_by = source.about["author"]
    out = io.BytesIO()
    document.save(out)
    return _dateless_zip(out.getvalue())


def _pptx(name: str) -> bytes:
    from pptx import Presentation

    deck = Presentation()
    slide: Any = None
    for block in _read(name).blocks:
        if block.kind == "h1":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text = curly(block.text)
        elif block.kind == "item":
            frame = slide.placeholders[1].text_frame
            paragraph = frame.paragraphs[0] if not frame.text else frame.add_paragraph()
            paragraph.text = curly(block.text)
        else:
            slide.notes_slide.notes_text_frame.text = curly(block.text)
    properties = deck.core_properties
    properties.title, properties.author = "How a bucket of water climbs a cliff", "Josie Farrant"
    properties.created = properties.modified = MADE.replace(tzinfo=None)
    properties.last_modified_by = "Josie Farrant"
    out = io.BytesIO()
    deck.save(out)
    return _dateless_zip(out.getvalue())


def _xlsx() -> bytes:
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    book = Workbook()
    book.remove(book.active)
    for title, name, total in (
        ("By month", "passengers-by-month.csv", "Total"),
        ("By year", "passengers-by-year.csv", ""),
        ("Money", "money.csv", "Surplus"),
    ):
        sheet = book.create_sheet(title)
        rows = list(csv.reader((SOURCE / name).read_text("utf-8").splitlines()))
        sheet.append([_number(cell) for cell in rows[0]])
        for row in rows[1:]:
            sheet.append([_number(cell) for cell in row])
        columns = [[int(row[i]) for row in rows[1:]] for i in range(1, len(rows[0]))] if total else []
        if total == "Total":
            sheet.append([total, *(sum(column) for column in columns)])
        elif total == "Surplus":
            sheet.append([total, *(column[0] - sum(column[1:]) for column in columns)])
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        for line in sheet.iter_rows(min_row=2, min_col=2):
            for cell in line:
                cell.number_format = "0.00" if isinstance(cell.value, float) else "#,##0"
        sheet.freeze_panes = "B2"
        sheet.column_dimensions["A"].width = 16
        for letter in "BCDE":
            sheet.column_dimensions[letter].width = 20 if title == "By year" else 12
    remarks = book.create_sheet("Remarks")
    remarks.column_dimensions["A"].width = 100
    for block in _read("figures-notes.md").blocks:
        remarks.append([curly(block.text)])
        remarks.cell(remarks.max_row, 1).alignment = Alignment(wrap_text=True, vertical="top")
    book.properties.title, book.properties.creator = (
        "Gannerby Cliff Railway: passengers and money",
        "Alison Frome",
    )
    book.properties.created = book.properties.modified = MADE.replace(tzinfo=None)
    out = io.BytesIO()
    book.save(out)
    return _dateless_zip(out.getvalue())


def _number(cell: str) -> str | int | float:
    if re.fullmatch(r"\d+", cell):
        return int(cell)
    return float(cell) if re.fullmatch(r"\d+\.\d+", cell) else cell


def _dateless_zip(data: bytes) -> bytes:
    """The same archive with every entry, and every date inside its properties, at MADE: savers write the time
    of saving."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", MADE.strftime("%Y-%m-%dT%H:%M:%SZ").encode(), content
                )
            entry = zipfile.ZipInfo(name, MADE.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            new.writestr(entry, content)
    return out.getvalue()


# Web page, mail, plain text


def _html(name: str) -> bytes:
    source = _read(name)
    body: list[str] = []
    for block in source.blocks:
        text = escape(curly(block.text), quote=False)
        if block.kind == "table":
            rows = []
            for n, row in enumerate(block.rows):
                tag = "td" if n else "th"
                rows.append(
                    "<tr>" + "".join(f"<{tag}>{escape(cell, quote=False)}</{tag}>" for cell in row) + "</tr>"
                )
            body.append("<table>\n" + "\n".join(rows) + "\n</table>")
        else:
            tag = {"h1": "h2"}.get(block.kind, "p")
            body.append(f"<{tag}>{text}</{tag}>")
    title, subtitle = source.about["title"], source.about["subtitle"]
    style = "body { font: 17px/1.6 Georgia, serif; max-width: 40em; margin: 2em auto; padding: 0 1em }"
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title} - '
        f"{subtitle}</title>\n"
        f"<style>{style} td, th {{ text-align: left; padding-right: 2em }}</style>\n</head>\n<body>\n"
        "<main>\n<article>\n"
        f"<h1>{title}</h1>\n<p>{subtitle}</p>\n"
        + "\n".join(body)
        + "\n</article>\n</main>\n</body>\n</html>\n"
    )
    return page.encode()


def _mail(name: str) -> bytes:
    plain = Parser().parsestr((SOURCE / name).read_text("utf-8"))
    mail = EmailMessage(policy=SMTP)
    for key, value in plain.items():
        mail[key] = value
    mail.set_content(str(plain.get_payload()))
    return mail.as_bytes()


def _as_it_is(name: str) -> bytes:
    return (SOURCE / name).read_bytes()


MAKERS: dict[str, Callable[[], bytes]] = {
    "history-of-the-railway.pdf": lambda: _book("history.md", BOOK, "The Buckets: a short history"),
    "engineers-report-2022.pdf": lambda: _book(
        "report.md", REPORT, "Greaves & Lund: stoppage of 27 August 2022"
    ),
    "mercury-2-september-2022.pdf": lambda: _newspaper("mercury.md"),
    "staff-handbook-2021.docx": lambda: _docx("handbook.md"),
    "brakesmans-log-2022.txt": lambda: _as_it_is("logbook.txt"),
    "committee-minutes-2022-2024.md": lambda: _as_it_is("minutes.md"),
    "passenger-figures.xlsx": _xlsx,
    "visitor-questions-2025.html": lambda: _html("visitors.md"),
    "passengers-letter-2022.eml": lambda: _mail("letter.eml.txt"),
    "school-visit-2025.pptx": lambda: _pptx("school-visit.md"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample documents.")
    parser.add_argument("folder", nargs="?", type=Path, default=DOCUMENTS, help="where to write them")
    build(parser.parse_args().folder)


if __name__ == "__main__":
    main()
