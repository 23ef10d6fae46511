"""Understands a question over the rows of a table: which rows it asks for, and what is computed of them.

The words of the question become symbols, which must have one of a few forms as a whole. A question with any
other word, or with a word that may be two things, is not understood and is left to those who read passages: a
wrong number is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from ragcore.structure.column_names import (
    ACCOUNT,
    DAY,
    MEASURE,
    MONEY,
    NEVER_ADDED,
    ORDERED_BY_TIME,
    QUANTITY,
    RANKED,
    RUNNING,
    SIZED,
    SPENT,
    YEAR,
)
from ragcore.structure.conditions import (
    column_of_days,
    column_of_time,
    one_of,
    read_adjectives,
    read_conditions,
    read_payments,
)
from ragcore.structure.forms import FORMS
from ragcore.structure.query import Condition, Flow, Operation, Query, Relation, Unclear
from ragcore.structure.symbols import Symbol, Symbols
from ragcore.structure.tables import Column, Table
from ragcore.structure.words.languages import vocabulary_of
from ragcore.structure.words.vocabulary import Vocabulary

_OF_ROWS = ("value", "difference")  # operations on single rows, which are named


def understand(question: str, table: Table, names: Sequence[str] = ()) -> Query | None:
    """The query that the question asks of this table, or None. `names` are further names of its rows, such as
    that of its document. The question is in one of the languages of `words`.

    >>> from ragcore.structure.tables import tables_of
    >>> rooms = "Room | Seats\\nRoom: Aspen; Seats: 12\\nRoom: Birch; Seats: 8\\nRoom: Cedar; Seats: 30"
    >>> query = understand("Which room has the most seats?", tables_of(rooms)[0])
    >>> query.operation, query.column.name
    ('most', 'Seats')
    """
    if table.is_part:
        return None
    vocabulary = vocabulary_of(question, " ".join(table.names))
    for reading in _readings(table):
        query = _understand(question, reading, names, vocabulary)
        if query is not None:
            return query
    return None


def _readings(table: Table) -> Iterator[Table]:
    """If the first column is one of times, each column of text may name the rows: "Which country ..." """
    readings = (table, *table.other_readings)
    yield from readings
    if DAY.fullmatch(table.names[0]) or YEAR.fullmatch(table.names[0]):
        for reading in readings:
            for column in reading.columns.values():
                if column.kind == "text":
                    yield reading.named_by(column.name)


def _understand(question: str, table: Table, names: Sequence[str], vocabulary: Vocabulary) -> Query | None:
    try:
        symbols = Symbols(question, table, names, vocabulary).read()
        signs = "".join(symbol.sign for symbol in symbols)
        if re.match("p[WH]", signs):  # "In which rooms are there ..."
            symbols, signs = symbols[1:], signs[1:]
        for operation, form in FORMS:
            if match := form.fullmatch(signs):
                return _Reading(table, symbols, match, vocabulary).query(operation)
    except Unclear:
        return None
    return None


class _Reading:
    """The symbols of a question in one of the forms."""

    def __init__(
        self, table: Table, symbols: Sequence[Symbol], match: re.Match[str], vocabulary: Vocabulary
    ) -> None:
        self._table = table
        self._symbols = symbols
        self._match = match
        self._vocabulary = vocabulary
        self._how = next(iter(self._symbols_of("how")), None)
        self._target = next(iter(self._symbols_of("target")), self._how)
        self._payments = next((symbol for symbol in symbols if symbol.sign in "GO"), None)

    def query(self, operation: Operation) -> Query:
        """Raises Unclear if the parts of the question do not hold together."""
        self._check_measures()
        column = self._column(operation)
        conditions = self._conditions(operation)
        flow = cast(Flow, self._payments.meant) if self._payments is not None else ""
        if self._payments is not None and not flow and not (operation == "list" and _is_of_value(conditions)):
            raise Unclear  # "payments" may be those that were received, too
        group, period = self._group()
        self._check_group(operation, column, group, period)
        if self._how is not None and operation != "sort":
            operation = cast(Operation, self._how.meant)
        self._check_column(operation, column)
        return Query(
            self._table,
            operation,
            column,
            tuple(conditions),
            flow,
            group,
            period,
            self._limit(),
            self._direction(),
            any(symbol.sign == "R" for symbol in self._symbols),
            self._vocabulary.language,
        )

    def _symbols_of(self, name: str) -> Sequence[Symbol]:
        if self._match.re.groupindex.get(name) is None or self._match.group(name) is None:
            return ()
        return self._symbols[slice(*self._match.span(name))]

    def _check_measures(self) -> None:
        """Numbers of several currencies or units are not compared."""
        columns = [column for column in self._table.columns.values() if MEASURE.fullmatch(column.name)]
        has_number = any(column.kind == "number" for symbol in self._symbols for column in symbol.columns)
        if has_number and any(len({*column.values.values()}) > 1 for column in columns):
            raise Unclear

    def _column(self, operation: Operation) -> Column | None:
        """The column that is computed."""
        if operation in ("count", "list"):
            return None
        if self._how is not None and self._how.sign == "Z" and self._payments is not None:
            return column_of_days(self._table)
        columns = self._target.columns if self._target is not None else ()
        if operation == "balance" and not columns:
            columns = tuple(filter(_is_running, self._table.columns.values()))
        if len(columns) != 1:
            raise Unclear
        is_size = self._how is not None and self._how.text.lower() in self._vocabulary.sized.split(", ")
        if is_size and not SIZED.fullmatch(columns[0].head):
            raise Unclear  # the largest rooms are not the most
        return columns[0]

    def _conditions(self, operation: Operation) -> list[Condition]:
        """Not two about one column."""
        if operation == "balance":
            return [self._up_to_day()]
        if operation in _OF_ROWS:
            return [self._named_rows()]
        if self._payments is not None:
            found = read_payments(self._table, [*self._symbols_of("before"), *self._symbols_of("conditions")])
            found += self._of_flow(operation, found)
        else:
            found = read_adjectives(
                self._table, [*self._symbols_of("adjectives"), *self._symbols_of("behind")]
            )
            found += read_conditions(self._table, self._symbols_of("before"))
            found += read_conditions(self._table, self._symbols_of("conditions"))
        names = [condition.column.name for condition in found]
        if len(set(names)) < len(names):
            raise Unclear  # "red tools that are black"
        return found

    def _of_flow(self, operation: Operation, conditions: Sequence[Condition]) -> list[Condition]:
        """What was spent of an amount that is spent or received, by its sign. Nothing is computed so of the
        rows of a value, which may have been paid back in part."""
        if self._payments is None or not self._payments.meant:
            return []
        if operation != "list" and _is_of_value(conditions):
            return []
        (amount,) = self._payments.columns
        relation: Relation = "<" if self._payments.meant == "spent" else ">"
        return [Condition(amount, relation, (0.0,), is_flow=True)] if len(amount.signs) == 2 else []

    def _named_rows(self) -> Condition:
        """The rows whose first cells are named."""
        condition = one_of([*self._symbols_of("first"), *self._symbols_of("second")])
        if condition.column.name != self._table.names[0]:
            raise Unclear
        return condition

    def _up_to_day(self) -> Condition:
        """The days up to the one that is asked for, if the rows go on as far."""
        (day,) = self._symbols_of("day")
        days = column_of_days(self._table)
        first, last = cast("tuple[tuple[int, ...], tuple[int, ...]]", day.meant)
        is_end = any(symbol.sign == "a" for symbol in self._symbols)
        latest = cast("tuple[int, ...]", max(days.values.values()))  # type: ignore[type-var]
        if is_end == (first == last) or latest < first:
            raise Unclear
        return Condition(days, "<=", (last,))

    def _group(self) -> tuple[Column | None, str]:
        """The column, and the period if it is one of dates. "A month" behind a number is a unit."""
        for at, symbol in enumerate(self._symbols):
            if symbol.sign == "m" and self._symbols[at - 1].sign not in "Ku":
                find = column_of_time if symbol.meant == "year" else column_of_days
                return find(self._table), str(symbol.meant)
            if symbol.sign == "j" and "how" not in self._match.re.groupindex:
                columns = self._symbols[at + 1].columns
                is_year = bool(columns) and columns[0].kind == "date" and YEAR.fullmatch(columns[0].head)
                return (columns[0], "year" if is_year else "") if columns else (None, "")
        return None, ""

    def _check_group(
        self, operation: Operation, column: Column | None, group: Column | None, period: str
    ) -> None:
        if group is None:
            return
        is_of_groups = NEVER_ADDED.fullmatch(group.name) or RANKED.fullmatch(group.name)
        if group is column or (group.kind == "date" and not period):
            raise Unclear
        if group.kind == "number" and not is_of_groups:
            raise Unclear  # "the price per seat" is a share
        if period and operation == "average" and column is not None and self._may_add(column):
            raise Unclear  # it may be the average of the sums of each month

    def _limit(self) -> int:
        (limit,) = self._symbols_of("limit") or (Symbol("K", "", meant=0.0),)
        number = cast(float, limit.meant)
        if not number.is_integer():
            raise Unclear
        return int(number)

    def _direction(self) -> str:
        """Of a sort by its order, and of a difference by "more" or "cheaper"."""
        if self._how is not None:
            return str(self._how.meant)
        comparing = [symbol for symbol in self._symbols if symbol.sign in "ESY>"]
        return str(comparing[0].meant or "most") if comparing else ""

    def _check_column(self, operation: Operation, column: Column | None) -> None:
        """Not ranks, of which the highest is the lowest, sums of prices of pieces, of what is counted again
        each month, or of balances."""
        if column is None or operation in _OF_ROWS:
            return
        if operation == "balance":
            is_wrong = not _is_running(column) or any(map(ACCOUNT.fullmatch, self._table.names))
        elif operation in ("sum", "average"):
            is_wrong = _is_running(column) or RANKED.fullmatch(column.name) is not None
        else:
            is_wrong = RANKED.fullmatch(column.name) is not None
        if is_wrong or (operation == "sum" and not self._may_add(column)):
            raise Unclear

    def _may_add(self, column: Column) -> bool:
        others = [name for name in self._table.names if name != column.name]
        has_pieces = any(map(QUANTITY.fullmatch, others)) and not QUANTITY.fullmatch(column.name)
        if column.unit == "%" or NEVER_ADDED.fullmatch(column.name) or has_pieces:
            return False
        if MONEY.fullmatch(column.head):
            return SPENT.fullmatch(column.head) is not None
        return not ORDERED_BY_TIME.fullmatch(self._table.names[0]) and not self._is_of_moments()

    def _is_of_moments(self) -> bool:
        """Whether the rows say the same of one thing at several times: the population of a city by year."""
        times = [name for name in self._table.names[1:] if ORDERED_BY_TIME.fullmatch(name)]
        has_numbers = any(self._table.columns[name].kind in ("number", "date") for name in times)
        return has_numbers and len({*self._table.columns[self._table.names[0]].values.values()}) < len(
            self._table.rows
        )


def _is_running(column: Column) -> bool:
    """Whether the numbers go on from row to row, as the balance of an account does."""
    return column.kind == "number" and RUNNING.fullmatch(column.head) is not None


def _is_of_value(conditions: Sequence[Condition]) -> bool:
    return any(condition.column.kind == "text" for condition in conditions)
