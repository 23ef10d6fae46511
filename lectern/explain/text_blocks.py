"""The blocks of a document's stored text: headings, paragraphs, items of lists, tables and notes.

Every block is a stretch of the text, so that a citation is marked at exactly its characters. Only what stands
for the layout belongs to no block: marks of lists and headings, and names of columns that rows repeat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise
from typing import Literal, TypeAlias

from ragcore.text.code_fences import mark_fenced
from ragcore.text.quotable_units import MAX_ROW_CHARS, is_row

Kind: TypeAlias = Literal["heading", "paragraph", "item", "table", "code", "note", "line"]
Layout: TypeAlias = Literal["article", "markdown", "mail", "slide", "sheet"]
Span: TypeAlias = tuple[int, int]  # (start, end) in the text
_Key: TypeAlias = tuple[str, int]  # the name of a column, and the number of columns with this name before it

MAX_HEADING_CHARS = 100
MAX_HEADING_LEVEL = 4
MAX_HEADINGS_IN_A_ROW = (
    4  # such as a title, its author, a date and a heading; more short lines are an address or a menu
)
MAX_LEVEL = 8  # of a list
INDENT = 2  # spaces of a level
SAME_NAME_CHARS = 50  # Rows have shorter names than the line above them, see ragcore.readers.table_rows.

_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*•–◦▪]|(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.)])[ \t]+(?=\S)")
_MARKED_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?=\S)")
_NOTE = re.compile(r"(?P<mark>Notes|Comment): ")  # as ragcore.readers.office.pptx writes them
_RULE = re.compile(r"[ \t]*(?:-{3,}|_{3,}|\*{3,})[ \t]*")
_CELL_END = re.compile(r"; | \| ")
_NO_HEADING_END = re.compile(r"[.,;:!…。，；：！]$")
_HEADING_TAG = re.compile(r"<(?P<end>/?)h(?P<level>[1-6])\b[^<>]{0,300}>", re.I)
_TAG = re.compile(r"<[^<>]{0,1000}>")


@dataclass(frozen=True, slots=True)
class Block:
    """`text[start:end]`, without its `mark`, such as the number of an item. `level`: of a heading, 1 for the
    highest, or of an item, 0 for the outermost.

    A table has the names of its `columns`, () if they have none, and in each of its `rows` the cells in
    their order, None for an empty one.
    """

    kind: Kind
    start: int
    end: int
    level: int = 0
    mark: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Span | None, ...], ...] = ()


def text_blocks(
    text: str, start: int, end: int, layout: Layout, headings: Mapping[str, int] | None = None
) -> list[Block]:
    """The blocks from `start` to `end`, which are edges of lines. `headings`: the levels of the headings, by
    their text, if they are known; otherwise they are recognised."""
    # A block of code may begin above.
    above = _lines(text, 0, start) if layout == "markdown" else []
    lines = _lines(text, start, end)
    fenced = list(mark_fenced([text[first:last] for first, last in [*above, *lines]]))[len(above) :]
    blocks = [block for block in _group(text, lines, fenced) if text[block.start : block.end].strip()]
    if layout == "slide":
        return _with_notes(text, _with_title(text, blocks))
    if layout in ("mail", "sheet"):
        return blocks
    if headings:
        return [_as_known_heading(text, block, headings) for block in blocks]
    return blocks if layout == "markdown" else _with_headings(text, blocks)


def cells_of_line(text: str, start: int, end: int) -> list[tuple[str, Span]]:
    """The name and the place of each cell of a line. A cell without a name belongs to the one before, except
    the first, whose name is ""."""
    edges = [start, *(edge for cut in _CELL_END.finditer(text, start, end) for edge in cut.span()), end]
    is_named = is_row(text[start:end])
    cells: list[tuple[str, Span]] = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        name, colon, _value = text[first:last].partition(": ")
        if is_named and colon:
            cells.append((name, (first + len(name) + len(colon), last)))
        elif is_named and cells:
            name, (value_start, _) = cells[-1]
            cells[-1] = (name, (value_start, last))
        else:
            cells.append(("", (first, last)))
    return cells


def heading_levels(html: str) -> dict[str, int]:
    """The headings of a web page with their levels, 1 for the highest that it has.

    >>> heading_levels("<h2>Open <b>daily</b></h2><p>From 9.</p><h3>Dogs</h3>")
    {'open daily': 1, 'dogs': 2}
    """
    found: dict[str, int] = {}
    for tag, following in pairwise(_HEADING_TAG.finditer(html)):
        if not tag["end"] and following["end"]:
            found.setdefault(
                _key(unescape(_TAG.sub("", html[tag.end() : following.start()]))), int(tag["level"])
            )
    found.pop("", None)
    highest = min(found.values(), default=1)
    return {text: level - highest + 1 for text, level in found.items()}


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _lines(text: str, start: int, end: int) -> list[Span]:
    return [line.span() for line in _LINE.finditer(text, start, end)]


def _group(text: str, lines: Sequence[Span], fenced: Sequence[bool]) -> Iterator[Block]:
    """Blocks without inferred headings. Lines of one block have no empty line between them."""
    at = 0
    while at < len(lines):
        last = _end_of_block(text, lines, fenced, at)
        start, end = lines[at][0], lines[last - 1][1]
        line = text[start : lines[at][1]]
        if fenced[at]:
            yield Block("code", start, end)
        elif last - at > 1 and (table := _table(text, lines[at:last])):
            yield table
        elif mark := _MARKED_HEADING.match(line):
            yield Block("heading", start + mark.end(), end, min(len(mark["marks"]), MAX_HEADING_LEVEL))
        elif mark := _ITEM.match(line):
            level = min(len(mark["indent"].expandtabs(4)) // INDENT, MAX_LEVEL)
            yield Block("item", start + mark.end(), end, level, mark["mark"])
        else:
            yield Block("line" if _RULE.fullmatch(line) else "paragraph", start, end)
        at = last


def _end_of_block(text: str, lines: Sequence[Span], fenced: Sequence[bool], first: int) -> int:
    """The number of the line after the block that begins with line `first`."""

    def kind(at: int) -> str:
        line = text[slice(*lines[at])]
        if fenced[at]:
            return "code"
        if is_row(line) or " | " in line:
            return "table"
        own = _ITEM.match(line) or _MARKED_HEADING.match(line) or _RULE.fullmatch(line)
        return "own" if own else "text"

    first_kind, at = kind(first), first + 1
    is_item = _ITEM.match(text[slice(*lines[first])]) is not None
    while at < len(lines):
        is_apart = text.count("\n", lines[at - 1][1], lines[at][0]) > 1
        if first_kind == "code":
            goes_on = fenced[at]
        elif is_item:
            goes_on = kind(at) == "text" and not is_apart
        else:
            goes_on = kind(at) == first_kind != "own" and not is_apart
        if not goes_on:
            break
        at += 1
    return at


def _table(text: str, lines: Sequence[Span]) -> Block | None:
    """The rows of lines with named cells; or of lines with the same number of cells, without names."""
    start, end = lines[0][0], lines[-1][1]
    cells = [cells_of_line(text, *line) for line in lines]
    named = [is_row(text[slice(*line)]) for line in lines]
    if any(named) and 2 * sum(named) >= len(lines):
        columns, rows = _named_rows(text, lines, cells, named)
        return Block("table", start, end, columns=columns, rows=rows)
    if len({len(row) for row in cells}) == 1 and len(cells[0]) > 1:
        return Block("table", start, end, rows=tuple(tuple(span for _, span in row) for row in cells))
    return None


def _named_rows(
    text: str, lines: Sequence[Span], cells: Sequence[Sequence[tuple[str, Span]]], named: Sequence[bool]
) -> tuple[tuple[str, ...], tuple[tuple[Span | None, ...], ...]]:
    """The names of the columns, and the rows. Lines without names are rows, too, except those that are the
    names of the columns."""
    values = [_by_column(row) for row in cells]
    keys = list(
        dict.fromkeys(key for row, has_names in zip(values, named, strict=True) if has_names for key in row)
    )
    names = {name[:SAME_NAME_CHARS] for name, _number in keys}
    for line, has_names in zip(cells, named, strict=True):
        order = [text[start:end][:SAME_NAME_CHARS] for _name, (start, end) in line]
        if not has_names and len(set(order)) == len(keys) and names.issuperset(order):
            places = {name: place for place, name in enumerate(order)}
            keys.sort(key=lambda key: places[key[0][:SAME_NAME_CHARS]])
            break
    rows: list[dict[_Key, Span]] = []
    first = keys[0][0]
    for number, (row, has_names) in enumerate(zip(values, named, strict=True)):
        spans = list(row.values())
        if not has_names:
            if keys[0][0] == "" and len(spans) == len(keys) and _are_names(text, spans[1:], names):
                first = text[slice(*spans[0])]  # above the names of the rows, such as a unit
            elif not _are_names(text, spans, names):
                last = (spans[-1 - max(0, len(spans) - len(keys))][0], spans[-1][1])
                rows.append(dict(zip(keys, [*spans[: len(keys)][:-1], last], strict=False)))
        elif rows and _continues(text, lines[number - 1], rows[-1], row):
            rows[-1] = row | rows[-1]
        else:
            rows.append(row)
    columns = (first, *(name for name, _number in keys[1:]))
    return columns, tuple(tuple(row.get(key) for key in keys) for row in rows)


def _are_names(text: str, spans: Sequence[Span], names: Collection[str]) -> bool:
    return all(text[start:end][:SAME_NAME_CHARS] in names for start, end in spans)


def _continues(text: str, line_above: Span, above: Mapping[_Key, Span], row: Mapping[_Key, Span]) -> bool:
    """Whether the row above goes on here, because it was too long for its line. Both lines begin with the
    same cell then, as two rows may, too."""
    [first, *further] = row
    if not further or first not in above or above.keys() & set(further):
        return False
    name, _number = further[0]
    start, end = row[further[0]]
    chars = line_above[1] - line_above[0] + len(f"{name}: ") + end - start
    return text[slice(*above[first])] == text[slice(*row[first])] and chars > MAX_ROW_CHARS


def _by_column(row: Sequence[tuple[str, Span]]) -> dict[_Key, Span]:
    """The cells by the names of their columns. The second of two columns with one name has the number 1."""
    cells: dict[_Key, Span] = {}
    numbers = Counter[str]()
    for name, span in row:
        cells[name, numbers[name]] = span
        numbers[name] += 1
    return cells


def _with_title(text: str, blocks: list[Block]) -> list[Block]:
    """The first line of a slide is its title, if it looks like one."""
    if not blocks or blocks[0].kind != "paragraph" or _NOTE.match(text, blocks[0].start):
        return blocks
    first = blocks[0]
    if len(text[first.start : first.end]) > MAX_HEADING_CHARS:
        return blocks
    return [replace(first, kind="heading", level=1), *blocks[1:]]


def _with_notes(text: str, blocks: Sequence[Block]) -> list[Block]:
    """The notes and comments of a slide, with all that follows them."""
    out: list[Block] = []
    mark = ""
    for block in blocks:
        note = _NOTE.match(text, block.start)
        if note:
            mark = note["mark"]
            out.append(Block("note", note.end(), block.end, mark=mark))
        elif mark and block.kind == "paragraph":
            out.append(replace(block, kind="note"))
        else:
            out.append(block)
    return out


def _as_known_heading(text: str, block: Block, headings: Mapping[str, int]) -> Block:
    level = headings.get(_key(text[block.start : block.end])) if block.kind in ("paragraph", "item") else None
    return replace(block, kind="heading", level=min(level, MAX_HEADING_LEVEL)) if level else block


def _with_headings(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Short lines that stand alone above other text become headings."""
    out = list(blocks)
    in_a_row = 0
    for at in range(len(blocks) - 2, -1, -1):
        below = out[at + 1]
        may_follow = below.kind in ("paragraph", "table", "heading", "code") or blocks[at].kind == "paragraph"
        if may_follow and _looks_like_heading(text, blocks[at], below):
            in_a_row = in_a_row + 1 if below.kind == "heading" else 1
            if in_a_row <= MAX_HEADINGS_IN_A_ROW:
                out[at] = replace(blocks[at], kind="heading", level=2)
        else:
            in_a_row = 0
    return out


def _looks_like_heading(text: str, block: Block, below: Block) -> bool:
    if block.kind == "item" and not block.mark[0].isalnum():
        return False  # a bullet
    if block.kind not in ("paragraph", "item") or not _is_bare(text[block.start : block.end]):
        return False
    return below.kind != "paragraph" or not _is_bare(text[below.start : below.end])


def _is_bare(text: str) -> bool:
    """Whether it is one short line with words, which does not end as a sentence does."""
    is_short = "\n" not in text and len(text) <= MAX_HEADING_CHARS
    return is_short and any(map(str.isalpha, text)) and not _NO_HEADING_END.search(text)
