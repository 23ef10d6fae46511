"""Sentences that can be quoted with their citations, from documents and from earlier answers.

A heading, a letterhead or a question of a document is no answer by itself: it is read together with the
sentences below it. Only a heading with a price, a date or a list directly below it is quoted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ragcore.text.citations import MARKS, cited_in
from ragcore.text.quotable_units import LISTED, NUMBERS, QUESTION, Unit, is_row, units_of, units_of_prose
from ragcore.text.turns import replies_in, turns_of


@dataclass(frozen=True, slots=True)
class Quote:
    """A whole sentence with single spaces, the numbers that it cites, its passage and its document.

    >>> quote = quotes_in("# Fees\\n\\nEntry is free.", number=2, source="prices.pdf, page 3")[0]
    >>> str(quote), quote.lead, quote.document
    ('Entry is free. [2]', 'Fees', 'prices.pdf')
    """

    text: str
    marks: tuple[int, ...]
    passage: int
    document: str
    lead: str = ""  # the heading or the question above it
    # of a list item; "" for a number, which stays in the text; "|" for a row, "=" for a price
    bullet: str | None = None
    introduces: tuple[str, ...] = ()  # the items of the list below it in its passage, in Markdown
    read_with_lead: str = field(init=False, compare=False, repr=False)  # the text below its lead

    def __post_init__(self) -> None:
        object.__setattr__(self, "read_with_lead", f"{self.lead} {self.text}" if self.lead else self.text)

    def __str__(self) -> str:
        """The quote as Markdown, with the list that it introduces below it."""
        text = self.text
        for item in self.introduces:
            text += ("\n" if LISTED.match(item) else " ") + item
        return text + (" " + "".join(f"[{mark}]" for mark in self.marks) if self.marks else "")

    @property
    def heading(self) -> Quote:
        """The heading above it, as a quote."""
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
        """The text as a list item of Markdown, in which "a)" and "(1)" are no marks."""
        return f"- {self.text}" if self.begins_item and not _NUMBERED.match(self.text) else self.text

    @property
    def is_row(self) -> bool:
        return self.bullet == "=" or is_row(self.text)

    @property
    def with_list(self) -> str:
        return " ".join([self.text, *self.introduces])

    @property
    def goes_on_as_list(self) -> bool:
        """Whether it introduces a list about the sentence before it: "These include:"."""
        return bool(self.introduces and DEPENDS_ON_PREVIOUS.match(self.text))


DEPENDS_ON_PREVIOUS = re.compile(
    r"^(?:he|she|it|they|this|these|that|those|his|her|its|their|such|er|sie|es|dies\w*"
    r"|il|elle|ils|elles|cel\w+|él|ella|ellos|esto|est[ae]s?|它|他|她|这"
    r"|(?:after|before) (?:that|this|then)|until then|otherwise|if (?:so|not)|in (?:that|this|such a) case"
    r"|danach|davor|bis dahin|sonst|andernfalls|in diesem fall|après cela|sinon|dans ce cas"
    r"|después de (?:eso|esto)|de lo contrario|en ese caso)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that is understood only after the one before it."""

_NUMBERED = re.compile(r"^\d{1,2}[.)]\s")
_INTRODUCES = re.compile(r"[:：]$")
_PAGE = re.compile(r", (?:page|slide|sheet|chapter|message|part)\b.*$")
_BLANKS = re.compile(r"_{3}|\.{5}")  # of a form
SHORT_ANSWER = 60  # characters; an answer that is not longer is quoted with the question above it
LIST_CHARS = 600  # of a list that is quoted with the sentence that introduces it
SKIPPED = "- …"  # in place of items of a list that are not quoted
FRAGMENT_WORDS = 2  # words; an answer that is not longer, such as "No.", is quoted with the sentence after it


def quotes_in(text: str, *, number: int | None, source: str = "", passage: int = 0) -> list[Quote]:
    """The sentences of a passage that is cited as [number]. With None, marks in the text are its citations.

    With a number, marks in the text are the document's own references, and are removed.
    """
    document = document_of(source)
    if number is not None:
        sentences = _sentences_with_leads(MARKS.sub("", text))
        return _attach_lists(
            [Quote(each, (number,), passage, document, lead, bullet) for lead, each, bullet in sentences]
        )
    quotes: list[Quote] = []
    start = 0
    for match in MARKS.finditer(text):
        marks = tuple(dict.fromkeys(cited_in(match.group())))
        quotes += _quotes_before_marks(text[start : match.start()], marks, passage, document)
        start = match.end()
    return quotes + _quotes_before_marks(text[start:], (), passage, document)


def document_of(source: str) -> str:
    """The document of a passage's source: "handbook.pdf" of "handbook.pdf, page 3"."""
    return _PAGE.sub("", source)


def _quotes_before_marks(text: str, marks: tuple[int, ...], passage: int, document: str) -> list[Quote]:
    """The quotes of the text before these marks, which the last quote has, or the whole last list."""
    quotes = _attach_lists(
        [Quote(unit.text, (), passage, document, bullet=unit.bullet) for unit in units_of_prose(text)]
    )
    cited = max(len(quotes) - 1, 0)
    for row, quote in enumerate(quotes):
        if quote.introduces and row + len(quote.introduces) == len(quotes) - 1:
            cited = row
    return [*quotes[:cited], *(replace(quote, marks=marks) for quote in quotes[cited:])]


def _sentences_with_leads(text: str) -> list[tuple[str, str, str | None]]:
    """(heading or question above it, sentence, its bullet), without headings that have no text below."""
    turns = turns_of(text)
    replies = list(replies_in(text, turns))
    if any(question for question, _ in replies):
        above = text[: text.rfind("\n", 0, turns[0].start) + 1]
        rows_above = _sentences_with_leads(above) if above.strip() else []
        return [*rows_above, *((question, reply, "=") for question, reply in replies)]
    rows: list[tuple[str, str, str | None]] = []
    # last: the heading or question directly before; unfinished: a short answer such as "No."
    lead = list_lead = last = unfinished = ""
    units = list(units_of(text))
    units = _mark_numbered_items([unit for unit in units if not _BLANKS.search(unit.text)] or units)
    for unit, following in zip(units, [*units, None][1:], strict=True):
        sentence, leads, ends_paragraph, bullet, head = unit
        if leads or (head == sentence and bullet is None):
            above = f"{last} {sentence}" if last else sentence
            lists = following is not None and following.begins_item and not following.leads
            if head or bullet == "=" or lists:
                rows.append((last, sentence, bullet or None))
            lead, list_lead, last = (lead, above, "") if head else (above, "", sentence)
            continue
        if head:
            rows.append((list_lead, sentence, bullet))
            continue
        is_answer = not unit.begins_item and len(sentence) <= SHORT_ANSWER and QUESTION.search(last)
        question = unfinished or (last if is_answer else "")
        if unfinished:
            rows.pop()
        rows.append(("", f"{question} {sentence}", None) if question else (lead, sentence, bullet))
        goes_on = (
            question and not unfinished and len(sentence.split()) <= FRAGMENT_WORDS and not ends_paragraph
        )
        unfinished = rows[-1][1] if goes_on else ""
        last = ""
    return rows or [("", unit.text, unit.bullet) for unit in units]


def _mark_numbered_items(units: Sequence[Unit]) -> list[Unit]:
    """Neighbours with the same kind of number, "1." or "a)", become list items. Questions do not."""

    def kind_of_number(unit: Unit) -> str:
        number = LISTED.match(unit.text) if unit.bullet == "" and not QUESTION.search(unit.text) else None
        return ("1" if NUMBERS.search(number.group()) else "a") if number else ""

    kinds = list(map(kind_of_number, units))
    near = zip(units, kinds, ["", *kinds], [*kinds[1:], ""], strict=False)
    return [
        unit._replace(leads=False) if kind and kind in (before, after) else unit
        for unit, kind, before, after in near
    ]


def _attach_lists(quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes of a passage, with `introduces` of each that introduces a list."""
    lists = (_list_below(row, quotes) for row in range(len(quotes)))
    return [
        replace(quote, introduces=items) if items else quote
        for quote, items in zip(quotes, lists, strict=True)
    ]


def _list_below(row: int, quotes: Sequence[Quote]) -> tuple[str, ...]:
    """The list that this row introduces: with a colon, or as the heading directly above it."""
    head, below = quotes[row], quotes[row + 1 :]
    if not _INTRODUCES.search(head.text):
        if head.bullet is not None:
            return ()
        below = list(itertools.takewhile(lambda quote: quote.lead.endswith(head.text), below))
    items = list_items(below)
    is_cut = items and len(items) < len(below) and below[len(items)].bullet is not None
    return (*items, SKIPPED) if is_cut else items


def list_items(quotes: Iterable[Quote]) -> tuple[str, ...]:
    """The list that the quotes begin with, up to LIST_CHARS, in Markdown."""
    items: list[str] = []
    chars = 0
    for quote in quotes:
        chars += len(quote.text)
        if quote.bullet is None or chars > LIST_CHARS:
            break
        items.append(quote.with_bullet)
    return tuple(items)


def introduces_list(text: str) -> bool:
    """Whether it ends with a colon."""
    return _INTRODUCES.search(text.rstrip()) is not None


def distinct(quotes: Iterable[Quote]) -> list[Quote]:
    """Each sentence once, whole, at its first place: overlapping passages repeat sentences and cut them.

    Two quotes that introduce lists are the same only with the same list, as headings are often the same. Rows
    below different headings are of different tables.
    """
    unique: list[Quote] = []
    for quote in quotes:
        same = next((at for at, other in enumerate(unique) if _are_same(quote, other)), None)
        if same is None:
            unique.append(quote)
        elif len(quote.with_list) > len(unique[same].with_list):
            unique[same] = replace(quote, passage=unique[same].passage)
    return unique


def _are_same(one: Quote, other: Quote) -> bool:
    if one.bullet == other.bullet == "|" and one.lead and other.lead and one.lead != other.lead:
        return False
    if not one.introduces and not other.introduces:
        return one.text in other.text or other.text in one.text
    if not (_INTRODUCES.search(one.text) and _INTRODUCES.search(other.text)):
        return False  # a sentence that is an item of the list
    return one.with_list in other.with_list or other.with_list in one.with_list


def with_lists(rows: Sequence[int], quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes of these rows, in this order, with what a list needs.

    A sentence that introduces a list is quoted with its list, whose items are then not repeated. An item is
    quoted below the sentence that introduces it, and that one after the sentence that it goes on from.
    """
    in_lists = {item for row in rows for item in quotes[row].introduces}
    items_of: dict[int, list[int]] = {}  # by the row that introduces them; [] for a row that is no item
    for row in rows:
        if quotes[row].with_bullet not in in_lists:
            head = _introduced_by(row, quotes)
            items_of.setdefault(row if head is None else head, []).extend([] if head is None else [row])
    chosen: dict[int, Quote] = {}
    for head, items in items_of.items():
        if (
            items
            and head > 0
            and quotes[head].goes_on_as_list
            and quotes[head - 1].passage == quotes[head].passage
        ):
            chosen.setdefault(head - 1, quotes[head - 1])
        chosen.setdefault(head, _with_items(quotes[head], sorted(items), quotes) if items else quotes[head])
    return list(chosen.values())


def _with_items(head: Quote, rows: Sequence[int], quotes: Sequence[Quote]) -> Quote:
    """`head` with only these items of its list, and SKIPPED for those between. They have no numbers, because
    Markdown would number them from 1. A sentence that continues an omitted item is an item."""
    items: list[str] = []
    last = -1
    for row in rows:
        place = head.introduces.index(quotes[row].with_bullet)
        items += _skipped(head.introduces[last + 1 : place])
        goes_on = row - 1 in rows and not quotes[row].begins_item
        items.append(quotes[row].text if goes_on else f"- {_NUMBERED.sub('', quotes[row].text)}")
        last = place
    return replace(head, introduces=(*items, *_skipped(head.introduces[last + 1 :])))


def _skipped(items: Sequence[str]) -> list[str]:
    """SKIPPED if any of the omitted sentences begins an item."""
    return [SKIPPED] if any(map(LISTED.match, items)) else []


def _introduced_by(row: int, quotes: Sequence[Quote]) -> int | None:
    """The row that introduces this item's list, perhaps in an earlier passage with the same list."""
    item = quotes[row]
    if item.bullet is None:
        return None
    for at in range(row - 1, -1, -1):
        if quotes[at].passage != item.passage:
            break
        if quotes[at].bullet is None:
            return at if item.with_bullet in quotes[at].introduces else None
    others = (
        at
        for at, quote in enumerate(quotes)
        if quote.passage != item.passage and quote.document == item.document
    )
    return next((at for at in others if item.with_bullet in quotes[at].introduces), None)


def join_quotes(quotes: Sequence[Quote]) -> str:
    """The quotes as one text. Sentences of one document form a paragraph; another document, a heading with
    its list, and the sentence after a list each begin a new one. Rows of tables become a list."""
    prices = sum(quote.bullet == "=" for quote in quotes)
    listed = [
        (len(quotes) > 1 and (quote.bullet == "|" or is_row(quote.text)))
        or (prices > 1 and quote.bullet == "=")
        for quote in quotes
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
