"""Rows of a table as lines that can be read, searched and quoted one by one, whatever file the table is in.

Every cell keeps its column's name, so that a row still says what its numbers are when a passage is cut out around it. What
holds for all columns, such as their unit, is said once in each row. A row too long for a passage becomes several lines,
which begin alike:

    Station | Opened | Height (m)
    Station: Cliff Top; Opened: 1871; Height (m): 84

    (Fiscal, in millions) | 2019 | 2018
    Sensors (Fiscal, in millions) | 2019: 914; 2018: 918

Without names of columns a row is its cells: `Cliff Top | 1871 | 84`. Facts that stand side by side, as in a form, are lines of
their own: `Opened: 1871`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

LEFT = "\0"  # in the place of a cell: it belongs to the one on its left, which spans several columns
LONGEST_NAME = 60  # characters of a column's name in each row; the first line has the whole name
LONGEST_LINE = 600  # characters, about a passage
HEAD = 24  # rows that are looked at to find the names of columns
NAME_ROWS = 4  # rows that names of columns may be written in
FACTS = 3  # with labels of their own, before they are a form
MOST_TEXT = 2 / 3  # of the values of a form; the others have figures

_NUMBER = re.compile(r"\W*\d[\d\s.,'’/:-]*\W*[A-Za-z]{0,2}\W*")
_PERIOD = re.compile(  # 2019, 2018/19, 2019-09-30, FY19, Q3 2019; with a note's sign
    r"\W*(?:(?:19|20)\d\d(?:\s*[-–/]\s*\d{2,4})?|(?:19|20)\d\d-\d\d-\d\d"
    r"|(?:[FC]Y|[QH]\d|\dQ) ?'?(?:(?:19|20)\d\d|\d\d))(?:\s*\(\w\)|[*AE])?"
)
_LABEL = re.compile(r"(?![\da-z])\w[^.!?;]{0,38}[.:]?")
_KINDS = (  # of values; what has no figure is text, and what has one and is none of these is said in words or a code
    re.compile(r"\D*[€$£¥₹].*|.*[€$£¥₹]\W*"),
    re.compile(r".*\d\W?%.*"),
    re.compile(r".*(?:\d[./-]\d\d?[./-]\d{2,4}|\d{4}-\d\d-\d\d|\b\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}).*"),
    re.compile(r".*(?:\d[:.]\d\d|\d ?[ap]\.?m\b).*|\d+ ?[-–] ?\d+", re.I),
    re.compile(r"[\d\s.,'’]+"),
    re.compile(r"\W*\d[\d.,]* ?[^\W\d]{1,8}(?:\(\w\))?"),
)
_UNIT = re.compile(r"\(.*\)|in .*(?:thousands|millions|billions).*|\W*[€$£¥%]\W*\w{0,3}\W*", re.I)


@dataclass(frozen=True, slots=True)
class Heads:
    """The name of each column, "" for none, and what holds for all columns but the first."""

    names: Sequence[str] = ()
    common: str = ""

    def __str__(self) -> str:
        return plain([" ".join(filter(None, (self.names[0], self.common))), *self.names[1:]])

    def lines(self, row: Sequence[str]) -> Iterator[str]:
        """`name: cell; name: cell`, without the empty cells, in as many lines as it takes; each begins with the first cell."""
        parts = []
        for place, cell in enumerate(row):
            if cell not in ("", LEFT):
                name = _short(self.names[place]) if place < len(self.names) else ""
                parts.append(f"{name}: {cell}" if name else cell)
        if not self.names or (len(parts) == 1 and row[0]):
            yield plain(row)  # a heading among the rows
            return
        key = parts.pop(0) if row[0] else ""
        divider = "; " if key != row[0] else " | "
        start = " ".join(filter(None, (key, self.common))) + divider if key or self.common else ""
        line = start + parts[0]
        for part in parts[1:]:
            if len(line) + len(part) > LONGEST_LINE > 3 * len(start):
                yield line
                line = start + part
            else:
                line += f"; {part}"
        yield line


def lines(rows: Iterable[Sequence[str]], *, name_rows: int | None = None, names_first: bool = False) -> Iterator[str]:
    """One line or more for each row that holds anything; the names of the columns come first as `a | b | c`.

    `rows` may be endless and ragged. A cell that spans columns is followed by LEFT; one that spans rows is said in each.
    `name_rows`: how many of the first rows name the columns, where the file says so. Otherwise it is guessed: for
    `names_first`, as in a CSV file, from words above anything; else from words above numbers, or above three columns.
    """
    heads = Heads()
    tidied = ([cell if cell == LEFT else " ".join(cell.split()) for cell in row] for row in rows)
    for filled, block in groupby(_without_gaps_below_names(tidied), key=lambda row: bool(_filled(row))):
        if filled:
            heads = yield from _block(block, heads, name_rows, names_first)
            name_rows, names_first = (None if name_rows is None else 0), False


def _without_gaps_below_names(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Without the empty rows that only set names of columns apart from what is below them."""
    last: list[str] = []
    above = 0  # rows since the last empty one
    for row in rows:
        if _filled(row):
            above, last = above + 1, row
            yield row
            continue
        names = len(_filled(last)) > 1 and _may_name(last, ()) and (not last[0] or (above == 1 and len(_filled(last)) > 2))
        if not names:
            yield row
            above, last = 0, []


def plain(cells: Sequence[str]) -> str:
    """`a | b | c`, without the empty cells at either end."""
    kept = [cell for cell in cells if cell != LEFT]
    filled = [place for place, cell in enumerate(kept) if cell]
    return " | ".join(kept[filled[0] : filled[-1] + 1]) if filled else ""


def _block(block: Iterator[list[str]], before: Heads, name_rows: int | None, names_first: bool) -> Generator[str, None, Heads]:
    """The lines of rows without an empty one between. Gives the heads of their columns: those of the rows before, where
    these have none and are not wider."""
    head = list(islice(block, HEAD))
    first, last = _heads(head, names_first) if name_rows is None else (0, min(name_rows, len(head)))
    top = head[first:last]
    if not name_rows and not names_first and (places := _labelled(head, top)):
        for row in chain(head, block):
            yield from _facts(row, places)
        return before
    width = max(map(len, map(_filled, head)))
    heads = _joined(top) if top else before if 2 <= width <= len(before.names) else Heads()
    yield from map(plain, head[:first])
    if top:
        yield str(heads)
    for row in chain(head[last:], block):
        if row not in top:  # the names once more, on each page of a printed table
            yield from heads.lines(row)
    return heads if top else before


def _heads(head: Sequence[Sequence[str]], names_first: bool) -> tuple[int, int]:
    """Which of the rows are the names of the columns, from and to; (0, 0) for none. What is above them are titles."""
    width = max(len(_filled(row)) for row in head)
    first = next((number for number, row in enumerate(head) if _may_begin(row, width)), len(head))
    last = first
    while last < min(len(head) - 1, first + NAME_ROWS) and _may_name(head[last], head[first:last]):
        last += 1
    if first == last or not _is_sure(head[first:last], head[last:], names_first):
        return 0, 0
    return first, last


def _may_begin(row: Sequence[str], width: int) -> bool:
    """Not a title, nor one of a few facts above the table."""
    filled = len(_filled(row))
    return (2 * filled > width and filled > 1) or (filled > 0 and not row[0] and width > 1)


def _may_name(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Whether the row could be names: no numbers but years, and below other names years, units, or what those left open."""
    cells = _filled(row)
    if len(cells) > 2 and cells[0] == row[0] and cells[0].endswith(":") and all(map(_PERIOD.fullmatch, cells[1:])):
        return True  # "At 31 December:" beside years
    if any((_NUMBER.fullmatch(cell) and not _PERIOD.fullmatch(cell)) or cell.endswith(":") for cell in cells):
        return False
    if not above or (len(cells) == 1 and _UNIT.fullmatch(cells[0])):
        return True
    if len(cells) == 1 and row[0]:
        return False  # a heading among the rows
    gaps = len(above[-1]) < len(row) or any(cell in ("", LEFT) for cell in above[-1][1:])
    key = "" if row[0] == above[-1][0] else row[0]  # the same again is one cell over both rows
    if not any(each[0] for each in above) and (gaps or not key or _UNIT.fullmatch(key)):
        return True
    return (gaps and not key) or all(_PERIOD.fullmatch(cell) for cell in _filled(row[1:]))


def _is_sure(top: Sequence[Sequence[str]], body: Sequence[Sequence[str]], names_first: bool) -> bool:
    """Whether what could be names are names, from what is below them."""
    names = _joined(top).names
    columns = [[row[place] for row in body if place < len(row) and row[place] not in ("", LEFT)] for place in range(len(names))]
    if any(_PERIOD.fullmatch(name) and _mostly(_PERIOD, cells) for name, cells in zip(names[1:], columns[1:], strict=True)):
        return False  # one more row of years
    filled = [name for name in names if name]
    if names_first or not top[0][0] or len(top) > 1:
        return len(filled) > 1
    short = all(len(name) <= LONGEST_NAME for name in filled) and len(set(filled)) == len(filled)
    return any(_mostly(_NUMBER, cells) for cells in columns) or (len(filled) == len(names) > 2 and short)


def _labelled(head: Sequence[Sequence[str]], top: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The columns of labels, one or two, each with that of what it labels; [] where the rows are no facts.

    What may be names of columns, the rows of `top` or words in the first one, are facts where what is below them is of several
    kinds, such as a date, a price and a number.
    """
    width = max(map(len, head))
    rows = [[*row, *[""] * (width - len(row))] for row in head]
    filled = [place for place, cells in enumerate(zip(*rows, strict=True)) if _filled(cells)]
    places = list(zip(filled[::2], filled[1::2], strict=False))
    if len(filled) not in (2, 4):
        return []
    labels = [row[label] for row in rows for label, value in places if _filled([row[value]])]
    if len(labels) < FACTS or len(set(labels)) < len(labels) or not all(map(_LABEL.fullmatch, labels)):
        return []
    kinds = [Counter(map(_kind, _filled([row[value] for row in rows]))) for _, value in places]
    if {_kind(rows[0][value]) for _, value in places} == {"text"} and len(set(chain(*kinds)) - {"text"}) < 2:
        return []
    if any(each["text"] > MOST_TEXT * each.total() or len(each) < len(places) for each in kinds):
        return []
    return [] if top and any(2 * max(each.values()) > each.total() for each in kinds) else places


def _kind(value: str) -> str:
    start = value[:LONGEST_NAME]
    if not any(map(str.isdigit, start)):
        return "text"
    return next((kind.pattern for kind in _KINDS if kind.fullmatch(start)), "")


def _facts(row: Sequence[str], places: Sequence[tuple[int, int]]) -> Iterator[str]:
    """`label: value` for each of the row; what has no value, or is in other columns, as it stands."""
    if len(_filled(row)) > sum(len(_filled([row[place] for place in pair if place < len(row)])) for pair in places):
        yield plain(row)
        return
    for pair in places:
        label, value = (row[place] if place < len(row) and row[place] != LEFT else "" for place in pair)
        if label or value:
            yield f"{label.rstrip(':')}: {value}" if label and value else label or value


def _mostly(kind: re.Pattern[str], cells: Sequence[str]) -> bool:
    return 2 * sum(bool(kind.fullmatch(cell)) for cell in cells) > len(cells)


def _joined(top: Sequence[Sequence[str]]) -> Heads:
    """One name for each column from all rows of names: what spans several columns is in the name of each."""
    width = max(map(len, top))
    names: list[list[str]] = [[] for _ in range(width)]
    common: list[str] = []
    for number, row in enumerate(top):
        cells = [*row, *[""] * (width - len(row))]
        filled = _filled(cells)
        for place in range(1, width):
            if cells[place] == LEFT or (not cells[place] and place > 1 and number < len(top) - 1):
                cells[place] = cells[place - 1]
        everywhere = len(set(cells[1:])) == 1 and width > 2
        if len(top) > 1 and (everywhere or (len(filled) == 1 and (not cells[0] or _UNIT.fullmatch(filled[0])))):
            common.append(filled[-1])  # "Years ended", above all columns or in the middle
            cells[1:] = [""] * (width - 1)
        if cells[0] in common or _UNIT.fullmatch(cells[0]):
            common.append(cells[0])
            cells[0] = ""
        for place, cell in enumerate(cells):
            if cell and cell not in names[place]:
                names[place].append(cell)
    said = ", ".join(dict.fromkeys(each.strip(" ,()") for each in common))
    return Heads([" ".join(name) for name in names], f"({said})" if said else "")


def _filled(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell not in ("", LEFT)]


def _short(name: str) -> str:
    """As it stands in each row: without the signs that stand between cells, and not endless."""
    name = name.rstrip(":").replace("; ", ", ").replace(": ", ", ")
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half].strip()}…{name[-half:].strip()}"
