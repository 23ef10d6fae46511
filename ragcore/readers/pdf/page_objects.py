"""The paths and pictures that are drawn on a PDF page. Paths may be the rules of tables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ragcore.readers.pdf import pdfium
from ragcore.readers.pdf.directions import Corners

MAX_COMPARED = 2**20  # bytes of a stored picture; larger pictures are compared by their size only
MAX_OBJECTS = 3_000  # objects of a form that are read; more are a drawing

_Matrix = tuple[float, float, float, float, float, float]


class PageObjects(NamedTuple):
    """PDFium's handles, collected in one pass, as there may be thousands on a page. `forms` may contain
    pictures."""

    paths: list[Any]
    images: list[Any]
    forms: list[Any]


class PlacedImage(NamedTuple):
    """`corners` are on the page before it is rotated and cropped. Pictures with the same `key` are the same
    picture."""

    corners: Corners
    pixels: int
    key: tuple[int, int, int, int]


def page_objects(page: pdfium.PdfPage) -> PageObjects:
    objects = PageObjects([], [], [])
    kinds = (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    of_kind = dict(zip(kinds, objects, strict=True))
    raw, get, kind_of = page.raw, pdfium.FPDFPage_GetObject, pdfium.FPDFPageObj_GetType
    for number in range(pdfium.FPDFPage_CountObjects(raw)):
        drawn = get(raw, number)
        if (same_kind := of_kind.get(kind_of(drawn))) is not None:
            same_kind.append(drawn)
    return objects


def placed_images(objects: PageObjects) -> Iterator[PlacedImage]:
    """The pictures of the page, including those inside forms."""
    for image in objects.images:
        yield _place_image(image, [])
    for form in objects.forms:
        yield from _images_in(form, [])


def _images_in(form: Any, outer: Sequence[_Matrix]) -> Iterator[PlacedImage]:
    matrices = [_matrix(form), *outer]
    for number in range(min(pdfium.FPDFFormObj_CountObjects(form), MAX_OBJECTS)):
        drawn = pdfium.FPDFFormObj_GetObject(form, number)
        kind = pdfium.FPDFPageObj_GetType(drawn)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            yield _place_image(drawn, matrices)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _images_in(drawn, matrices)


def _place_image(image: Any, outer: Sequence[_Matrix]) -> PlacedImage:
    points = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    for a, b, c, d, e, f in (_matrix(image), *outer):
        points = [(a * x + c * y + e, b * x + d * y + f) for x, y in points]
    xs, ys = zip(*points, strict=True)
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(image, width, height)
    size = pdfium.FPDFImageObj_GetImageDataRaw(image, None, 0)
    stored = ctypes.create_string_buffer(size if size <= MAX_COMPARED else 0)
    if stored:
        pdfium.FPDFImageObj_GetImageDataRaw(image, stored, size)
    key = (width.value, height.value, size, hash(stored.raw))
    return PlacedImage((min(xs), min(ys), max(xs), max(ys)), width.value * height.value, key)


def _matrix(drawn: Any) -> _Matrix:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(drawn, matrix)
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
