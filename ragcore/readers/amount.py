"""How much there is to be read in a file, by a look at it that is much quicker than reading: how long the queue will take is
told from that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.readers.base import ReadOptions

if TYPE_CHECKING:
    import pypdfium2

LOOKED_AT = 10  # pages of a PDF, evenly spread
PICTURE_CHARACTERS = 1_500  # that a page of print has


@dataclass(frozen=True, slots=True)
class Amount:
    """`characters` of text; `pictures`: pages whose text is still to be recognised, and is counted as that of a usual page."""

    characters: int
    pictures: int = 0


def much_quicker(name: str) -> bool:
    """Whether looking at a file called so is much quicker than reading it; other files are small work to read."""
    from ragcore.readers import image, pdf
    from ragcore.readers.registry import suffix_of

    return suffix_of(name) in (*pdf.SUFFIXES, *image.SUFFIXES)


def amount_of(path: Path, options: ReadOptions) -> Amount:
    """Of a PDF or a picture an estimate, of any other file exact, as it is quickly read. Fails as `read_file` does."""
    from ragcore.readers import image, ocr, pdf
    from ragcore.readers.registry import read_file, suffix_of, supported_suffixes
    from ragcore.readers.sniff import true_suffix

    suffix = true_suffix(path, options.name, suffix_of(options.name), supported_suffixes)
    if suffix in pdf.SUFFIXES:
        return _of_pdf(path, options)
    if suffix in image.SUFFIXES:
        pictures = image.frames(path) if ocr.installed() else 0
        return Amount(pictures * PICTURE_CHARACTERS, pictures)
    return Amount(len(read_file(path, options).text))


def _of_pdf(path: Path, options: ReadOptions) -> Amount:
    from ragcore.readers import ocr
    from ragcore.readers.pages import opened

    with opened(path, options.name, options.password) as pdf:
        pages, characters, pictures = len(pdf), 0, 0
        step = max(pages / LOOKED_AT, 1.0)
        looked_at = [int(step * place) for place in range(round(pages / step))]
        for index in looked_at:
            length, picture = _page(pdf, index)
            characters += length
            pictures += picture
    if not ocr.installed():
        pictures = 0
    scale = pages / max(len(looked_at), 1)
    return Amount(round(scale * (characters + pictures * PICTURE_CHARACTERS)), round(scale * pictures))


def _page(pdf: pypdfium2.PdfDocument, index: int) -> tuple[int, bool]:
    """How many characters are on a page, and whether others are to be recognised; nothing on one that cannot be opened."""
    import pypdfium2

    from ragcore.readers.pdf import is_picture

    try:
        page = pdf[index]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return 0, False
    try:
        return text.count_chars(), is_picture(page, text.count_chars())
    finally:
        text.close()
        page.close()
