"""Sentences that can be quoted with their citations, from documents and from earlier answers that hold `[1]` marks already.

A heading, a letterhead or a question that stands in a document answers nothing by itself, but for a heading with a price, a day
or a list right below it. It lends its words to the sentences under it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ragcore.text.citations import MARKS, cited_in
from ragcore.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Quote:
    """A whole sentence, white space evened out; the citations it carries; which passage it is from, and which document."""

    text: str
    marks: tuple[int, ...]
    passage: int
    document: str
    lead: str = ""  # the heading or the question that it stands under
    bullet: str | None = None  # of a list: what it stood behind, "" for a number, which it keeps, "|" of a row, "=" of a price
    introduces: tuple[str, ...] = ()  # what is listed below it in its passage, each as Markdown has it

    def __str__(self) -> str:
        """As Markdown: what introduces a list has it below."""
        said = self.text
        for item in self.introduces:
            said += ("\n" if LISTED.match(item) else " ") + item
        return said + (" " + "".join(f"[{mark}]" for mark in self.marks) if self.marks else "")

    @property
    def read_with_lead(self) -> str:
        return f"{self.lead} {self.text}" if self.lead else self.text

    @property
    def heading(self) -> Quote:
        """What is above it, as a line of its own."""
        return Quote(f"**{self.lead.strip('*_ ')}**", self.marks, self.passage, self.document, self.lead)

    @property
    def is_heading(self) -> bool:
        return bool(self.lead) and self.text == self.heading.text

    @property
    def begins_item(self) -> bool:
        """Whether it is an item of a list, or the first sentence of one."""
        return bool(self.bullet) or (self.bullet == "" and LISTED.match(self.text) is not None)

    @property
    def with_bullet(self) -> str:
        """As an item of Markdown, which knows no "a)" or "(1)"."""
        return f"- {self.text}" if self.begins_item and not _NUMBERED.match(self.text) else self.text

    @property
    def is_row(self) -> bool:
        return self.bullet == "=" or is_row(self.text)

    @property
    def with_list(self) -> str:
        return " ".join([self.text, *self.introduces])

    @property
    def goes_on_as_list(self) -> bool:
        """Whether it lists what the sentence before it speaks of: "These include:"."""
        return bool(self.introduces and LEANS.match(self.text))


class _Unit(NamedTuple):
    """A sentence or a line."""

    said: str
    leads: bool  # to what follows
    ends_paragraph: bool
    bullet: str | None  # "=" of what leads, too, where it may be quoted itself
    head: str = ""  # of a line of a list without marks: what introduces it, of which it is its own

    @property
    def begins_item(self) -> bool:
        """Of a list with marks."""
        if self.bullet == "":
            return LISTED.match(self.said) is not None
        return self.bullet is not None and self.bullet not in "|="


LEANS = re.compile(
    r"^(?:he|she|it|they|this|these|that|those|his|her|its|their|such|er|sie|es|dies\w*|il|elle|ils|elles|cel\w+"
    r"|él|ella|ellos|esto|est[ae]s?|它|他|她|这"
    r"|(?:after|before) (?:that|this|then)|until then|otherwise|if (?:so|not)|in (?:that|this|such a) case"
    r"|danach|davor|bis dahin|sonst|andernfalls|in diesem fall|après cela|sinon|dans ce cas"
    r"|después de (?:eso|esto)|de lo contrario|en ese caso)\b",
    re.IGNORECASE,
)
"""How a sentence begins that speaks of what the one before it does."""

_BULLET = re.compile(r"^(?:(?:[-*•–#|]+|>+(?!\s\d))\s+)+")
_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)")
_ITEM = re.compile(r"\s*[-*•–>]\s")
LISTED = re.compile(r"\s*(?:(?P<bullet>[-*•‣▪●◦○■–])|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s")
# "Director of Sales", "Position: Manager", and more below it, or "Qualifications:" of the next list; in an item, not where its
# line is only broken: "of\nSales".
_TITLE = r"[A-Z][\w'’-]*(?: (?:of|and|the|for|in|to|&|[A-Z][\w'’-]*)){0,9}"
_HEADING = re.compile(rf"(?:{_TITLE}|[A-Z][\w-]{{1,20}}: [^\n]*)\n(?=\s*\w)|{_TITLE}:\s*\Z")
_NUMBERED = re.compile(r"^\d{1,2}[.)]\s")
_BROKEN = r"(?:[,;&(/-]|\b(?:of|in|an|at|by|to|or|and|the|for|with|from|a))\n"
_ITEM_ABOVE_HEADING = re.compile(rf"(?:(?!{_BROKEN})[^\n]|{_BROKEN}|\n(?!{_HEADING.pattern}))+\n(?={_HEADING.pattern})")
_INTRODUCES = re.compile(r"[:：]$")
_NUMBERS = re.compile(r"\d+")
_GOES_ON = re.compile(r"[.!?…。！？؟।۔:：;,&(/-]$|\b(?:of|in|an|at|by|to|or|and|the|for|with|from|a)$")  # or ends
_BOLD = re.compile(r"\*\*[^*]+\*\*")
_PAGE = re.compile(r", (?:page|slide|sheet|chapter|message|part)\b.*$")
_LABELLED = r"^(?=[^\n:]{2,40}:[ \t])[A-Z\d][\w'’./-]*(?: (?:&|[(–-]?[\w'’./-]*\)?)){0,4}:[ \t]+\S[^\n]*$\n?"  # "Desk: 0161"
_LABEL = re.compile(r"[^:]{2,40}: \S")
_LINES = re.compile(
    r"(?P<code>^(?P<fence>```|~~~)[^\n]*\n(?:[^\n]*\n)*?(?P=fence)[ \t]*$\n?)"
    rf"|(?P<rows>(?:^(?=[^\n]*[\w-])(?:[^\n|]*\S \| \S|\|)[^\n]*$\n*)+)|(?P<pairs>(?:{_LABELLED}){{2,}})",
    re.M,
)
_LETTERHEAD = re.compile(r"(?:From|To|Cc|Date|Sent|Subject|Von|An|Datum|Betreff|De|À|Objet|Para|Asunto): ")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_BLANKS = re.compile(r"_{3}|\.{5}")  # to be filled in
_RULE = re.compile(r"[\s|:=-]*")
_NAMED_CELLS = re.compile(r"(?:[^|;:]*[^|;:\s]: [^|;]+; |[^|;:]* \| )[^|;:]*[^|;:\s]: (?!.*[.!?…。！？][\"'”’»)\]\s]*$)", re.S)
_SENTENCE_END = re.compile(r"[.!?…。！？؟।۔:;,][\"'”’»)\]\s]*$")
_FULL_STOP = re.compile(r"[.!。！।۔][\"'”’»)\]]*$")
_QUESTION = re.compile(r"[?？؟][\"'”’»)\]*]*$")
_MONTH = r"(?:Jan|Feb|Mar|Mär|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])\w*"
_TELLS = re.compile(  # of a heading: a price, or a day
    r"[€$£¥₹]\s?\d|\d\s?(?:[€$£¥₹]|(?:EUR|USD|GBP|CHF)\b)|\b\d{4}-\d\d-\d\d\b|\b\d\d?([./])\d\d?\1\d{2,4}\b"
    rf"|\b\d\d?\.? {_MONTH},? \d{{4}}\b|\b{_MONTH} \d\d?,? \d{{4}}\b"
)
_VALUE = re.compile(  # how much or when, at the end of a line; of a number before its unit the last digit will do
    r"(?:[€$£¥₹]\s?\d[\d.,–-]*|\d[.,:]*\s?(?:[€$£¥₹%]|(?:EUR|USD|GBP|CHF|[ap]\.?m\.?|Uhr|hours?|h|min(?:utes)?|km|kg|g|ml|l)\b)"
    r"|\b\d{1,3}[.:]\d\d)(?:\s?(?:/|per|each|pro|par|por)\s?\w*(?: \w+)?)?[\s*)]*$"
)
MAX_HEADING = 10  # words
MAX_TITLE = 5  # words of what introduces a list of lines
SHORT_LINE = 60  # characters of at least half of such lines
MOST_OF_NEXT = 0.6  # of the length of the line below it, that a heading has
SHORT_ANSWER = 60  # characters: what says little without the question above it is quoted with it
LIST_CHARS = 600  # of a list that is quoted with the sentence that introduces it
SCRAP = 2  # words: "No." is quoted with the sentence that follows, too


def quotes_in(text: str, *, number: int | None, source: str = "", passage: int = 0) -> list[Quote]:
    """The sentences of a passage that is cited as [number]. Without a number, marks in the text are citations and are kept.

    With one, such marks are the document's own references; beside ours they would mislead, so they are left out.
    """
    document = document_of(source)
    if number is not None:
        led = _led(MARKS.sub("", text))
        return _introducing([Quote(said, (number,), passage, document, lead, bullet) for lead, said, bullet in led])
    found: list[Quote] = []
    start = 0
    for match in MARKS.finditer(text):
        marks = tuple(dict.fromkeys(cited_in(match.group())))
        found += _marked(text[start : match.start()], marks, passage, document)
        start = match.end()
    return found + _marked(text[start:], (), passage, document)


def document_of(source: str) -> str:
    """The name of the document of a passage's source: "handbook.pdf" of "handbook.pdf, page 3"."""
    return _PAGE.sub("", source)


def _marked(text: str, marks: tuple[int, ...], passage: int, document: str) -> list[Quote]:
    """The sentences of what stands before these marks, which are those of the last, and of all of a list that ends there."""
    quotes = _introducing([Quote(unit.said, (), passage, document, bullet=unit.bullet) for unit in _prose(text)])
    cited = max(len(quotes) - 1, 0)
    for row, quote in enumerate(quotes):
        if quote.introduces and row + len(quote.introduces) == len(quotes) - 1:
            cited = row
    return [*quotes[:cited], *(replace(quote, marks=marks) for quote in quotes[cited:])]


def _plain(text: str) -> str:
    return _BULLET.sub("", " ".join(_EMPHASIS.sub("", text).split()))


def _says_something(sentence: str) -> bool:
    return any(char.isalnum() for char in sentence)


def _led(text: str) -> list[tuple[str, str, str | None]]:
    """(heading or question above it, sentence, its bullet). What leads to nothing is left out, unless there is nothing else."""
    found: list[tuple[str, str, str | None]] = []
    lead = last = scrap = ""  # last: the heading or question just before
    heads = ""
    units = list(_units(text))
    units = _numbered([unit for unit in units if not _BLANKS.search(unit.said)] or units)
    for unit, following in zip(units, [*units, None][1:], strict=True):
        said, leads, ends_paragraph, bullet, head = unit
        if leads or (head == said and bullet is None):
            above = f"{last} {said}" if last else said
            lists = following is not None and following.begins_item and not following.leads
            if head or bullet == "=" or lists:
                found.append((last, said, bullet or None))
            lead, heads, last = (lead, above, "") if head else (above, "", said)
            continue
        if head:
            found.append((heads, said, bullet))
            continue
        answers = scrap or (last if not unit.begins_item and len(said) <= SHORT_ANSWER and _QUESTION.search(last) else "")
        if scrap:
            found.pop()
        found.append(("", f"{answers} {said}", None) if answers else (lead, said, bullet))
        scrap = found[-1][1] if answers and not scrap and len(said.split()) <= SCRAP and not ends_paragraph else ""
        last = ""
    return found or [("", unit.said, unit.bullet) for unit in units]


def _numbered(units: Sequence[_Unit]) -> list[_Unit]:
    """The same, of which those that are numbered alike, one right below the other, are items of a list, and lead to nothing."""
    kinds = [_numbering(unit) for unit in units]
    near = zip(units, kinds, ["", *kinds], [*kinds[1:], ""], strict=False)
    return [unit._replace(leads=False) if kind and kind in (before, after) else unit for unit, kind, before, after in near]


def _numbering(unit: _Unit) -> str:
    """How it is numbered, "1" or "a"; "" for all else, and for questions."""
    number = LISTED.match(unit.said) if unit.bullet == "" and not _QUESTION.search(unit.said) else None
    return ("1" if _NUMBERS.search(number.group()) else "a") if number else ""


def _units(text: str) -> Iterator[_Unit]:
    start = 0
    for lines in _LINES.finditer(text):
        yield from _prose(text[start : lines.start()])
        if lines["code"]:
            commands = (" ".join(line.split()) for line in lines.group().splitlines()[1:-1])
            yield from (_Unit(command, False, True, "=") for command in commands if command)
        elif lines["pairs"]:
            pairs = [_plain(line) for line in lines.group().splitlines()]
            in_rows = [is_row(line) for line in pairs]
            heads = sum(_LETTERHEAD.match(line) is not None and not row for line, row in zip(pairs, in_rows, strict=True))
            for line, row in zip(pairs, in_rows, strict=True):
                yield _Unit(line, heads > 1 and not row, True, "|" if row else None if heads > 1 else "=")
        else:
            rows = list(_rows(lines.group()))
            in_each_row = len(rows) == 1 and text[lines.end() :].lstrip().startswith(rows[0].split(" | ")[0] + ": ")
            names_columns = len(rows) == 1 and not _NUMBERS.search(rows[0])
            yield from (_Unit(row, names_columns, True, "|") for row in rows if not in_each_row)
        start = lines.end()
    yield from _prose(text[start:])


def _prose(text: str) -> Iterator[_Unit]:
    begins_line, bullet = True, None
    for span in _spans(text):
        after = span[len(span.rstrip()) :]
        if begins_line and (lines := _short_lines(span)):
            yield from lines
            begins_line, bullet = "\n" in after, None
            continue
        below = begins_line and _is_below_heading(span)
        if below:
            above, _, span = span.partition("\n")
            yield _Unit(_plain(above), True, False, "=" if _TELLS.search(above) else None)
        said = _plain(span)
        if _says_something(said):
            heading = (
                begins_line
                and not below
                and "\n" in after
                and len(said.split()) <= MAX_HEADING
                and not _SENTENCE_END.search(said)
                and not _ITEM.match(span)
                and not is_row(said)
                and (len(_NUMBERS.findall(said)) <= 2 or span.startswith("#"))
            )
            question = _QUESTION.search(said) is not None
            bold = len(said.split()) <= MAX_HEADING and _BOLD.fullmatch(span.strip()) is not None
            bold = bold and not ("\n" in after and _FULL_STOP.search(said))
            item = LISTED.match(span) if begins_line else None
            bullet = (item["bullet"] or "") if item else (None if begins_line or bullet is None else "")
            if begins_line and not item and is_row(said):
                bullet = "|"
            tells = heading and (_TELLS.search(said) or _LABEL.match(said))
            yield _Unit(said, heading or question or bold, "\n" in after, "=" if tells else bullet)
        begins_line = "\n" in after


def _short_lines(span: str) -> list[_Unit]:
    """The lines of a list without marks, of prices, hours, ingredients or names, below what may introduce them: at least three,
    or two that say how much or when, each beginning with a capital or a number and ending no sentence. [] of all else."""
    lines = [line for line in map(_plain, span.splitlines()) if line]
    valued = [_VALUE.search(line) is not None and len(line.split()) > 1 for line in lines]
    if len(lines) < 2 or (len(lines) < 3 and not all(valued)):
        return []
    if any(line[0].islower() or _GOES_ON.search(line) or not _says_something(line) for line in lines):
        return []
    if 2 * sum(len(line) <= SHORT_LINE for line in lines) < len(lines):
        return []
    headed = not valued[0] and len(lines[0].split()) <= MAX_TITLE and not _NUMBERS.match(lines[0])
    head = lines[0] if headed else ""
    return [_Unit(line, False, True, None if headed and not at else "=", head) for at, line in enumerate(lines)]


def _is_below_heading(span: str) -> bool:
    """Whether its first line is a heading: much shorter than the next, with which it would fit one line if they were one."""
    above, _, below = (part.strip() for part in span.partition("\n"))
    return (
        bool(above and below)
        and len(above.split()) <= MAX_HEADING
        and len(above) <= MOST_OF_NEXT * len(below.partition("\n")[0])
        and not _GOES_ON.search(above)
        and not _ITEM.match(span)
        and not below[0].islower()
    )


def _spans(text: str) -> Iterator[str]:
    """Its sentences; a list item that no mark ends is parted from the headings below it, and from what stands under them."""
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
    """Each row of tables but the names of their columns, which are in each row: "Ticket: Adult; Price: £2.50"."""
    lines = [line for line in tables.split("\n") if line.strip()]
    begin = [at for at in range(1, len(lines) - 1) if _RULE.fullmatch(lines[at + 1]) and not _RULE.fullmatch(lines[at])]
    for start, end in itertools.pairwise([0, *begin, len(lines)]):
        yield from _rows_of_one(lines[start:end])


def _rows_of_one(lines: Sequence[str]) -> Iterator[str]:
    cells = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    if not cells:
        return
    names = [cell.rstrip(":").replace("; ", ", ").replace(": ", ", ") for cell in cells[0]]
    ruled = len(cells) > 1 and _RULE.fullmatch(lines[1]) is not None
    said = len(cells) > 1 and any(name and f"{name}: " in lines[1] for name in names)
    for row in cells[ruled or said :]:
        if ruled and len(row) == len(names):
            yield "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=True) if cell)
        else:
            yield " | ".join(filter(None, row))


def _cells(row: str) -> list[str]:
    cells = _BETWEEN_CELLS.split(row.strip().removeprefix("|").removesuffix("|"))
    return [" ".join(_EMPHASIS.sub("", cell).split()).replace("\\|", "|") for cell in cells]


def _introducing(quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes of a passage, of which those that introduce a list know it."""
    lists = (_list_below(row, quotes) for row in range(len(quotes)))
    return [replace(quote, introduces=items) if items else quote for quote, items in zip(quotes, lists, strict=True)]


def _list_below(row: int, quotes: Sequence[Quote]) -> tuple[str, ...]:
    """What this row introduces: with a colon, or as the heading right above it."""
    head, below = quotes[row], itertools.islice(quotes, row + 1, None)
    if _INTRODUCES.search(head.text):
        return list_items(below)
    if head.bullet is not None:
        return ()
    return list_items(itertools.takewhile(lambda quote: quote.lead.endswith(head.text), below))


def list_items(quotes: Iterable[Quote]) -> tuple[str, ...]:
    """The list that these begin with, as far as LIST_CHARS reach, as Markdown has it."""
    items: list[str] = []
    chars = 0
    for quote in quotes:
        chars += len(quote.text)
        if quote.bullet is None or chars > LIST_CHARS:
            break
        items.append(quote.with_bullet)
    return tuple(items)


def is_row(text: str) -> bool:
    """Whether it is a row of a table that says what its cells are, and no sentence."""
    return _NAMED_CELLS.match(text) is not None


def introduces_list(text: str) -> bool:
    """Whether its end introduces what is to follow."""
    return _INTRODUCES.search(text.rstrip()) is not None


def distinct(quotes: Iterable[Quote]) -> list[Quote]:
    """Each sentence once, where it stands first and whole: overlapping passages repeat sentences and cut them at the edge.

    What introduces a list is the same as another only with the same list: "Qualifications:" stands above many.
    """
    kept: list[Quote] = []
    for quote in quotes:
        same = next((at for at, other in enumerate(kept) if _are_same(quote, other)), None)
        if same is None:
            kept.append(quote)
        elif len(quote.with_list) > len(kept[same].with_list):
            kept[same] = replace(quote, passage=kept[same].passage)
    return kept


def _are_same(one: Quote, other: Quote) -> bool:
    if not one.introduces and not other.introduces:
        return one.text in other.text or other.text in one.text
    if not (_INTRODUCES.search(one.text) and _INTRODUCES.search(other.text)):
        return False  # a sentence that is an item of the list
    return one.with_list in other.with_list or other.with_list in one.with_list


def with_lists(rows: Sequence[int], quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes of these rows, in this order; what introduces a list with the list, which is then not quoted once more, and an
    item below what introduces it, below what that goes on from."""
    told = {item for row in rows for item in quotes[row].introduces}
    below: dict[int, list[int]] = {}  # the rows of the items, by that of what introduces them; none for all others
    for row in rows:
        if quotes[row].with_bullet not in told:
            head = _introduced_by(row, quotes)
            below.setdefault(row if head is None else head, []).extend([] if head is None else [row])
    said: dict[int, Quote] = {}
    for head, items in below.items():
        if items and _goes_on_from(head, quotes):
            said.setdefault(head - 1, quotes[head - 1])
        said.setdefault(head, _with_items(quotes[head], sorted(items), quotes) if items else quotes[head])
    return list(said.values())


def _goes_on_from(head: int, quotes: Sequence[Quote]) -> bool:
    """Whether what introduces a list does so from the sentence before it."""
    return head > 0 and quotes[head].goes_on_as_list and quotes[head - 1].passage == quotes[head].passage


def _with_items(head: Quote, rows: Sequence[int], quotes: Sequence[Quote]) -> Quote:
    """What introduces a list with these items of it alone: without numbers, which Markdown would count anew. What goes on in an
    item that is left out becomes one."""
    items = [
        quotes[row].text if row - 1 in rows and not quotes[row].begins_item else f"- {_NUMBERED.sub('', quotes[row].text)}"
        for row in rows
    ]
    return replace(head, introduces=tuple(items))


def _introduced_by(row: int, quotes: Sequence[Quote]) -> int | None:
    """The row of what introduces the list that this is an item of; of a passage that begins within the list, in another one."""
    item = quotes[row]
    if item.bullet is None:
        return None
    for at in range(row - 1, -1, -1):
        if quotes[at].passage != item.passage:
            break
        if quotes[at].bullet is None:
            return at if item.with_bullet in quotes[at].introduces else None
    others = (at for at, quote in enumerate(quotes) if quote.passage != item.passage and quote.document == item.document)
    return next((at for at in others if item.with_bullet in quotes[at].introduces), None)


def joined(quotes: Sequence[Quote]) -> str:
    """One text: sentences of one document follow each other; another document, a heading with its list, or what follows a
    list, begins a new paragraph; rows of tables are listed."""
    prices = sum(quote.bullet == "=" for quote in quotes)
    rows = [quote.bullet == "|" or is_row(quote.text) for quote in quotes]
    listed = [
        (row and len(quotes) > 1) or (quote.bullet == "=" and prices > 1) for row, quote in zip(rows, quotes, strict=True)
    ]
    text = ""
    for at, quote in enumerate(quotes):
        if at:
            before = quotes[at - 1]
            heads = quote.is_heading or (quote.introduces and not introduces_list(quote.text))
            goes_on = before.document == quote.document and not before.introduces and not heads
            on_next_line = listed[at] or before.is_heading
            text += "\n" if goes_on and on_next_line else " " if goes_on and not listed[at - 1] else "\n\n"
        text += "- " * listed[at] + str(quote)
    return text
