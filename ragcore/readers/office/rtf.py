r"""Rich Text Format (1.9.1).

striprtf ignores formatting, so marks of `typography` are written into the file before it is parsed:
`10{\super 6}`, `{\strike 30}`. Hidden text is removed, and the numbers of lists, which are in separate
groups, become text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError
from ragcore.readers import table_rows, typography
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.losses import Losses
from ragcore.readers.typography import LOWERED, RAISED, STRUCK, Effects
from ragcore.schema import Document

SUFFIXES = (".rtf",)
PARSERS = ("striprtf.striprtf",)

# Noncharacters that replace the marks of a table while it is read. The control words before them end what a
# parser skips.
_CELL, _ROW, _BEGIN = "\ufde0", "\ufde1", "\ufde2"
_MARKS = {
    "cell": f"\\intbl {_CELL}",
    "row": f"\\intbl {_ROW}",
    "trowd": f"\\trowd {_BEGIN}",
    "intbl": f"\\intbl {_BEGIN}",
}
_MARK = re.compile(r"\\\\|\\(cell|row|trowd|intbl)(?![a-z])(?:-?\d+)? ?")
_FONTS = re.compile(r"{[^{}]*\\fonttbl")
_FONT = re.compile(r"\\f(charset)?(\d+)")
_FIELD = re.compile(r"\\[\\{}]|{\\field(?![a-z])", re.I)
_BRACE = re.compile(r"[{}]")
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")

_NEEDED = re.compile(
    r"\\(?:super|sub|strike|striked1|v|up\d+|dn\d+|footnote|annotation|header[lrf]?|footer[lrf]?)(?![a-z])"
)
_LIST_TEXT = re.compile(r"\{\\(?:listtext|pntext)(?![a-z]) ?")
_STARRED = re.compile(r"\{\\\*\s*(?=\\annotation(?![a-z]))")
_NOTES = {"footnote": (" [", "]"), "annotation": (" [Comment: ", "]")}
_MARGINS = frozenset({"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"})
_TOKEN = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-f]{2}|\\.|[{}]|[^\\{}]+", re.I | re.S)
_NOT_TEXT = frozenset(
    {
        "fonttbl",
        "colortbl",
        "stylesheet",
        "info",
        "pict",
        "fldinst",
        "listtable",
        "listoverridetable",
        "themedata",
    }
)
_SHIFTS = {"super": RAISED, "sub": LOWERED, "nosupersub": "", "up": RAISED, "dn": LOWERED}


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(
            f"{options.name} is empty.", hint="Save it again from the program it comes from."
        )
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DamagedFileError(
            f"The content of {options.name} is not rich text.",
            hint="Save it again from the program it comes from.",
        )
    losses = Losses()
    rtf, losses.hidden = _with_marks(_without_binary(data).decode("latin-1"))
    plain = clean(_to_text(_MARK.sub(lambda match: _MARKS.get(match[1], match[0]), rtf))).replace(
        "\x0b", "\n"
    )
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
    lines = _FIELD.sub(
        lambda match: match[0] if match[0].startswith("\\") else f"\n{match[0]}", _shorten_fonts(rtf)
    )
    return str(striprtf.rtf_to_text(lines, errors="replace"))  # type: ignore[no-untyped-call]


def _shorten_fonts(rtf: str) -> str:
    """The font table with only the encoding of each font: the parser's time grows with the square of its
    length."""
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
    """The text with each table as `table_rows` writes it; cell by cell if the table is only a layout of the
    page."""
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
        yield from [
            "",
            *("\n".join(row) for row in rows if is_layout),
            *(() if is_layout else table_rows.lines(rows)),
            "",
        ]


def _without_binary(data: bytes) -> bytes:
    r"""Remove the N bytes after `\binN`, which are not text and may contain braces."""
    out, place = [], 0
    while match := _BINARY.search(data, place):
        out.append(data[place : match.start()])
        place = match.end() + int(match[1])
    return b"".join(out) + data[place:]


def _with_marks(rtf: str) -> tuple[str, int]:
    """The document with marks and without hidden text, and how many pieces of text were hidden."""
    rtf = _STARRED.sub("{", _LIST_TEXT.sub("{", rtf))
    if not _NEEDED.search(rtf):
        return rtf, 0
    hidden: list[str] = []
    return "".join(_pieces(rtf, hidden)), len(hidden)


def _pieces(rtf: str, hidden: list[str]) -> Iterator[str]:
    stack: list[tuple[Effects, bool, str]] = []
    after = ""  # the text that closes the group of a note, a header or a footer
    effects, skipped = Effects(), False
    end = ""  # the marks that close a character that is written as a number, after its replacement
    for match in _TOKEN.finditer(rtf):
        token, word = match[0], (match[1] or "").lower()
        is_text = not word and token[0] not in "{}" and token != "\\*"
        if end:
            if is_text and token[0] != "\\":
                yield token[0]
                token = token[1:]
            yield end
            end = ""
        if token == "{":
            stack.append((effects, skipped, after))
            after = ""
        elif token == "}" and stack:
            yield after
            effects, skipped, after = stack.pop()
        elif not skipped and (word in _NOTES or word in _MARGINS):
            token, after = _NOTES.get(word, ("", "\\par "))
            effects = Effects()
        skipped = skipped or token == "\\*" or word in _NOT_TEXT
        effects = _apply(effects, word, match[2] or "")
        if skipped or not (is_text or word == "u") or not any(effects) or not token.strip():
            yield token
        elif effects.hidden:
            hidden += [token] if any(map(str.isalnum, token)) and not word else []
        else:
            begin, closing = _around(effects)
            yield begin + token
            if word == "u":
                end = closing
            else:
                yield closing


def _apply(effects: Effects, word: str, number: str) -> Effects:
    if word == "plain":
        return Effects()
    if word in _SHIFTS:
        return effects._replace(shift="" if number == "0" else _SHIFTS[word])
    if word in ("strike", "striked"):
        return effects._replace(struck=number != "0")
    return effects._replace(hidden=number != "0") if word == "v" else effects


def _around(effects: Effects) -> tuple[str, str]:
    kinds = [kind for kind in (STRUCK if effects.struck else "", effects.shift) if kind]
    pairs = [typography.around(kind) for kind in kinds]
    begin, end = "".join(first for first, _ in pairs), "".join(last for _, last in reversed(pairs))
    return _escape(begin), _escape(end)


def _escape(marks: str) -> str:
    return "".join(f"\\u{ord(mark) - 0x10000}?" for mark in marks)
