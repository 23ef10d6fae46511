"""Reads which rows a question is about, from its symbols in one of the forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import cast

from ragcore.structure.column_names import DAY, DESCRIBING, GROUP, LOCATION, ORIGIN, YEAR
from ragcore.structure.forms import CONDITION
from ragcore.structure.query import Condition, Relation, Unclear
from ragcore.structure.symbols import Symbol
from ragcore.structure.tables import Column, Table
from ragcore.text.dates import WEEKDAY_NAMES

_CONDITION = re.compile(CONDITION)
_RELATIONS: dict[str, Relation] = {"<": "<", ">": ">", "l": "<=", "g": ">="}
_WEEKDAYS = frozenset(name for names in WEEKDAY_NAMES.values() for name in names)
_DENIALS = ("no_flag", "unequal", "not_value")
_IN = Symbol("p", "", meant="in")


def read_conditions(table: Table, symbols: Sequence[Symbol]) -> list[Condition]:
    """The conditions that the symbols are, one after the other. Raises Unclear if one does not hold together,
    such as kilograms of a price."""
    signs = "".join(symbol.sign for symbol in symbols)
    found: list[Condition] = []
    end = 0
    is_denied = False
    while end < len(signs):
        end += signs[end] == "&"
        match = _CONDITION.match(signs, end)
        # "No sauna and bar" may be no bar.
        if match is None or match.end() == end or (is_denied and signs[end] not in "rwbdp!vs"):
            raise Unclear
        found.append(_condition(table, str(match.lastgroup), symbols[end : match.end()]))
        end = match.end()
        is_denied = match.lastgroup in _DENIALS
    return found


def read_adjectives(table: Table, symbols: Sequence[Symbol]) -> list[Condition]:
    """The values at the name of the rows, such as those of "red or black" tools."""
    values = [symbol for symbol in symbols if symbol.sign == "V"]
    if not all(_describes(table, symbol) for symbol in values):
        raise Unclear
    if any(symbol.sign == "|" for symbol in symbols):
        return [one_of(values)]
    return [one_of([symbol]) for symbol in values]


def read_payments(table: Table, symbols: Sequence[Symbol]) -> list[Condition]:
    """What was spent "on food", "at the baker's", "in May": a preposition may go with each column."""
    found: list[Condition] = []
    preposition = None
    for symbol in symbols:
        if preposition is not None and preposition.meant == "from":
            raise Unclear
        if symbol.sign == "V":
            # "How much did Acme pay?" is not about what was paid to Acme.
            if preposition is None and not DESCRIBING.fullmatch(symbol.columns[0].head):
                raise Unclear
            found.append(one_of([symbol]))
        elif symbol.sign == "P":
            found.append(_dated(table, [preposition or _IN, symbol]))
        preposition = symbol if symbol.sign == "p" else None
    return found


def one_of(symbols: Sequence[Symbol]) -> Condition:
    """The condition that a value is one of these, which are of one column."""
    column = _column_of(symbols)
    return Condition(column, "is", _values_of(symbols))


def column_of_days(table: Table) -> Column:
    """The only column of dates, if they are those of the rows themselves, as of payments."""
    dates = [column for column in table.columns.values() if column.kind == "date"]
    if len(dates) != 1 or not DAY.fullmatch(dates[0].head):
        raise Unclear
    return dates[0]


def column_of_time(table: Table) -> Column:
    """The only column of dates, if they are the days or the years of the rows."""
    years = [
        column for column in table.columns.values() if column.kind == "date" and YEAR.fullmatch(column.head)
    ]
    dates = [column for column in table.columns.values() if column.kind == "date"]
    return years[0] if len(dates) == len(years) == 1 else column_of_days(table)


def _condition(table: Table, kind: str, symbols: Sequence[Symbol]) -> Condition:
    if kind == "dated":
        return _dated(table, symbols)
    if kind == "contains":
        return _contains(table, symbols)
    column = _column_of(symbols)
    numbers = tuple(symbol.meant for symbol in symbols if symbol.sign == "K")
    if not all(column.has_unit(symbol.text) for symbol in symbols if symbol.sign in "um"):
        raise Unclear
    match kind:
        case "flag" | "no_flag":
            return Condition(column, "is", (kind == "flag",))
        case "equal":
            return Condition(column, "is", numbers)
        case "unequal":
            return Condition(column, "is not", numbers)
        case "compared":
            return Condition(column, _relation_of(symbols), numbers)
        case "between":
            return Condition(column, "between", numbers)
    if not _is_named(table, symbols):
        raise Unclear
    return Condition(column, "is" if kind == "values" else "is not", _values_of(symbols))


def _relation_of(symbols: Sequence[Symbol]) -> Relation:
    """That of "less than", or of "cheaper than"."""
    for symbol in symbols:
        if symbol.sign in "ES":
            return ">" if symbol.meant == "most" else "<"
        if symbol.sign in _RELATIONS:
            return _RELATIONS[symbol.sign]
    raise Unclear


def _contains(table: Table, symbols: Sequence[Symbol]) -> Condition:
    """Of the first column, unless another is named."""
    columns = [column for symbol in symbols for column in symbol.columns]
    column = columns[0] if columns else table.columns[table.names[0]]
    if column.kind != "text":
        raise Unclear
    return Condition(column, "contains", tuple(symbol.meant for symbol in symbols if symbol.sign == "q"))


def _dated(table: Table, symbols: Sequence[Symbol]) -> Condition:
    columns = [column for symbol in symbols for column in symbol.columns]
    column = columns[0] if columns else column_of_time(table)
    (period,) = [symbol.meant for symbol in symbols if symbol.sign == "P"]
    first, last = cast("tuple[object, object]", period)
    how = [_IN, *(symbol for symbol in symbols if symbol.sign in "peyzj")][-1]
    match how.sign:
        case "p" if how.meant == "in":
            return Condition(column, "between", (first, last))
        case "e":
            return Condition(column, "<", (first,))
        case "z":
            return Condition(column, ">=", (first,))
        case "y":
            return Condition(column, ">", (last,))
        case "j" if how.text.lower() == "nach":
            return Condition(column, ">", (last,))
    raise Unclear  # "due by May" and "hired from 2015" may be more than those of May


def _is_named(table: Table, symbols: Sequence[Symbol]) -> bool:
    """Whether the words before a value say of which column it is: its name, or a preposition of places in
    front of one, which is in the table as in the question."""
    values = [symbol for symbol in symbols if symbol.sign == "V"]
    column = values[0].columns[0]
    names_day = any(str(value).casefold() in _WEEKDAYS for value in _values_of(values))
    if names_day and not _is_of_weekdays(column):
        return False  # "daily" is on Friday, too
    if any(symbol.sign == "x" for symbol in symbols):
        return True
    prepositions = [symbol.meant for symbol in symbols if symbol.sign == "p"]
    if not prepositions:
        is_except = symbols[0].sign == "!" and column.name == table.names[0]
        return is_except or all(_describes(table, symbol) for symbol in values)
    if prepositions[-1] == "from":
        return ORIGIN.fullmatch(column.head) is not None
    if prepositions[-1] != "in":
        return False
    if _is_of_weekdays(column):
        return True
    if LOCATION.fullmatch(column.head):
        return True
    # "In service" is not in the department Service.
    names = _values_of(values)
    is_written_so = all(symbol.text in names and symbol.text != symbol.text.lower() for symbol in values)
    return is_written_so and GROUP.fullmatch(column.head) is not None


def _describes(table: Table, symbol: Symbol) -> bool:
    """Whether a value without a word that says its column is an adjective: "red", not "Oslo"."""
    (column,) = symbol.columns
    if DESCRIBING.fullmatch(column.head) or _is_of_weekdays(column):
        return True
    names = [other.name for other in table.columns.values() if other.kind == "text"]
    is_only_text = {*names} - {table.names[0]} == {column.name}
    return is_only_text and all(str(value).islower() for value in _values_of([symbol]))


def _is_of_weekdays(column: Column) -> bool:
    """Whether each value is the name of one day, and none is "Mon-Fri" or "daily"."""
    return column.kind == "text" and all(
        str(value).casefold() in _WEEKDAYS for value in column.values.values()
    )


def _column_of(symbols: Sequence[Symbol]) -> Column:
    columns = {column.name: column for symbol in symbols for column in symbol.columns}
    if len(columns) != 1:
        raise Unclear
    return next(iter(columns.values()))


def _values_of(symbols: Sequence[Symbol]) -> tuple[object, ...]:
    found: list[object] = []
    for symbol in symbols:
        if symbol.sign == "V":
            found += cast(Iterable[object], symbol.meant)
    return tuple(found)
