"""The rows of tables and sheets of OpenDocument (OASIS OpenDocument 1.3, part 3, 9); comments and drawings of
sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ragcore.readers import table_rows
from ragcore.readers.list_numbers import list_number
from ragcore.readers.losses import MAX_COLUMNS, Losses
from ragcore.readers.office.package import Element
from ragcore.readers.office.sheet_parts import comment_line
from ragcore.readers.web.safe_xml import attribute, children, local, whole

Blocks = Callable[[Iterable[Element]], Iterator[str]]

MAX_ROWS = 50  # a file may repeat a row a million times
_GROUPS = ("table-rows", "table-header-rows", "table-row-group")
_DRAWN = ("frame", "custom-shape", "g", "rect", "ellipse", "line")
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")


def table_grid(table: Element, blocks: Blocks) -> Iterator[list[str]]:
    """The rows of a table for `table_rows.lines`."""
    for row, _, cells in _grid(table, blocks, Losses()):
        for _ in range(_repeats(row, cells)):
            yield cells


def sheet_lines(sheet: Element, blocks: Blocks, losses: Losses) -> Iterator[str]:
    """The rows that a sheet shows, then its comments, then its drawings. Folded and filtered rows are
    read."""
    hidden_columns = _hidden_columns(sheet)
    notes: list[str] = []
    drawn: list[str] = []

    def rows() -> Iterator[list[str]]:
        number = 1
        for row, is_folded, cells in _grid(sheet, blocks, losses):
            if attribute(row, "visibility") == "collapse" and not is_folded:
                losses.hidden += any(cells)
            else:
                losses.hidden += sum(
                    bool(cell) for place, cell in enumerate(cells, 1) if place in hidden_columns
                )
                visible = [cell for place, cell in enumerate(cells, 1) if place not in hidden_columns]
                notes.extend(_comments(row, number, table_rows.plain(visible), blocks))
                drawn.extend(
                    text for each in children(row, "table-cell") for text in blocks(children(each, *_DRAWN))
                )
                for _ in range(_repeats(row, visible)):
                    yield visible
            number += _count(row, "number-rows-repeated")

    yield from table_rows.lines(rows(), names_first=True)
    yield from notes
    yield from drawn
    yield from (text for shapes in children(sheet, "shapes") for text in blocks(shapes))


def _grid(table: Element, blocks: Blocks, losses: Losses) -> Iterator[tuple[Element, bool, list[str]]]:
    """Each row, whether it is in a group of rows that is folded, and its cells up to the last one that is
    filled."""
    rows = list(_rows(table))
    filled = table_rows.grid(_cells(row, blocks, losses) for row, _ in rows)
    for (row, is_folded), cells in zip(rows, filled, strict=True):
        while cells and not cells[-1]:
            cells.pop()
        yield row, is_folded, cells


def _rows(table: Element, is_folded: bool = False) -> Iterator[tuple[Element, bool]]:
    """Each row, and whether it is in a group of rows that is folded."""
    for child in table:
        kind = local(child)
        if kind == "table-row":
            yield child, is_folded
        elif kind in _GROUPS:
            yield from _rows(child, is_folded or attribute(child, "display") == "false")


def _cells(row: Element, blocks: Blocks, losses: Losses) -> Iterator[tuple[str, int, int]]:
    """The cells of a row, repeated ones several times, without the empty ones at its end."""
    room = MAX_COLUMNS
    empty = 0
    for cell in children(row, "table-cell"):
        text = _text(cell, blocks)
        across, down = (
            max(1, min(_count(cell, "number-columns-spanned"), room)),
            _count(cell, "number-rows-spanned"),
        )
        count = _count(cell, "number-columns-repeated")
        repeats = min(count, room // across)
        room -= repeats * across
        losses.far_cells += count - repeats if text else 0
        if not text and across == down == 1:
            empty += repeats
        elif repeats:
            yield from [("", 1, 1)] * empty + [(text, across, down)] * repeats
            empty = 0


def _text(cell: Element, blocks: Blocks) -> str:
    """The text of a cell; its value if the file has no text for it."""
    text = " ".join(" ".join(blocks(children(cell, "p", "h", "list", "table"))).split())
    return text or next((value for name in _VALUES if (value := attribute(cell, name))), "")


def _comments(row: Element, number: int, row_text: str, blocks: Blocks) -> Iterator[str]:
    column = 1
    for cell in children(row, "table-cell", "covered-table-cell"):
        for note in children(cell, "annotation"):
            if text := " ".join(" ".join(blocks(note)).split()):
                yield comment_line(f"{list_number(column, 'A')}{number}", row_text, text)
        column += _count(cell, "number-columns-repeated")


def _hidden_columns(sheet: Element) -> frozenset[int]:
    hidden: set[int] = set()
    column = 1
    for element in sheet.iter("{*}table-column"):
        count = min(_count(element, "number-columns-repeated"), MAX_COLUMNS)
        is_folded = any(local(outer) == "table-column-group" for outer in element.iterancestors())
        if attribute(element, "visibility") == "collapse" and not is_folded:
            hidden |= set(range(column, min(column + count, MAX_COLUMNS + 1)))
        column += count
    return frozenset(hidden)


def _repeats(row: Element, cells: list[str]) -> int:
    return min(_count(row, "number-rows-repeated"), MAX_ROWS if any(cells) else table_rows.SEPARATING_ROWS)


def _count(element: Element, name: str) -> int:
    return whole(attribute(element, name), 1)
