"""Tables whose rows are named by their first cells and whose columns by years, dates or kinds, such as a
balance sheet: each number stands at the name of its row and the name of its column.

    | (In millions)      | 2019  | 2018  |        (In millions) | 2019 | 2018
    | Food Care          | 1,997 | 1,914 |        Food Care (In millions) | 2019: 1,997; 2018: 1,914

They are read from the lines that readers write for tables (see `readers.table_rows`), and from lines with
bars as they stand in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ragcore.text.quotable_units import name_in_row

MIN_COLUMNS = 2  # of numbers
MIN_ROWS = 1  # with numbers
MAX_LABEL = 160  # characters
_BARS = re.compile(r"\s*\|(?P<cells>.*)\|\s*")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s:=-]*")
_UNIT = re.compile(r"\s*\([^()]*\)$")
_DIVIDER = re.compile(r"; | \| ")
_NUMBER = re.compile(
    r"(?P<minus>[-−–]?)\s*(?P<open>\(?)\s*(?P<minus2>[-−–]?)\s*(?P<digits>\d[\d.,'’\u00a0\u202f ]*)\s*"
    r"(?P<percent>%?)\s*\)?\s*%?"
)
_CURRENCY = re.compile(r"(?:US|A|C|HK|NZ)?[$€£¥₹]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|RMB)\b")
_COMMA_IS_DECIMAL = re.compile(r"\d,\d{1,2}(?!\d)")
_POINT_IS_DECIMAL = re.compile(r"\d\.\d{1,2}(?!\d)|,\d{3}(?!\d)")
_PERIOD = re.compile(r"\W*(?:[FC]Y\W?)?(?:19|20)\d\d(?![\d,.]).*|.*\b(?:19|20)\d\d\W*(?:\(\w+\))?", re.I)


@dataclass(frozen=True, slots=True)
class Cell:
    """`number` as it is written, without the scale of the table; a percentage as 12 for 12%."""

    text: str
    number: Decimal
    is_percent: bool
    has_decimal_comma: bool


@dataclass(frozen=True, eq=False, slots=True)
class LabelledRow:
    """`section`: the name of the group of rows that it is in. `cells` by the number of their column."""

    label: str
    section: str
    cells: Mapping[int, Cell]
    start: int
    text: str


@dataclass(frozen=True)
class TwoWayTable:
    """`heads` has the name of each column; `title`: the words above all columns, such as their unit."""

    heads: tuple[str, ...]
    rows: tuple[LabelledRow, ...]
    title: str


def two_way_tables_of(text: str) -> list[TwoWayTable]:
    """The tables of a document's text, in order.

    >>> table = two_way_tables_of("| | 2019 | 2018 |\\n| Rent | 1,200 | 1,100 |\\n| Food | 310 | (20) |")[0]
    >>> table.heads, [str(row.cells[2].number) for row in table.rows]
    (('', '2019', '2018'), ['1100', '-20'])
    """
    tables = []
    for block in _blocks(text):
        table = _table(block)
        if table is not None:
            tables.append(table)
    return tables


@dataclass(frozen=True, slots=True)
class _Line:
    cells: Sequence[str]
    start: int
    text: str


def _blocks(text: str) -> Iterator[list[_Line]]:
    """The lines of each table, as cells."""
    block: list[_Line] = []
    names: list[str] = []  # of a table whose rows have the names of the columns
    start = 0
    for line in text.split("\n"):
        bars = _BARS.fullmatch(line)
        if len(block) == 1 and names and names[0] and _first_is_nameless(line, names):
            names = ["", *names]
            block = [_Line(names, block[0].start, block[0].text)]
        if bars is not None:
            if names:
                yield block
                block, names = [], []
            cells = [cell.strip() for cell in _BAR.split(bars["cells"])]
            if not all(map(_RULE.fullmatch, cells)) or not any(cells):
                block.append(_Line(cells, start, line))
        elif names and line.strip() and (cells := _named_cells(line, names)):
            block.append(_Line(cells, start, line))
        else:
            if block:
                yield block
                block = []
            names = [name.strip() for name in line.split(" | ")] if " | " in line and ": " not in line else []
            if names:
                block = [_Line(names, start, line)]
        start += len(line) + 1
    if block:
        yield block


def _named_cells(line: str, names: Sequence[str]) -> list[str]:
    """The cells of a row that has the name of each column in front of its cell; [] for another line. The line
    of a group of rows has only its name."""
    unit = _UNIT.search(names[0])
    first = (names[0][: unit.start()] if unit else names[0]).rstrip(": ")
    places = {name_in_row(name): at for at, name in enumerate((first, *names[1:])) if name}
    cells = [""] * len(names)
    parts = _DIVIDER.split(line)
    last = 0
    for part in parts:
        name, colon, value = part.partition(": ")
        if colon and name in places:
            last = places[name]
            cells[last] = value
        else:
            cells[last] = f"{cells[last]}; {part}" if cells[last] else part
    if len(parts) == 1 and not cells[0]:
        return []
    if unit:
        cells[0] = cells[0].removesuffix(unit.group()).strip()
    return cells


def _first_is_nameless(line: str, names: Sequence[str]) -> bool:
    """Whether the names are those of all columns but the first, whose cell begins this row."""
    first, *others = _DIVIDER.split(line)
    return ": " not in first and any(part.startswith(f"{name_in_row(names[0])}: ") for part in others)


def _table(lines: Sequence[_Line]) -> TwoWayTable | None:
    """None if it has no names of columns, or too few numbers."""
    width = max(len(line.cells) for line in lines)
    comma = _has_decimal_comma(lines)
    heads: list[list[str]] = [[] for _ in range(width)]
    rows: list[LabelledRow] = []
    title: list[str] = []
    section = ""
    for line in lines:
        filled = [at for at, cell in enumerate(line.cells) if cell]
        numbers = {at: cell for at in filled if at and (cell := _cell(line.cells[at], comma)) is not None}
        is_head = all(_PERIOD.fullmatch(line.cells[at]) or at not in numbers for at in filled if at)
        if filled == [0]:
            if rows or any(heads[1:]):
                section = line.cells[0]
            else:
                title.append(line.cells[0])
        elif is_head and not rows:
            title.append(line.cells[0])
            for at in filled:
                if at:
                    heads[at].append(line.cells[at])
        elif is_head and not line.cells[0]:
            return _finish(heads, rows, title)
        elif numbers:
            rows.append(LabelledRow(line.cells[0][:MAX_LABEL], section, numbers, line.start, line.text))
    return _finish(heads, rows, title)


def _finish(
    heads: Sequence[Sequence[str]], rows: Sequence[LabelledRow], title: Sequence[str]
) -> TwoWayTable | None:
    names = tuple(" ".join(head) for head in heads)
    if sum(map(bool, names[1:])) < MIN_COLUMNS or len(rows) < MIN_ROWS:
        return None
    return TwoWayTable(("", *names[1:]), tuple(rows), " ".join(filter(None, title)))


def _has_decimal_comma(lines: Sequence[_Line]) -> bool:
    cells = [cell for line in lines for cell in line.cells[1:]]
    return any(map(_COMMA_IS_DECIMAL.search, cells)) and not any(map(_POINT_IS_DECIMAL.search, cells))


def _cell(text: str, comma: bool) -> Cell | None:
    """None if the text is no number."""
    plain = _CURRENCY.sub("", text).strip()
    match = _NUMBER.fullmatch(plain)
    if match is None:
        return None
    drop, point = (".", ",") if comma else (",", ".")
    digits = re.sub(r"[\s'’]", "", match["digits"]).replace(drop, "").replace(point, ".").strip(".")
    if digits.count(".") > 1 or not digits:
        return None
    is_negative = bool(match["minus"] or match["minus2"] or match["open"])
    return Cell(text, Decimal(f"-{digits}" if is_negative else digits), "%" in plain, comma)
