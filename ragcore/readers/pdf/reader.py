"""PDF: the text of each page, its wrapped lines put back together into paragraphs; of scanned pages, what is recognised.

Files that PDFium cannot open are tried with pdfminer, which mends more.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragcore.errors import DamagedFileError, NoTextError, RagError, TooLargeError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.page_spans import joined
from ragcore.readers.pdf.annotations import annotation_texts, is_xfa, load_fields, pinned_files, xfa_values
from ragcore.readers.pdf.attached_files import AttachedFiles
from ragcore.readers.pdf.directions import text_page
from ragcore.readers.pdf.layout import page_lines
from ragcore.readers.pdf.line_joining import Line, between, hyphenated, paragraphs, plain, without_running_lines
from ragcore.readers.pdf.page_images import opened
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    import pypdfium2
    from PIL.Image import Image

SUFFIXES = (".pdf",)

STAMP = 150  # characters: the number on a page of a file, the head of a fax, the name of what scanned it
COVERED = 0.6  # of a page, by pictures, where it is a scan
SCANNED = 250_000  # pixels of a page; A5 at 75 dots per inch has as many
LISTED = 5  # pages of many that a message names
MORE = 2  # times the letters on a page: what is recognised there is more than these

_NO_LETTERS = re.compile(r"\W+")


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
    broken: list[str] = []
    pictures: list[str] = []
    length = notes = 0
    report = recognition.RecognitionReport(options.name)
    for index in range(len(pdf)):
        lines: list[Line] = []  # one page that cannot be loaded does not take the others with it
        labels.append(pdf.get_page_label(index).strip() or str(index + 1))
        try:
            lines, picture, added = _lines(pdf[index], files)
            if picture is not None and recognition.installed():
                lines = _recognised(lines, picture, index, labels[-1], report, options)
            elif picture is not None:
                pictures.append(labels[-1])
            lines = [*lines, *(Line(text, row=True) for text in added)]
            notes += len(added)
        except pypdfium2.PdfiumError:
            broken.append(labels[-1])
        pages.append(lines)
        length += sum(len(line.text) for line in lines)
        if length > options.max_text_chars:
            raise TooLargeError(
                f"{options.name} has more than {options.max_text_chars:,} characters of text.",
                hint="Split it into several files.",
            )
        options.progress(index + 1, len(pdf))
    if len(broken) == len(pdf):
        raise DamagedFileError(
            f"{options.name} could not be read: none of its pages can be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    if not notes:
        pages[-1] = [*pages[-1], *(Line(text, row=True) for text in xfa_values(pdf, options.name))]
    return labels, pages, [*_left_out(pdf, options.name, pictures, broken), *report.errors()]


def _left_out(pdf: pypdfium2.PdfDocument, name: str, pictures: list[str], broken: list[str]) -> Iterator[RagError]:
    if pictures:
        yield recognition.scan_without_engine(f"In {name} there are only pictures on {_named(pictures)}")
    if broken:
        yield DamagedFileError(
            f"{name} was read without {_named(broken)}, which could not be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    if is_xfa(pdf):
        yield UnsupportedFileError(
            f"{name} is a form that is laid out by XFA: what was entered in it was read, but not the form itself.",
            hint="Open it in Adobe Acrobat Reader, print it to a new PDF and add that.",
        )


def _lines(page: pypdfium2.PdfPage, files: AttachedFiles) -> tuple[list[Line], Image | None, list[str]]:
    """And the page as a picture, where its text is still to be recognised; and values of form fields and comments."""
    text, main = text_page(page)
    try:
        lines = page_lines(page, text, main)
        added = list(annotation_texts(page))
        for file in pinned_files(page):
            files.add(file)
        picture = _picture(page) if is_picture(page, sum(len(line.text.strip()) for line in lines)) else None
        return lines, picture, added
    finally:
        text.close()
        page.close()


def _recognised(
    drawn: list[Line],
    picture: Image,
    index: int,
    label: str,
    report: recognition.RecognitionReport,
    options: ReadOptions,
) -> list[Line]:
    """The lines of the page at `index`, and into the report what of it was not recognised."""
    page = recognition.recognise(picture, options.name)
    lines = _with_recognised(drawn, page.text)
    if lines is not drawn:
        options.on_words(index, PageWords.of(page))
    if lines is not drawn or not any(line.text.strip() for line in drawn):
        report.note(label, picture, page)
    return lines


def is_picture(page: pypdfium2.PdfPage, characters: int) -> bool:
    """Whether the text of a page that has so many `characters` is still to be recognised: none, and something is drawn; or no
    more than a stamp, on a picture of a page."""
    import pypdfium2.raw as pdfium

    if not characters:
        return bool(pdfium.FPDFPage_CountObjects(page) > 0)
    if characters > STAMP:
        return False
    covered = pixels = 0.0
    around = counted = None
    for drawn in page.get_objects():
        if drawn.level == 0:
            around = drawn  # the picture itself, or what it is in
        if drawn.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            pixels += _pixels(drawn)
            if around is not counted:
                covered, counted = covered + _area(around), around
    width, height = page.get_size()
    return pixels >= SCANNED and bool(covered >= COVERED * width * height)


def _pixels(image: Any) -> int:
    import pypdfium2.raw as pdfium

    width, height = ctypes.c_uint(), ctypes.c_uint()
    return width.value * height.value if pdfium.FPDFImageObj_GetImagePixelSize(image, width, height) else 0


def _area(drawn: Any) -> float:
    """In square points; 0 where it is nowhere."""
    import pypdfium2.raw as pdfium

    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(drawn, *sides):
        return 0.0
    left, bottom, right, top = (side.value for side in sides)
    return max(right - left, 0.0) * max(top - bottom, 0.0)


def _with_recognised(drawn: list[Line], recognised: str) -> list[Line]:
    """What was recognised, which says what is drawn too, and of that what it does not; where it says little more, such as of
    a title over a picture, what is drawn alone."""
    letters = _NO_LETTERS.sub("", recognised)
    if len(letters) <= MORE * sum(len(_NO_LETTERS.sub("", line.text)) for line in drawn):
        return drawn
    return [*plain(recognised), Line(""), *(line for line in drawn if _NO_LETTERS.sub("", line.text) not in letters)]


def _picture(page: pypdfium2.PdfPage) -> Image:
    """The page as it is recognised: in shades of grey, 300 dots per inch; a huge one smaller."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(tesseract.DPI / 72, (tesseract.MAX_PIXELS / (width * height)) ** 0.5)
    picture: Image = page.render(scale=scale, grayscale=True).to_pil()
    return picture


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
