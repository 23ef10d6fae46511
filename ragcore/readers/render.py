"""Turns the blocks of a document into its text.

>>> from ragcore.readers.blocks import Grid, Item, Paragraph, Run
>>> from ragcore.readers.typography import RAISED, Effects
>>> paragraph = Paragraph([Run("It weighs 10"), Run("6", Effects(RAISED)), Run(" kg:")])
>>> "\\n\\n".join(texts([paragraph, Item([Run("a lamp")], "1."), Item([Run("a rope")], "2.")]))
'It weighs 10^6 kg:\\n\\n1. a lamp\\n2. a rope'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from ragcore.readers import table_rows, typography
from ragcore.readers.blocks import Block, Grid, Group, Item, Note, Run


def texts(blocks: Iterable[Block]) -> Iterator[str]:
    """The text of each block that has one. Items of a list are one text."""
    for is_item, group in groupby(_texts(blocks), key=itemgetter(0)):
        if is_item:
            yield "\n".join(text for _, text in group)
        else:
            yield from (text for _, text in group)


def _texts(blocks: Iterable[Block]) -> Iterator[tuple[bool, str]]:
    """The text of each block that has one, and whether it is an item."""
    for block in blocks:
        if isinstance(block, Group):
            yield from ((False, text) for text in texts(block.blocks))
            continue
        text = block_text(block)
        if text.strip() and isinstance(block, Item):
            yield True, "  " * block.level + text.strip()
        elif text.strip():
            yield False, text


def block_text(block: Block) -> str:
    """The text of a block, "" for none, with its boxes below it."""
    match block:
        case Grid():
            return "\n".join(table_rows.lines(block.rows, name_rows=block.name_rows))
        case Group():
            return "\n".join(texts(block.blocks))
        case Note():
            text = "\n".join(texts(block.blocks)).strip()
            return f"{block.label}: {text}" if block.label and text else text
    parts = [inline(block.runs), *map(block_text, block.boxes)]
    text = "\n".join(filter(str.strip, parts)).strip("\n")
    return f"{block.number} {text}" if block.number and text else text


def line(blocks: Iterable[Block]) -> str:
    """The text of blocks in one line, as in a cell of a table."""
    return " ".join(" ".join(map(block_text, blocks)).split())


def inline(runs: Iterable[Run]) -> str:
    """The text of runs with what their effects mean: 10^6, H2O, ~~30~~, 東京(とうきょう)."""
    out = ""
    for is_struck, neighbours in groupby(runs, key=_is_struck):
        text = ""
        for shift, group in groupby(neighbours, key=_shift):
            piece = "".join(map(_with_reading, group))
            text += typography.mark(shift, piece) if shift else piece
        out += typography.mark(typography.STRUCK, text) if is_struck else text
    return typography.plain(out)


def _is_struck(run: Run) -> bool:
    return bool(run.effects.struck)


def _shift(run: Run) -> str:
    return run.effects.shift or ""


def _with_reading(run: Run) -> str:
    return typography.ruby(run.text, run.reading) if run.reading else run.text
