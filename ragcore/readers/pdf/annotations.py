"""What stands on a PDF page above its text: values of form fields, comments, and files that are pinned to it.

Values of forms that are laid out by XFA, which PDFium does not show, are read from the form's data.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ragcore.errors import RagError
from ragcore.readers.encodings import clean
from ragcore.readers.web import safe_xml

if TYPE_CHECKING:
    import pypdfium2

# Numbers of the PDF standard (ISO 32000-1, 12.5.3 and 12.7.4) and of PDFium
HIDDEN = 2
SECRET = 1 << 13  # a field for a password
FREE_TEXT, WIDGET, PINNED_FILE = 3, 20, 17
COMMENTS = frozenset({1, *range(4, 16), PINNED_FILE})  # notes, marks on the text, drawings, stamps
TICKED, CHOSEN, LISTED, SIGNED = 2, 3, 5, 7  # kinds of fields
NOT_TICKED = "not ticked"
_YES = frozenset({"", "yes", "on", "1", "true", "ja", "oui", "x"})


def load_fields(pdf: pypdfium2.PdfDocument) -> None:
    """Makes the fields of the pages readable that are opened from now on."""
    from pypdfium2._helpers import document

    if pdf.get_formtype():
        logging.getLogger(document.__name__).setLevel(logging.ERROR)  # it advises to compile PDFium for forms of XFA
        pdf.init_forms()


def annotation_texts(page: pypdfium2.PdfPage) -> Iterator[str]:
    """`name: value` for each field of a form that is filled in, for each box whether it is ticked, and each comment, in their
    order on the page."""
    import pypdfium2.raw as pdfium

    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        with _annotation(page, number) as annotation:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
                continue
            if kind == WIDGET and page.formenv:
                yield from _field(page.formenv, annotation)
            elif kind == FREE_TEXT or kind in COMMENTS:
                text = _entry(annotation, b"Contents")
                author = _entry(annotation, b"T")
                start = "" if kind == FREE_TEXT else f"Comment by {author}: " if author else "Comment: "
                if text:
                    yield start + text


def pinned_files(page: pypdfium2.PdfPage) -> Iterator[pypdfium2.PdfAttachment]:
    """The files that are pinned to the page."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        with _annotation(page, number) as annotation:
            if pdfium.FPDFAnnot_GetSubtype(annotation) == PINNED_FILE and (
                raw := pdfium.FPDFAnnot_GetFileAttachment(annotation)
            ):
                yield pypdfium2.PdfAttachment(raw, page.pdf)


def xfa_values(pdf: pypdfium2.PdfDocument, name: str) -> list[str]:
    """`name: value` for each value in the data of a form that is laid out by XFA; [] for none."""
    import pypdfium2.raw as pdfium

    for number in range(max(pdfium.FPDF_GetXFAPacketCount(pdf), 0)):
        if _bytes(lambda *at, number=number: pdfium.FPDF_GetXFAPacketName(pdf, number, *at)).rstrip(b"\0") != b"datasets":
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


def is_xfa(pdf: pypdfium2.PdfDocument) -> bool:
    """Whether the pages of the file are only a stand-in for a form that is laid out by XFA."""
    import pypdfium2.raw as pdfium

    return bool(pdf.get_formtype() == pdfium.FORMTYPE_XFA_FULL)


def _field(form: Any, annotation: Any) -> Iterator[str]:
    import pypdfium2.raw as pdfium

    raw = form.raw
    kind = pdfium.FPDFAnnot_GetFormFieldType(raw, annotation)
    if pdfium.FPDFAnnot_GetFormFieldFlags(raw, annotation) & SECRET and kind not in (TICKED, CHOSEN):
        return
    label = _wide(lambda *at: pdfium.FPDFAnnot_GetFormFieldAlternateName(raw, annotation, *at))
    name = label or _wide(lambda *at: pdfium.FPDFAnnot_GetFormFieldName(raw, annotation, *at))
    if kind in (TICKED, CHOSEN):
        value = _wide(lambda *at: pdfium.FPDFAnnot_GetFormFieldExportValue(raw, annotation, *at))
        is_plain = value.lower() in _YES
        if pdfium.FPDFAnnot_IsChecked(raw, annotation):
            value = "yes" if is_plain else value
        elif kind == TICKED and name:
            value = NOT_TICKED if is_plain else f"{value} {NOT_TICKED}"
        else:  # of several of which one is chosen
            return
    elif kind == LISTED:
        options = range(pdfium.FPDFAnnot_GetOptionCount(raw, annotation))
        chosen = [option for option in options if pdfium.FPDFAnnot_IsOptionSelected(raw, annotation, option)]
        value = ", ".join(
            _wide(lambda *at, option=option: pdfium.FPDFAnnot_GetOptionLabel(raw, annotation, option, *at)) for option in chosen
        )
    else:
        value = _wide(lambda *at: pdfium.FPDFAnnot_GetFormFieldValue(raw, annotation, *at))
    if value:
        yield f"{name}: {value}" if name else value


@contextmanager
def _annotation(page: pypdfium2.PdfPage, number: int) -> Iterator[Any]:
    import pypdfium2.raw as pdfium

    annotation = pdfium.FPDFPage_GetAnnot(page, number)
    try:
        yield annotation
    finally:
        pdfium.FPDFPage_CloseAnnot(annotation)


def _entry(annotation: Any, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    return _wide(lambda *at: pdfium.FPDFAnnot_GetStringValue(annotation, key, *at))


def _wide(ask: Callable[..., int]) -> str:
    """A text that PDFium writes as UTF-16, on one line; "" for none."""
    size = ask(None, 0)
    if size <= 2:
        return ""
    import pypdfium2.raw as pdfium

    buffer = (pdfium.FPDF_WCHAR * (size // 2 + 1))()
    ask(buffer, size)
    return " ".join(clean(bytes(buffer)[: size - 2].decode("utf-16-le", "replace").replace("\r", "\n")).split())


def _bytes(ask: Callable[..., int]) -> bytes:
    size = ask(None, 0)
    buffer = ctypes.create_string_buffer(max(size, 1))
    ask(buffer, size)
    return buffer.raw[:size]
