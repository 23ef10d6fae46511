"""What a reader finds in a document: paragraphs, items of lists and tables, before they are text.

A reader knows its format and gives blocks; `ragcore.readers.render` knows how they look as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ragcore.readers.typography import Effects

NO_EFFECTS = Effects()


class Run(NamedTuple):  # creating a dataclass would take three times as long
    """A piece of text with the same effects. `reading` stands above it, as in Japanese; "" for none."""

    text: str
    effects: Effects = NO_EFFECTS
    reading: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`number` is that of a list or heading, such as "2.1" or "-"; "" for none. `boxes` are anchored to the
    paragraph, such as text boxes and charts."""

    runs: Sequence[Run]
    number: str = ""
    boxes: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Item(Paragraph):
    """An item of a list at a `level`, from 0."""

    level: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """The rows of a table, with MERGED as in `table_rows.lines`. The first `name_rows` name the columns; they
    are guessed if it is None."""

    rows: Sequence[Sequence[str]]
    name_rows: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A whole list, or a cell of a table that is only a layout of the page: items around it belong to other
    lists."""

    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote or a comment. `label` is the word before it; "" for none."""

    blocks: Sequence[Block]
    label: str = ""


Block: TypeAlias = Paragraph | Grid | Group | Note
