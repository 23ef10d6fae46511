"""Pictures: the text that is recognised in them; of a picture with several pages, such as a fax, in each."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, InputError, NoTextError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import recognition, tesseract
from ragcore.readers.ocr.page_words import PageWords
from ragcore.readers.page_spans import joined
from ragcore.readers.pdf.line_joining import paragraphs, text_lines
from ragcore.schema import Document

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif")
PARSERS = ("PIL.ImageOps",)

SMALL = 1000  # pixels of the longer side; smaller pictures are enlarged, as letters must be 20 pixels high to be read
ENLARGED = 2.5
SHOWN = 2000  # pixels of the longer side of a picture that a person looks at


def read(path: Path, options: ReadOptions) -> Document:
    if not recognition.installed():
        raise recognition.scan_without_engine(f"{options.name} is a picture")
    report = recognition.RecognitionReport(options.name)
    pages = [(str(number), text) for number, text in enumerate(_texts(path, options, report), 1)]
    text, stretches = joined(pages)
    if not text:
        raise _without_text(options.name, report)
    for error in report.errors():
        options.left_out(error)
    return Document(text, metadata={"file_name": options.name}, pages=stretches if len(pages) > 1 else ())


def _without_text(name: str, report: recognition.RecognitionReport) -> NoTextError:
    return report.unread_text() or NoTextError(
        f"{name} is a picture, and no text was found in it.", hint="Add a larger or sharper picture of the text."
    )


def _texts(path: Path, options: ReadOptions, report: recognition.RecognitionReport) -> Iterator[str]:
    with _opened(path, options.name) as picture:
        count = 1 if picture.format == "GIF" else getattr(picture, "n_frames", 1)  # one that moves shows the same
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
    """The picture as WebP, the way it is held by its EXIF data and then turned `turn` degrees clockwise. InputError when it has
    no such page; DamagedFileError, TooLargeError."""
    with _opened(path, path.name) as picture:
        if not 0 <= page_index < getattr(picture, "n_frames", 1):
            raise InputError(f"{path.name} has no page {page_index + 1}.", hint="Choose a page that it has.")
        picture.seek(page_index)
        upright = recognition.turned(_upright(picture, path.name), turn).convert("RGB")
    upright.thumbnail((SHOWN, SHOWN))
    buffer = io.BytesIO()
    upright.save(buffer, "WEBP", quality=82, method=2)
    return buffer.getvalue()


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Image]:
    import warnings

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
            f"{name} could not be read: it is damaged, or not a picture.", hint="Open it in a viewer and save it again."
        ) from error


def _too_large(name: str) -> TooLargeError:
    return TooLargeError(
        f"{name} is too large a picture to be read.",
        hint=f"Save it with at most {tesseract.MAX_PIXELS // 1_000_000} million pixels.",
    )


def _upright(picture: Image, name: str) -> Image:
    from PIL import Image, ImageOps

    if picture.width * picture.height > tesseract.MAX_PIXELS:  # JPEG, such as a telephone's, can be read at half its size
        picture.draft(None, (picture.width // 2, picture.height // 2))
    if picture.width * picture.height > tesseract.MAX_PIXELS:
        raise _too_large(name)
    upright = ImageOps.exif_transpose(picture)
    if "A" in upright.getbands() or upright.mode == "P":  # what is transparent is paper
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright.convert("RGBA"))
    if max(upright.size) < SMALL:
        upright = upright.resize((round(upright.width * ENLARGED), round(upright.height * ENLARGED)))
    return upright
