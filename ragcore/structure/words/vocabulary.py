"""What the words of one language mean in questions over the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ragcore.text.dates import MONTH_NAMES

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\d_]+")


class Meaning(NamedTuple):
    """`sign`: the symbol, see `forms`. `about`: the names of columns that the word is about, see
    `column_names.ABOUT`; "" for none. `meant`: a direction, a period, a number or a role."""

    sign: str
    about: str = ""
    meant: object = None


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The phrases are divided by ", "."""

    language: str  # ISO 639-1
    keywords: Mapping[str, str]  # phrases by sign; those of "" say nothing, those of "#" fit no form,
    # and those of "~" must have a denial beside them
    prepositions: Mapping[str, str]  # "in", "from", "of"
    largest: str
    smallest: str
    last: str
    first: str
    superlatives: Mapping[str, tuple[str, str]]  # most and least, by what they are about
    comparatives: Mapping[str, tuple[str, str]]
    verbs: Mapping[str, str]
    spent: str
    received: str
    expenses: str
    incomes: str
    payments: str
    sized: str  # those of the largest and smallest that are about a size, not a number
    periods: Mapping[str, str]  # "month", "quarter", "year"
    descending: str
    ascending: str
    numbers: str  # two to ten, divided by spaces
    relative: str = ""  # words that are "that" right behind the name of the rows
    no_values: str = ""  # words that are no values of a column, whatever its cells are
    stems: tuple[tuple[str, str], ...] = ()  # endings of nouns and what stands in place of them
    endings: tuple[tuple[str, str], ...] = ()  # the same of adjectives
    number: re.Pattern[str] = field(default=re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"))
    unclear_number: re.Pattern[str] = field(default=re.compile(r"[1-9]\d{0,2}\.\d{3}"))
    has_decimal_comma: bool = False
    token: re.Pattern[str] = field(
        default=re.compile(
            r"[\u3400-\u9fff]|\d+(?:[.,]\d+)*|(?:(?![\u3400-\u9fff])[^\W\d_])+(?:['’-][^\W\d_]+)*|[€$£¥%]"
            r"|[\"“„«][^\"”“»]+[\"”“»]"
        )
    )

    def number_of(self, text: str) -> float | None:
        """None if the text is no number as the language writes it, or may be two."""
        if not self.number.fullmatch(text) or self.unclear_number.fullmatch(text):
            return None
        drop, point = (".", ",") if self.has_decimal_comma else (",", ".")
        return float(re.sub(r"\s", "", text).replace(drop, "").replace(point, "."))

    @cached_property
    def phrases(self) -> Mapping[str, tuple[Meaning, ...]]:
        """What each phrase, in small letters, may mean."""
        found: dict[str, tuple[Meaning, ...]] = {}
        for phrases, meaning in self._meanings():
            for phrase in phrases.split(", "):
                found[phrase] = (*found.get(phrase, ()), meaning)
        return found

    def _meanings(self) -> Iterator[tuple[str, Meaning]]:
        for sign, phrases in self.keywords.items():
            yield phrases, Meaning(sign)
        for role, phrases in self.prepositions.items():
            yield phrases, Meaning("p", meant=role)
        for about, (most, least) in self.superlatives.items():
            yield most, Meaning("S", about, "most")
            yield least, Meaning("S", about, "least")
        for about, (more, less) in self.comparatives.items():
            yield more, Meaning("E", about, "most")
            yield less, Meaning("E", about, "least")
        for about, phrases in self.verbs.items():
            yield phrases, Meaning("v", about)
        for period, phrases in self.periods.items():
            yield phrases, Meaning("m", meant=period)
        for number, word in enumerate(self.numbers.split(), 2):
            yield word, Meaning("K", meant=float(number))
        yield from (
            (self.largest, Meaning("X", meant="most")),
            (self.smallest, Meaning("X", meant="least")),
            (self.last, Meaning("Z", meant="most")),
            (self.first, Meaning("Z", meant="least")),
            (self.descending, Meaning("N", meant="most")),
            (self.ascending, Meaning("N", meant="least")),
            (self.spent, Meaning("G", "spent", "spent")),
            (self.received, Meaning("G", "received", "received")),
            (self.expenses, Meaning("O", "signed", "spent")),
            (self.incomes, Meaning("O", "signed", "received")),
            (self.payments, Meaning("O", "signed", "")),
        )

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(" ".join((*self.month_numbers, *self.phrases))))

    def share(self, text: str) -> int:
        """How many words of the text are words of the phrases, or months."""
        return sum(word in self._words for word in _WORD.findall(text.lower()))

    @cached_property
    def month_numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(MONTH_NAMES[self.language], 1)}

    @cached_property
    def never_values(self) -> frozenset[str]:
        return frozenset((*self.no_values.split(), *self.month_numbers))

    @cached_property
    def date(self) -> re.Pattern[str]:
        """A day, a month, of which the year may be open, or a year."""
        names = "|".join(self.month_numbers)
        numeric = r"|(?P<numeric>\d\d?[./]\d\d?[./](?:19|20)\d\d)(?!\d)" if self.language != "en" else ""
        if self.language == "zh":
            words = (
                r"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>\d\d?)月(?:(?P<day>\d\d?)[日号])?"
                r"|(?P<only_year>(?:19|20)\d\d)年|(?!)(?P<day2>)"
            )
        else:
            words = (
                rf"(?:(?P<day>\d\d?)(?:st|nd|rd|th|er|\.)? (?:of |de )?)?(?P<month>{names})\b"
                r"(?: (?P<day2>\d\d?)(?:st|nd|rd|th)?\b,?)?(?:,? (?:de |del )?(?P<year>(?:19|20)\d\d)(?!\d))?"
                r"|(?P<only_year>(?:19|20)\d\d)(?![\d.,-])"
            )
        iso = r"(?P<iso>(?:19|20)\d\d-(?:0\d|1[0-2])(?:-[0-3]\d)?)(?![\d-])"
        return re.compile(f"{iso}{numeric}|{words}", re.IGNORECASE)
