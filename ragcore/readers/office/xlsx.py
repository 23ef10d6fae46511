"""Excel: the rows of each sheet, with the name of its column before each value and formulas as their last
values; then its comments, and the text of its charts and drawings. Hidden rows and columns are not read,
except folded and filtered ones."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ragcore.errors import NoTextError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import MAX_COLUMNS, Losses
from ragcore.readers.office.cell_format import format_cell
from ragcore.readers.office.package import Package, package
from ragcore.readers.office.sheet_parts import (
    Layout,
    Merge,
    comment_line,
    drawn_text,
    sheet_comments,
    sheet_layout,
    workbook_bytes,
)
from ragcore.readers.page_spans import join_pages
from ragcore.schema import Document

SUFFIXES = (".xlsx", ".xlsm", ".xltx")
PARSERS = ("openpyxl", "lxml.etree")

PROGRESS_ROWS = 2_000


def read(path: Path, options: ReadOptions) -> Document:
    losses = Losses()
    with package(path, options.name) as parts:  # checks its size before the parser unpacks it
        pages, metadata = _pages(*workbook_bytes(path, parts), parts, options, losses)
    text, spans = join_pages(pages)
    if not text:
        raise NoTextError(
            f"{options.name} is a workbook with nothing in its cells.",
            hint="Fill in its cells and save it again.",
        )
    losses.report(options)
    return Document(text, metadata=metadata, pages=spans, page_word="sheet")


def _pages(
    content: bytes, has_marks: bool, parts: Package, options: ReadOptions, losses: Losses
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The title and the text of each sheet, and the metadata. Hidden sheets are read only if there are no
    others."""
    import openpyxl

    pages = []
    with io.BytesIO(content) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about drawings and formats
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        length = 0
        for sheet in visible or book.worksheets:
            lines = []
            for line in _sheet(sheet, has_marks, parts, options, losses):
                lines.append(line)
                length += len(line) + 1
                options.check_length(length)
            if lines and lines[0] != sheet.title:
                lines.insert(0, sheet.title)
            pages.append((sheet.title, typography.plain(clean("\n".join(lines)))))
        losses.sheets = [sheet.title for sheet in book.worksheets if visible and sheet not in visible]
        metadata = {"file_name": options.name}
        for key, value in (("title", book.properties.title), ("author", book.properties.creator)):
            if value and value != "openpyxl":
                metadata[key] = clean(str(value))
        book.close()
    for sheet in parts.linked_parts("xl/workbook.xml", "chartsheet"):
        pages += [(str(len(pages) + 1), text) for text in drawn_text(parts, sheet, losses)]
    return pages, metadata


def _sheet(
    sheet: Any, has_marks: bool, parts: Package, options: ReadOptions, losses: Losses
) -> Iterator[str]:
    sheet.reset_dimensions()  # the size in the file is often wrong
    part = sheet._worksheet_path
    with sheet._get_source() as stream:  # openpyxl has no public access to a sheet's XML
        layout = sheet_layout(stream)
    if layout.is_filtered or any(
        b"filterColumn" in parts.bytes(table) for table in parts.linked_parts(part, "table")
    ):
        layout.hidden_rows.clear()  # filtered rows are data
    losses.formulas += layout.unsolved
    comments = sheet_comments(parts, part)
    commented: dict[int, list[str]] = {}  # the cells of rows that have comments
    rows = _rows(sheet, has_marks, layout, options, losses)

    def cell_rows() -> Iterator[list[str]]:
        for number, row in rows:
            if number in comments:
                commented[number] = row
            yield row

    yield from table_rows.lines(cell_rows(), names_first=True)
    for number, notes in comments.items():
        row_text = table_rows.plain(commented.get(number, ()))
        for cell, text in notes if number not in layout.hidden_rows else ():
            yield comment_line(cell, row_text, text)
    yield from drawn_text(parts, part, losses)


def _rows(
    sheet: Any, has_marks: bool, layout: Layout, options: ReadOptions, losses: Losses
) -> Iterator[tuple[int, list[str]]]:
    """Every row with its number, an empty one as []; only the first of many rows that are missing in the
    file. The text of cells that are merged downwards is repeated in each of their rows that has other
    text."""
    tops: dict[Merge, str] = {}
    seen: set[Merge] = set()
    last = 0
    for count, (row, values) in enumerate(_stored_rows(sheet), 1):
        if count % PROGRESS_ROWS == 0:
            options.progress(count, 0)
        number = max(row, last + 1)
        missing = (each for each in range(last + 1, number) if each not in layout.merges)
        yield from ((each, []) for each in islice(missing, table_rows.SEPARATING_ROWS))
        last = number
        cells = _cells(sheet, values, has_marks, losses)
        merges = layout.merges.get(number, ())
        for merge in merges:
            cells += [""] * (merge.max_col - len(cells))
            tops.setdefault(merge, cells[merge.min_col - 1] if number == merge.min_row else "")
            cells[merge.min_col - 1 : merge.max_col] = [
                tops[merge],
                *[table_rows.MERGED] * (merge.max_col - merge.min_col),
            ]
        if number in layout.hidden_rows:
            losses.hidden += any(cells)
            continue
        again = sum(bool(tops[merge]) for merge in merges if merge in seen)
        is_new = sum(cell not in ("", table_rows.MERGED) for cell in cells) > again
        seen.update(merges)
        if layout.hidden_columns:
            losses.hidden += sum(
                bool(cell) for place, cell in enumerate(cells, 1) if place in layout.hidden_columns
            )
            cells = [cell for place, cell in enumerate(cells, 1) if place not in layout.hidden_columns]
        yield number, (cells if is_new else [table_rows.MERGED]) if any(cells) else []


def _stored_rows(sheet: Any) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The number and the cells of each row that is in the file. openpyxl's own rows also have all empty rows
    and cells before them, however many."""
    from openpyxl.worksheet._reader import WorkSheetParser

    book = sheet.parent
    with sheet._get_source() as stream:
        yield from WorkSheetParser(
            stream,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        ).parse()


def _cells(sheet: Any, values: list[dict[str, Any]], has_marks: bool, losses: Losses) -> list[str]:
    """The text of a row's cells up to the last one that is filled."""
    from openpyxl.cell.read_only import ReadOnlyCell

    cells: list[str] = []
    for value in values:
        column = value["column"]
        if value["value"] is None:
            continue
        if column > MAX_COLUMNS:
            losses.far_cells += 1
            continue
        cells += [""] * (column - len(cells))
        cells[column - 1] = _cell(ReadOnlyCell(sheet, **value), has_marks)
    return cells


def _cell(cell: Any, has_marks: bool) -> str:
    text = format_cell(cell.value, cell.number_format)
    if not has_marks:
        return text
    if cell.font.strike:
        text = typography.mark(typography.STRUCK, text)
    return typography.plain(text)
