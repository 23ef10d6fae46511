"""Tables as text: comma, semicolon, tab or bar between the cells."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions, text_in
from ragcore.schema import Document

SUFFIXES = (".csv", ".tsv", ".tab")

DELIMITERS = ",;\t|"
PROGRESS_ROWS = 5_000

_SAID = re.compile(r"sep=(.)(?:\n|\Z)", re.I)


def read(path: Path, options: ReadOptions) -> Document:
    text = text_in(path, options)
    said = _SAID.match(text)  # which is for programs, and no row
    rows = _rows(text[said.end() :], said[1], options) if said else _rows(text, _delimiter(text), options)
    return Document("\n".join(table_rows.lines(rows, names_first=True)), metadata={"file_name": options.name})


def _rows(text: str, delimiter: str, options: ReadOptions) -> Iterator[list[str]]:
    total = text.count("\n") + 1
    previous = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # C long on Windows
    try:
        # strict=False: a stray quote is a character, not the end of reading
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)):
            if number % PROGRESS_ROWS == 0:
                options.progress(number, total)
            yield row
    finally:
        csv.field_size_limit(previous)


def _delimiter(text: str) -> str:
    """The one that cuts the first lines into equally many cells, and most of them. Own, because csv.Sniffer finds
    letters to be delimiters in a table of one column."""
    sample = text[:50_000].split("\n")[:30]

    def score(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        common = max(set(counts), key=counts.count, default=1)
        return (counts.count(common) / len(counts) if common > 1 else 0.0, common)

    return max(DELIMITERS, key=score)
