"""Pictures: the text that tesseract recognises in them; of a picture with several pages, such as a fax, in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr import tesseract
from ragcore.readers.page_spans import joined
from ragcore.readers.pdf.line_joining import paragraphs, plain
from ragcore.schema import Document

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")

SMALL = 1000  # pixels of the longer side; smaller pictures are enlarged, as letters must be 20 pixels high to be read
ENLARGED = 2.5


def read(path: Path, options: ReadOptions) -> Document:
    if not tesseract.installed():
        raise tesseract.scan_without_tesseract(f"{options.name} is a picture")
    pages = [(str(number), text) for number, text in enumerate(_texts(path, options), 1)]
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} is a picture, and no text was found in it.", hint="Add a larger or sharper picture of the text."
        )
    return Document(text, metadata={"file_name": options.name}, pages=stretches if len(pages) > 1 else ())


def _texts(path: Path, options: ReadOptions) -> Iterator[str]:
    import warnings

    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(path)
        with picture:
            count = getattr(picture, "n_frames", 1)
            for frame in range(count):
                picture.seek(frame)
                yield paragraphs(plain(tesseract.recognised(_upright(picture, options.name), options.name)))
                options.progress(frame + 1, count)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise _too_large(options.name) from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise DamagedFileError(
            f"{options.name} could not be read: it is damaged, or no picture.", hint="Open it in a viewer and save it again."
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
