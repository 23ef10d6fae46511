"""Filters on metadata: conditions on single keys, combined by and, or, not, in any depth."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeGuard

from ragcore.schema import Metadata, Scalar, Value


class FilterOperator(str, Enum):
    """`value` is the value of the filter, `entry` that of the metadata under the key."""

    EQ = "=="
    NE = "!="
    GT = ">"
    LT = "<"
    GTE = ">="
    LTE = "<="
    IN = "in"  # entry is one of the values
    NIN = "nin"
    ANY = "any"  # entry, a list, has one of the values
    ALL = "all"  # entry, a list, has all of the values
    CONTAINS = "contains"  # entry, a list, has the value
    TEXT_MATCH = "text_match"  # entry, a text, contains the value
    TEXT_MATCH_INSENSITIVE = "text_match_insensitive"
    IS_EMPTY = "is_empty"  # no entry, or an empty one


class FilterCondition(str, Enum):
    AND = "and"
    OR = "or"
    NOT = "not"  # none of them


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A condition on one key. A passage without the key matches only `!=`, `nin` and `is_empty`.

    Values that cannot be compared do not match, without an error: a number is neither above nor below a text,
    and true is not
    1. ValueError for an unknown operator, and for `in`, `nin`, `any` or `all` without a list.

    >>> MetadataFilter("year", 1990, FilterOperator.GT).match({"year": 1999})
    True
    """

    key: str
    value: Scalar | Sequence[Scalar] = None
    operator: FilterOperator = FilterOperator.EQ

    def __post_init__(self) -> None:
        compare = FilterOperator(self.operator)  # the text of an operator is accepted, too
        object.__setattr__(self, "operator", compare)
        if compare in _OF_LISTS and not is_list(self.value):
            raise ValueError(
                f"the operator {compare.value!r} compares with a list of values, not with {self.value!r}"
            )

    def match(self, metadata: Metadata) -> bool:
        if self.key not in metadata:
            return self.operator in (FilterOperator.NE, FilterOperator.NIN, FilterOperator.IS_EMPTY)
        return _COMPARE[self.operator](metadata[self.key], self.value)


ExactMatchFilter = MetadataFilter  # the default operator is ==


@dataclass(frozen=True, slots=True)
class MetadataFilters:
    """Filters combined by a condition. Without filters everything matches.

    >>> either = [MetadataFilter("year", 1999), MetadataFilter("author", "Ada")]
    >>> MetadataFilters(either, FilterCondition.OR).match({"year": 1999})
    True
    """

    filters: Sequence[MetadataFilter | MetadataFilters] = ()
    condition: FilterCondition = FilterCondition.AND

    def __post_init__(self) -> None:
        """ValueError for a filter that is a dict."""
        object.__setattr__(self, "condition", FilterCondition(self.condition))
        if plain := [each for each in self.filters if isinstance(each, Mapping)]:
            raise ValueError(
                f"{plain[0]} is a dict, not a filter: MetadataFilters.from_dicts takes a list of those"
            )

    @classmethod
    def from_dicts(
        cls, filter_dicts: Sequence[Mapping[str, Any]], condition: FilterCondition = FilterCondition.AND
    ) -> MetadataFilters:
        """Each has the arguments of MetadataFilter: "key", "value" and, unless it is ==, "operator"."""
        return cls([MetadataFilter(**each) for each in filter_dicts], condition)

    def match(self, metadata: Metadata) -> bool:
        matches = (each.match(metadata) for each in self.filters)
        if self.condition is FilterCondition.AND or not self.filters:
            return all(matches)
        return any(matches) if self.condition is FilterCondition.OR else not any(matches)


Filter: TypeAlias = MetadataFilter | MetadataFilters


def is_list(value: object) -> TypeGuard[Sequence[Scalar]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _equal(entry: Value, value: Value) -> bool:
    if is_list(entry) and is_list(value):
        return len(entry) == len(value) and all(map(_equal, entry, value))
    return entry == value and isinstance(entry, bool) == isinstance(value, bool)


def _among(entry: Value, values: Value) -> bool:
    return is_list(values) and any(_equal(entry, value) for value in values)


def _comparable(entry: Value, value: Value) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (entry, value))
    return numbers or (isinstance(entry, str) and isinstance(value, str))


def _compare_by(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda entry, value: _comparable(entry, value) and compare(entry, value)


def _contains_text(entry: Value, value: Value, fold: Callable[[str], str] = str) -> bool:
    return isinstance(entry, str) and isinstance(value, str) and fold(value) in fold(entry)


_OF_LISTS = frozenset({FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL})

_COMPARE: dict[FilterOperator, Callable[[Value, Value], bool]] = {
    FilterOperator.EQ: _equal,
    FilterOperator.NE: lambda entry, value: not _equal(entry, value),
    FilterOperator.GT: _compare_by(operator.gt),
    FilterOperator.LT: _compare_by(operator.lt),
    FilterOperator.GTE: _compare_by(operator.ge),
    FilterOperator.LTE: _compare_by(operator.le),
    FilterOperator.IN: _among,
    FilterOperator.NIN: lambda entry, values: not _among(entry, values),
    FilterOperator.ANY: lambda entry, values: (
        is_list(values) and any(_among(value, entry) for value in values)
    ),
    FilterOperator.ALL: lambda entry, values: (
        is_list(entry) and is_list(values) and all(_among(v, entry) for v in values)
    ),
    FilterOperator.CONTAINS: lambda entry, value: _among(value, entry),
    FilterOperator.TEXT_MATCH: _contains_text,
    FilterOperator.TEXT_MATCH_INSENSITIVE: lambda entry, value: _contains_text(entry, value, str.casefold),
    FilterOperator.IS_EMPTY: lambda entry, _: entry is None or entry == "" or (is_list(entry) and not entry),
}
