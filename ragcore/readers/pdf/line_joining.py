"""Joins the printed lines of a page to paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

WRAPPED_SHARE = 0.72  # of the widest line nearby; a longer line continues in the next one
NEAR_LINES = 4  # lines before and after a line that determine the width of its column
MIN_RUNNING_PAGES = 4  # minimum number of pages that repeat a line, if it is a header or footer
MIN_NUMBERED_PAGES = 3  # the same for a line that has the page number
MAX_RUNNING_LINES = 4  # maximum lines of a header or footer
MAX_RUNNING = 100  # characters of a line in a header or footer
MIN_COLUMN = 28  # characters; shorter lines usually belong to a table or a list, not to a column of text
RARE_HYPHENS = (
    5  # hyphens inside lines per hyphen at a line's end; with more, the document does not divide words
)
HEADLINE_RATIO = 1.06  # minimum ratio of letter sizes between a headline and the text

BROKEN = "\ufffe"  # PDFium's sign for a hyphen that ends a line
_ITEM = re.compile(r"(?:[•‣▪◦●○■–*·-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d+\])\s")
_LIST_TITLE = re.compile(r"[A-Z]\S*(?: \S+){0,3}:")  # "Qualifications:" after the last item of another list
_COMPOUND = re.compile(r"\w+-\w+")
_CUT = re.compile(rf"(\w+)(?:{BROKEN}\n?|-\n)(\w+)")
_ENDED = re.compile(r"[.!?:;。!?…][\"'”’»)\]]*$")
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"\b(?:page|seite|p[áa]gina|p\.) ?#", re.I)  # in which # stands for each figure
_PAGE_WORD = re.compile(r"(?:\b(?:page|seite|p[áa]gina|p\.)|第) ?\Z", re.I)  # before a page number
_PAGES = re.compile(r" ?(?:/|of|von|de|sur) ?\d+\W*\Z", re.I)  # behind a page number
_SENTENCE = re.compile(r"[^\W\d].*[.!?。！？]\Z")
_NUMBERS = re.compile(r"(?<!\w)[\d.,%€$()+-]*\d[\d.,%€$()+-]*(?!\w)")


class Line(NamedTuple):  # creating a dataclass would take three times as long
    """A line of a page.

    `size` is the height of its letters in points, 0 if unknown. A `strong` line is bold from end to end. A
    `row` of a table is never joined to another line. `indexes` are those of its characters on the page, if
    the caller needs them.
    """

    text: str
    size: float = 0.0
    strong: bool = False
    row: bool = False
    indexes: Sequence[int] = ()


def without_running_lines(pages: list[list[Line]]) -> list[list[Line]]:
    """The pages without repeated headers and footers, which interrupt sentences.

    No text is lost: a header stays on its first page, and on pages where its figures are not the page number.
    """
    if len(pages) < MIN_NUMBERED_PAGES:
        return pages
    out = [[line for line in page if line.text.strip()] for page in pages]
    for edge in (1, -1):
        out = [page[::edge] for page in out]
        _drop_running(out)
        out = [page[::edge] for page in out]
    return out


def _drop_running(pages: list[list[Line]]) -> None:
    """Drop the repeated lines at the beginning of the pages."""
    stay = [0] * len(pages)  # number of lines to keep at the beginning of each page
    for depth in range(MAX_RUNNING_LINES):
        texts = [
            page[first].text.strip() if first < len(page) and not page[first].row else ""
            for page, first in zip(pages, stay, strict=True)
        ]
        keys = [_DIGITS.sub("#", text) for text in texts]
        often = {
            key
            for key, count in Counter(keys).items()
            if key
            and count
            >= max(MIN_NUMBERED_PAGES if _PAGE_NUMBER.search(key) else MIN_RUNNING_PAGES, 0.4 * len(pages))
        }
        last: dict[str, int] = {}  # the last page with a line of this key
        for number, key in enumerate(keys):
            if key not in often or (depth and key[0].islower()):  # the line continues the one above
                continue
            before = last.get(key)
            last[key] = number
            again = before is not None and _repeats(texts[before], texts[number], number - before)
            if again and len(pages[number]) > 1:
                del pages[number][stay[number]]
            else:
                stay[number] += 1


def _repeats(before: str, text: str, pages: int) -> bool:
    """Whether two similar lines are short and have equal figures, except the page number."""
    if max(len(before), len(text)) > MAX_RUNNING:
        return False
    for then, now in zip(_DIGITS.findall(before), _DIGITS.finditer(text), strict=True):
        increase = int(now[0]) - int(then)
        if increase and not (increase == pages and _is_page_number(now)):
            return False
    return True


def _is_page_number(figure: re.Match[str]) -> bool:
    """Whether a figure of a line is at its beginning or end, or has a word for pages beside it: that of
    "12 Handbook" and "Page 12 | May", but not those of "Total for room 12: 300 euro" and "Room 12."."""
    line = figure.string
    before, behind = line[: figure.start()], line[figure.end() :]
    if _PAGE_WORD.search(before):
        return True
    if _SENTENCE.search(line):
        return False
    is_alone = not any(map(str.isalnum, before)) or not any(map(str.isalnum, behind))
    return is_alone or _PAGES.fullmatch(behind) is not None


def hyphen_words(pages: list[list[Line]]) -> frozenset[str]:
    """The words that the document writes with a hyphen inside a line. If it rarely has hyphens at the ends of
    lines, words with a hyphen there count too, because it does not divide words."""
    inside = [
        word.lower()
        for page in pages
        for word in _COMPOUND.findall("\n".join([line.text for line in page if "-" in line.text]))
    ]
    ends = (
        f"{line.text}\n{after.text}"
        for page in pages
        for line, after in zip_longest(page, page[1:], fillvalue=Line(""))
        if BROKEN in line.text or line.text.endswith("-")
    )
    cut = [f"{start}-{rest}".lower() for end in ends for start, rest in _CUT.findall(end)]
    return frozenset(inside + cut if RARE_HYPHENS * len(cut) < len(inside) else inside)


def paragraphs(page: list[Line], compounds: frozenset[str] = frozenset()) -> str:
    """The page's text with one line for each paragraph, heading, list item or table row. Words that are
    divided at line ends are joined. A word in `compounds` keeps its hyphen.
    """
    lines = _split_at_hyphens(page)
    widths = widths_near([0 if line.row else len(line.text) for line in lines])
    out: list[str] = []
    sizes: list[int] = []  # number of lines of each paragraph; 0 for a row
    joins = False
    for number, line in enumerate(lines):
        if not line.text:
            joins = False
            continue
        if joins:
            out[-1] = _join(out[-1], line.text, compounds)
            sizes[-1] += 1
        else:
            out.append(line.text)
            sizes.append(0 if line.row else 1)
        after = next((later for later in lines[number + 1 : number + 3] if later.text), None)
        begins_list = after is not None and is_item(out[-1]) and _LIST_TITLE.fullmatch(after.text) is not None
        joins = after is not None and not begins_list and _continues(line, after, widths[number])
    text = out[:1]
    for before, size, paragraph in zip(sizes, sizes[1:], out[1:], strict=False):
        apart = before > 1 or size > 1 or (before == 0) != (size == 0)
        text += ["\n\n" if apart else "\n", paragraph]
    return "".join(text).replace(BROKEN, "-")


def widths_near(lengths: Sequence[int]) -> list[int]:
    """The width of the column at each line, in characters, from the lengths of the lines."""
    return [max(lengths[max(at - NEAR_LINES, 0) : at + NEAR_LINES + 1]) for at in range(len(lengths))]


def fills(length: int, width: int) -> bool:
    """Whether a line is as long as running text in a column `width` characters wide."""
    return length >= WRAPPED_SHARE * width and width >= MIN_COLUMN


def text_lines(text: str) -> list[Line]:
    return [Line(line) for line in text.split("\n")]


def page_separator(before: str, after: str) -> str:
    """The separator between the texts of two pages: a space if a sentence continues."""
    return " " if after[0].islower() and not is_ended(before) and not _ITEM.match(after) else "\n\n"


def is_ended(text: str) -> bool:
    """Whether the text ends like a sentence or an introduction."""
    return _ENDED.search(text) is not None


def is_item(text: str) -> bool:
    """Whether the text begins like an item of a list."""
    return bool(_ITEM.match(f"{text} "))


def _split_at_hyphens(page: list[Line]) -> list[Line]:
    """The lines without outer space, split after each hyphen that ended a line."""
    out: list[Line] = []
    for line in page:
        if BROKEN in line.text:
            parts = line.text.replace(BROKEN, f"{BROKEN}\n").split("\n")
            out += [line._replace(text=part.strip()) for part in parts]
        else:
            text = line.text.strip()
            out.append(line if text == line.text else line._replace(text=text))
    return out


def _continues(line: Line, after: Line, width: int) -> bool:
    """Whether `after` belongs to the same paragraph as `line`, in a column `width` characters wide."""
    if line.row or after.row or _ITEM.match(after.text):
        return False
    if (
        line.text.endswith(BROKEN)
        or after.text[0].islower()
        or (_upright(line.text) and _upright(after.text))
    ):
        return True
    if not fills(len(line.text), width) or (line.strong and not after.strong):
        return False
    if line.size and after.size and max(line.size, after.size) > HEADLINE_RATIO * min(line.size, after.size):
        return False
    if _is_row(line.text):
        return False
    return not (is_ended(line.text) and (len(line.text) < 0.9 * width or (after.strong and not line.strong)))


def _is_row(text: str) -> bool:
    """Whether a line has so many numbers that it is a row of a table, and is not inside a sentence, such as
    "from 1 July 2025 to 30 June 2026 for the car"."""
    in_sentence = text[0].islower() and text[-1].isalpha()
    return not in_sentence and len(_NUMBERS.findall(text)) > len(text.split()) / 3


def _join(before: str, after: str, compounds: frozenset[str]) -> str:
    if before.endswith((BROKEN, "\u00ad")):
        start = before[:-1]
        word_start, word_rest = re.search(r"\w*$", start), re.match(r"\w*", after)
        compound = f"{word_start[0] if word_start else ''}-{word_rest[0] if word_rest else ''}".lower()
        keeps = compound in compounds or not after[0].islower() or not start[-1:].isalpha()
        return start + ("-" if keeps else "") + after
    if before.endswith("-") and before[-2:-1].isalpha() and after[0].islower():
        return _join(before[:-1] + BROKEN, after, compounds)
    if _wide(before[-1]) and _wide(after[0]):
        return before + after
    return f"{before} {after}"


def _upright(text: str) -> bool:
    """Whether the line is part of vertical text: one character, perhaps with punctuation that ends a
    sentence."""
    return len(text) <= 3 and sum(map(str.isalnum, text)) <= 1 and all(map(_wide, text))


def _wide(character: str) -> bool:
    """Whether the character belongs to a script without spaces between words."""
    return "\u2e80" <= character <= "\uffef" and not "\uac00" <= character <= "\ud7a3"
