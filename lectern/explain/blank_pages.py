"""Pages of a PDF without words that show something, such as a scan, as opposed to blank pages."""

from __future__ import annotations

from io import BytesIO

from lectern.explain.source_view import draw_page
from lectern.library import Library
from ragcore.errors import RagError

SCALE = 1.0  # of the drawn page, 72 dots per inch
MIN_CONTRAST = 48  # gray levels between the paper and a pixel that shows something
# of the pixels, about twenty letters; less is a page number, dust, or the edge of a sheet
MIN_DRAWN = 0.0005
MAX_LEADING_PAGES = 5  # of a file, which are looked at for something to see


def has_words(text: str) -> bool:
    """Whether any character is a letter; page numbers and lines alone are no words."""
    return any(map(str.isalpha, text))


def shows_something(library: Library, file_id: str, page_index: int) -> bool:
    """Whether a page of a PDF can be drawn and is not blank."""
    try:
        return _drawn_share(library, file_id, page_index) >= MIN_DRAWN
    except RagError:
        return False


def is_blank(library: Library, file_id: str) -> bool:
    """Whether the first pages of a PDF are all blank. False if its first page cannot be drawn."""
    for index in range(MAX_LEADING_PAGES):
        try:
            share = _drawn_share(library, file_id, index)
        except RagError:  # after the last page, too
            return index > 0
        if share >= MIN_DRAWN:
            return False
    return True


def _drawn_share(library: Library, file_id: str, page_index: int) -> float:
    """The share of the pixels of a page that differ from its paper. RagError if it cannot be drawn."""
    from PIL import Image

    with Image.open(BytesIO(draw_page(library, file_id, page_index, SCALE))) as image:
        levels = image.convert("L").histogram()
    paper = max(range(len(levels)), key=levels.__getitem__)
    drawn = sum(count for level, count in enumerate(levels) if abs(level - paper) >= MIN_CONTRAST)
    return drawn / sum(levels)
