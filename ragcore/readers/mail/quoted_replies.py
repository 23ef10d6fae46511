"""Earlier mails that a mail quotes: removes the > marks, and writes sender and date as headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ragcore.readers.pdf.line_joining import is_item, widths_near

NARROWEST, WIDEST = 60, 100  # characters of the longest lines of a mail that a mail program has wrapped

_MARKS = re.compile(r"^(?:> ?)*>(?!From ) ?")  # a mailbox escapes lines with From by >
# before a signature, and "-----Original Message-----"
_DIVIDER = re.compile(r"(?<!\n)\n*^(?:-- ?|[-_]{5,}.*)$\n*", re.M)
_FIELD = re.compile(r"\S{2,15}: ")
_TIME = r"\d\d?[:.h]\d\d(?::\d\d)?(?:\s?[ap]\.?\s?m\.?)?(?:\sUhr)?(?:\s[+-]\d{4})?"
_WROTE = re.compile(  # "On Wed, 14 May 2025 at 09:15, Ada <ada@example.org> wrote:", on one or two lines
    rf"(?<!\n)\n*^(?:On|Am|Le|El)\s(?P<date>[^\n:]{{5,50}}?\s{_TIME}),?\s(?P<before>schrieb\s)?"
    r"(?P<sender>(?:.|\n(?!\n)){2,150}?)(?(before)|\s(?:wrote|a\sécrit|escribió))\s?:[ \t]*$\n*",
    re.I | re.M,
)


def write_headers(text: str) -> str:
    """Replace "On 5 June at 9:15, Ada wrote:" above each earlier mail by From and Date headers."""
    text = _DIVIDER.sub(lambda match: f"\n\n{match[0].strip()}\n\n", text)
    return _WROTE.sub(_headers, text).strip("\n")


def remove_quote_marks(text: str) -> str:
    """Remove the > before quoted lines (RFC 3676, section 4.5), and join lines that were wrapped."""
    levels = []
    for depth, lines in groupby(text.split("\n"), key=_depth):
        level = [_MARKS.sub("", line, count=1).rstrip() for line in lines]
        levels.append("\n".join(_join_wrapped(level) if depth else level).strip("\n"))
    return "\n\n".join(levels)


def _depth(line: str) -> int:
    marks = _MARKS.match(line)
    return marks.group().count(">") if marks else 0


def _join_wrapped(lines: list[str]) -> Iterator[str]:
    """Join each line with the next if the first word of the next line did not fit on it."""
    joined = ""
    for line, after, width in zip(
        lines, [*lines[1:], ""], widths_near([len(line) for line in lines]), strict=True
    ):
        joined += line
        word = after.partition(" ")[0]
        is_wrapped = NARROWEST <= width <= WIDEST and len(line) + 1 + len(word) > width
        if is_wrapped and word and not (is_item(after) or _FIELD.match(after)):
            joined += " "
        else:
            yield joined
            joined = ""


def _headers(match: re.Match[str]) -> str:
    sender, date = (" ".join(match[name].split()).replace("< ", "<") for name in ("sender", "date"))
    return f"\n\nFrom: {sender}\nDate: {date}\n\n"
