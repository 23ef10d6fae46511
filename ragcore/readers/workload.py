"""How much there is to be read in a file, by a look at it that is much quicker than reading: how long the queue will take is
told from that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.readers.base import ReadOptions
from ragcore.text.tokens import default_tokenizer

if TYPE_CHECKING:
    import pypdfium2

LOOKED_AT = 10  # pages of a PDF, evenly spread: the middle one of each tenth
PICTURE_CHARACTERS = 1_500  # that a page of print has
EACH = 4  # characters of English text that are one token
STRETCH, STRETCHES = 1_000, 20  # characters of a long text, and how many times, by which it is weighed


@dataclass(frozen=True, slots=True)
class Amount:
    """`characters` of text by its weight, see `weight`; `pictures`: pages whose text is still to be recognised, and is counted
    as that of a usual page."""

    characters: int
    pictures: int = 0


def weight(text: str) -> int:
    """How much there is to embed: as many characters of English text have as many of the built-in embedder's tokens. The same
    number of characters in Thai and in Korean differs thirtyfold in that."""
    if len(text) <= STRETCH * STRETCHES:
        return EACH * default_tokenizer().marks(text)
    starts = [(len(text) - STRETCH) * place // (STRETCHES - 1) for place in range(STRETCHES)]
    tokens = sum(default_tokenizer().marks(text[start : start + STRETCH]) for start in starts)
    return round(EACH * tokens * len(text) / (STRETCH * STRETCHES))


def much_quicker(name: str) -> bool:
    """Whether looking at a file called so is much quicker than reading it; other files are small work to read."""
    from ragcore.readers.ocr import image
    from ragcore.readers.pdf import reader as pdf
    from ragcore.readers.registry import suffix_of

    return suffix_of(name) in (*pdf.SUFFIXES, *image.SUFFIXES)


def amount_of(path: Path, options: ReadOptions) -> Amount:
    """Of a PDF or a picture an estimate, of any other file exact, as it is quickly read. Fails as `read_file` does."""
    from ragcore.readers.file_type import true_suffix
    from ragcore.readers.ocr import image, tesseract
    from ragcore.readers.pdf import reader as pdf
    from ragcore.readers.registry import read_file, suffix_of, supported_suffixes

    suffix = true_suffix(path, options.name, suffix_of(options.name), supported_suffixes)
    if suffix in pdf.SUFFIXES:
        return _of_pdf(path, options)
    if suffix in image.SUFFIXES:
        pictures = image.frames(path) if tesseract.installed() else 0
        return Amount(pictures * PICTURE_CHARACTERS, pictures)
    return Amount(weight(read_file(path, options).text))


def _of_pdf(path: Path, options: ReadOptions) -> Amount:
    from ragcore.readers.ocr import tesseract
    from ragcore.readers.pdf.page_images import opened

    with opened(path, options.name, options.password) as pdf:
        pages, characters, pictures = len(pdf), 0, 0
        step = max(pages / LOOKED_AT, 1.0)
        looked_at = [int(step * (place + 0.5)) for place in range(round(pages / step))]
        for index in looked_at:
            length, picture = _page(pdf, index)
            characters += length
            pictures += picture
    if not tesseract.installed():
        pictures = 0
    scale = pages / max(len(looked_at), 1)
    return Amount(round(scale * (characters + pictures * PICTURE_CHARACTERS)), round(scale * pictures))


def _page(pdf: pypdfium2.PdfDocument, index: int) -> tuple[int, bool]:
    """The weight of the text of a page, and whether others are to be recognised; nothing on one that cannot be opened."""
    import pypdfium2

    from ragcore.readers.pdf.reader import is_picture

    try:
        page = pdf[index]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return 0, False
    try:
        return weight(text.get_text_bounded()), is_picture(page, text.count_chars())
    finally:
        text.close()
        page.close()
