"""Lines as they are printed, put back together into paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

WRAPPED = 0.72  # of the widest line near it: a line that long goes on in the next one
NEAR = 4  # lines before and after that show how wide the column is
RUNNING = 4  # pages that have the same first or last line, before it is taken for a header or footer
FEWEST = 3  # pages that have it, where it tells the number of the page
DEEP = 4  # lines of a header or footer
LONGEST_RUNNING = 100  # characters of one
NARROW = 28  # characters; narrower lines are a table's or a list's more often than a column's
SELDOM = 5  # hyphens inside lines for each at a line's end, where no word is cut for the line's sake
OTHER_SIZE = 1.06  # a line whose letters are larger by this is a headline

BROKEN = "\ufffe"  # PDFium's sign for a hyphen that ends a line
_ITEM = re.compile(r"(?:[•‣▪◦●○■–*·-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d+\])\s")
_LIST_TITLE = re.compile(r"[A-Z]\S*(?: \S+){0,3}:")  # "Qualifications:", which follows the last item of another list
_COMPOUND = re.compile(r"\w+-\w+")
_CUT = re.compile(rf"(\w+)(?:{BROKEN}\n?|-\n)(\w+)")
_ENDED = re.compile(r"[.!?:;。!?…][\"'”’»)\]]*$")
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"\b(?:page|seite|p[áa]gina|p\.) ?#", re.I)  # with # for figures
_NUMBERS = re.compile(r"(?<!\w)[\d.,%€$()+-]*\d[\d.,%€$()+-]*(?!\w)")


class Line(NamedTuple):  # and no dataclass, which takes three times as long to make: there is one for every line
    """`size` is the height of its letters in points and 0 where it is not known; `strong` is a line in bold from end to end.

    A row of a table stands for itself. `places` are the characters of the page that it is made of, where they are asked for.
    """

    text: str
    size: float = 0.0
    strong: bool = False
    row: bool = False
    places: Sequence[int] = ()


def without_running_lines(pages: list[list[Line]]) -> list[list[Line]]:
    """The pages without the headers and footers that others have too, but for the page's number: they tear sentences apart.

    Where they come first they stay, and where they hold other figures than a page number, so nothing of the document is lost.
    """
    if len(pages) < FEWEST:
        return pages
    kept = [[line for line in page if line.text.strip()] for page in pages]
    for edge in (1, -1):
        kept = [page[::edge] for page in kept]
        _drop_running(kept)
        kept = [page[::edge] for page in kept]
    return kept


def _drop_running(pages: list[list[Line]]) -> None:
    """Those at the beginning of the pages, line by line."""
    stay = [0] * len(pages)  # lines at the beginning of each page that are no longer looked at
    for depth in range(DEEP):
        texts = [
            page[first].text.strip() if first < len(page) and not page[first].row else ""
            for page, first in zip(pages, stay, strict=True)
        ]
        keys = [_DIGITS.sub("#", text) for text in texts]
        often = {
            key
            for key, count in Counter(keys).items()
            if key and count >= max(FEWEST if _PAGE_NUMBER.search(key) else RUNNING, 0.4 * len(pages))
        }
        last: dict[str, int] = {}  # page that had a line of this key
        for number, key in enumerate(keys):
            if key not in often or (depth and key[0].islower()):  # which goes on from the line above
                continue
            before = last.get(key)
            last[key] = number
            again = before is not None and _counts_on(texts[before], texts[number], number - before)
            if again and len(pages[number]) > 1:
                del pages[number][stay[number]]
            else:
                stay[number] += 1


def _counts_on(before: str, text: str, pages: int) -> bool:
    """Whether two lines that are alike are short, and their figures the same, or growing as the number of the page does."""
    if max(len(before), len(text)) > LONGEST_RUNNING:
        return False
    figures = zip(_DIGITS.findall(before), _DIGITS.findall(text), strict=True)
    return all(int(now) - int(then) in (0, pages) for then, now in figures)


def hyphenated(pages: list[list[Line]]) -> frozenset[str]:
    """The words that this document writes with a hyphen: in the middle of a line; and at the end of one, where these are so
    few that its lines are not hyphenated."""
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
    cut = [f"{left}-{right}".lower() for end in ends for left, right in _CUT.findall(end)]
    return frozenset(inside + cut if SELDOM * len(cut) < len(inside) else inside)


def paragraphs(page: list[Line], compounds: frozenset[str] = frozenset()) -> str:
    """The page's text with one line for each paragraph, heading, list item or table row; words cut at line ends made whole.

    A word of `compounds` that is cut at its hyphen keeps it.
    """
    lines = _cut(page)
    widths = widths_near([0 if line.row else len(line.text) for line in lines])
    out: list[str] = []
    sizes: list[int] = []  # how many lines went into each; 0 is a row
    joins = False
    for place, line in enumerate(lines):
        if not line.text:
            joins = False
            continue
        if joins:
            out[-1] = _joined(out[-1], line.text, compounds)
            sizes[-1] += 1
        else:
            out.append(line.text)
            sizes.append(0 if line.row else 1)
        after = next((later for later in lines[place + 1 : place + 3] if later.text), None)
        begins_list = after is not None and is_item(out[-1]) and _LIST_TITLE.fullmatch(after.text) is not None
        joins = after is not None and not begins_list and _goes_on(line, after, widths[place])
    text = out[:1]
    for before, size, paragraph in zip(sizes, sizes[1:], out[1:], strict=False):
        apart = before > 1 or size > 1 or (before == 0) != (size == 0)
        text += ["\n\n" if apart else "\n", paragraph]
    return "".join(text).replace(BROKEN, "-")


def widths_near(lengths: Sequence[int]) -> list[int]:
    """How wide the column is around each line, in characters, from the lengths of the lines."""
    return [max(lengths[max(place - NEAR, 0) : place + NEAR + 1]) for place in range(len(lengths))]


def fills(length: int, width: int) -> bool:
    """Whether a line is as long as those of running text are in a column `width` characters wide."""
    return length >= WRAPPED * width and width >= NARROW


def plain(text: str) -> list[Line]:
    """The lines of a text of which nothing more is known."""
    return [Line(line) for line in text.split("\n")]


def between(before: str, after: str) -> str:
    """What stands between the texts of two pages: a sentence may go on over the page."""
    return " " if after[0].islower() and not _ENDED.search(before) and not _ITEM.match(after) else "\n\n"


def is_item(text: str) -> bool:
    """Whether the text begins as an item of a list does."""
    return bool(_ITEM.match(f"{text} "))


def _cut(page: list[Line]) -> list[Line]:
    """The lines without space around them, and cut after each hyphen that ended a line."""
    out: list[Line] = []
    for line in page:
        if BROKEN in line.text:
            parts = line.text.replace(BROKEN, f"{BROKEN}\n").split("\n")
            out += [line._replace(text=part.strip()) for part in parts]
        else:
            text = line.text.strip()
            out.append(line if text == line.text else line._replace(text=text))
    return out


def _goes_on(line: Line, after: Line, width: int) -> bool:
    """Whether `after` belongs to the same paragraph as `line`, in a column `width` characters wide."""
    if line.row or after.row or _ITEM.match(after.text):
        return False
    if line.text.endswith(BROKEN) or after.text[0].islower() or (_upright(line.text) and _upright(after.text)):
        return True
    if not fills(len(line.text), width) or (line.strong and not after.strong):
        return False
    if line.size and after.size and max(line.size, after.size) > OTHER_SIZE * min(line.size, after.size):
        return False
    if len(_NUMBERS.findall(line.text)) > len(line.text.split()) / 3:  # a row of a table
        return False
    return not (_ENDED.search(line.text) and (len(line.text) < 0.9 * width or (after.strong and not line.strong)))


def _joined(before: str, after: str, compounds: frozenset[str]) -> str:
    if before.endswith((BROKEN, "\u00ad")):
        start = before[:-1]
        left, right = re.search(r"\w*$", start), re.match(r"\w*", after)
        compound = f"{left[0] if left else ''}-{right[0] if right else ''}".lower()
        keeps = compound in compounds or not after[0].islower() or not start[-1:].isalpha()
        return start + ("-" if keeps else "") + after
    if before.endswith("-") and before[-2:-1].isalpha() and after[0].islower():
        return _joined(before[:-1] + BROKEN, after, compounds)
    if _wide(before[-1]) and _wide(after[0]):
        return before + after
    return f"{before} {after}"


def _upright(text: str) -> bool:
    """Of a line that is written downwards: a sign, and what closes a sentence after it."""
    return len(text) <= 3 and sum(map(str.isalnum, text)) <= 1 and all(map(_wide, text))


def _wide(character: str) -> bool:
    """Of a script that writes without spaces."""
    return "\u2e80" <= character <= "\uffef" and not "\uac00" <= character <= "\ud7a3"
