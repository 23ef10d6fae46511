"""What a question asks of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragcore.structure.tables import Column, Table

Operation: TypeAlias = Literal[
    "count", "list", "sum", "average", "most", "least", "sort", "value", "difference", "balance"
]
Relation: TypeAlias = Literal["is", "is not", "<", "<=", ">", ">=", "between", "contains"]
Flow: TypeAlias = Literal["", "spent", "received"]

LATEST = 99  # later than any month or day


class Unclear(Exception):
    """What is asked may mean something else, or its values cannot be put together: it is left to reading."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What the value of a column must be: one of `values`, or another; or in a relation to the numbers."""

    column: Column
    relation: Relation
    values: tuple[object, ...]
    is_flow: bool = False  # what was spent, or what was received


@dataclass(frozen=True, slots=True)
class Query:
    """Computes `operation` of `column` over the rows that meet all `conditions`; `column` is None for counts
    and lists.

    `flow`: the question is about what was paid or received, which may be told apart by the sign of a number.
    `group` is the column by whose values, or by whose `period` ("month", "quarter", "year"), the result is
    divided. `limit`: the most rows of an extreme, 0 for those that have it. `direction`: what comes first in
    a sort, or what the first row of a difference is supposed to have. A value, a difference and a balance are
    those of the rows that meet the conditions; a difference has two. `counts_things`: each row must be one of
    what the first column names.
    """

    table: Table
    operation: Operation
    column: Column | None = None
    conditions: tuple[Condition, ...] = ()
    flow: Flow = ""
    group: Column | None = None
    period: str = ""
    limit: int = 0
    direction: str = ""  # "most" or "least"
    counts_things: bool = False
    language: str = "en"  # ISO 639-1
