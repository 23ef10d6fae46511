"""PDF: the text of each page, its wrapped lines put back together into paragraphs; of scanned pages, what is recognised.

Files that PDFium cannot open are tried with pdfminer, which mends more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError, RagError, TooLargeError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.ocr import recognition
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.page_spans import joined
from ragcore.readers.pdf.annotations import NOT_TICKED, annotation_texts, is_xfa, load_fields, pinned_files, xfa_values
from ragcore.readers.pdf.attached_files import AttachedFiles
from ragcore.readers.pdf.directions import text_page
from ragcore.readers.pdf.layout import page_lines
from ragcore.readers.pdf.line_joining import Line, between, hyphenated, paragraphs, plain, without_running_lines
from ragcore.readers.pdf.page_images import Box, opened
from ragcore.readers.pdf.page_objects import page_objects
from ragcore.readers.pdf.pictures import PagePictures, ReadPicture, page_picture, read_pictures, with_pictures
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    import pypdfium2

SUFFIXES = (".pdf",)
PARSERS = ("pypdfium2.raw", "PIL.Image")

LISTED = 5  # pages of many that a message names


@dataclass
class _Reading:
    """What is collected, page by page: the labels of pages in `broken`, `scans` and `pictured`."""

    options: ReadOptions
    files: AttachedFiles
    report: recognition.RecognitionReport
    pictures: PagePictures = field(default_factory=PagePictures)
    broken: list[str] = field(default_factory=list)
    scans: list[str] = field(default_factory=list)  # without an engine that recognises text
    pictured: list[str] = field(default_factory=list)  # pages with text, in whose pictures nothing could be recognised


def read(path: Path, options: ReadOptions) -> Document:
    files = AttachedFiles(options)
    try:
        with opened(path, options.name, options.password) as pdf:
            load_fields(pdf)
            labels, raw, left_out = _pages(pdf, options, files)
            metadata = _metadata(pdf, options.name)
            for number in range(pdf.count_attachments()):
                files.add(pdf.get_attachment(number))
    except DamagedFileError as error:
        return Document(_mended(path, options, error), metadata={"file_name": options.name})
    known = hyphenated(raw)
    kept = without_running_lines(raw)
    text, pages = joined(((label, paragraphs(page, known)) for label, page in zip(labels, kept, strict=True)), between)
    text = "\n\n".join(filter(None, [text, *files.texts()]))
    if not text.strip():
        what = f"{options.name} has no text in its {_counted(len(labels))}: it is a scan, or holds only pictures"
        if not recognition.installed():
            raise recognition.scan_without_engine(what)
        raise NoTextError(f"{what}, and no text was found in them.", hint=recognition.INSTALL_LANGUAGE)
    for each in left_out:
        options.left_out(each)
    files.report()
    return Document(text, metadata=metadata, pages=pages)


def _mended(path: Path, options: ReadOptions, damage: DamagedFileError) -> str:
    """As pdfminer reads it, which takes much longer; without pages, as PDFium could show none. `damage` is raised when it
    finds no text either."""
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LTTextContainer

    texts: list[str] = []
    try:
        for page in extract_pages(path, password=options.password or ""):
            text = "".join(each.get_text() for each in page if isinstance(each, LTTextContainer))
            texts.append(paragraphs(plain(clean(text))))
            options.progress(len(texts), 0)
    except Exception as error:  # it raises whatever it likes about a broken file
        raise damage from error
    if not any(text.strip() for text in texts):
        raise damage
    return "\n\n".join(filter(None, texts))


def _pages(
    pdf: pypdfium2.PdfDocument, options: ReadOptions, files: AttachedFiles
) -> tuple[list[str], list[list[Line]], list[RagError]]:
    """Label and lines of each page, and what could not be read. The files that are pinned to pages go to `files`."""
    import pypdfium2

    labels: list[str] = []
    pages: list[list[Line]] = []
    length = notes = 0
    reading = _Reading(options, files, recognition.RecognitionReport(options.name))
    for index in range(len(pdf)):
        lines: list[Line] = []  # one page that cannot be loaded does not take the others with it
        labels.append(pdf.get_page_label(index).strip() or str(index + 1))
        try:
            lines, added = _lines(pdf[index], index, labels[-1], reading)
            lines = [*lines, *(Line(text, row=True) for text in added)]
            notes += sum(not text.endswith(NOT_TICKED) for text in added)  # others may be entered in the data of XFA
        except pypdfium2.PdfiumError:
            reading.broken.append(labels[-1])
        pages.append(lines)
        length += sum(len(line.text) for line in lines)
        if length > options.max_text_chars:
            raise TooLargeError(
                f"{options.name} has more than {options.max_text_chars:,} characters of text.",
                hint="Split it into several files.",
            )
        options.progress(index + 1, len(pdf))
    if len(reading.broken) == len(pdf):
        raise DamagedFileError(
            f"{options.name} could not be read: none of its pages can be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    if not notes:
        pages[-1] = [*pages[-1], *(Line(text, row=True) for text in xfa_values(pdf, options.name))]
    return labels, pages, [*_left_out(pdf, options.name, reading), *reading.report.errors()]


def _left_out(pdf: pypdfium2.PdfDocument, name: str, reading: _Reading) -> Iterator[RagError]:
    if reading.scans:
        yield recognition.scan_without_engine(f"In {name} there are only pictures on {_named(reading.scans)}")
    if reading.pictured:
        yield recognition.scan_without_engine(
            f"In {name} there are large pictures beside the text of {_named(reading.pictured)}"
        )
    if broken := reading.broken:
        yield DamagedFileError(
            f"{name} was read without {_named(broken)}, which could not be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    if is_xfa(pdf):
        yield UnsupportedFileError(
            f"{name} is an XFA form: what was entered in it was read, but not the form itself.",
            hint="Open it in Adobe Acrobat Reader, print it to a new PDF and add that.",
        )


def _lines(page: pypdfium2.PdfPage, index: int, label: str, reading: _Reading) -> tuple[list[Line], list[str]]:
    """The lines of the page at `index`, and values of form fields and comments."""
    text, main = text_page(page)
    try:
        objects = page_objects(page)
        lines = page_lines(objects.paths, text, main)
        added = list(annotation_texts(page))
        for file in pinned_files(page):
            reading.files.add(file)
        if not any(line.text.strip() for line in lines):
            return _scanned(page, index, label, reading), added
        boxes = reading.pictures.find(page, text, objects)
        if boxes and not recognition.installed():
            reading.pictured.append(label)
        elif boxes and (pictures := _pictured(page, text, boxes, index, label, reading)):
            lines = with_pictures(page, text, page_lines(objects.paths, text, main, places=True), pictures)
        return lines, added
    finally:
        text.close()
        page.close()


def _scanned(page: pypdfium2.PdfPage, index: int, label: str, reading: _Reading) -> list[Line]:
    """What is recognised on a page without text."""
    import pypdfium2.raw as pdfium

    if not pdfium.FPDFPage_CountObjects(page):
        return []
    if not recognition.installed():
        reading.scans.append(label)
        return []
    picture = page_picture(page)
    found = recognition.recognise(picture, reading.options.name)
    reading.report.note(label, picture, found)
    if found.text:
        reading.options.on_words(index, PageWords.of(found))
    return plain(found.text)


def _pictured(
    page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, boxes: list[Box], index: int, label: str, reading: _Reading
) -> list[ReadPicture]:
    """The pictures in the boxes in which words are recognised."""
    found = list(read_pictures(page, text, boxes, reading.options.name))
    if not found:
        return []
    whole = replace(found[0].page, candidates=[line for picture in found for line in picture.page.candidates])
    reading.report.note(label, None, whole)
    if whole.text:
        reading.options.on_words(index, PageWords.of(whole))
    return [picture for picture in found if picture.page.text]


def _metadata(pdf: pypdfium2.PdfDocument, name: str) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {"file_name": name}
    for key in ("Title", "Author"):
        if value := " ".join(clean(pdf.get_metadata_value(key)).split()):
            metadata[key.lower()] = value
    return metadata


def _named(labels: list[str]) -> str:
    """page 3; pages 3 and 7; pages 1, 2, 3, 4, 5 and 40 others"""
    if len(labels) == 1:
        return f"page {labels[0]}"
    if len(labels) > LISTED + 1:
        return f"pages {', '.join(labels[:LISTED])} and {len(labels) - LISTED} others"
    return f"pages {', '.join(labels[:-1])} and {labels[-1]}"


def _counted(pages: int) -> str:
    return "one page" if pages == 1 else f"{pages} pages"
