"""Computes a query over the rows of a table, and says in words what was computed."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ragcore.structure.column_names import MONEY
from ragcore.structure.query import LATEST, Condition, Query, Relation, Unclear
from ragcore.structure.tables import Column, Row
from ragcore.structure.wording import WORDINGS, Wording

SHOWN = 20  # rows below a result
MAX_GROUPS = 40  # in a result
MEAN_DECIMALS = 2  # at most, unless the cells have more
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DIGIT = re.compile(r"\d")
_NAMES_OF_EXTREMES = {"most": "latest", "least": "earliest"}  # of dates


@dataclass(frozen=True, slots=True)
class Computed:
    """`sentence` has the result and what was computed; `rows` are the first SHOWN of `all_rows` that it comes
    from, or that it lists; `more` says how many others there are, "" for none. `groups` are (name, result) of
    each group of a result that is divided. `select` is the query in SQL, if a language model wrote one."""

    sentence: str
    rows: Sequence[Row]
    more: str = ""
    groups: Sequence[tuple[str, str]] = ()
    all_rows: Sequence[Row] = ()
    select: str = ""


def compute(query: Query) -> Computed | None:
    """The result; None if the values cannot be put together: what was spent with what was received, or what
    is not red with what has no colour.

    >>> from ragcore.structure.question import understand
    >>> from ragcore.structure.tables import tables_of
    >>> rooms = "Room | Seats\\nRoom: Aspen; Seats: 12\\nRoom: Birch; Seats: 8\\nRoom: Cedar; Seats: 30"
    >>> compute(understand("Which room has the most seats?", tables_of(rooms)[0])).sentence
    '**30** is the highest Seats, of 3 rows.'
    """
    try:
        return _Computation(query).result()
    except Unclear:
        return None


class _Computation:
    """One query over the rows of its table."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._rows = query.table.rows
        self._wording = WORDINGS[query.language]

    def result(self) -> Computed:
        """Raises Unclear if the values cannot be put together."""
        query = self._query
        conditions = query.conditions
        if not all(self._is_clear(condition) for condition in conditions):
            raise Unclear
        if not self._is_readable():
            raise Unclear
        if query.counts_things and not self._has_each_once():
            raise Unclear
        self._where = _where(conditions, self._wording)
        self._unread = self._unread_cells([condition.column for condition in conditions])
        chosen: Sequence[int] = range(len(self._rows))
        for condition in conditions:
            chosen = _meeting(condition, chosen)
        used = [at for at in chosen if query.column is None or at in query.column.values]
        if not chosen:
            return Computed(self._said("none"), ())
        if not used:
            raise Unclear  # there are such rows, but their cells cannot be read
        is_signed = query.column is not None and len(query.column.signs) == 2
        if query.flow and is_signed and _signs(query.column, used) != {query.flow == "spent"}:
            raise Unclear  # some was paid back
        return self._grouped(used, query.group) if query.group is not None else self._computed(used)

    def _has_each_once(self) -> bool:
        """Whether no row names what another names, at the time that is asked for."""
        rows: Sequence[int] = range(len(self._rows))
        for condition in self._query.conditions:
            if condition.column.kind == "date":
                rows = _meeting(condition, rows)
        names = [self._rows[at].cells.get(self._query.table.names[0]) for at in rows]
        return len(set(names)) == len(names)

    def _is_readable(self) -> bool:
        """Not if a cell says what may change the result, such as "free" beside prices. A sum may leave out
        words, but no "6*"."""
        query = self._query
        if any(condition.column.unread for condition in query.conditions):
            return False
        unread = query.column.unread if query.column is not None else ()
        match query.operation:
            case "value" | "difference":
                return True
            case "sum":
                return not any(map(_DIGIT.search, unread))
        return not unread

    def _computed(self, used: Sequence[int]) -> Computed:
        query = self._query
        match query.operation:
            case "count" | "list":
                return self._shown(self._said(query.operation, result=len(used)), used)
            case "sum" | "average":
                return self._shown(self._said(query.operation, self._total(used), rows=len(used)), used)
            case "sort":
                sentence = self._said(f"sort {query.direction or 'least'}", rows=len(used))
                return self._shown(sentence, self._ordered(used, query.direction == "most"))
            case "value":
                return self._value(used)
            case "difference":
                return self._difference(used)
            case "balance":
                return self._balance(used)
        return self._extreme(used)

    def _extreme(self, used: Sequence[int]) -> Computed:
        """The most that was spent is the lowest of negative numbers. Not the highest of other negative
        numbers, nor of different times of one day."""
        query, column = self._query, self._column
        is_most = query.operation == "most"
        if True in _signs(column, used):
            if not query.flow:
                raise Unclear
            is_most = not is_most
        values = column.values
        ordered = self._ordered(used, is_most)
        wanted = max(query.limit, 1)
        last = values[ordered[min(wanted, len(ordered)) - 1]]
        best = [at for at in ordered if _is_as_good(values[at], last, is_most)]
        cells = {self._rows[at].cells[column.name] for at in best}
        if column.kind == "date" and len(cells) > len({values[at] for at in best}):
            raise Unclear
        wording = "most" if is_most else "least"
        if column.kind == "date":
            wording = _NAMES_OF_EXTREMES[wording]
        if wanted > 1 and len(used) > 1:
            return self._shown(self._said(f"top {wording}", result=len(best), rows=len(used)), best)
        shown = self._rows[best[0]].cells[column.name]
        return self._shown(self._said(wording, result=shown, rows=len(used)), best)

    def _ordered(self, used: Sequence[int], is_descending: bool) -> list[int]:
        values = self._column.values
        return sorted(used, key=lambda at: values[at], reverse=is_descending)  # type: ignore[arg-type, return-value]

    def _value(self, used: Sequence[int]) -> Computed:
        if len(used) != 1:
            raise Unclear
        shown = self._rows[used[0]].cells[self._column.name]
        return self._shown(self._said("value", result=shown), used)

    def _difference(self, used: Sequence[int]) -> Computed:
        """Of two rows, of which each has its name for itself."""
        (condition,) = self._query.conditions
        if len(used) != 2 or len(set(condition.values)) != 2:
            raise Unclear
        column = self._column
        first, second = sorted(used, key=lambda at: condition.values.index(condition.column.values[at]))
        values = [cast(float, column.values[at]) for at in (first, second)]
        is_more = {"most": values[0] > values[1], "least": values[0] < values[1]}
        if min(values) < 0 or not is_more.get(self._query.direction, True):
            raise Unclear
        names = [
            f"{condition.column.values[at]} ({self._rows[at].cells[column.name]})" for at in (first, second)
        ]
        result = self._number(abs(values[0] - values[1]), column.decimals)
        return self._shown(self._said("difference", result=result, first=names[0], second=names[1]), used)

    def _balance(self, used: Sequence[int]) -> Computed:
        """Of the last row, if the rows go on from day to day."""
        (condition,) = self._query.conditions
        days = [condition.column.values.get(at) for at in range(len(self._rows))]
        if None in days:
            raise Unclear
        ordered = sorted(days)  # type: ignore[type-var]
        is_newest_first = days == ordered[::-1]
        if is_newest_first == (days == ordered):
            raise Unclear
        if len(used) < len(_meeting(condition, range(len(self._rows)))):
            raise Unclear
        last = used[0] if is_newest_first else used[-1]
        shown = self._rows[last].cells[self._column.name]
        return self._shown(self._said("balance", result=shown, rows=len(used)), [last])

    def _grouped(self, used: Sequence[int], group: Column) -> Computed:
        """Not if rows have no group, or if there are too many groups for a sentence."""
        query = self._query
        if any(at not in group.values for at in used):
            raise Unclear
        rows: dict[object, list[int]] = {}
        for at in used:
            rows.setdefault(_group_of(group.values[at], query.period), []).append(at)
        if any(self._is_paid_back(group, name) for name in rows):
            raise Unclear
        names = {name: _value_in_words(name, self._wording) for name in rows}
        if len(rows) > MAX_GROUPS or len({name.casefold() for name in names.values()}) < len(rows):
            raise Unclear
        ordered = sorted(rows) if group.kind in ("date", "number") else list(rows)  # type: ignore[type-var]
        results = [(names[name], self._total(rows[name])) for name in ordered]
        name_of_group = self._wording[query.period] if query.period else group.name
        heading = self._said(f"by {query.operation}", rows=len(used), group=name_of_group)
        lines = [f"- {name}: **{result}**" for name, result in results]
        shown = self._shown(heading + "\n\n" + "\n".join(lines), used)
        return replace(shown, groups=results)

    def _is_paid_back(self, group: Column, name: object) -> bool:
        """Whether a value has both what was spent and what was received."""
        if not self._query.flow or group.kind != "text":
            return False
        return len(_signs(self._column, [at for at, value in group.values.items() if value == name])) > 1

    def _total(self, used: Sequence[int]) -> str:
        """The count, the sum or the average."""
        if self._query.operation == "count":
            return str(len(used))
        column = self._column
        total = math.fsum(map(column.values.__getitem__, used))  # type: ignore[arg-type]
        if self._query.operation == "sum":
            return self._number(total, column.decimals)
        mean = total / len(used)
        digits = len(f"{round(mean, MEAN_DECIMALS):f}".rstrip("0").partition(".")[2])
        return self._number(mean, max(column.decimals, digits))

    @property
    def _column(self) -> Column:
        if self._query.column is None:
            raise Unclear
        return self._query.column

    def _is_clear(self, condition: Condition) -> bool:
        """Not if cells are empty, which may mean the cell above, if a value is a part of another, as "Oslo"
        is of "Oslo and Bergen", or if amounts of money are negative."""
        column = condition.column
        if column.kind == "text" and condition.relation != "contains":
            others = "\n".join(
                {str(value) for value in column.values.values()} - {*map(str, condition.values)}
            )
            if any(_has_word(others, str(value)) for value in condition.values):
                return False
        if column.kind in ("text", "flag") and len(column.values) < len(self._rows):
            return False
        is_money = column.kind == "number" and MONEY.fullmatch(column.head) is not None
        return not is_money or True not in column.signs or condition.is_flow

    def _said(self, key: str, result: object = "", rows: int = 0, **parts: str) -> str:
        column = self._query.column.name if self._query.column is not None else ""
        sentence = self._wording[key].format(
            result=result, all=len(self._rows), where=self._where, rows=rows, column=column, **parts
        )
        return self._with_singular(sentence) + self._unread

    def _counted(self, key: str, count: int, **parts: str) -> str:
        one = self._wording.get(f"1 {key}")
        return (one if count == 1 and one else self._wording[key]).format(count=count, **parts)

    def _with_singular(self, sentence: str) -> str:
        """With "1 row" in place of "1 rows", in languages that have a plural."""
        many = self._wording.get("1 rows", "")
        return re.sub(rf"\b{many}\b", self._wording["1 row"], sentence) if many else sentence

    def _shown(self, sentence: str, used: Sequence[int]) -> Computed:
        rest = len(used) - SHOWN
        more = self._counted("more", rest) if rest > 0 else ""
        rows = [self._rows[at] for at in used]
        return Computed(sentence, rows[:SHOWN], more, all_rows=rows)

    def _unread_cells(self, columns: Sequence[Column]) -> str:
        if self._query.operation in ("value", "difference"):
            return ""
        if self._query.column is not None:
            columns = [*columns, self._query.column]
        missing = {column.name: len(self._rows) - len(column.values) for column in columns}
        return "".join(
            self._counted("unread", count, column=name) for name, count in missing.items() if count
        )

    def _number(self, result: float, decimals: int) -> str:
        """As the cells are written, with their unit."""
        mark = self._column.decimal_mark if self._column.decimals else self._wording["decimal mark"]
        shown = f"{result:.{decimals}f}".replace(".", mark)
        return f"{shown} {self._column.unit}".strip()


def _is_as_good(value: Any, last: Any, is_most: bool) -> bool:
    return bool(value >= last if is_most else value <= last)


def _group_of(value: object, period: str) -> object:
    """The month, the quarter or the year of a date, or the value itself."""
    if not isinstance(value, tuple) or not period:
        return value
    year, month, _ = value
    match period:
        case "year":
            return (year,)
        case "quarter":
            return f"{year}-Q{(month + 2) // 3}"
    return (year, month)


def _meeting(condition: Condition, rows: Iterable[int]) -> list[int]:
    """Those of the rows whose value meets the condition."""
    values = condition.column.values
    test = _test(condition.relation, condition.values)
    return [at for at in rows if at in values and test(values[at])]


def _test(relation: Relation, expected: Sequence[Any]) -> Callable[[Any], bool]:
    match relation:
        case "is":
            return lambda value: value in expected
        case "is not":
            return lambda value: value not in expected
        case "contains":
            return lambda value: expected[0].casefold() in value.casefold()
        case "between":
            low, high = sorted(expected)
            return lambda value: low <= value <= high
    compare = _COMPARE[relation]
    return lambda value: compare(value, expected[0])


def _where(conditions: Sequence[Condition], wording: Wording) -> str:
    if not conditions:
        return ""
    in_words = wording["and"].join(_in_words(condition, wording) for condition in conditions)
    return wording["where"].format(conditions=in_words)


def _in_words(condition: Condition, wording: Wording) -> str:
    shown = [_value_in_words(value, wording) for value in condition.values]
    key = f"date {condition.relation}" if condition.column.kind == "date" else condition.relation
    value = shown[0] if condition.relation == "between" else wording["or"].join(shown)
    return wording[key].format(column=condition.column.name, value=value, other=shown[-1])


def _value_in_words(value: object, wording: Wording) -> str:
    if isinstance(value, bool):
        return wording["yes"] if value else wording["no"]
    if isinstance(value, tuple):  # a date, of which day and month may be open
        return "-".join(f"{part:02}" for part in value if part not in (0, LATEST))
    if isinstance(value, float):
        return f"{value:.15g}".replace(".", wording["decimal mark"])
    return str(value)


def _has_word(text: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", text, re.IGNORECASE) is not None


def _signs(column: Column | None, used: Iterable[int]) -> set[bool]:
    """Whether those of the numbers that are not 0 are negative."""
    if column is None or column.kind != "number":
        return set()
    return {column.values[at] < 0 for at in used if column.values[at]}  # type: ignore[operator]
