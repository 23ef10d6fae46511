"""Asks a language model for a SELECT about a table, and says in words what it gives, with the rows that it is
from."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from sqlglot import exp

from ragcore.llms.base import LLM
from ragcore.prompts.document_text import escape_marks, restore
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import TABLE_QUERY
from ragcore.structure.answer import SHOWN, Computed
from ragcore.structure.select import read_select
from ragcore.structure.sql_table import SQLTable
from ragcore.structure.tables import Column, Row, Table

DECIMALS = 4  # of a result, at most
_NAMES: Mapping[type[exp.Expr], str] = {
    exp.Sum: "sum of",
    exp.Avg: "average of",
    exp.Max: "highest",
    exp.Min: "lowest",
}


def select_answer(
    question: str, table: Table, name: str, llm: LLM, prompt: Prompt = TABLE_QUERY
) -> Computed | None:
    """The result of the SELECT that the model proposes for the question. `name` is that of the document. None
    if the proposal is refused, fails or gives nothing. LLMErrors.
    """
    with closing(SQLTable(table, name)) as sql_table:
        described = escape_marks(sql_table.describe(), numbered=False)
        reply = restore(llm.predict(prompt, info_str=described, query_str=question))
        select = read_select(reply, question, sql_table)
        try:
            return None if select is None else compute_select(select, sql_table)
        except sqlite3.Error:  # what the check of the proposal did not foresee
            return None


def compute_select(select: exp.Select, table: SQLTable) -> Computed | None:
    """The result of a SELECT with the rows that it is computed of, or that it lists; None if it gives
    nothing. sqlite3.Error.

    >>> from sqlglot import parse_one
    >>> from ragcore.structure.tables import tables_of
    >>> text = "Room | Seats\\nRoom: Aspen; Seats: 12\\nRoom: Birch; Seats: 8"
    >>> rooms = SQLTable(tables_of(text)[0], "rooms")
    >>> computed = compute_select(parse_one("SELECT SUM(seats) FROM rooms"), rooms)
    >>> computed.sentence, len(computed.rows)
    ('**20** is the sum of Seats, from 2 rows.', 2)
    >>> rooms.close()
    """
    results = [expression.unalias() for expression in select.selects]
    is_computed = select.args.get("group") or select.args.get("distinct") or not _reads_rows(select)
    if not is_computed and all(isinstance(result, exp.Column | exp.Star) for result in results):
        computed = _listed(select, results, table)
    else:
        result_rows = table.rows(select.sql(dialect="sqlite"))
        if len(result_rows) == 1 and not select.args.get("group"):
            computed = _one_result(select, results, result_rows[0], table)
        else:
            computed = _several_results(results, result_rows, table)
    if computed is None:
        return None
    used = dict.fromkeys(column.name.casefold() for column in select.find_all(exp.Column))
    columns = [table.columns[name] for name in used if name in table.columns and name not in table.derived]
    sentence = computed.sentence + unread_cells(columns, len(table.table.rows))
    return replace(computed, sentence=sentence, select=select.sql(dialect="sqlite", pretty=True))


def show_rows(sentence: str, rows: Sequence[Row]) -> Computed:
    """A sentence with the first SHOWN of its rows."""
    rest = len(rows) - SHOWN
    return Computed(sentence, rows[:SHOWN], f"… and {rest} more rows." if rest > 0 else "", all_rows=rows)


def unread_cells(columns: Sequence[Column], rows: int) -> str:
    """How many cells of these columns, of so many rows, have no value. "" if all have one."""
    missing = {column.name: rows - len(column.values) for column in columns if len(column.values) < rows}
    return "".join(
        f" {count} cells of {name} are empty or could not be read, and are left out."
        for name, count in missing.items()
    )


def _reads_rows(select: exp.Select) -> bool:
    """Whether it is directly from the table, and not from a query in it."""
    source = select.args.get("from_")
    return source is not None and isinstance(source.this, exp.Table)


def _listed(select: exp.Select, results: Sequence[exp.Expr], table: SQLTable) -> Computed | None:
    """The rows that it lists. A limit includes those that are equal to the last one."""
    limit = select.args.get("limit")
    keys = [ordered.this for ordered in select.find_all(exp.Ordered)]
    numbered = select.select("rowid", *(key.copy() for key in keys), append=False)
    numbered.set("limit", None)
    found = [row for row in table.rows(numbered.sql(dialect="sqlite")) if None not in row[1:]]
    if limit is not None:
        count = int(limit.expression.name)
        found = [row for row in found if row[1:] in [last[1:] for last in found[:count]]]
    rows = [table.table.rows[int(str(row[0]))] for row in found]
    if not rows:
        return None
    columns = [_column(result, table) for result in results if isinstance(result, exp.Column)]
    names = [column.name for column in columns if column is not None]
    if not names or len(names) < len(results) or (len(rows) > 1 and limit is None):
        return show_rows(f"{len(rows)} of {len(table.table.rows)} rows:", rows)
    values = ", ".join("; ".join(row.cells.get(name, "") for name in names) for row in rows)
    what = f"{' and '.join(names)} of {len(rows)} of {len(table.table.rows)} rows"
    return show_rows(f"**{values}** is the {what}{_in_order(select, table)}.", rows)


def _in_order(select: exp.Select, table: SQLTable) -> str:
    for ordered in select.find_all(exp.Ordered):
        if (column := _column(ordered.this, table)) is not None:
            return f", by the {'highest' if ordered.args.get('desc') else 'lowest'} {column.name}"
    return ""


def _one_result(
    select: exp.Select, results: Sequence[exp.Expr], values: Sequence[object], table: SQLTable
) -> Computed | None:
    if None in values:
        return None
    rows = _rows_of(select, results, values, table)
    if len(results) == 1 and isinstance(results[0], exp.Count) and isinstance(results[0].this, exp.Star):
        return show_rows(f"**{values[0]}** of {len(table.table.rows)} rows.", rows)
    shown = "; ".join(_shown(value, result, table) for value, result in zip(values, results, strict=True))
    what = " and the ".join(_in_words(result, table) for result in results)
    return show_rows(f"**{shown}** is the {what}, from {len(rows)} rows.", rows)


def _several_results(
    results: Sequence[exp.Expr], found: Sequence[Sequence[object]], table: SQLTable
) -> Computed | None:
    """One line for each group."""
    found = [values for values in found if None not in values]
    if not found:
        return None
    names = "; ".join(_in_words(result, table) for result in results)
    lines = []
    for values in found[:SHOWN]:
        cells = [_shown(value, result, table) for value, result in zip(values, results, strict=True)]
        lines.append(f"- **{'; '.join(cells)}**")
    rest = len(found) - SHOWN
    more = f"… and {rest} more." if rest > 0 else ""
    return Computed("\n".join([f"{names}, from {len(table.table.rows)} rows:\n", *lines]), (), more)


def _rows_of(
    select: exp.Select, results: Sequence[exp.Expr], values: Sequence[object], table: SQLTable
) -> list[Row]:
    """The rows that meet the conditions of the query, or of the queries in it; of a highest or lowest value,
    those that have it."""
    parts = (
        [select]
        if _reads_rows(select)
        else [part for part in select.find_all(exp.Select) if _reads_rows(part)]
    )
    numbers: list[int] = []
    for part in parts:
        numbered = exp.select("rowid").from_(table.name)
        if where := part.args.get("where"):
            numbered = numbered.where(where.this.copy())
        if len(results) == 1 and isinstance(results[0], exp.Max | exp.Min):
            numbered = numbered.where(exp.EQ(this=results[0].this.copy(), expression=exp.convert(values[0])))
        elif len(results) == 1 and isinstance(results[0], exp.Sum | exp.Avg):
            numbered = numbered.where(
                exp.Not(this=exp.Is(this=results[0].this.copy(), expression=exp.Null()))
            )
        numbers += [int(str(row[0])) for row in table.rows(numbered.sql(dialect="sqlite"))]
    return [table.table.rows[number] for number in dict.fromkeys(numbers)]


def _column(expression: exp.Expr, table: SQLTable) -> Column | None:
    return table.columns.get(expression.name.casefold()) if isinstance(expression, exp.Column) else None


def _in_words(result: exp.Expr, table: SQLTable) -> str:
    if isinstance(result, exp.Count):
        return f"number of {'different values' if result.find(exp.Distinct) else 'rows'}"
    if isinstance(result, exp.Sub | exp.Paren):
        return "difference"
    column = _column(result.this, table) if isinstance(result, exp.AggFunc) else _column(result, table)
    return f"{_NAMES.get(type(result), '')} {column.name}".strip() if column is not None else "result"


def _shown(value: object, result: exp.Expr, table: SQLTable) -> str:
    """A number with at most DECIMALS, and a highest, lowest, average or sum with the unit of its column."""
    if not isinstance(value, int | float):
        return str(value)
    column = _column(result.this, table) if type(result) in _NAMES else None
    return f"{round(value, DECIMALS):.15g} {column.unit if column else ''}".strip()
