"""Makes small real files of every format, with libraries other than those that read them where there are
such.

make_pdf(folder / "a.pdf", ["First page.", "Second page."])
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from xml.sax.saxutils import escape

Rows = Sequence[Sequence[object]]

LINE_HEIGHT = 14.0  # points
# where the first line of a made PDF page begins, in points from the lower left corner of A4
LEFT, TOP = 72.0, 770.0


def make_pdf(
    path: Path, pages: Sequence[str], *, password: str | None = None, title: str = "", width: int = 90
) -> Path:
    """A page for each text, A4, Helvetica 11; lines longer than `width` characters are wrapped between
    words."""
    import textwrap

    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4, encrypt=password)
    canvas.setTitle(title)
    for page in pages:
        text = canvas.beginText(LEFT, TOP)
        text.setFont("Helvetica", 11, LINE_HEIGHT)
        for line in page.split("\n"):
            for part in textwrap.wrap(line, width) or [""]:
                text.textLine(part)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return path


def make_docx(
    path: Path, paragraphs: Sequence[str], *, headings: Sequence[str] = (), table: Rows = (), title: str = ""
) -> Path:
    """The headings, then the paragraphs, then the table."""
    import docx

    document = docx.Document()
    document.core_properties.title = title
    for heading in headings:
        document.add_heading(heading)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if table:
        grid = document.add_table(rows=len(table), cols=len(table[0]))
        for row, values in zip(grid.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = str(value)
    document.save(str(path))
    return path


def make_pptx(path: Path, slides: Sequence[tuple[str, str]], *, notes: str = "", table: Rows = ()) -> Path:
    """A slide for each (title, body); `notes` go to the first slide and the table to the last."""
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    made = []
    for title, body in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
        made.append(slide)
    if notes:
        made[0].notes_slide.notes_text_frame.text = notes
    if table:
        shape = made[-1].shapes.add_table(
            len(table), len(table[0]), Inches(1), Inches(4), Inches(6), Inches(1)
        )
        for row, values in zip(shape.table.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = str(value)
    deck.save(str(path))
    return path


def make_xlsx(path: Path, sheets: Mapping[str, Rows]) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def make_csv(path: Path, rows: Rows, *, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    import csv

    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def make_text(path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def make_html(path: Path, paragraphs: Sequence[str], *, title: str = "A page") -> Path:
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    return make_text(
        path, f"<!DOCTYPE html><html><head>{head}</head><body><article>{body}</article></body></html>"
    )


def make_xml(path: Path, paragraphs: Sequence[str]) -> Path:
    body = "".join(f"<para>{escape(paragraph)}</para>" for paragraph in paragraphs)
    return make_text(path, f'<?xml version="1.0" encoding="utf-8"?><book>{body}</book>')


def make_json(path: Path, value: object) -> Path:
    return make_text(path, json.dumps(value, ensure_ascii=False))


def make_ipynb(path: Path, cells: Sequence[tuple[str, str]], *, output: str = "") -> Path:
    """Cells as (kind, source), kind "markdown" or "code"; `output` is what the last code cell printed."""
    made = []
    for kind, source in cells:
        cell: dict[str, object] = {
            "cell_type": kind,
            "metadata": {},
            "source": source.splitlines(keepends=True),
        }
        if kind == "code":
            cell |= {"execution_count": 1, "outputs": []}
        made.append(cell)
    if output:
        made[-1]["outputs"] = [
            {"output_type": "stream", "name": "stdout", "text": output.splitlines(keepends=True)}
        ]
    return make_json(path, {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made})


def make_eml(
    path: Path,
    body: str,
    *,
    subject: str = "A letter",
    sender: str = "Ada <ada@example.org>",
    html: str = "",
    attached: str = "",
) -> Path:
    path.write_bytes(_mail(body, subject, sender, html, attached).as_bytes())
    return path


def make_mbox(path: Path, messages: Sequence[tuple[str, str]]) -> Path:
    """A message for each (subject, body)."""
    import mailbox

    box = mailbox.mbox(path)
    for subject, body in messages:
        box.add(_mail(body, subject, "Ada <ada@example.org>", "", ""))
    box.close()
    return path


def make_epub(path: Path, chapters: Sequence[tuple[str, str]], *, title: str = "A book") -> Path:
    """A chapter for each (heading, text). In the zip they lie backwards: only the spine has their order."""
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "OEBPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            f"<dc:title>{escape(title)}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for number, (heading, text) in reversed(list(enumerate(chapters))):
            body = "".join(f"<p>{escape(line)}</p>" for line in text.split("\n"))
            archive.writestr(
                f"OEBPS/text/c{number}.xhtml",
                '<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/></head>'
                f"<body><h1>{escape(heading)}</h1>{body}</body></html>",
            )
    return path


def make_rtf(path: Path, paragraphs: Sequence[str]) -> Path:
    def coded(text: str) -> str:
        units = text.encode("utf-16-le")
        out = []
        for low, high in zip(units[::2], units[1::2], strict=True):
            unit = low + 256 * high
            if chr(unit) in "\\{}":
                out.append("\\" + chr(unit))
            elif unit < 128:
                out.append(chr(unit))
            else:
                out.append(f"\\u{unit - 65536 if unit > 32767 else unit}?")
        return "".join(out)

    body = "".join(f"{coded(paragraph)}\\par\n" for paragraph in paragraphs)
    return make_text(path, r"{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}" + "\n" + body + "}")


def make_odt(
    path: Path, paragraphs: Sequence[str], *, headings: Sequence[str] = (), table: Rows = (), title: str = ""
) -> Path:
    """The headings, then the paragraphs, then the table."""
    body = "".join(f'<text:h text:outline-level="1">{escape(heading)}</text:h>' for heading in headings)
    body += "".join(f"<text:p>{escape(paragraph)}</text:p>" for paragraph in paragraphs)
    if table:
        body += f"<table:table>{_odf_rows(table)}</table:table>"
    return _odf(path, "text", body, title)


def make_ods(path: Path, sheets: Mapping[str, Rows]) -> Path:
    body = "".join(
        f'<table:table table:name="{escape(name)}">{_odf_rows(rows)}</table:table>'
        for name, rows in sheets.items()
    )
    return _odf(path, "spreadsheet", body, "")


def make_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    """Names are taken as they are, also those that point out of the archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return path


def make_any(path: Path, sentences: Sequence[str]) -> Path:
    """A file of the kind that `path`'s suffix says, holding the sentences in this order."""
    MAKERS[path.suffix.lower()](path, sentences)
    return path


def _pairs(sentences: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"Part {number}", sentence) for number, sentence in enumerate(sentences, 1)]


def _rows(sentences: Sequence[str]) -> list[list[str]]:
    return [
        ["Part", "Sentence"],
        *([f"part {number}", sentence] for number, sentence in enumerate(sentences, 1)),
    ]


MAKERS: dict[str, Callable[[Path, Sequence[str]], Path]] = {
    ".txt": lambda path, sentences: make_text(path, "\n".join(sentences)),
    ".md": lambda path, sentences: make_text(path, "# A page\n\n" + "\n\n".join(sentences)),
    ".pdf": lambda path, sentences: make_pdf(path, sentences),
    ".docx": lambda path, sentences: make_docx(path, sentences),
    ".pptx": lambda path, sentences: make_pptx(path, _pairs(sentences)),
    ".xlsx": lambda path, sentences: make_xlsx(path, {"Sheet one": _rows(sentences)}),
    ".csv": lambda path, sentences: make_csv(path, _rows(sentences)),
    ".tsv": lambda path, sentences: make_csv(path, _rows(sentences), delimiter="\t"),
    ".html": lambda path, sentences: make_html(path, sentences),
    ".xml": lambda path, sentences: make_xml(path, sentences),
    ".json": lambda path, sentences: make_json(path, [{"sentence": sentence} for sentence in sentences]),
    ".jsonl": lambda path, sentences: make_text(
        path, "\n".join(json.dumps({"sentence": line}) for line in sentences)
    ),
    ".ipynb": lambda path, sentences: make_ipynb(path, [("markdown", sentence) for sentence in sentences]),
    ".eml": lambda path, sentences: make_eml(path, "\n".join(sentences)),
    ".mbox": lambda path, sentences: make_mbox(path, _pairs(sentences)),
    ".epub": lambda path, sentences: make_epub(path, _pairs(sentences)),
    ".rtf": lambda path, sentences: make_rtf(path, sentences),
    ".odt": lambda path, sentences: make_odt(path, sentences),
    ".ods": lambda path, sentences: make_ods(path, {"Sheet one": _rows(sentences)}),
}


def _mail(body: str, subject: str, sender: str, html: str, attached: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = sender
    message["To"] = "Charles <charles@example.org>"
    message["Date"] = "Mon, 05 Jun 1871 10:00:00 +0000"
    message["Subject"] = subject
    message.set_content(body)
    if html:
        message.add_alternative(html, subtype="html")
    if attached:
        message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename=attached)
    return message


def _odf_rows(rows: Rows) -> str:
    def cell(value: object) -> str:
        return f"<table:table-cell><text:p>{escape(str(value))}</text:p></table:table-cell>"

    return "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)


def _odf(path: Path, kind: str, body: str, title: str) -> Path:
    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "text", "table", "meta")
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        archive.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
            "</office:document-content>",
        )
        archive.writestr(
            "meta.xml",
            f'<office:document-meta{names} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
            f"<dc:title>{escape(title)}</dc:title></office:meta></office:document-meta>",
        )
    return path
