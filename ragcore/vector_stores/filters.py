"""Which passages may be found, by their metadata: conditions on single keys, joined by and, or, not, as deep as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ragcore.schema import Metadata, Scalar


class FilterOperator(str, Enum):
    """`value` is what the filter gives, `entry` what the metadata has under the key."""

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
    TEXT_MATCH = "text_match"  # entry, a text, holds the value
    TEXT_MATCH_INSENSITIVE = "text_match_insensitive"
    IS_EMPTY = "is_empty"  # there is no entry, or an empty one


class FilterCondition(str, Enum):
    AND = "and"
    OR = "or"
    NOT = "not"  # none of them


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A passage without the key passes `!=`, `nin` and `is_empty` alone."""

    key: str
    value: Scalar | Sequence[Scalar] = None
    operator: FilterOperator = FilterOperator.EQ


@dataclass(frozen=True, slots=True)
class MetadataFilters:
    """No filters at all let everything pass."""

    filters: Sequence[MetadataFilter | MetadataFilters] = ()
    condition: FilterCondition = FilterCondition.AND

    def match(self, metadata: Metadata) -> bool:
        passed = (_passes(each, metadata) for each in self.filters)
        if self.condition is FilterCondition.AND or not self.filters:
            return all(passed)
        return any(passed) if self.condition is FilterCondition.OR else not any(passed)


Filter: TypeAlias = MetadataFilter | MetadataFilters
