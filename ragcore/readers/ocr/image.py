"""Recognises the text in pictures. A picture may have several pages, such as a fax."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, InputError, NoTextError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.page_spans import join_pages
from ragcore.readers.pdf.line_joining import paragraphs, text_lines
from ragcore.schema import Document

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif")
PARSERS = ("PIL.ImageOps",)

# pixels of the longer side; smaller pictures are enlarged, as readable letters are at least 20 pixels high
SMALL_SIDE = 1000
ENLARGEMENT = 2.5
MAX_SIDE = 2000  # pixels of the longer side of a rendered picture


def read(path: Path, options: ReadOptions) -> Document:
    if not recognition.has_engine():
        raise recognition.scan_without_engine(f"{options.name} is a picture")
    report = recognition.RecognitionReport(options.name)
    pages = [(str(number), text) for number, text in enumerate(_texts(path, options, report), 1)]
    text, spans = join_pages(pages)
    if not text:
        raise report.unread_text() or NoTextError(
            f"{options.name} is a picture, and no text was found in it.",
            hint="Add a larger or sharper picture of the text.",
        )
    for error in report.errors():
        options.on_loss(error)
    return Document(text, metadata={"file_name": options.name}, pages=spans if len(pages) > 1 else ())


def _texts(path: Path, options: ReadOptions, report: recognition.RecognitionReport) -> Iterator[str]:
    with _open(path, options.name) as picture:
        # frames of an animation have the same text
        count = 1 if picture.format == "GIF" else getattr(picture, "n_frames", 1)
        for frame in range(count):
            picture.seek(frame)
            upright = _upright(picture, options.name)
            page = recognition.recognise(upright, options.name)
            report.note(str(frame + 1) if count > 1 else "", upright, page)
            if page.text:
                options.on_words(frame, PageWords.of(page))
            yield paragraphs(text_lines(page.text))
            options.progress(frame + 1, count)


def render_picture(path: Path, page_index: int, *, turn: int = 0) -> bytes:
    """The picture as WebP, upright by its EXIF data and then turned `turn` degrees clockwise. InputError if
    it has no such page; DamagedFileError, TooLargeError."""
    with _open(path, path.name) as picture:
        if not 0 <= page_index < getattr(picture, "n_frames", 1):
            raise InputError(f"{path.name} has no page {page_index + 1}.", hint="Choose a page that it has.")
        picture.seek(page_index)
        upright = recognition.turn_picture(_upright(picture, path.name), turn).convert("RGB")
    upright.thumbnail((MAX_SIDE, MAX_SIDE))
    buffer = io.BytesIO()
    upright.save(buffer, "WEBP", quality=82, method=2)
    return buffer.getvalue()


@contextmanager
def _open(path: Path, name: str) -> Iterator[Image]:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(path)
        with picture:
            yield picture
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise _too_large(name) from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise DamagedFileError(
            f"{name} could not be read: it is damaged, or not a picture.",
            hint="Open it in a viewer and save it again.",
        ) from error


def _too_large(name: str) -> TooLargeError:
    return TooLargeError(
        f"{name} is too large a picture to be read.",
        hint=f"Save it with at most {tesseract.MAX_PIXELS // 1_000_000} million pixels.",
    )


def _upright(picture: Image, name: str) -> Image:
    from PIL import Image, ImageOps

    if picture.width * picture.height > tesseract.MAX_PIXELS:  # a JPEG can be decoded at half its size
        picture.draft(None, (picture.width // 2, picture.height // 2))
    if picture.width * picture.height > tesseract.MAX_PIXELS:
        raise _too_large(name)
    upright = ImageOps.exif_transpose(picture)
    if "A" in upright.getbands() or upright.mode == "P":  # transparent pixels become white
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright.convert("RGBA"))
    if max(upright.size) < SMALL_SIDE:
        upright = upright.resize((round(upright.width * ENLARGEMENT), round(upright.height * ENLARGEMENT)))
    return upright
