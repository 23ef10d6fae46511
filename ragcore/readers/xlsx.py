"""Excel: each sheet's rows, every value beside the name of its column; formulas as the values they last had."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragcore.errors import NoTextError, TooLargeError
from ragcore.readers import tables
from ragcore.readers.base import ReadOptions
from ragcore.readers.decode import clean
from ragcore.readers.opc import Package, package
from ragcore.readers.parts import joined
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
MAX_COLUMNS = 2_000  # a sheet whose formats reach to its last column is cut to these


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
            for line in tables.lines(_rows(sheet, options)):
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


def _rows(sheet: Any, options: ReadOptions) -> Iterator[list[str]]:
    for number, row in enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS)):
        if number % PROGRESS_ROWS == PROGRESS_ROWS - 1:
            options.progress(number, 0)
        if any(value is not None for value in row):
            yield [_shown(value) for value in row]


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


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, ".12g") if abs(value) < 1e15 else str(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "minutes")
    return str(value)
