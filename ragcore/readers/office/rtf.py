"""Rich Text Format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.office.rtf_marks import with_marks
from ragcore.schema import Document

SUFFIXES = (".rtf",)
PARSERS = ("striprtf.striprtf",)

# Noncharacters that replace the marks of a table while it is read. The control words before them end what a parser skips.
_CELL, _ROW, _BEGIN = "\ufde0", "\ufde1", "\ufde2"
_MARKS = {"cell": f"\\intbl {_CELL}", "row": f"\\intbl {_ROW}", "trowd": f"\\trowd {_BEGIN}", "intbl": f"\\intbl {_BEGIN}"}
_MARK = re.compile(r"\\\\|\\(cell|row|trowd|intbl)(?![a-z])(?:-?\d+)? ?")
_FONTS = re.compile(r"{[^{}]*\\fonttbl")
_FONT = re.compile(r"\\f(charset)?(\d+)")
_FIELD = re.compile(r"\\[\\{}]|{\\field(?![a-z])", re.I)
_BRACE = re.compile(r"[{}]")
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(f"{options.name} is empty.", hint="Save it again from the program it comes from.")
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DamagedFileError(
            f"The content of {options.name} is not rich text.", hint="Save it again from the program it comes from."
        )
    losses = Losses()
    rtf, losses.hidden = with_marks(_without_binary(data).decode("latin-1"))
    plain = clean(_to_text(_MARK.sub(lambda match: _MARKS.get(match[1], match[0]), rtf))).replace("\x0b", "\n")
    text = typography.plain("\n".join(_with_tables(plain))).strip()
    if not text:
        raise NoTextError(
            f"{options.name} has no text in it.",
            hint="If it holds pictures of text, save it as PDF and have its text recognised (OCR).",
        )
    losses.report(options)
    return Document(re.sub("\n{3,}", "\n\n", text), metadata={"file_name": options.name})


def _to_text(rtf: str) -> str:
    from striprtf import striprtf

    # The parser's time to search the end of a link grows with the cube of the links in a line.
    lines = _FIELD.sub(lambda match: match[0] if match[0].startswith("\\") else f"\n{match[0]}", _shorten_fonts(rtf))
    return str(striprtf.rtf_to_text(lines, errors="replace"))  # type: ignore[no-untyped-call]


def _shorten_fonts(rtf: str) -> str:
    """The font table with only the encoding of each font: the parser's time grows with the square of its length."""
    table = _FONTS.search(rtf)
    if table is None:
        return rtf
    depth, end = 1, len(rtf)
    for brace in _BRACE.finditer(rtf, table.end()):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            end = brace.start()
            break
    fonts, font = [], ""
    for is_charset, number in _FONT.findall(rtf, table.end(), end):
        if not is_charset:
            font = number
        elif font:
            fonts.append(f"{{\\f{font}\\fcharset{number} -;}}\n")
    return rtf[: table.end()] + "".join(fonts) + rtf[end:]


def _with_tables(text: str) -> Iterator[str]:
    """The text with each table as `table_rows` writes it; cell by cell where the table is only a layout of the page."""
    *pieces, rest = text.split(_ROW)
    rows: list[list[str]] = []
    for piece in pieces:
        first, *others = piece.split(_CELL)
        before, begin, inside = first.partition(_BEGIN)
        if not begin:
            before, _, inside = ("", "", first) if rows else first.rpartition("\n")
        if before.strip() or (rows and "\n" in before):
            yield from _table(rows)
            yield before
            rows = []
        *cells, end = (cell.replace(_BEGIN, "") for cell in (inside, *others))
        rows.append([*cells, end] if end.strip() else cells)
    yield from _table(rows)
    yield rest.replace(_BEGIN, "").replace(_CELL, "\n")


def _table(rows: list[list[str]]) -> Iterator[str]:
    if rows:
        is_layout = all(len(row) < 2 for row in rows)
        yield from ["", *("\n".join(row) for row in rows if is_layout), *(() if is_layout else table_rows.lines(rows)), ""]


def _without_binary(data: bytes) -> bytes:
    r"""Without the N bytes after `\binN`, which are not text and may contain braces."""
    out, place = [], 0
    while match := _BINARY.search(data, place):
        out.append(data[place : match.start()])
        place = match.end() + int(match[1])
    return b"".join(out) + data[place:]
