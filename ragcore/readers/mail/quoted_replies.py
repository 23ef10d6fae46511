"""Earlier mails that a mail quotes: without the marks in front of their lines, and each below who wrote it and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ragcore.readers.pdf.line_joining import is_item, widths_near

NARROWEST, WIDEST = 60, 100  # characters of the longest lines, where a mail program has cut them to fit

_MARKS = re.compile(r"^(?:> ?)*>(?!From ) ?")  # that one is set in a mailbox before a line of the mail itself
_DIVIDER = re.compile(r"(?<!\n)\n*^(?:-- ?|[-_]{5,}.*)$\n*", re.M)  # above a signature, and "-----Original Message-----"
_FIELD = re.compile(r"\S{2,15}: ")
_TIME = r"\d\d?[:.h]\d\d(?::\d\d)?(?:\s?[ap]\.?\s?m\.?)?(?:\sUhr)?(?:\s[+-]\d{4})?"
_WROTE = re.compile(  # "On Wed, 14 May 2025 at 09:15, Ada <ada@example.org> wrote:", also over two lines
    rf"(?<!\n)\n*^(?:On|Am|Le|El)\s(?P<date>[^\n:]{{5,50}}?\s{_TIME}),?\s(?P<before>schrieb\s)?"
    r"(?P<sender>(?:.|\n(?!\n)){2,150}?)(?(before)|\s(?:wrote|a\sécrit|escribió))\s?:[ \t]*$\n*",
    re.I | re.M,
)


def laid_out(text: str) -> str:
    """With a head above each earlier mail as above any mail, in the place of "On 5 June at 9:15, Ada wrote:"."""
    text = _DIVIDER.sub(lambda found: f"\n\n{found.group().strip()}\n\n", text)
    return _WROTE.sub(_head, text).strip("\n")


def unmarked(text: str) -> str:
    """Without the > in front of what is quoted (RFC 3676, section 4.5), and its lines no longer cut to fit a screen."""
    levels = []
    for depth, lines in groupby(text.split("\n"), key=_depth):
        level = [_MARKS.sub("", line, count=1).rstrip() for line in lines]
        levels.append("\n".join(_whole(level) if depth else level).strip("\n"))
    return "\n\n".join(levels)


def _depth(line: str) -> int:
    marks = _MARKS.match(line)
    return marks.group().count(">") if marks else 0


def _whole(lines: list[str]) -> Iterator[str]:
    """Each line with those after it that it goes on in: it ends where the next word would have had no place."""
    whole = ""
    for line, after, width in zip(lines, [*lines[1:], ""], widths_near([len(line) for line in lines]), strict=True):
        whole += line
        word = after.partition(" ")[0]
        is_cut = NARROWEST <= width <= WIDEST and len(line) + 1 + len(word) > width
        if is_cut and word and not (is_item(after) or _FIELD.match(after)):
            whole += " "
        else:
            yield whole
            whole = ""


def _head(found: re.Match[str]) -> str:
    sender, date = (" ".join(found[name].split()).replace("< ", "<") for name in ("sender", "date"))
    return f"\n\nFrom: {sender}\nDate: {date}\n\n"
