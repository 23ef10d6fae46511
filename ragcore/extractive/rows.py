"""Rows of tables among the quotes: which need all rows of their table, and in which order they are quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.structure.question_words import asks_over_rows, lacks_result, may_ask_over_rows
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import Quote

_BETWEEN_CELLS = re.compile(r"; | \| ")
_SUPERLATIVE = re.compile(r"\b\w{3,}(?:est|ste[nrs]?)\b", re.IGNORECASE)


def needs_computation(question: str, row: int, quotes: Sequence[Quote]) -> bool:
    """Whether the quote is a row of a table, and the question is about all its rows: an extreme that the row
    does not state itself, a condition, or a count or a choice that names no single row. A sentence is no
    answer either where the question asks for a computed number that it does not state."""
    if quotes[row].bullet != "|":
        return lacks_result(question, quotes[row].read_with_lead)
    labels, _ = _words_of_cells(quotes[row].text)
    others = [word for word in question.split() if not labels.intersection(content_words(word))]
    if asks_over_rows(" ".join(others)):
        said = {word.lower() for word in _SUPERLATIVE.findall(question) if asks_over_rows(word)}
        return not said.intersection(quotes[row].text.lower().split())
    return may_ask_over_rows(question) and not _names_row(question, row, quotes)


def alike_rows(quotes: Sequence[Quote]) -> list[Quote]:
    """The rows of several tables, if two of them begin with the same cell, so that only the headings of their
    tables tell them apart."""
    rows = [quote for quote in quotes if quote.bullet == "|"]
    cells = [_BETWEEN_CELLS.split(quote.text, maxsplit=1)[0] for quote in rows]
    tables = {(cell, quote.passage, quote.lead) for cell, quote in zip(cells, rows, strict=True)}
    return rows if len(tables) > len(set(cells)) else []


def order_by_words(question: str, rows: Sequence[int], quotes: Sequence[Quote]) -> list[int]:
    """The rows of tables with most of the question's words first, those of one table together. Of several
    tables, without rows that have only some of these words of another row. Other rows stay in order."""
    if any(quotes[row].bullet != "|" for row in rows):
        return list(rows)
    own = set(content_words(question))
    shared = {row: own & set(content_words(quotes[row].read_with_lead)) for row in rows}
    tables: dict[tuple[int, str], list[int]] = {}
    for row in sorted(rows, key=lambda row: -len(shared[row])):
        tables.setdefault((quotes[row].passage, quotes[row].lead), []).append(row)
    return [
        row
        for table in tables.values()
        for row in table
        if len(tables) == 1 or not any(shared[row] < shared[other] for other in table)
    ]


def _names_row(question: str, row: int, quotes: Sequence[Quote]) -> bool:
    """Whether a word of the question is a value of this row alone, in its table."""
    labels, values = _words_of_cells(quotes[row].text)
    naming = values & set(content_words(question)) - labels
    for other, quote in enumerate(quotes):
        same_table = (quote.passage, quote.lead) == (quotes[row].passage, quotes[row].lead)
        if other != row and quote.bullet == "|" and same_table:
            naming -= _words_of_cells(quote.text)[1]
    return bool(naming)


def _words_of_cells(text: str) -> tuple[set[str], set[str]]:
    """The words of the labels and of the values of a row."""
    labels, values = set[str](), set[str]()
    for cell in _BETWEEN_CELLS.split(text):
        label, colon, value = cell.partition(": ")
        if colon:
            labels.update(content_words(label))
        values.update(content_words(value if colon else label))
    return labels, values
