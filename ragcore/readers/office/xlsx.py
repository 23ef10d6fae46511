"""Excel: each sheet's rows, every value beside the name of its column; formulas as the values they last had."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ragcore.errors import NoTextError, TooLargeError
from ragcore.readers import table_rows
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.office.cell_format import shown
from ragcore.readers.office.package import Package, package
from ragcore.readers.page_spans import joined
from ragcore.schema import Document

SUFFIXES = (".xlsx", ".xlsm", ".xltx")

# "Strict Open XML" names the same things by other addresses, which openpyxl does not know (ISO/IEC 29500-1, annex A).
_STRICT = (
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
)

PROGRESS_ROWS = 2_000
MAX_MERGED = 200_000  # rows of merged cells; what is beyond is read as it stands
LONGEST_MERGE = 100  # bytes that say which cells are one
MAX_COLUMNS = 2_000  # a sheet whose formats reach to its last column is cut to these

_MERGE = re.compile(rb'mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')


class Merge(NamedTuple):
    """Cells that are one, from and to, counted from 1."""

    left: int
    top: int
    right: int
    bottom: int


def read(path: Path, options: ReadOptions) -> Document:
    import openpyxl

    with package(path, options.name) as parts:  # its sizes are checked before the parser unpacks it
        content = _transitional(parts) if _is_strict(parts) else path.read_bytes()
    pages = []
    length = 0
    with io.BytesIO(content) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about drawings and formats that have no text
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what a file says about its size is often wrong
            lines = []
            with sheet._get_source() as part:  # the only way to a sheet's own XML
                merged = _merged(part)
            for line in table_rows.lines(_rows(sheet, merged, options), names_first=True):
                lines.append(line)
                length += len(line) + 1
                if length > options.max_text_chars:
                    raise TooLargeError(
                        f"{options.name} has more than {options.max_text_chars:,} characters of text.",
                        hint="Split it into several files.",
                    )
            pages.append((sheet.title, clean("\n".join([sheet.title, *lines])) if lines else ""))
        metadata = {"file_name": options.name}
        for key, value in (("title", book.properties.title), ("author", book.properties.creator)):
            if value and value != "openpyxl":
                metadata[key] = clean(str(value))
        book.close()
    text, stretches = joined(pages)
    if not text:
        raise NoTextError(
            f"{options.name} is a workbook with nothing in its cells.", hint="Fill in its cells and save it again."
        )
    return Document(text, metadata=metadata, pages=stretches, page_word="sheet")


def _rows(sheet: Any, merged: Mapping[int, Sequence[Merge]], options: ReadOptions) -> Iterator[list[str]]:
    """Every row, an empty one as []. What cells merged downwards hold is said in each of their rows."""
    tops: dict[Merge, str] = {}
    for number, row in enumerate(sheet.iter_rows(), 1):
        if number % PROGRESS_ROWS == 0:
            options.progress(number, 0)
        cells = [shown(cell.value, cell.number_format) if cell.value is not None else "" for cell in row[:MAX_COLUMNS]]
        for merge in merged.get(number, ()):
            cells += [""] * (merge.right - len(cells))
            tops.setdefault(merge, cells[merge.left - 1])
            cells[merge.left - 1 : merge.right] = [tops[merge], *[table_rows.LEFT] * (merge.right - merge.left)]
        yield cells if any(cells) else []


def _merged(part: IO[bytes]) -> Mapping[int, Sequence[Merge]]:
    """The merged cells of a sheet by the rows they are in. They stand after the rows, which are read past."""
    found: dict[int, list[Merge]] = {}
    rest, count = b"", 0
    while piece := part.read(1 << 20):
        piece, end = rest + piece, 0
        for match in _MERGE.finditer(piece):
            end = match.end()
            left, top, right, bottom = match.groups()
            merge = Merge(_column(left), int(top), min(_column(right), MAX_COLUMNS), int(bottom))
            count += merge.bottom - merge.top + 1
            if merge.left <= merge.right and count <= MAX_MERGED:
                for row in range(merge.top, merge.bottom + 1):
                    found.setdefault(row, []).append(merge)
        rest = piece[max(end, len(piece) - LONGEST_MERGE) :]  # one may go on in the next piece
    return found


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _is_strict(parts: Package) -> bool:
    return "xl/workbook.xml" in parts and _STRICT[0][0] in parts.bytes("xl/workbook.xml")


def _transitional(parts: Package) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts.parts:
            if part.endswith((".xml", ".rels")):
                data = parts.bytes(part)
                for strict, usual in _STRICT:
                    data = data.replace(strict, usual)
                archive.writestr(part, data)
    return made.getvalue()
