"""The annotations of a PDF page: values of form fields, comments, and files that are pinned to the page.

PDFium does not render forms in XFA. Their values are read from the form's data.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterator
from typing import Any

from ragcore.errors import RagError
from ragcore.readers.encodings import clean
from ragcore.readers.pdf import pdfium
from ragcore.readers.web import safe_xml

# Numbers of the PDF standard (ISO 32000-1, 12.5.3 and 12.7.4) and of PDFium
HIDDEN = 2
SECRET = 1 << 13  # a field for a password
FREE_TEXT, WIDGET, PINNED_FILE = 3, 20, 17
COMMENTS = frozenset({1, *range(4, 16), PINNED_FILE})  # notes, marks on the text, drawings, stamps
CHECK_BOX, RADIO_BUTTON, LIST_BOX = 2, 3, 5  # kinds of fields
NOT_TICKED = "not ticked"
_YES = frozenset({"", "yes", "on", "1", "true", "ja", "oui", "x"})


def load_fields(pdf: pdfium.PdfDocument) -> None:
    """Prepare the form fields of the pages that are opened from now on."""
    from pypdfium2._helpers import document

    if pdf.get_formtype():
        # it logs the advice to compile PDFium for XFA
        logging.getLogger(document.__name__).setLevel(logging.ERROR)
        pdf.init_forms()


def annotation_texts(page: pdfium.PdfPage) -> Iterator[str]:
    """`name: value` for each filled field of a form, the state of each box, and each comment, in their order
    on the page."""
    for annotation in _annotations(page):
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
            continue
        if kind == WIDGET and page.formenv:
            yield from _field(page.formenv.raw, annotation)
        elif kind == FREE_TEXT or kind in COMMENTS:
            text, author = (
                _read_utf16(pdfium.FPDFAnnot_GetStringValue, annotation, key) for key in (b"Contents", b"T")
            )
            start = "" if kind == FREE_TEXT else f"Comment by {author}: " if author else "Comment: "
            if text:
                yield start + text


def pinned_files(page: pdfium.PdfPage) -> Iterator[pdfium.PdfAttachment]:
    """The files that are pinned to the page."""
    for annotation in _annotations(page):
        if pdfium.FPDFAnnot_GetSubtype(annotation) == PINNED_FILE and (
            raw := pdfium.FPDFAnnot_GetFileAttachment(annotation)
        ):
            yield pdfium.PdfAttachment(raw, page.pdf)


def xfa_values(pdf: pdfium.PdfDocument, name: str) -> list[str]:
    """`name: value` for each value in the data of an XFA form; [] for none."""
    for number in range(max(pdfium.FPDF_GetXFAPacketCount(pdf), 0)):
        if _read_bytes(pdfium.FPDF_GetXFAPacketName, pdf, number).rstrip(b"\0") != b"datasets":
            continue
        size = ctypes.c_ulong()
        pdfium.FPDF_GetXFAPacketContent(pdf, number, None, 0, size)
        content = ctypes.create_string_buffer(size.value)
        pdfium.FPDF_GetXFAPacketContent(pdf, number, content, size.value, size)
        try:
            root = safe_xml.parse(content.raw, name)
        except RagError:
            return []
        leaves = [element for element in root.iter() if not len(element) and safe_xml.local(element)]
        values = [(safe_xml.local(leaf), " ".join(clean(leaf.text or "").split())) for leaf in leaves]
        return [f"{field}: {value}" for field, value in values if value]
    return []


def is_xfa(pdf: pdfium.PdfDocument) -> bool:
    """Whether the pages of the file are only a placeholder for an XFA form."""
    return bool(pdf.get_formtype() == pdfium.FORMTYPE_XFA_FULL)


def _field(form: Any, annotation: Any) -> Iterator[str]:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    is_button = kind in (CHECK_BOX, RADIO_BUTTON)
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & SECRET and not is_button:
        return
    name = _read_utf16(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _read_utf16(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
    if is_button:
        value = _read_utf16(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation)
        is_plain = value.lower() in _YES
        if pdfium.FPDFAnnot_IsChecked(form, annotation):
            value = "yes" if is_plain else value
        elif kind == CHECK_BOX and name:
            value = NOT_TICKED if is_plain else f"{value} {NOT_TICKED}"
        else:  # a radio button that is not chosen
            return
    elif kind == LIST_BOX:
        options = range(pdfium.FPDFAnnot_GetOptionCount(form, annotation))
        chosen = [option for option in options if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, option)]
        value = ", ".join(
            _read_utf16(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, option) for option in chosen
        )
    else:
        value = _read_utf16(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    if value:
        yield f"{name}: {value}" if name else value


def _annotations(page: pdfium.PdfPage) -> Iterator[Any]:
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        try:
            yield annotation
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _read_utf16(function: Callable[..., int], *arguments: Any) -> str:
    """A text that a function of PDFium writes as UTF-16, on one line; "" for none."""
    text = _read_bytes(function, *arguments)[:-2].decode("utf-16-le", "replace")
    return " ".join(clean(text.replace("\r", "\n")).split())


def _read_bytes(function: Callable[..., int], *arguments: Any) -> bytes:
    """The bytes that a function of PDFium writes into a buffer. Its first call returns the size."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(max(size, 1))
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[:size]
