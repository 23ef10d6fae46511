"""Reads the words of a question as symbols: a keyword, a column, a value, a number, a name of the rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragcore.structure.column_names import (
    ABOUT,
    AMOUNT,
    BORN,
    CUSTOMER,
    MONEY,
    NAMELESS,
    PAID_OR_RECEIVED,
    QUANTITY,
    RUNNING,
)
from ragcore.structure.query import LATEST, Unclear
from ragcore.structure.tables import CURRENCIES, Column, Table
from ragcore.structure.words.vocabulary import Vocabulary

MAX_WORDS = 12  # of a value or a name that a question may have; a Chinese character is one
_GAP = re.compile(r"[\s,?.!¿¡，。？！、：]*")  # between two words, and around the question
_SIGNS = {"flag": "F", "number": "C", "date": "D", "text": "x"}


@dataclass(frozen=True, slots=True)
class Symbol:
    """`sign` as in the forms. `meant`: the values, the number, the period, the direction or the role."""

    sign: str
    text: str
    columns: tuple[Column, ...] = ()
    meant: object = None


class Symbols:
    """The symbols of one question about one table. `names` are further names of its rows."""

    def __init__(self, question: str, table: Table, names: Sequence[str], vocabulary: Vocabulary) -> None:
        self._question = question
        self._table = table
        self._vocabulary = vocabulary
        self._tokens = list(vocabulary.token.finditer(question))
        first = table.columns.get(table.names[0])
        self._row_names: list[str] = []
        if first is not None and first.kind == "text":
            self._row_names.append(first.name)
        is_of_several = any(map(QUANTITY.fullmatch, table.names))  # a row of "guests" may be a family
        if NAMELESS.fullmatch(table.names[0]) and not is_of_several:
            self._row_names += names

    def read(self) -> list[Symbol]:
        """Raises Unclear if a word is none of them, or may be two."""
        symbols: list[Symbol] = []
        at = end = 0
        while at < len(self._tokens):
            self._check_gap(end, self._tokens[at].start())
            found = list(self._at(at))
            longest = max((count for count, _ in found), default=0)
            best = [symbol for count, symbol in found if count == longest]
            readings = {(symbol.sign, *[column.name for column in symbol.columns]) for symbol in best}
            if len(readings) != 1 or len(best[0].columns) > 1:
                raise Unclear
            symbols.append(best[0])
            at += longest
            end = self._tokens[at - 1].end()
        self._check_gap(end, len(self._question))
        signs = {symbol.sign for symbol in symbols}
        if "~" in signs and "!" not in signs:
            raise Unclear  # "ne ... que"
        return [symbol for symbol in self._resolved(symbols) if symbol.sign.strip("~")]

    def _check_gap(self, start: int, end: int) -> None:
        if not _GAP.fullmatch(self._question, start, end):
            raise Unclear

    def _resolved(self, symbols: Sequence[Symbol]) -> Iterator[Symbol]:
        """The symbols, with "which" behind a name of the rows as "that"."""
        relative = self._vocabulary.relative.split()
        for at, symbol in enumerate(symbols):
            is_relative = at > 0 and symbols[at - 1].sign == "R" and symbol.text.lower() in relative
            yield Symbol("r", symbol.text) if is_relative else symbol

    def _at(self, at: int) -> Iterator[tuple[int, Symbol]]:
        """(number of words, symbol) of all that the words from here may be."""
        start = self._tokens[at].start()
        date = self._vocabulary.date.match(self._question, start) if self._table.months else None
        if date is not None and (period := self._period(date)) is not None:
            inside = [token for token in self._tokens[at:] if token.end() <= date.end()]
            yield len(inside), Symbol("P", date.group(), meant=period)
            return
        token = self._tokens[at].group()
        if (number := self._vocabulary.number_of(token)) is not None:
            yield 1, Symbol("K", token, meant=number)
        if token[0] in '"“„«':
            yield 1, Symbol("q", token, meant=token[1:-1].strip())
        for count, last in enumerate(self._tokens[at : at + MAX_WORDS], 1):
            text = self._question[start : last.end()]
            for symbol in (*self._keywords(text), *self._names(text)):
                yield count, symbol

    def _keywords(self, text: str) -> Iterator[Symbol]:
        if text in "ABCDE" and not self._question.startswith(text):
            return  # a grade
        phrase = " ".join(text.lower().replace("’", "'").split())
        for sign, about, meant in self._vocabulary.phrases.get(phrase, ()):
            columns = self._about(about) if about else ()
            if columns or sign not in ("S", "E", "O", "G"):
                yield Symbol(sign, text, columns, meant)

    def _names(self, text: str) -> Iterator[Symbol]:
        """The columns, values and names of rows that have these words."""
        named = self._named.get(f"={_plain(text)}") or self._named.get(self._stem(text), [])
        for sign, columns in named:
            yield Symbol(sign, text, columns)
        is_word = text.casefold() in self._vocabulary.never_values or (len(text) == 1 and text.islower())
        values = () if is_word else self._values(text)
        if values:
            columns = tuple(self._table.columns[name] for name in dict.fromkeys(name for name, _ in values))
            yield Symbol("V", text, columns, tuple(value for _, value in values))

    def _values(self, text: str) -> Sequence[tuple[str, str]]:
        """(column, value) of the values with these words. An adjective, which is in small letters in the
        table, may have another ending."""
        values = self._table.values.get(text.casefold(), ())
        if values or " " in text:
            return values
        found: dict[tuple[str, str], None] = {}
        for ending, base in self._vocabulary.endings:
            if text.endswith(ending):
                word = text.casefold().removesuffix(ending) + base
                pairs = self._table.values.get(word, ())
                found |= dict.fromkeys(pair for pair in pairs if pair[1] == word and len(word) > 2)
        return list(found)

    @cached_property
    def _named(self) -> dict[str, list[tuple[str, tuple[Column, ...]]]]:
        """The (sign, column) of each name, by its stem, and by "=" and the name if it stands in the table."""
        names: list[tuple[str, str, tuple[Column, ...]]] = [(name, "R", ()) for name in self._row_names]
        for column in self._table.columns.values():
            if column.name != self._table.names[0] or column.kind == "date":
                names += [(name, _SIGNS[column.kind], (column,)) for name in (column.name, column.head)]
        found: dict[str, list[tuple[str, tuple[Column, ...]]]] = {}
        for name, sign, columns in names:
            is_of_document = sign == "R" and name != self._table.names[0]
            keys = [self._stem(name)] if is_of_document else [self._stem(name), f"={_plain(name)}"]
            for key in keys if _plain(name) else ():
                found.setdefault(key, []).append((sign, columns))
        return found

    def _about(self, about: str) -> tuple[Column, ...]:
        """The columns that a word is about, by their whole names. What was paid may be told from what was
        received only by its sign."""
        if about == "dated" and any(map(BORN.fullmatch, self._table.names)):
            return ()  # the oldest of people
        kind = "date" if about == "dated" else "number"
        columns = [column for column in self._table.columns.values() if column.kind == kind]
        found = [column for column in columns if ABOUT[about].fullmatch(column.head)]
        if about in ("signed", "received"):
            return tuple(column for column in found if self._tells_spent_by_sign(column))
        if about == "spent":
            found = [
                column for column in found if self._tells_spent_by_sign(column) or self._is_all_paid(column)
            ]
        return tuple(column for column in found if kind == "date" or self._is_plain(column))

    def _tells_spent_by_sign(self, column: Column) -> bool:
        """Whether what was spent is below 0, as in most accounts. In those of some cards it is above, and few
        rows are below."""
        negative = sum(value < 0 for value in column.values.values())  # type: ignore[operator]
        is_usual = self._has_balance or 2 * negative > len(column.values)
        return len(column.signs) == 2 and is_usual and bool(self._table.months)

    def _is_all_paid(self, column: Column) -> bool:
        """Whether all amounts were paid, and no row says otherwise."""
        if len(column.signs) == 2 or any(map(CUSTOMER.fullmatch, self._table.names)):
            return False
        if self._has_balance and True not in column.signs:
            return False
        return not any(map(PAID_OR_RECEIVED.fullmatch, self._table.values))

    @cached_property
    def _has_balance(self) -> bool:
        return any(map(RUNNING.fullmatch, self._table.names))

    def _is_plain(self, column: Column) -> bool:
        """Whether the numbers are what the name says: no amount of flour where money is asked for. An amount
        is one of money if it may be negative, or beside a date."""
        if column.unit and column.unit not in CURRENCIES and MONEY.fullmatch(column.head):
            return False
        if not AMOUNT.fullmatch(column.head) or column.unit:
            return True
        return bool(self._table.months) or True in column.signs

    def _period(self, match: re.Match[str]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The first and the last day of a day, a month or a year, as (year, month, day). A month without a
        year is that of the only year with this month; None if there are several."""
        parts = match.groupdict()
        if parts["iso"]:
            year, month, day = ([int(part) for part in parts["iso"].split("-")] + [0])[:3]
        elif parts.get("numeric"):
            day, month, year = map(int, re.split("[./]", parts["numeric"]))
        else:
            name = (parts["month"] or "").lower()
            month = self._vocabulary.month_numbers.get(name) or int(name or 0)
            day = int(parts["day"] or parts["day2"] or 0)
            year = int(parts["year"] or parts["only_year"] or 0)
        years = [year] if year else [year for year, months in self._table.months.items() if month in months]
        if len(years) != 1 and len(self._table.months) == 1:
            years = list(self._table.months)
        if len(years) != 1:
            return None
        return (years[0], month, day), (years[0], month or LATEST, day or LATEST)

    def _stem(self, text: str) -> str:
        """The words in the singular."""
        return " ".join(map(self._stem_of_word, _plain(text).split()))

    def _stem_of_word(self, word: str) -> str:
        for ending, base in self._vocabulary.stems:
            word = re.sub(ending, base, word)
        return word


def _plain(text: str) -> str:
    """The words in small letters, without accents."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[^\W_]+", plain))
