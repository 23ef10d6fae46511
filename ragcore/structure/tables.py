"""The tables of a document, from the lines that every reader writes for them: see `readers.table_rows`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from ragcore.structure.column_names import MONEY, ORDERED, SCALED, YEAR
from ragcore.text.keywords import words
from ragcore.text.quotable_units import MAX_ROW_CHARS, is_row, name_in_row
from ragcore.text.table_facts import dates_in, numbers_in

MIN_ROWS = 2  # of a table
MIN_TERMS = 3  # of what may be a sum or a mean
ROUNDING = 0.006  # of a sum
MIN_TYPED = 0.8  # least share of numbers, or of dates, among the values of such a column
MAX_VALUE = 80  # characters of a value that a question may name
CURRENCIES = frozenset(("€", "$", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "JPY"))
_CURRENCY_WORDS = {
    **dict.fromkeys(("euro", "euros", "欧元"), "€"),
    **dict.fromkeys(("dollar", "dollars", "dólar", "dólares", "美元"), "$"),
    **dict.fromkeys(("pound", "pounds", "pfund", "livre", "livres", "libra", "libras", "英镑"), "£"),
    **dict.fromkeys(("元", "块"), "¥"),
}
_UNIT_OF_NAME = re.compile(
    r"\s*(?:[(（](?:kg|g|t|km|m|cm|mm|l|ml|h|min|%|€|\$|£|¥|EUR|USD|GBP|CNY|元|公斤|千克|米|公里)[)）]"
    r"|\b(?:kg|km|cm|mm|ml|EUR|USD|GBP)|\b(?:per|a|an) (?:hour|day|night|week|month|year)"
    r"|\bpro (?:Stunde|Tag|Nacht|Woche|Monat|Jahr)|\bpar (?:heure|jour|nuit|semaine|mois|an)"
    r"|\b(?:por|al) (?:hora|día|noche|semana|mes|año))$",
    re.IGNORECASE,
)
_DIVIDER = re.compile(r"; | \| ")
_CELL_OF_NUMBER = re.compile(
    rf"[-−]?\s?(?P<before>{'|'.join(map(re.escape, sorted(CURRENCIES)))})?\s?[-−]?\s?\d[\d.,\s]*?"
    rf"(?:\s?(?P<sign>[€$£¥₹%])|\s(?P<after>[A-Za-z]{{1,5}}))?"
)
_DECIMALS_AT_END = re.compile(r"(?P<mark>[.,])(?P<decimals>\d{1,2})\D*$")
_DECIMALS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.(\d+)(?![\d.,])")
_ZERO_AND_THREE = re.compile(r"(?<![\d.,])0,\d{3}(?![\d.,])")
_TOTAL = re.compile(
    r"(?:(?:grand |sub)?totals?|sum|average|mean|balance|vat|net|gross|overall|all|world|everyone|year"
    r"|(?:gesamt|zwischen)?summe|gesamt|insgesamt|durchschnitt|saldo|mwst|netto|brutto|alle|totaux|somme|moyenne"
    r"|tva|suma|promedio|iva|of which|davon|dont|de los cuales)\b.*|.*\b(?:totals?|sum|average|mean)"
    r"|.*(?:合计|总计|小计|平均|其中).*",
    re.IGNORECASE,
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_QUARTER = re.compile(r"[QT][1-4]\b.*|[HS][12]\b.*")
_ROW_NUMBER = re.compile(r"\d+ \| (?=[^|;]*: )")  # in a column without a name
_SCALES = frozenset(("M", "k", "K", "bn", "Mio", "Mrd"))
_NOTHING = frozenset(("-", "–", "—", "?", "n/a", "unknown", "unbekannt", "inconnu", "desconocido", "未知"))
_YES = frozenset(("yes", "y", "true", "x", "✓", "✔", "ja", "wahr", "oui", "vrai", "sí", "si", "是", "有"))
_NO = frozenset(("no", "n", "false", "-", "–", "✗", "nein", "falsch", "non", "faux", "否", "无", "没有"))


@dataclass(frozen=True, slots=True)
class Row:
    """The cells by column, and the stretch of the document's text that they are read from."""

    cells: Mapping[str, str]
    start: int
    text: str


@dataclass(frozen=True)
class Column:
    """The values of a column by row; a row has none where the cell is empty or cannot be read as the others.

    `kind`: "number", "date" with (year, month, day), "flag" with True and False, or "text".
    """

    name: str
    kind: str
    values: Mapping[int, object]
    unit: str = ""  # of each number
    decimals: int = 0  # of the number with most
    decimal_mark: str = "."
    unread: frozenset[str] = frozenset()  # cells that say something else, such as "free" or "6*"

    @cached_property
    def signs(self) -> frozenset[bool]:
        """Whether the numbers that are not 0 are negative."""
        if self.kind != "number":
            return frozenset()
        return frozenset(number < 0 for number in self.values.values() if number)  # type: ignore[operator]

    def has_unit(self, word: str) -> bool:
        """Whether a number of this column may be asked for in this unit: "kg" of "Weight kg", "per day" of
        "Price per day"."""
        word = word.split()[-1].lower()
        sign = _CURRENCY_WORDS.get(word, word)
        if sign in CURRENCIES:
            own = [
                currency for currency in CURRENCIES if currency in (self.unit, *self.name.strip("()").split())
            ]
            own += [currency for currency in "€$£¥₹" if currency in self.name]
            return sign in own if own or self.unit else MONEY.fullmatch(self.head) is not None
        return bool(set(words(word)) & {*words(self.name), *words(self.unit)})

    @property
    def head(self) -> str:
        """The name without its unit: "Weight" of "Weight (kg)", "Price" of "Price a day"."""
        return _UNIT_OF_NAME.sub("", self.name).strip()


@dataclass(frozen=True)
class Table:
    """`rows` are without those of totals and averages, which are in `totals`. `is_part`: a line among its
    rows is none, or another part has the same columns, so that it is unclear which rows belong together.
    `has_digits_as_flags` and `has_years_as_dates`: see `other_readings`."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    totals: tuple[Row, ...] = ()
    is_part: bool = False
    has_digits_as_flags: bool = False
    has_years_as_dates: bool = False

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The columns by name, without one that has no name."""
        return {name: _column(self, name) for name in self.names if name}

    @cached_property
    def other_readings(self) -> Sequence[Table]:
        """The table with 0 and 1 as no and yes in columns of nothing else, with the numbers of a column of
        years as dates, and with both; only those that differ."""
        numbers = [column for column in self.columns.values() if column.kind == "number"]
        readings = [self]
        if any({*column.values.values()} == {0.0, 1.0} for column in numbers):
            readings.append(replace(self, has_digits_as_flags=True))
        if any(YEAR.fullmatch(column.name) for column in numbers):
            readings += [replace(table, has_years_as_dates=True) for table in readings]
        return readings[1:]

    def named_by(self, name: str) -> Table:
        """The table with this column as the first, which names its rows. What is read of it is shared."""
        others = (other for other in self.names if other != name)
        table = replace(self, names=(name, *others))
        table.__dict__.update(columns=self.columns, months=self.months, values=self.values)
        return table

    @cached_property
    def months(self) -> Mapping[int, set[int]]:
        """The months of each year in the columns of dates."""
        found: dict[int, set[int]] = {}
        for column in self.columns.values():
            if column.kind == "date":
                for date in set(column.values.values()):
                    year, month, _ = cast("tuple[int, int, int]", date)
                    found.setdefault(year, set()).add(month)
        return found

    @cached_property
    def values(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """(column, text) of each value of columns of text, by the text in small letters."""
        found: dict[str, list[tuple[str, str]]] = {}
        for column in self.columns.values():
            if column.kind == "text":
                for text in dict.fromkeys(map(str, column.values.values())):
                    if len(text) <= MAX_VALUE:
                        found.setdefault(text.casefold(), []).append((column.name, text))
        return found


def tables_of(text: str) -> list[Table]:
    """The tables of a document's text, in order. Rows without names of columns are none.

    >>> table = tables_of("Day | Km\\nDay: 2025-05-01; Km: 12\\nDay: 2025-05-02; Km: 8")[0]
    >>> table.names, [row.cells["Km"] for row in table.rows]
    (('Day', 'Km'), ['12', '8'])
    """
    parts: list[_Part] = []
    part = _Part()
    last = ""
    for start, line, is_next in _lines(text):
        begins = is_row(line) or _first_name(line) in map(name_in_row, _names(last))
        if part.rows and is_next and part.has_row(line):
            part.add(start, line)
        elif part.rows and not begins:
            part.is_cut = is_next or line.count(" | ") == len(part.names) - 1 > 0
            parts.append(part)
            part, last = _Part(), line
        elif begins:
            if part.rows:
                parts.append(part)
            part = _Part(_names(last))
            part.add(start, line)
        else:
            last = line
    parts.append(part)
    return [table for table in _tables(parts) if len(table.rows) >= MIN_ROWS]


class _Part:
    """Rows below each other with the same columns."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(names)
        self._in_rows = {name_in_row(name): name for name in names}
        self.rows: list[Row] = []
        self.is_cut = False

    def has_row(self, line: str) -> bool:
        """Whether the line goes on with the rows."""
        name = _first_name(line)
        return name in (self._in_rows or self.rows[0].cells)

    def add(self, start: int, line: str) -> None:
        cells = _cells(_ROW_NUMBER.sub("", line), self._in_rows)
        if self.rows and _goes_on(self.rows[-1], cells):
            above = self.rows.pop()
            self.rows.append(Row({**above.cells, **cells}, above.start, f"{above.text}\n{line}"))
        else:
            self.rows.append(Row(cells, start, line))


def _names(line: str) -> list[str]:
    return [name.strip() for name in line.split(" | ")] if " | " in line else []


def _first_name(line: str) -> str:
    """The name of the first cell, without the number of the row; "" for none."""
    name, colon, _ = _ROW_NUMBER.sub("", line).partition(": ")
    return name if colon else ""


def _tables(parts: Sequence[_Part]) -> Iterator[Table]:
    for part in parts:
        if not part.rows:
            continue
        names = dict.fromkeys(part.names)
        for row in part.rows:
            names |= dict.fromkeys(row.cells)
        totals = [row for row in part.rows if _TOTAL.fullmatch(next(iter(row.cells.values())).strip(" :"))]
        others = [row for row in part.rows if row not in totals]
        is_part = part.is_cut or _is_unclear(part, list(names), others, totals)
        is_part = is_part or any(_share_columns(part, other) for other in parts if other is not part)
        yield Table(tuple(names), tuple(others), tuple(totals), is_part)


def _is_unclear(part: _Part, names: Sequence[str], others: Sequence[Row], totals: Sequence[Row]) -> bool:
    """Whether a column or a row may not be what it seems: two columns of one name, rows that mostly lack the
    first cell, totals that are not those of the rows above them, a quarter among months, or a row that may be
    a total."""
    if len(set(part.names)) < len(part.names):
        return True
    if 2 * sum(names[0] in row.cells for row in part.rows) < len(part.rows):
        return True
    if totals and (totals != part.rows[len(others) :] or not _may_sum_up(totals[-1], others)):
        return True
    quarters = [row for row in others if _QUARTER.fullmatch(row.cells.get(names[0], ""))]
    if 0 < len(quarters) < len(others):
        return True
    if len(others) <= MIN_TERMS:
        return False
    return _may_sum_up(others[-1], others[:-1]) or _may_sum_up(others[0], others[1:])


def _share_columns(part: _Part, other: _Part) -> bool:
    names = part.names or part.rows[0].cells
    return bool(other.rows) and len({*names} & {*other.rows[0].cells}) > 1


def _may_sum_up(row: Row, others: Sequence[Row]) -> bool:
    """Whether a number of the row is the sum of the others, or each is their mean."""
    is_mean: list[bool] = []
    for name, cell in row.cells.items():
        cells = {cell, *(other.cells[name] for other in others if other.cells.get(name))}
        if cells <= {"0", "1"}:
            continue  # no and yes
        values, _ = _numbers(list(cells))
        terms = [values[other.cells[name]] for other in others if other.cells.get(name) in values]
        if cell in values and len(terms) > 1:
            if abs(values[cell] - sum(terms)) < ROUNDING and any(terms):
                return True
            is_mean.append(abs(values[cell] - sum(terms) / len(terms)) < ROUNDING)
    return bool(is_mean) and all(is_mean)


def _column(table: Table, name: str) -> Column:
    """The column with its values as numbers, dates or flags, if at least MIN_TYPED of them are such."""
    texts = {at: row.cells[name] for at, row in enumerate(table.rows) if row.cells.get(name)}
    different = list(dict.fromkeys(texts.values()))
    flags = {text: text.casefold() in _YES for text in different if text.casefold() in _YES | _NO}
    if table.has_digits_as_flags and set(different) == {"0", "1"}:
        flags = {"0": False, "1": True}
    numbers, unit = _numbers(different)
    if SCALED.search(name) or unit in _SCALES or ORDERED.fullmatch(name):
        numbers = {}
    dates = dates_in(different)
    if any(0 in date for date in dates.values()):
        dates = {}  # months among days
    if table.has_years_as_dates and YEAR.fullmatch(name) and all(map(_YEAR.fullmatch, different)):
        dates, numbers = {text: (int(text), 0, 0) for text in different}, {}
    typed: dict[str, Mapping[str, object]] = {"flag": flags, "date": dates, "number": numbers}
    for kind, values in typed.items():
        read = {at: values[text] for at, text in texts.items() if text in values}
        if not read or len(read) < MIN_TYPED * len(texts):
            continue
        if kind == "flag" and len(set(read.values())) == 1 and len(texts) < len(table.rows):
            (ticked,) = set(read.values())  # only "x" and empty cells
            read = {at: ticked if at in read else not ticked for at in range(len(table.rows))}
        unread = frozenset(
            text for text in different if text not in values and text.casefold() not in _NOTHING
        )
        if kind == "number":
            return Column(name, kind, read, unit, *_decimals(numbers), unread)
        return Column(name, kind, read, unread=unread)
    return Column(name, "text", texts)


def _numbers(texts: Sequence[str]) -> tuple[Mapping[str, float], str]:
    """The numbers of the texts, and their unit; none if they have several, or if 1.500 may be one and a half
    or a thousand and a half."""
    matches = {text: match for text in texts if (match := _CELL_OF_NUMBER.fullmatch(text.strip()))}
    units = {match["before"] or match["sign"] or match["after"] or "" for match in matches.values()}
    decimals = {len(digits) for text in matches for digits in _DECIMALS.findall(text)}
    marks = {match["mark"] for text in matches if (match := _DECIMALS_AT_END.search(text))}
    if len(units) != 1 or len(marks) > 1 or decimals == {3} or any(map(_ZERO_AND_THREE.search, matches)):
        return {}, ""
    return numbers_in(list(matches)), units.pop()


def _decimals(numbers: Mapping[str, float]) -> tuple[int, str]:
    """How many decimals the numbers have, as they are written, and their decimal mark."""
    found = [match for text in numbers if (match := _DECIMALS_AT_END.search(text))]
    written = max((len(match["decimals"]) for match in found), default=0)
    exact = max((len(f"{number}".partition(".")[2].rstrip("0")) for number in numbers.values()), default=0)
    return max(written, exact), found[0]["mark"] if found else "."


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """(start, line, whether it is directly below the line before) of each line that is not empty."""
    start = 0
    is_next = False
    for line in text.split("\n"):
        if line.strip():
            yield start, line, is_next
        is_next = bool(line.strip())
        start += len(line) + 1


def _cells(line: str, names: Mapping[str, str]) -> dict[str, str]:
    """By column. A value may have the divider of cells, unless the name of a column follows. `names`: of the
    columns, by what stands in the rows."""
    cells: dict[str, str] = {}
    last = ""
    for part in _DIVIDER.split(line):
        name, colon, value = part.partition(": ")
        if colon and (not names or name in names or not cells):
            last = names.get(name, name)
            cells[last] = value
        elif cells:
            cells[last] += f"; {part}"
        else:  # a row whose first column has no name
            last = next(iter(names.values()), "")
            cells[last] = part
    return cells


def _goes_on(row: Row, cells: Mapping[str, str]) -> bool:
    """Whether the line goes on with the row above, which was too long for one."""
    further = dict(cells)
    key = next(iter(further))
    return (
        row.cells.get(key) == further.pop(key)
        and bool(further)
        and not row.cells.keys() & further.keys()
        and len(row.text.rpartition("\n")[2]) + len(": ".join(next(iter(further.items())))) > MAX_ROW_CHARS
    )
