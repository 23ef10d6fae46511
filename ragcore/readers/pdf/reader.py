"""PDF: the text of each page, its lines joined to paragraphs; and the text that is recognised on scanned
pages and in pictures.

Files that PDFium cannot open are read with pdfminer, which repairs more damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ragcore.errors import DamagedFileError, NoTextError, RagError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.ocr import recognition
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.page_spans import join_pages
from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.annotations import (
    NOT_TICKED,
    annotation_texts,
    is_xfa,
    load_fields,
    pinned_files,
    xfa_values,
)
from ragcore.readers.pdf.attached_files import AttachedFiles
from ragcore.readers.pdf.directions import text_page
from ragcore.readers.pdf.layout import page_lines
from ragcore.readers.pdf.line_joining import (
    Line,
    hyphen_words,
    page_separator,
    paragraphs,
    text_lines,
    without_running_lines,
)
from ragcore.readers.pdf.page_images import Box, open_pdf
from ragcore.readers.pdf.page_objects import page_objects
from ragcore.readers.pdf.pictures import (
    PagePictures,
    ReadPicture,
    read_pictures,
    render_for_recognition,
    with_pictures,
)
from ragcore.schema import Document, Scalar

SUFFIXES = (".pdf",)
PARSERS = ("pypdfium2.raw", "PIL.Image")

LISTED = 5  # page labels in a message


def read(path: Path, options: ReadOptions) -> Document:
    name = options.name
    files = AttachedFiles(options)
    try:
        with open_pdf(path, name, options.password) as pdf:
            load_fields(pdf)
            reader = _PageReader(pdf, options, files)
            pages = reader.read_pages()
            errors = list(reader.errors())
            metadata: dict[str, Scalar] = {"file_name": name}
            for key in ("Title", "Author"):
                if value := " ".join(clean(pdf.get_metadata_value(key)).split()):
                    metadata[key.lower()] = value
            for number in range(pdf.count_attachments()):
                files.add(pdf.get_attachment(number))
    except DamagedFileError as error:
        return Document(_read_with_pdfminer(path, options, error), metadata={"file_name": name})
    compounds = hyphen_words(pages)
    texts = (paragraphs(page, compounds) for page in without_running_lines(pages))
    text, spans = join_pages(zip(reader.labels, texts, strict=True), page_separator)
    text = "\n\n".join(filter(None, [text, *files.texts()]))
    if not text.strip():
        counted = "one page" if len(pages) == 1 else f"{len(pages)} pages"
        what = f"{name} has no text in its {counted}: it is a scan, or holds only pictures"
        if not recognition.has_engine():
            raise recognition.scan_without_engine(what)
        raise NoTextError(f"{what}, and no text was found in them.", hint=recognition.INSTALL_LANGUAGE)
    for each in errors:
        options.on_loss(each)
    files.report()
    return Document(text, metadata=metadata, pages=spans)


def _read_with_pdfminer(path: Path, options: ReadOptions, damage: DamagedFileError) -> str:
    """The text without page numbers. pdfminer takes much longer than PDFium. Raises `damage` if it finds no
    text either."""
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LTTextContainer

    texts: list[str] = []
    try:
        for page in extract_pages(path, password=options.password or ""):
            text = "".join(each.get_text() for each in page if isinstance(each, LTTextContainer))
            texts.append(paragraphs(text_lines(clean(text))))
            options.progress(len(texts), 0)
    except Exception as error:  # pdfminer raises errors of any type for a broken file
        raise damage from error
    if not any(text.strip() for text in texts):
        raise damage
    return "\n\n".join(filter(None, texts))


class _PageReader:
    """Reads the pages of a file one after the other, and collects the labels of those with text that was not
    read."""

    def __init__(self, pdf: pdfium.PdfDocument, options: ReadOptions, files: AttachedFiles) -> None:
        self.labels: list[str] = []
        self._pdf = pdf
        self._options = options
        self._files = files
        self._report = recognition.RecognitionReport(options.name)
        self._pictures = PagePictures()
        self._broken: list[str] = []
        self._scans: list[str] = []  # pages without text, if no engine is installed
        self._pictured: list[str] = []  # pages with text and pictures, if no engine is installed

    def read_pages(self) -> list[list[Line]]:
        """The lines of each page. Files that are pinned to pages are added to `files`."""
        options, count = self._options, len(self._pdf)
        pages: list[list[Line]] = []
        length = notes = 0
        for index in range(count):
            lines: list[Line] = []  # if a page cannot be loaded, the others are still read
            self.labels.append(self._pdf.get_page_label(index).strip() or str(index + 1))
            try:
                lines, added = self._read_page(self._pdf[index], index)
                lines = [*lines, *(Line(text, row=True) for text in added)]
                # the values may be in the XFA data
                notes += sum(not text.endswith(NOT_TICKED) for text in added)
            except pdfium.PdfiumError:
                self._broken.append(self.labels[-1])
            pages.append(lines)
            length += sum(len(line.text) for line in lines)
            options.check_length(length)
            options.progress(index + 1, count)
        if len(self._broken) == count:
            raise DamagedFileError(
                f"{options.name} could not be read: none of its pages can be opened.",
                hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
            )
        if not notes:
            pages[-1] = [*pages[-1], *(Line(text, row=True) for text in xfa_values(self._pdf, options.name))]
        return pages

    def errors(self) -> Iterator[RagError]:
        """An error for each kind of text that was not read."""
        name = self._options.name
        if self._scans:
            yield recognition.scan_without_engine(
                f"In {name} there are only pictures on {_list_pages(self._scans)}"
            )
        if self._pictured:
            yield recognition.scan_without_engine(
                f"In {name} there are large pictures beside the text of {_list_pages(self._pictured)}"
            )
        if self._broken:
            yield DamagedFileError(
                f"{name} was read without {_list_pages(self._broken)}, which could not be opened.",
                hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
            )
        if is_xfa(self._pdf):
            yield UnsupportedFileError(
                f"{name} is an XFA form: what was entered in it was read, but not the form itself.",
                hint="Open it in Adobe Acrobat Reader, print it to a new PDF and add that.",
            )
        yield from self._report.errors()

    def _read_page(self, page: pdfium.PdfPage, index: int) -> tuple[list[Line], list[str]]:
        """The lines of the page, and values of form fields and comments."""
        text, main = text_page(page)
        try:
            objects = page_objects(page)
            lines = page_lines(objects.paths, text, main)
            added = list(annotation_texts(page))
            for file in pinned_files(page):
                self._files.add(file)
            if not any(line.text.strip() for line in lines):
                return self._recognise_page(page, index), added
            boxes = self._pictures.find(page, text, objects)
            if boxes and not recognition.has_engine():
                self._pictured.append(self.labels[index])
            elif boxes and (pictures := self._recognise_pictures(page, text, boxes, index)):
                lines = page_lines(objects.paths, text, main, with_indexes=True)
                lines = with_pictures(page, text, lines, pictures)
            return lines, added
        finally:
            text.close()
            page.close()

    def _recognise_page(self, page: pdfium.PdfPage, index: int) -> list[Line]:
        """The lines that are recognised on a page without text."""
        if not pdfium.FPDFPage_CountObjects(page):
            return []
        if not recognition.has_engine():
            self._scans.append(self.labels[index])
            return []
        picture = render_for_recognition(page)
        recognised = recognition.recognise(picture, self._options.name)
        self._report.note(self.labels[index], picture, recognised)
        if recognised.text:
            self._options.on_words(index, PageWords.of(recognised))
        return text_lines(recognised.text)

    def _recognise_pictures(
        self, page: pdfium.PdfPage, text: pdfium.PdfTextPage, boxes: list[Box], index: int
    ) -> list[ReadPicture]:
        """The pictures in the boxes that contain words."""
        pictures = list(read_pictures(page, text, boxes, self._options.name))
        if not pictures:
            return []
        lines = [line for picture in pictures for line in picture.page.candidates]
        recognised = replace(pictures[0].page, candidates=lines)
        self._report.note(self.labels[index], None, recognised)
        if recognised.text:
            self._options.on_words(index, PageWords.of(recognised))
        return [picture for picture in pictures if picture.page.text]


def _list_pages(labels: list[str]) -> str:
    """Such as "page 3", "pages 3 and 7", or "pages 1, 2, 3, 4, 5 and 40 others"."""
    if len(labels) == 1:
        return f"page {labels[0]}"
    if len(labels) > LISTED + 1:
        return f"pages {', '.join(labels[:LISTED])} and {len(labels) - LISTED} others"
    return f"pages {', '.join(labels[:-1])} and {labels[-1]}"
