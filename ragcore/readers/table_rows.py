"""Rows of a table as lines that can be read, searched and quoted one by one, whatever file the table is in.

Every cell keeps its column's name, so that a row still says what its numbers are when a passage is cut out around it. What
holds for all columns, such as their unit, is said once in each row. A row too long for a passage becomes several lines,
which begin alike:

    Station | Opened | Height (m)
    Station: Cliff Top; Opened: 1871; Height (m): 84

    (Fiscal, in millions) | 2019 | 2018
    Sensors (Fiscal, in millions) | 2019: 914; 2018: 918

Two tables in a sheet, one below the other or side by side, have names of their own. Without names of columns a row is its
cells: `Cliff Top | 1871 | 84`. Facts that stand side by side, as in a form, are lines of their own: `Opened: 1871`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise, takewhile

LEFT = "\0"  # in the place of a cell: it belongs to the one on its left, which spans several columns, or to the row above
LONGEST_NAME = 60  # characters of a column's name in each row; the first line has the whole name
LONGEST_LINE = 600  # characters, about a passage
HEAD = 24  # rows that are looked at to find the names of columns
NAME_ROWS = 4  # rows that names of columns may be written in
FACTS = 3  # with labels of their own, before they are a form
SIDE_BY_SIDE = 500  # rows that are looked at to find tables side by side
APART = 2  # empty rows that always part two tables
FAR = 3  # empty columns that do
MOST_SPANNED = 1_000  # characters that cells repeat by their spans in a table, and ten times those that it has;
SPANNED = 10  # beyond, a cell spans one column and one row
MOST_TEXT = 2 / 3  # of the values of a form; the others have figures

_NUMBER = re.compile(r"\W*\d[\d\s.,'’/:^-]*\W*[A-Za-z]{0,2}\W*")
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
_AMOUNTS = {_KINDS[place].pattern for place in (0, 1, 4, 5)}
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


@dataclass(frozen=True, slots=True)
class _Above:
    """The table above an empty row: its heads, and which of its columns have numbers."""

    heads: Heads = Heads()
    kinds: Sequence[bool | None] = ()


def lines(rows: Iterable[Sequence[str]], *, name_rows: int | None = None, names_first: bool = False) -> Iterator[str]:
    """One line or more for each row that holds anything; the names of the columns come first as `a | b | c`.

    `rows` may be endless and ragged. A cell that spans columns is followed by LEFT; one that spans rows is said in each, but
    for rows of nothing else, which are [LEFT].
    `name_rows`: how many of the first rows name the columns, where the file says so. Otherwise it is guessed: for
    `names_first`, as in a CSV file or a sheet, from words above anything; else from words above numbers or three columns.
    """
    above: _Above | None = None
    gap = 0
    tidied = ([cell if cell == LEFT else " ".join(cell.split()) for cell in row] for row in rows if {*row} != {LEFT})
    for filled, block in groupby(_without_gaps_below_names(tidied), key=lambda row: bool(_filled(row))):
        if not filled:
            gap = sum(1 for _ in block)
        elif names_first:
            above = yield from _part_of_sheet(block, above, name_rows, gap)
        else:
            above = yield from _block(block, above or _Above(), name_rows, names_first=False)
        name_rows = 0 if name_rows is not None and filled else name_rows


def grid(rows: Iterable[Iterable[tuple[str, int, int]]]) -> Iterator[list[str]]:
    """Rows for `lines`, from the cells that begin in each: (text, columns, rows) with how many of these they span.

    >>> [*grid([[("Fares", 2, 2)], [], [("Adult", 1, 2), ("up", 1, 1)], [("down", 1, 1)]])]
    [['Fares', '\\x00'], ['\\x00'], ['Adult', 'up'], ['Adult', 'down']]
    """
    below: dict[int, tuple[int, str]] = {}  # column to the number of rows that a cell still reaches down, and its text
    room = MOST_SPANNED
    for row in rows:
        cells: list[str] = []
        begins = False
        for text, across, down in (*row, ("", 0, 1)):  # the last one for what is beside the others
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
            parts = [text, *[LEFT] * (across - 1)][:across]
            if down > 1:
                below.update((place, (down - 1, part)) for place, part in enumerate(parts, len(cells)))
            cells += parts
            begins = begins or bool(text)
        yield cells if begins or not any(cells) else [LEFT]


def _part_of_sheet(
    block: Iterator[list[str]], above: _Above | None, name_rows: int | None, gap: int
) -> Generator[str, None, _Above]:
    """The lines of what stands between empty rows of a sheet: one table, or several side by side, or more of the one above."""
    seen = list(islice(block, SIDE_BY_SIDE))
    if groups := _side_by_side(seen):
        others: list[list[list[str]]] = [[] for _ in groups[1:]]
        first = _first_of(chain(seen, block), groups, others)
        yield from lines(first, names_first=True)
        for rows in others:
            yield from lines(rows, names_first=True)
        return _Above()
    head = seen[:HEAD]
    if above is not None and _continues(head, above, gap):
        return (yield from _block(chain(seen, block), above, name_rows, names_first=False))
    is_clear = above is not None and (_heads(head, names_first=False) != (0, 0) or bool(_labelled(head, ())))
    return (yield from _block(chain(seen, block), _Above(), name_rows, names_first=not is_clear))


def _first_of(rows: Iterable[list[str]], groups: Sequence[int], others: Sequence[list[list[str]]]) -> Iterator[list[str]]:
    """The rows of the first of several tables; those of the `others`, which begin in these columns, are put there."""
    for row in rows:
        for number, other in enumerate(others, 1):
            other.append(row[groups[number] : groups[number + 1] if number + 1 < len(groups) else None])
        yield row[: groups[1]]


def _side_by_side(rows: Sequence[Sequence[str]]) -> list[int]:
    """The first column of each table where several stand side by side, with an empty column between; [] for one table.

    They are several where each has names or facts of its own, and they begin or end in other rows, are far apart or alike.
    """
    width = max(map(len, rows))
    used = [any(_filled(row[place : place + 1]) for row in rows) for place in range(width)]
    runs = [list(run) for is_used, run in groupby(range(width), key=used.__getitem__) if is_used]
    if len(runs) < 2 or any(len(run) < 2 for run in runs):
        return []
    parts = [[list(row[run[0] : run[-1] + 1]) for row in rows] for run in runs]
    filled = [[number for number, row in enumerate(part) if _filled(row)] for part in parts]
    far = min(after[0] - before[-1] - 1 for before, after in pairwise(runs)) >= FAR
    heads = [[row for row in part if _filled(row)][:HEAD] for part in parts]
    alike = bool(heads[0][0][0]) and len({head[0][0] for head in heads}) == 1
    if not (far or alike) and len({(each[0], each[-1]) for each in filled}) == 1:
        return []
    if not all(_heads(head, names_first=True) != (0, 0) or _labelled(head, ()) for head in heads):
        return []
    return [0, *(run[0] for run in runs[1:])]


def _continues(head: Sequence[Sequence[str]], above: _Above, gap: int) -> bool:
    """Whether rows below an empty one belong to the table above it: they have values of the same kinds in its columns; of a row
    of totals, its first column has a word where numbers or dates are above."""
    kinds = _kinds_of_columns(head)
    alike = [kind is None or (place < len(above.kinds) and kind == above.kinds[place]) for place, kind in enumerate(kinds)]
    if all(alike):
        return gap < APART or True in kinds
    return gap < APART and all(alike[1:]) and True in kinds[1:]


def _kinds_of_columns(rows: Sequence[Sequence[str]]) -> list[bool | None]:
    """For each column whether it mostly has numbers; None for an empty one."""
    columns = [_filled([row[place] for row in rows if place < len(row)]) for place in range(max(map(len, rows), default=0))]
    return [_mostly(_NUMBER, cells) if cells else None for cells in columns]


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


def _block(
    block: Iterator[list[str]], above: _Above, name_rows: int | None, *, names_first: bool
) -> Generator[str, None, _Above]:
    """The lines of rows without an empty one between. The heads of their columns are those of the rows above, where these have
    none and are not wider."""
    head = list(islice(block, HEAD))
    if name_rows is not None:
        first = sum(1 for _ in takewhile(_is_title, head[:name_rows]))
        last = min(name_rows, len(head))
    if name_rows is None or 0 < last == first:
        first, last = _heads(head, names_first)
    top = head[first:last]
    if not name_rows and (places := _labelled(head, top, names_first)):
        for row in chain(head, block):
            yield from _facts(row, places)
        return above
    width = max(map(len, map(_filled, head)))
    heads = _joined(top) if top else above.heads if 2 <= width <= len(above.heads.names) else Heads()
    yield from map(plain, head[:first])
    if top:
        yield str(heads)
    for row in chain(head[last:], block):
        if row not in top:  # the names once more, on each page of a printed table
            yield from heads.lines(row)
    return _Above(heads, _kinds_of_columns(head[last:])) if top else above


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


def _is_title(row: Sequence[str]) -> bool:
    """One cell over all columns, which says more than their unit."""
    return len(row) > 1 and {*row[1:]} == {LEFT} and not _UNIT.fullmatch(row[0])


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
    if _is_data(names, [row for row in body if row not in top]):
        return False
    if names_first or not top[0][0] or len(top) > 1:
        return len(filled) > 1
    short = all(len(name) <= LONGEST_NAME for name in filled) and len(set(filled)) == len(filled)
    return any(_mostly(_NUMBER, cells) for cells in columns) or (len(filled) == len(names) > 2 and short)


def _is_data(names: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a third of what could be names are values: they stand again below, or have figures at the same places."""
    values = 0
    for place, name in enumerate(names):
        cells = [row[place] for row in body if place < len(row) and row[place] not in ("", LEFT)]
        shape = _shape(name)
        has_figures = ("9" in shape or "@" in shape) and not _PERIOD.fullmatch(name)
        values += bool(name) and (name in cells or (has_figures and 2 * [*map(_shape, cells)].count(shape) > len(cells)))
    return 0 < len(list(filter(None, names))) <= 3 * values


def _shape(cell: str) -> str:
    """Figures alike, and addresses of mail alike: "Halt 9" for "Halt 12"."""
    return "@" if "@" in cell else re.sub(r"\d+", "9", cell)


def _labelled(head: Sequence[Sequence[str]], top: Sequence[Sequence[str]], names_first: bool = False) -> list[tuple[int, int]]:
    """The columns of labels, one or two, each with that of what it labels; [] where the rows are no facts.

    What may be names of columns, the rows of `top` or words in the first one, are facts where all labels end with a
    colon, or what is below them is of several kinds, such as a date, a price and a number.
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
    values = [_filled([row[value] for row in rows]) for _, value in places]
    if all(label.endswith(":") for label in labels):
        return places
    kinds = [Counter(map(_kind, column)) for column in values]
    if names_first:
        figures = {kind: count for kind, count in kinds[0].items() if kind != "text"}
        families = {kind in _AMOUNTS or kind for kind in map(_kind, values[0][1:])} - {"text"}
        return places if len(places) == 1 < len(families) and 2 * max(figures.values()) <= len(values[0]) else []
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
