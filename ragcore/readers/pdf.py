"""PDF: the text of each page, its wrapped lines put back together into paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import DamagedFileError, NoTextError, TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.decode import clean
from ragcore.readers.pages import opened
from ragcore.readers.parts import joined
from ragcore.schema import Document, Scalar

if TYPE_CHECKING:
    import pypdfium2

SUFFIXES = (".pdf",)

WRAPPED = 0.72  # of the widest line near it: a line that long goes on in the next one
NEAR = 4  # lines before and after that show how wide the column is
RUNNING = 4  # pages that have the same first or last line, before it is taken for a header or footer
NARROW = 28  # characters; narrower lines are a table's or a list's more often than a column's

_BROKEN = "\ufffe"  # PDFium's sign for a hyphen that ends a line
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_ITEM = re.compile(r"(?:[•‣▪◦●○■–*·-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d+\])\s")
_ENDED = re.compile(r"[.!?:;。!?…][\"'”’»)\]]*$")
_NUMBERS = re.compile(r"(?<!\w)[\d.,%€$()+-]*\d[\d.,%€$()+-]*(?!\w)")


def read(path: Path, options: ReadOptions) -> Document:
    with opened(path, options.name, options.password) as pdf:
        labels, raw = _pages(pdf, options)
        metadata = _metadata(pdf, options.name)
        total = len(pdf)
    known = _hyphenated(raw)
    raw = without_running_lines(raw)
    text, pages = joined(((label, paragraphs(page, known)) for label, page in zip(labels, raw, strict=True)), _between)
    if not text.strip():
        raise NoTextError(
            f"{options.name} has no text in its {_counted(total)}: it is a scan, or holds only pictures.",
            hint="Have its text recognised first (OCR), for example with OCRmyPDF or your scanner's program.",
        )
    return Document(text, metadata=metadata, pages=pages)


def _pages(pdf: pypdfium2.PdfDocument, options: ReadOptions) -> tuple[list[str], list[str]]:
    import pypdfium2

    labels, texts, length, broken = [], [], 0, 0
    for index in range(len(pdf)):
        try:
            page = pdf[index]
            text_page = page.get_textpage()
            text = clean(text_page.get_text_range().replace("\x02", _BROKEN))
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError:
            text = ""  # one page that cannot be loaded does not take the others with it
            broken += 1
        labels.append(pdf.get_page_label(index).strip() or str(index + 1))
        texts.append(text.translate(_LIGATURES))
        length += len(text)
        if length > options.max_text_chars:
            raise TooLargeError(
                f"{options.name} has more than {options.max_text_chars:,} characters of text.",
                hint="Split it into several files.",
            )
        options.progress(index + 1, len(pdf))
    if broken == len(pdf):
        raise DamagedFileError(
            f"{options.name} could not be read: none of its pages can be opened.",
            hint="Open it in a PDF viewer. If that shows it, print it to a new PDF and add that.",
        )
    return labels, texts


def _metadata(pdf: pypdfium2.PdfDocument, name: str) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {"file_name": name}
    for key in ("Title", "Author"):
        if value := " ".join(clean(pdf.get_metadata_value(key)).split()):
            metadata[key.lower()] = value
    return metadata


def without_running_lines(pages: list[str]) -> list[str]:
    """The pages without the header and footer that the one before has too, but for its number: they tear sentences apart.

    Where they come first they stay, so no word of the document is lost.
    """
    if len(pages) < RUNNING:
        return pages
    lines = [[line for line in page.split("\n") if line.strip()] for page in pages]
    for place in (0, -1):
        keys = [re.sub(r"\d+", "#", each[place].strip()) if each else "" for each in lines]
        often = {key for key, count in Counter(keys).items() if key and count >= max(RUNNING, 0.4 * len(pages))}
        seen: set[str] = set()
        for each, key in zip(lines, keys, strict=True):
            if key in seen and len(each) > 1 and len(key) <= 100:
                del each[place]
            elif key in often:
                seen.add(key)
    return ["\n".join(each) for each in lines]


def _hyphenated(pages: list[str]) -> frozenset[str]:
    """The words that this document writes with a hyphen in the middle of a line."""
    return frozenset(word.lower() for page in pages for word in re.findall(r"\w+-\w+", page))


def paragraphs(page: str, hyphenated: frozenset[str] = frozenset()) -> str:
    """The page's text with one line for each paragraph, heading, list item or table row; words cut at line ends made whole."""
    lines = [line.strip() for line in page.replace(_BROKEN, f"{_BROKEN}\n").split("\n")]
    widths = [len(line) for line in lines]
    out: list[str] = []
    sizes: list[int] = []  # how many lines went into each
    joins = False
    for place, line in enumerate(lines):
        if not line:
            joins = False
            continue
        if joins:
            out[-1] = _joined(out[-1], line, hyphenated)
            sizes[-1] += 1
        else:
            out.append(line)
            sizes.append(1)
        after = next((later for later in lines[place + 1 : place + 3] if later), "")
        joins = _goes_on(line, after, max(widths[max(place - NEAR, 0) : place + NEAR + 1]))
    text = out[:1]
    for before, size, paragraph in zip(sizes, sizes[1:], out[1:], strict=False):
        text += ["\n\n" if before > 1 or size > 1 else "\n", paragraph]
    return "".join(text).replace(_BROKEN, "-")


def _between(before: str, after: str) -> str:
    """A sentence may go on over the page."""
    return " " if after[0].islower() and not _ENDED.search(before) and not _ITEM.match(after) else "\n\n"


def _goes_on(line: str, after: str, width: int) -> bool:
    """Whether `after` belongs to the same paragraph as `line`, in a column `width` characters wide."""
    if not after or _ITEM.match(after):
        return False
    if line.endswith(_BROKEN):
        return True
    if after[0].islower():
        return True
    if len(line) < WRAPPED * width or width < NARROW:
        return False
    if len(_NUMBERS.findall(line)) > len(line.split()) / 3:  # a row of a table
        return False
    return not (_ENDED.search(line) and len(line) < 0.9 * width)


def _joined(before: str, after: str, hyphenated: frozenset[str]) -> str:
    if before.endswith((_BROKEN, "\u00ad")):
        start = before[:-1]
        left, right = re.search(r"\w*$", start), re.match(r"\w*", after)
        compound = f"{left[0] if left else ''}-{right[0] if right else ''}".lower()
        keeps = compound in hyphenated or not after[0].islower() or not start[-1:].isalpha()
        return start + ("-" if keeps else "") + after
    if before.endswith("-") and before[-2:-1].isalpha() and after[0].islower():
        return _joined(before[:-1] + _BROKEN, after, hyphenated)
    if _wide(before[-1]) and _wide(after[0]):
        return before + after
    return f"{before} {after}"


def _wide(character: str) -> bool:
    """Of a script that writes without spaces."""
    return "\u2e80" <= character <= "\uffef" and not "\uac00" <= character <= "\ud7a3"


def _counted(pages: int) -> str:
    return "one page" if pages == 1 else f"{pages} pages"
