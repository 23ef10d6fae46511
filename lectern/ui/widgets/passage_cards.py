"""The cards of a passage as data for passage.js: every text in pieces, each with how it is marked."""

from __future__ import annotations

from itertools import pairwise

from lectern.explain.laid_out_text import choose_columns, columns_of
from lectern.explain.source_view import SourceView
from lectern.explain.text_blocks import Block, Span

PLAIN, PASSAGE, QUOTED = 0, 1, 2


def cards_data(view: SourceView, question: str | None) -> list[dict[str, object]]:
    """`question`: as for `passage`."""
    return [
        {"label": card.label, "blocks": [_block_data(view, block, question) for block in card.blocks]}
        for card in view.cards
    ]


def _block_data(view: SourceView, block: Block, question: str | None) -> dict[str, object]:
    data: dict[str, object] = {"kind": block.kind, "level": block.level, "mark": block.mark}
    if block.kind != "table":
        return data | {"pieces": _pieces(view, (block.start, block.end))}
    columns = tuple(range(max(map(len, block.rows), default=0)))
    shown = columns
    if question is not None and view.layout == "sheet":
        end = view.start + len(view.marked)
        shown = choose_columns(columns_of(view.text, block, view.start, end), question)
    return data | {
        "columns": [block.columns[number] for number in shown] if block.columns else [],
        "all": len(columns),
        "rows": [
            [_pieces(view, cell) if (cell := row[number]) else [] for number in shown] for row in block.rows
        ],
    }


def _pieces(view: SourceView, span: Span) -> list[tuple[str, int]]:
    """The text of a span, cut where marks begin and end."""
    passage = (view.start, view.start + len(view.marked))
    quotes = [(view.start + start, view.start + end) for start, end in view.quoted]
    edges = {*span, *(edge for mark in (passage, *quotes) for edge in mark if span[0] < edge < span[1])}

    def shade(position: int) -> int:
        if any(start <= position < end for start, end in quotes):
            return QUOTED
        return PASSAGE if passage[0] <= position < passage[1] else PLAIN

    return [(view.text[start:end], shade(start)) for start, end in pairwise(sorted(edges))]
