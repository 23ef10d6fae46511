"""PDF: the text of each page, its wrapped lines put back together into paragraphs; of scanned pages, what tesseract reads.

Files that PDFium cannot open are tried with pdfminer, which mends more.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError, TooLargeError
from ragcore.readers import ocr
from ragcore.readers.base import ReadOptions
from ragcore.readers.decode import clean
from ragcore.readers.pages import opened
from ragcore.readers.paragraphs import Line, between, hyphenated, paragraphs, plain, without_running_lines
from ragcore.readers.parts import joined
from ragcore.readers.pdf_layout import page_lines
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    import pypdfium2
    from PIL.Image import Image

SUFFIXES = (".pdf",)


def read(path: Path, options: ReadOptions) -> Document:
    with opened(path, options.name, options.password) as pdf:
        labels, raw = _pages(pdf, options)
        metadata = _metadata(pdf, options.name)
        total = len(pdf)
    known = hyphenated(raw)
    raw = without_running_lines(raw)
    text, pages = joined(((label, paragraphs(page, known)) for label, page in zip(labels, raw, strict=True)), between)
    if not text.strip():
        what = f"{options.name} has no text in its {_counted(total)}: it is a scan, or holds only pictures"
        if not ocr.installed():
            raise ocr.scan_without_tesseract(what)
        raise NoTextError(f"{what}, and no text was found in them.", hint="Scan it again, larger or with more contrast.")
    return Document(text, metadata=metadata, pages=pages)


def _pages(pdf: pypdfium2.PdfDocument, options: ReadOptions) -> tuple[list[str], list[list[Line]]]:
    import pypdfium2

    labels: list[str] = []
    pages: list[list[Line]] = []
    length = broken = 0
    for index in range(len(pdf)):
        lines: list[Line] = []  # one page that cannot be loaded does not take the others with it
        try:
            lines = _lines(pdf[index], options.name)
        except pypdfium2.PdfiumError:
            broken += 1
        labels.append(pdf.get_page_label(index).strip() or str(index + 1))
        pages.append(lines)
        length += sum(len(line.text) for line in lines)
        if length > options.max_text_chars:
            raise TooLargeError(
                f"{options.name} has more than {options.max_text_chars:,} characters of text.",
                hint="Split it into several files.",
            )
        options.progress(index + 1, len(pdf))
    if broken == len(pdf):
        raise DamagedFileError(
            f"{options.name} could not be read: none of its pages can be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    return labels, pages


def _lines(page: pypdfium2.PdfPage, name: str) -> list[Line]:
    text = page.get_textpage()
    try:
        lines = page_lines(page, text)
        if not any(line.text.strip() for line in lines) and ocr.installed():
            lines = plain(ocr.recognised(_picture(page), name))
    finally:
        text.close()
        page.close()
    return lines


def _picture(page: pypdfium2.PdfPage) -> Image:
    """The page as it is recognised: in shades of grey, 300 dots per inch; a huge one smaller."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(ocr.DPI / 72, (ocr.MAX_PIXELS / (width * height)) ** 0.5)
    picture: Image = page.render(scale=scale, grayscale=True).to_pil()
    return picture


def _metadata(pdf: pypdfium2.PdfDocument, name: str) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {"file_name": name}
    for key in ("Title", "Author"):
        if value := " ".join(clean(pdf.get_metadata_value(key)).split()):
            metadata[key.lower()] = value
    return metadata


def _counted(pages: int) -> str:
    return "one page" if pages == 1 else f"{pages} pages"
