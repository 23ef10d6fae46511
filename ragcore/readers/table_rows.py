"""Rows of a table as lines that can be read, searched and quoted one by one, in every file format.

Every cell has its column's name, so that a row makes sense in a passage without the rest of the table. What
is true for all columns, such as their unit, stands once in each row. A row too long for a passage becomes
several lines with the same start:

    Station | Opened | Height (m)
    Station: Cliff Top; Opened: 1871; Height (m): 84

    (Fiscal, in millions) | 2019 | 2018
    Sensors (Fiscal, in millions) | 2019: 914; 2018: 918

Two tables in a sheet, one below the other or side by side, each have their own names. Without names of
columns a row is its cells: `Cliff Top | 1871 | 84`. Each label and value of a form is one line: `Opened:
1871`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise, takewhile

from ragcore.text.quotable_units import MAX_NAME, MAX_ROW_CHARS, name_in_row

# in place of a cell, where the cell before it spans several columns or the one above it several rows
MERGED = "\0"
HEAD = 24  # rows in which the names of columns are searched
NAME_ROWS = 4  # maximum number of rows with names of columns
FACTS = 3  # minimum number of labels in a form
SIDE_BY_SIDE = 500  # rows in which tables side by side are searched
SEPARATING_ROWS = 2  # empty rows that always separate two tables
SEPARATING_COLUMNS = 3  # empty columns that always separate two tables
# Cells may repeat this many characters by their spans, and SPANNED times the characters of the table. After
# that each cell spans one column and one row.
MAX_SPANNED = 1_000
SPANNED = 10
MAX_TEXT = 2 / 3  # of the values of a form may have no digits

_NUMBER = re.compile(r"\W*\d[\d\s.,'’/:^-]*\W*[A-Za-z]{0,2}\W*")
_PERIOD = re.compile(  # 2019, 2018/19, 2019-09-30, FY19, Q3 2019, 2019 (a)
    r"\W*(?:(?:19|20)\d\d(?:\s*[-–/]\s*\d{2,4})?|(?:19|20)\d\d-\d\d-\d\d"
    r"|(?:[FC]Y|[QH]\d|\dQ) ?'?(?:(?:19|20)\d\d|\d\d))(?:\s*\(\w\)|[*AE])?"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LABEL = re.compile(r"(?![\da-z])\w[^.!?;]{0,38}[.:]?")
# of values with digits; a value that matches none is a code or a phrase, and a value without digits is text
_KINDS = (
    re.compile(r"\D*[€$£¥₹].*|.*[€$£¥₹]\W*"),
    re.compile(r".*\d\W?%.*"),
    re.compile(r".*(?:\d[./-]\d\d?[./-]\d{2,4}|\d{4}-\d\d-\d\d|\b\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}).*"),
    re.compile(r".*(?:\d[:.]\d\d|\d ?[ap]\.?m\b).*|\d+ ?[-–] ?\d+", re.I),
    re.compile(r"[\d\s.,'’]+"),
    re.compile(r"\W*\d[\d.,]* ?[^\W\d]{1,8}(?:\(\w\))?"),
)
_AMOUNTS = {_KINDS[place].pattern for place in (0, 1, 4, 5)}
_UNIT = re.compile(r"\(.*\)|in .*(?:thousands|millions|billions).*|\W*[€$£¥%]\W*\w{0,3}\W*", re.I)


@dataclass(frozen=True, slots=True)
class _Header:
    """The name of each column, "" for none, and what is true for all columns except the first."""

    names: Sequence[str] = ()
    common: str = ""

    def __str__(self) -> str:
        return plain([" ".join(filter(None, (self.names[0], self.common))), *self.names[1:]])

    def lines(self, row: Sequence[str]) -> Iterator[str]:
        """`name: cell; name: cell` without the empty cells. A long row has several lines, which begin with
        the first cell."""
        parts = []
        for place, cell in enumerate(row):
            if cell not in ("", MERGED):
                name = name_in_row(self.names[place]) if place < len(self.names) else ""
                parts.append(f"{name}: {cell}" if name else cell)
        if not self.names or (len(parts) == 1 and row[0]):
            yield plain(row)  # a heading among the rows
            return
        key = parts.pop(0) if row[0] else ""
        divider = "; " if key != row[0] else " | "
        start = " ".join(filter(None, (key, self.common))) + divider if key or self.common else ""
        line = start + parts[0]
        for part in parts[1:]:
            if len(line) + len(part) > MAX_ROW_CHARS > 3 * len(start):
                yield line
                line = start + part
            else:
                line += f"; {part}"
        yield line


@dataclass(frozen=True, slots=True)
class _Above:
    """The table above an empty row: its header, and which of its columns have numbers."""

    header: _Header = _Header()
    kinds: Sequence[bool | None] = ()


def lines(
    rows: Iterable[Sequence[str]], *, name_rows: int | None = None, names_first: bool = False
) -> Iterator[str]:
    """One line or more for each row that is not empty. The first has the names of the columns: `a | b | c`.

    `rows` may be endless and of different lengths. A cell that spans columns is followed by MERGED. A cell
    that spans rows is repeated in each; a row without other cells is [MERGED].

    `name_rows` is how many of the first rows name the columns. If it is None, the names are guessed: with
    `names_first`, as in a CSV file or a sheet, from words above anything, or else from words above numbers or
    three columns.
    """
    above: _Above | None = None
    gap = 0
    tidied = (
        [cell if cell == MERGED else " ".join(cell.split()) for cell in row]
        for row in rows
        if {*row} != {MERGED}
    )
    for filled, block in groupby(_without_gaps_below_names(tidied), key=lambda row: bool(_texts(row))):
        if not filled:
            gap = sum(1 for _ in block)
        elif names_first:
            above = yield from _part_of_sheet(block, above, name_rows, gap)
        else:
            above = yield from _block(block, above or _Above(), name_rows, names_first=False)
        name_rows = 0 if name_rows is not None and filled else name_rows


def grid(rows: Iterable[Iterable[tuple[str, int, int]]]) -> Iterator[list[str]]:
    """Rows for `lines` from the cells that begin in each row: (text, number of columns, number of rows that
    it spans).

    >>> [*grid([[("Fares", 2, 2)], [], [("Adult", 1, 2), ("up", 1, 1)], [("down", 1, 1)]])]
    [['Fares', '\\x00'], ['\\x00'], ['Adult', 'up'], ['Adult', 'down']]
    """
    below: dict[int, tuple[int, str]] = {}  # by column: how many more rows a cell spans, and its text
    room = MAX_SPANNED
    for row in rows:
        cells: list[str] = []
        begins = False
        for text, across, down in (*row, ("", 0, 1)):  # the last one is for spans at the end of the row
            while len(cells) in below:
                reach, above = below.pop(len(cells))
                if reach > 1:
                    below[len(cells)] = (reach - 1, above)
                cells.append(above)
                room -= len(above) or 1
            room += SPANNED * (len(text) + 1) - across
            if room <= 0:
                across, down = min(across, 1), 1
                below.clear()
            parts = [text, *[MERGED] * (across - 1)][:across]
            if down > 1:
                below.update((place, (down - 1, part)) for place, part in enumerate(parts, len(cells)))
            cells += parts
            begins = begins or bool(text)
        yield cells if begins or not any(cells) else [MERGED]


def _part_of_sheet(
    block: Iterator[list[str]], above: _Above | None, name_rows: int | None, gap: int
) -> Generator[str, None, _Above]:
    """The lines of a block between empty rows of a sheet: a table, tables side by side, or more rows of the
    table above."""
    head = list(islice(block, SIDE_BY_SIDE))
    rows = chain(head, block)
    if groups := _side_by_side(head):
        others: list[list[list[str]]] = [[] for _ in groups[1:]]
        yield from lines(_split_off(others, groups, rows), names_first=True)
        for other in others:
            yield from lines(other, names_first=True)
        return _Above()
    head = head[:HEAD]
    if above is not None and _continues(head, above, gap):
        return (yield from _block(rows, above, name_rows, names_first=False))
    is_clear = above is not None and (
        _find_names(head, names_first=False) != (0, 0) or bool(_find_facts(head, ()))
    )
    return (yield from _block(rows, _Above(), name_rows, names_first=not is_clear))


def _split_off(
    others: Sequence[list[list[str]]], groups: Sequence[int], rows: Iterable[list[str]]
) -> Iterator[list[str]]:
    """The rows of the first of several tables, which begin in the columns `groups`. Appends the other rows to
    `others`."""
    for row in rows:
        for number, other in enumerate(others, 1):
            other.append(row[groups[number] : groups[number + 1] if number + 1 < len(groups) else None])
        yield row[: groups[1]]


def _side_by_side(rows: Sequence[Sequence[str]]) -> list[int]:
    """The first column of each of several tables side by side, with empty columns between them; [] for one
    table.

    Each of several tables has its own names or facts, and they begin or end in different rows, are far apart
    or look alike.
    """
    width = max(map(len, rows))
    used = [any(_texts(row[place : place + 1]) for row in rows) for place in range(width)]
    runs = [list(run) for is_used, run in groupby(range(width), key=used.__getitem__) if is_used]
    if len(runs) < 2 or any(len(run) < 2 for run in runs):
        return []
    parts = [[list(row[run[0] : run[-1] + 1]) for row in rows] for run in runs]
    filled = [[number for number, row in enumerate(part) if _texts(row)] for part in parts]
    far = min(after[0] - before[-1] - 1 for before, after in pairwise(runs)) >= SEPARATING_COLUMNS
    heads = [[row for row in part if _texts(row)][:HEAD] for part in parts]
    alike = bool(heads[0][0][0]) and len({head[0][0] for head in heads}) == 1
    if not (far or alike) and len({(each[0], each[-1]) for each in filled}) == 1:
        return []
    if not all(_find_names(head, names_first=True) != (0, 0) or _find_facts(head, ()) for head in heads):
        return []
    return [0, *(run[0] for run in runs[1:])]


def _continues(head: Sequence[Sequence[str]], above: _Above, gap: int) -> bool:
    """Whether the rows below an empty row belong to the table above: their columns have values of the same
    kinds. The first column of a row of totals may have a word below numbers or dates."""
    kinds = _kinds_of_columns(head)
    alike = [
        kind is None or (place < len(above.kinds) and kind == above.kinds[place])
        for place, kind in enumerate(kinds)
    ]
    if all(alike):
        return gap < SEPARATING_ROWS or True in kinds
    return gap < SEPARATING_ROWS and all(alike[1:]) and True in kinds[1:]


def _kinds_of_columns(rows: Sequence[Sequence[str]]) -> list[bool | None]:
    """For each column whether most of its cells are numbers; None for an empty column."""
    columns = [_column(rows, place) for place in range(max(map(len, rows), default=0))]
    return [_mostly(_NUMBER, cells) if cells else None for cells in columns]


def _without_gaps_below_names(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Drop the empty rows that only separate names of columns from the rows below."""
    last: list[str] = []
    above = 0  # rows since the last empty row
    for row in rows:
        if _texts(row):
            above, last = above + 1, row
            yield row
            continue
        names = (
            len(_texts(last)) > 1
            and _may_name(last, ())
            and (not last[0] or (above == 1 and len(_texts(last)) > 2))
        )
        if not names:
            yield row
            above, last = 0, []


def plain(cells: Sequence[str]) -> str:
    """`a | b | c`, without the empty cells at either end."""
    cells = [cell for cell in cells if cell != MERGED]
    filled = [place for place, cell in enumerate(cells) if cell]
    return " | ".join(cells[filled[0] : filled[-1] + 1]) if filled else ""


def _block(
    block: Iterator[list[str]], above: _Above, name_rows: int | None, *, names_first: bool
) -> Generator[str, None, _Above]:
    """The lines of a block of rows. If it has no header and is not wider than the table above, it has that
    table's header."""
    head = list(islice(block, HEAD))
    if name_rows is not None:
        # A title is one cell over all columns, and not only their unit.
        titles = takewhile(
            lambda row: {*row[1:]} == {MERGED} and not _UNIT.fullmatch(row[0]), head[:name_rows]
        )
        first = len(list(titles))
        last = min(name_rows, len(head))
    if name_rows is None or 0 < last == first:
        first, last = _find_names(head, names_first)
    top = head[first:last]
    if not name_rows and (places := _find_facts(head, top, names_first)):
        for row in chain(head, block):
            yield from _facts(row, places)
        return above
    width = max(map(len, map(_texts, head)))
    header = _join_names(top) if top else above.header if 2 <= width <= len(above.header.names) else _Header()
    yield from map(plain, head[:first])
    if top:
        yield str(header)
    for row in chain(head[last:], block):
        if row not in top:  # a printed table repeats the names on each page
            yield from header.lines(row)
    return _Above(header, _kinds_of_columns(head[last:])) if top else above


def _find_names(head: Sequence[Sequence[str]], names_first: bool) -> tuple[int, int]:
    """The first row with names of columns, and the end of these rows; (0, 0) for none. The rows above are
    titles."""
    counts = [len(_texts(row)) for row in head]
    width = max(counts)
    # A row of names is neither a title nor one of a few facts above the table.
    may_begin = (
        number
        for number, (row, count) in enumerate(zip(head, counts, strict=True))
        if (2 * count > width and count > 1)
        or (count > 0 and not row[0] and width > 1)
        or (count > 1 and _UNIT.fullmatch(row[0]) and all(map(_YEAR.search, _texts(row[1:]))))
    )
    first = last = next(may_begin, len(head))
    while last < min(len(head) - 1, first + NAME_ROWS) and _may_name(head[last], head[first:last]):
        last += 1
    if first == last or not _is_sure(head[first:last], head[last:], names_first):
        return 0, 0
    return first, last


def _may_name(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Whether the row could be names: no numbers except years. Below other names only years, units, or cells
    that are empty above."""
    cells = _texts(row)
    if (
        len(cells) > 2
        and cells[0] == row[0]
        and cells[0].endswith(":")
        and all(map(_PERIOD.fullmatch, cells[1:]))
    ):
        return True  # "At 31 December:" followed by years
    if any((_NUMBER.fullmatch(cell) and not _PERIOD.fullmatch(cell)) or cell.endswith(":") for cell in cells):
        return False
    if not above or (len(cells) == 1 and _UNIT.fullmatch(cells[0])):
        return True
    if len(cells) == 1 and row[0]:
        return False  # a heading among the rows
    gaps = len(above[-1]) < len(row) or any(cell in ("", MERGED) for cell in above[-1][1:])
    key = "" if row[0] == above[-1][0] else row[0]  # the same text is one cell over both rows
    if not any(each[0] for each in above) and (gaps or not key or _UNIT.fullmatch(key)):
        return True
    return (gaps and not key) or all(_PERIOD.fullmatch(cell) for cell in _texts(row[1:]))


def _is_sure(top: Sequence[Sequence[str]], body: Sequence[Sequence[str]], names_first: bool) -> bool:
    """Whether the rows `top` are names of columns, by the values below them."""
    names = _join_names(top).names
    columns = [_column(body, place) for place in range(len(names))]
    if any(
        _PERIOD.fullmatch(name) and _mostly(_PERIOD, cells)
        for name, cells in zip(names[1:], columns[1:], strict=True)
    ):
        return False  # another row of years
    filled = [name for name in names if name]
    if _is_data(names, [row for row in body if row not in top]):
        return False
    if names_first or not top[0][0] or len(top) > 1:
        return len(filled) > 1
    short = all(len(name) <= MAX_NAME for name in filled) and len(set(filled)) == len(filled)
    return any(_mostly(_NUMBER, cells) for cells in columns) or (len(filled) == len(names) > 2 and short)


def _is_data(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a third of the names are values: they occur below, or have digits at the same places as the
    cells below."""
    values = 0
    for place, name in enumerate(names):
        cells = _column(body, place)
        shape = _shape(name)
        has_shape = ("9" in shape or "@" in shape) and not _PERIOD.fullmatch(name)
        values += bool(name) and (
            name in cells or (has_shape and 2 * [*map(_shape, cells)].count(shape) > len(cells))
        )
    return 0 < len(list(filter(None, names))) <= 3 * values


def _shape(cell: str) -> str:
    """The cell with 9 for every number: "Halt 9" for "Halt 12". All mail addresses are "@"."""
    return "@" if "@" in cell else re.sub(r"\d+", "9", cell)


def _find_facts(
    head: Sequence[Sequence[str]], top: Sequence[Sequence[str]], names_first: bool = False
) -> list[tuple[int, int]]:
    """(column of labels, column of their values), one or two pairs; [] if the rows are not facts.

    If `top` or the first row could be names of columns, the rows are facts only if all labels end with a
    colon, or if their values are of several kinds, such as a date, a price and a number.
    """
    width = max(map(len, head))
    rows = [[*row, *[""] * (width - len(row))] for row in head]
    filled = [place for place, cells in enumerate(zip(*rows, strict=True)) if _texts(cells)]
    places = list(zip(filled[::2], filled[1::2], strict=False))
    if len(filled) not in (2, 4):
        return []
    labels = [row[label] for row in rows for label, value in places if _texts([row[value]])]
    if len(labels) < FACTS or len(set(labels)) < len(labels) or not all(map(_LABEL.fullmatch, labels)):
        return []
    values = [_texts([row[value] for row in rows]) for _, value in places]
    if all(label.endswith(":") for label in labels):
        return places
    kinds = [Counter(map(_kind, column)) for column in values]
    if names_first:
        counts = {kind: count for kind, count in kinds[0].items() if kind != "text"}
        families = {kind in _AMOUNTS or kind for kind in map(_kind, values[0][1:])} - {"text"}
        return (
            places if len(places) == 1 < len(families) and 2 * max(counts.values()) <= len(values[0]) else []
        )
    if {_kind(rows[0][value]) for _, value in places} == {"text"} and len(set(chain(*kinds)) - {"text"}) < 2:
        return []
    if any(each["text"] > MAX_TEXT * each.total() or len(each) < len(places) for each in kinds):
        return []
    return [] if top and any(2 * max(each.values()) > each.total() for each in kinds) else places


def _kind(value: str) -> str:
    start = value[:MAX_NAME]
    if not any(map(str.isdigit, start)):
        return "text"
    return next((kind.pattern for kind in _KINDS if kind.fullmatch(start)), "")


def _facts(row: Sequence[str], places: Sequence[tuple[int, int]]) -> Iterator[str]:
    """`label: value` for each pair of the row. A row with cells in other columns is `a | b | c`."""
    if len(_texts(row)) > sum(
        len(_texts([row[place] for place in pair if place < len(row)])) for pair in places
    ):
        yield plain(row)
        return
    for pair in places:
        label, value = (row[place] if place < len(row) and row[place] != MERGED else "" for place in pair)
        if label or value:
            yield f"{label.rstrip(':')}: {value}" if label and value else label or value


def _mostly(kind: re.Pattern[str], cells: Sequence[str]) -> bool:
    return 2 * sum(bool(kind.fullmatch(cell)) for cell in cells) > len(cells)


def _join_names(top: Sequence[Sequence[str]]) -> _Header:
    """One name for each column from all rows of names. A cell that spans several columns is in the name of
    each."""
    width = max(map(len, top))
    used = [any(row[place : place + 1] not in ([], [""]) for row in top) for place in range(width)]
    groups = [list(run) for is_used, run in groupby(range(1, width), key=used.__getitem__) if is_used]
    names: list[list[str]] = [[] for _ in range(width)]
    common: list[str] = []
    for number, row in enumerate(top):
        cells = [*row, *[""] * (width - len(row))]
        filled = _texts(cells)
        dates_all = _dates_all(cells, top[number + 1 :])
        if number < len(top) - 1:
            _spread_in_groups(cells, groups)
        for place in range(1, width):
            if cells[place] == MERGED or (not cells[place] and place > 1 and number < len(top) - 1):
                cells[place] = cells[place - 1]
        everywhere = len(set(cells[1:])) == 1 and width > 2
        if len(top) > 1 and (
            everywhere or dates_all or (len(filled) == 1 and (not cells[0] or _UNIT.fullmatch(filled[0])))
        ):
            common.append(filled[-1])  # "Years ended", above all columns or in the middle
            cells[1:] = [""] * (width - 1)
        if cells[0] in common or _UNIT.fullmatch(cells[0]):
            common.append(cells[0])
            cells[0] = ""
        for place, cell in enumerate(cells):
            if cell and cell not in names[place]:
                names[place].append(cell)
    note = ", ".join(dict.fromkeys(each.strip(" ,()") for each in common))
    return _Header([" ".join(name) for name in names], f"({note})" if note else "")


def _dates_all(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the row has only a unit and a date, which is that of all columns, wherever it is: the names
    below have no dates."""
    dates = [_YEAR.search(cell) for cell in _texts(cells[1:]) if _UNIT.fullmatch(cells[0])]
    return len(dates) == 1 and any(dates) and bool(below) and not any(map(_YEAR.search, chain(*below)))


def _spread_in_groups(cells: list[str], groups: Sequence[Sequence[int]]) -> None:
    """Write the one name above each group of columns over all of them, if empty columns separate the
    groups."""
    names = [_texts([cells[place] for place in group]) for group in groups]
    if len(groups) > 1 and MERGED not in cells and all(len(each) == 1 for each in names):
        for group, (name,) in zip(groups, names, strict=True):
            cells[group[0] : group[-1] + 1] = [name] * len(group)


def _texts(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell not in ("", MERGED)]


def _column(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    return _texts([row[place] for row in rows if place < len(row)])
