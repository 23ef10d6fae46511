"""What is drawn on a PDF page beside its letters: paths, of which rules and tables are made, and pictures."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ragcore.readers.pdf.directions import Corners

if TYPE_CHECKING:
    import pypdfium2

COMPARED = 2**20  # bytes of a picture as it is stored; of a larger one only its size is compared with others
MOST = 3_000  # objects of a form that are looked at; more are a drawing

_Matrix = tuple[float, float, float, float, float, float]


class PageObjects(NamedTuple):
    """PDFium's handles, found in one pass, as there may be thousands on a page. `forms` may hold pictures."""

    paths: list[Any]
    images: list[Any]
    forms: list[Any]


class PlacedImage(NamedTuple):
    """`corners`: on the page before it is turned and cropped. `key` is the same where the same picture is shown again."""

    corners: Corners
    pixels: int
    key: tuple[int, int, int, int]


def page_objects(page: pypdfium2.PdfPage) -> PageObjects:
    import pypdfium2.raw as pdfium

    found = PageObjects([], [], [])
    of_kind = {
        pdfium.FPDF_PAGEOBJ_PATH: found.paths, pdfium.FPDF_PAGEOBJ_IMAGE: found.images, pdfium.FPDF_PAGEOBJ_FORM: found.forms,
    }  # fmt: skip
    raw, get, kind_of = page.raw, pdfium.FPDFPage_GetObject, pdfium.FPDFPageObj_GetType
    for number in range(pdfium.FPDFPage_CountObjects(raw)):
        drawn = get(raw, number)
        if (objects := of_kind.get(kind_of(drawn))) is not None:
            objects.append(drawn)
    return found


def placed_images(objects: PageObjects) -> Iterator[PlacedImage]:
    """The pictures of the page, also those inside forms."""
    for image in objects.images:
        yield _placed(image, [])
    for form in objects.forms:
        yield from _inside(form, [])


def _inside(form: Any, around: list[_Matrix]) -> Iterator[PlacedImage]:
    import pypdfium2.raw as pdfium

    matrices = [_matrix(form), *around]
    for number in range(min(pdfium.FPDFFormObj_CountObjects(form), MOST)):
        drawn = pdfium.FPDFFormObj_GetObject(form, number)
        kind = pdfium.FPDFPageObj_GetType(drawn)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            yield _placed(drawn, matrices)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _inside(drawn, matrices)


def _placed(image: Any, around: list[_Matrix]) -> PlacedImage:
    import pypdfium2.raw as pdfium

    points = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    for a, b, c, d, e, f in (_matrix(image), *around):
        points = [(a * x + c * y + e, b * x + d * y + f) for x, y in points]
    across, up = zip(*points, strict=True)
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(image, width, height)
    size = pdfium.FPDFImageObj_GetImageDataRaw(image, None, 0)
    stored = ctypes.create_string_buffer(size if size <= COMPARED else 0)
    if stored:
        pdfium.FPDFImageObj_GetImageDataRaw(image, stored, size)
    corners = (min(across), min(up), max(across), max(up))
    return PlacedImage(corners, width.value * height.value, (width.value, height.value, size, hash(stored.raw)))


def _matrix(drawn: Any) -> _Matrix:
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(drawn, matrix)
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
