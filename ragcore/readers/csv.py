"""Tables as text, with a comma, semicolon, tab or bar between the cells."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions, read_text
from ragcore.schema import Document

SUFFIXES = (".csv", ".tsv", ".tab")

DELIMITERS = ",;\t|"
PROGRESS_ROWS = 5_000
MAX_STRAY = (
    100  # unclosed quotation marks, each of which may read the rest again; after them each line is a record
)

_SEPARATOR = re.compile(r"sep=(.)(?:\n|\Z)", re.I)


def read(path: Path, options: ReadOptions) -> Document:
    text = read_text(path, options)
    named = _SEPARATOR.match(text)  # a line for spreadsheet programs
    rows = _rows(text[named.end() :], named[1], options) if named else _rows(text, _delimiter(text), options)
    lines = _up_to_limit(table_rows.lines(rows, names_first=True), options)
    return Document("\n".join(lines), metadata={"file_name": options.name})


def _up_to_limit(lines: Iterable[str], options: ReadOptions) -> Iterator[str]:
    """The lines. TooLargeError as soon as they have too many characters."""
    length = 0
    for line in lines:
        length += len(line)
        options.check_length(length)
        yield line


def _rows(text: str, delimiter: str, options: ReadOptions) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="").readlines()
    previous = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # the maximum of a C long on Windows
    try:
        for number, row in enumerate(_records(lines, delimiter)):
            if number % PROGRESS_ROWS == 0:
                options.progress(number, len(lines))
            yield row
    finally:
        csv.field_size_limit(previous)


def _records(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """The cells of each record. A quotation mark without a partner at the end of a cell is a normal
    character."""
    at = stray = 0
    while at < len(lines):
        # not strict: a stray quotation mark is a character and not an error
        end = len(lines) if stray < MAX_STRAY else at + 1
        reader = csv.reader(
            map(lines.__getitem__, range(at, end)), delimiter=delimiter, skipinitialspace=True
        )
        begin, read = at, 0
        for row in reader:
            if reader.line_num - read > 1 and not _is_record(
                lines[begin + read : begin + reader.line_num], delimiter
            ):
                break
            read = reader.line_num
            yield row
        else:
            at = begin + max(reader.line_num, 1)
            continue
        yield next(csv.reader([lines[begin + read]], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
        at, stray = begin + read + 1, stray + 1


def _is_record(lines: Sequence[str], delimiter: str) -> bool:
    """Whether these lines are one record, with quotation marks only around cells."""
    # a strict reader allows no blank after a cell
    ends = re.compile(rf'"[ \t]+(?={re.escape(delimiter)}|\r?\n|\Z)')
    lines = ends.sub('"', "".join(lines)).splitlines(keepends=True)
    try:
        return len(list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))) == 1
    except csv.Error:
        return False


def _delimiter(text: str) -> str:
    """The delimiter that divides the first lines into equal numbers of cells, and most of them. csv.Sniffer
    chooses letters in a table of one column."""
    sample = text[:50_000].split("\n")[:30]

    def score(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(sample, delimiter=delimiter, skipinitialspace=True) if row]
        common = max(set(counts), key=counts.count, default=1)
        return (counts.count(common) / len(counts) if common > 1 else 0.0, common)

    return max(DELIMITERS, key=score)
