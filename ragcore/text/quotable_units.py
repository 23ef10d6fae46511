"""Divides a passage into sentences and lines: headings, rows of tables, items of lists, prices and hours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragcore.text.sentences import letterhead, sentence_spans

_BULLET = re.compile(r"^(?:(?:[-*•–#|]+|>+(?!\s\d))\s+)+")
_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)")
_ITEM = re.compile(r"\s*[-*•–>]\s")
LISTED = re.compile(r"\s*(?:(?P<bullet>[-*•‣▪●◦○■–])|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s")
# "Director of Sales" or "Position: Manager" with more text below, or "Qualifications:" above the next list.
# Inside a list item it is no heading where the line is only broken: "of\nSales".
_TITLE = r"[A-Z][\w'’-]*(?: (?:of|and|the|for|in|to|&|[A-Z][\w'’-]*)){0,9}"
_HEADING = re.compile(rf"(?:{_TITLE}|[A-Z][\w-]{{1,20}}: [^\n]*)\n(?=\s*\w)|{_TITLE}:\s*\Z")
_BROKEN = r"(?:[,;&(/-]|\b(?:of|in|an|at|by|to|or|and|the|for|with|from|a))\n"
_ITEM_ABOVE_HEADING = re.compile(
    rf"(?:(?!{_BROKEN})[^\n]|{_BROKEN}|\n(?!{_HEADING.pattern}))+\n(?={_HEADING.pattern})"
)
NUMBERS = re.compile(r"\d+")
# The end of a line that goes on, or of a sentence.
_GOES_ON = re.compile(r"[.!?…。！？؟।۔:：;,&(/-]$|\b(?:of|in|an|at|by|to|or|and|the|for|with|from|a)$")
_BOLD = re.compile(r"\*\*[^*]+\*\*")
# "Desk: 0161"
_LABELLED = r"^(?=[^\n:]{2,40}:[ \t])[A-Z\d][\w'’./-]*(?: (?:&|[(–-]?[\w'’./-]*\)?)){0,4}:[ \t]+\S[^\n]*$\n?"
_LABEL = re.compile(r"[^:]{2,40}: \S")
_LINES = re.compile(
    r"(?P<code>^(?P<fence>```|~~~)[^\n]*\n(?:[^\n]*\n)*?(?P=fence)[ \t]*$\n?)"
    rf"|(?P<rows>(?:^(?=[^\n]*[\w-])(?:[^\n|]*\S \| \S|\|)[^\n]*$\n*)+)|(?P<pairs>(?:{_LABELLED}){{2,}})",
    re.M,
)
_LETTERHEAD = re.compile(r"(?:From|To|Cc|Date|Sent|Subject|Von|An|Datum|Betreff|De|À|Objet|Para|Asunto): ")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:=-]*")
_NAMED_CELLS = re.compile(
    r"(?:[^|;:]*[^|;:\s]: [^|;]+; |[^|;:]* \| )[^|;:]*[^|;:\s]: (?!.*[.!?…。！？][\"'”’»)\]\s]*$)", re.S
)
_SENTENCE_END = re.compile(r"[.!?…。！？؟।۔:;,][\"'”’»)\]\s]*$")
_FULL_STOP = re.compile(r"[.!。！।۔][\"'”’»)\]]*$")
QUESTION = re.compile(r"[?？؟][\"'”’»)\]*]*$")
_MONTH = r"(?:Jan|Feb|Mar|Mär|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])\w*"
_PRICE_OR_DATE = re.compile(
    r"[€$£¥₹]\s?\d|\d\s?(?:[€$£¥₹]|(?:EUR|USD|GBP|CHF)\b)|\b\d{4}-\d\d-\d\d\b|\b\d\d?([./])\d\d?\1\d{2,4}\b"
    rf"|\b\d\d?\.? {_MONTH},? \d{{4}}\b|\b{_MONTH} \d\d?,? \d{{4}}\b"
)
# a quantity, a price or a time at the end of a line; before a unit the last digit is enough
_VALUE = re.compile(
    r"(?:[€$£¥₹]\s?\d[\d.,–-]*|\d[.,:]*\s?(?:[€$£¥₹%]|(?:EUR|USD|GBP|CHF|[ap]\.?m\.?|Uhr|hours?|h"
    r"|min(?:utes)?|km|kg|g|ml|l)\b)"
    r"|\b\d{1,3}[.:]\d\d)(?:\s?(?:/|per|each|pro|par|por)\s?\w*(?: \w+)?)?[\s*)]*$"
)
MAX_NAME = 60  # characters of a column's name in each row; the line above the rows has the whole name
MAX_ROW_CHARS = 600  # of a line of a table, about a passage; a longer row is divided
MAX_HEADING = 10  # words
MAX_TITLE = 5  # words of a line that introduces a list of lines
SHORT_LINE = 60  # characters; at least half of the lines of a list without marks are not longer
MAX_HEADING_SHARE = 0.6  # longest heading, as a share of the line below it


class Unit(NamedTuple):
    """A sentence or a line."""

    text: str
    leads: bool  # whether it is the heading or the question of what follows
    ends_paragraph: bool
    bullet: str | None  # as that of a Quote; "=" also for a heading that may be quoted itself
    head: str = ""  # the first line of the list without marks that this line belongs to

    @property
    def begins_item(self) -> bool:
        """Whether it begins an item of a list with marks."""
        if self.bullet == "":
            return LISTED.match(self.text) is not None
        return self.bullet is not None and self.bullet not in "|="


def units_of(text: str) -> Iterator[Unit]:
    start = 0
    for lines in _LINES.finditer(text):
        yield from units_of_prose(text[start : lines.start()])
        if lines["code"]:
            commands = (" ".join(line.split()) for line in lines.group().splitlines()[1:-1])
            yield from (Unit(command, False, True, "=") for command in commands if command)
        elif lines["pairs"]:
            pairs = [_plain(line) for line in lines.group().splitlines()]
            letterhead = sum(_LETTERHEAD.match(line) is not None and not is_row(line) for line in pairs) > 1
            for line in pairs:
                bullet = "|" if is_row(line) else None if letterhead else "="
                yield Unit(line, bullet is None, True, bullet)
        else:
            rows = list(_rows(lines.group()))
            in_each_row = len(rows) == 1 and text[lines.end() :].lstrip().startswith(
                rows[0].split(" | ")[0] + ": "
            )
            names_columns = len(rows) == 1 and not NUMBERS.search(rows[0])
            yield from (Unit(row, names_columns, True, "|") for row in rows if not in_each_row)
        start = lines.end()
    yield from units_of_prose(text[start:])


def units_of_prose(text: str) -> Iterator[Unit]:
    head = letterhead(text)
    for line in filter(_has_words, map(_plain, head.splitlines())):
        yield Unit(line, False, True, "=" if NUMBERS.search(line) else None)
    begins_line, bullet = True, None
    for span in _join_questions(_spans(text.removeprefix(head))):
        after = span[len(span.rstrip()) :]
        if begins_line and (lines := _short_lines(span)):
            yield from lines
            begins_line, bullet = "\n" in after, None
            continue
        below = begins_line and _is_below_heading(span)
        if below:
            above, _, span = span.partition("\n")
            yield Unit(_plain(above), True, False, "=" if _PRICE_OR_DATE.search(above) else None)
        sentence = _plain(span)
        if _has_words(sentence):
            is_short = len(sentence.split()) <= MAX_HEADING
            heading = (
                begins_line
                and not below
                and "\n" in after
                and is_short
                and not _SENTENCE_END.search(sentence)
                and not _ITEM.match(span)
                and not is_row(sentence)
                and (len(NUMBERS.findall(sentence)) <= 2 or span.startswith("#"))
            )
            bold = (
                is_short
                and bool(_BOLD.fullmatch(span.strip()))
                and not ("\n" in after and _FULL_STOP.search(sentence))
            )
            item = LISTED.match(span) if begins_line else None
            bullet = (item["bullet"] or "") if item else (None if begins_line or bullet is None else "")
            if begins_line and not item and is_row(sentence):
                bullet = "|"
            quotable = heading and (_PRICE_OR_DATE.search(sentence) or _LABEL.match(sentence))
            leads = heading or bold or QUESTION.search(sentence) is not None
            yield Unit(sentence, leads, "\n" in after, "=" if quotable else bullet)
        begins_line = "\n" in after


def _join_questions(spans: Iterable[str]) -> Iterator[str]:
    """The spans, but a short line of a sentence and a question as one: "I use a wheelchair. Can I ride?"."""
    begins_line, statement = True, ""
    for span in spans:
        ends_line = "\n" in span[len(span.rstrip()) :]
        if statement:
            if (
                ends_line
                and QUESTION.search(span.rstrip())
                and len((statement + span).split()) <= MAX_HEADING
            ):
                span = statement + span
            else:
                yield statement
            statement = ""
        elif begins_line and not ends_line and len(span.split()) > 1:  # no number, such as "Q1."
            statement = span
            continue
        yield span
        begins_line = ends_line
    if statement:
        yield statement


def _short_lines(span: str) -> list[Unit]:
    """The lines of a list without marks: prices, hours or names, and perhaps a line that introduces them.

    These are at least three lines, or two that end with a quantity, a price or a time. Each begins with a
    capital letter or a number, and ends no sentence. Any other text gives [].
    """
    lines = [line for line in map(_plain, span.splitlines()) if line]
    valued = [_VALUE.search(line) is not None and len(line.split()) > 1 for line in lines]
    if len(lines) < 2 or (len(lines) < 3 and not all(valued)):
        return []
    if any(line[0].islower() or _GOES_ON.search(line) or not _has_words(line) for line in lines):
        return []
    if 2 * sum(len(line) <= SHORT_LINE for line in lines) < len(lines):
        return []
    headed = not valued[0] and len(lines[0].split()) <= MAX_TITLE and not NUMBERS.match(lines[0])
    head = lines[0] if headed else ""
    return [
        Unit(line, False, True, None if headed and not at else "=", head) for at, line in enumerate(lines)
    ]


def _is_below_heading(span: str) -> bool:
    """Whether its first line is much shorter than the next, and so is a heading."""
    above, _, below = (part.strip() for part in span.partition("\n"))
    return (
        bool(above and below)
        and len(above.split()) <= MAX_HEADING
        and len(above) <= MAX_HEADING_SHARE * len(below.partition("\n")[0])
        and not _GOES_ON.search(above)
        and not _ITEM.match(span)
        and not below[0].islower()
    )


def _spans(text: str) -> Iterator[str]:
    """The sentences of the text, and the headings below a list item without a full stop."""
    for start, end in sentence_spans(text):
        span = text[start:end]
        if LISTED.match(span) and (item := _ITEM_ABOVE_HEADING.match(span)):
            yield item.group()
            span = span[item.end() :]
            while heading := _HEADING.match(span):
                yield heading.group()
                span = span[heading.end() :]
        if span:
            yield span


def _rows(tables: str) -> Iterator[str]:
    """Each row of the tables, with the names of its columns: "Ticket: Adult; Price: £2.50"."""
    lines = [line for line in tables.split("\n") if line.strip()]
    begin = [
        at
        for at in range(1, len(lines) - 1)
        if _RULE.fullmatch(lines[at + 1]) and not _RULE.fullmatch(lines[at])
    ]
    for start, end in itertools.pairwise([0, *begin, len(lines)]):
        yield from _rows_of_one(lines[start:end])


def _rows_of_one(lines: Sequence[str]) -> Iterator[str]:
    cells = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    if not cells:
        return
    names = [cell.rstrip(":").replace("; ", ", ").replace(": ", ", ") for cell in cells[0]]
    ruled = len(cells) > 1 and _RULE.fullmatch(lines[1]) is not None
    named_below = len(cells) > 1 and any(name and f"{name}: " in lines[1] for name in names)
    for row in cells[ruled or named_below :]:
        if ruled and len(row) == len(names):
            yield "; ".join(
                f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=True) if cell
            )
        else:
            yield " | ".join(filter(None, row))


def _cells(row: str) -> list[str]:
    cells = _BETWEEN_CELLS.split(row.strip().removeprefix("|").removesuffix("|"))
    return [" ".join(_EMPHASIS.sub("", cell).split()).replace("\\|", "|") for cell in cells]


def _plain(text: str) -> str:
    return _BULLET.sub("", " ".join(_EMPHASIS.sub("", text).split()))


def _has_words(sentence: str) -> bool:
    return any(char.isalnum() for char in sentence)


def is_row(text: str) -> bool:
    """Whether it is a row of a table with the names of its columns, and no sentence."""
    return _NAMED_CELLS.match(text) is not None


def name_in_row(name: str) -> str:
    """The name of a column as it stands in each row: without the separators of cells, and shortened in the
    middle if it is long.

    >>> name_in_row("Losses: all")
    'Losses, all'
    """
    name = name.rstrip(":").replace("; ", ", ").replace(": ", ", ")
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[:half].strip()}…{name[-half:].strip()}"
