"""The part of a metadata filter that Chroma can check itself, and the metadata that it can compare."""

from __future__ import annotations

import math
import sys
from typing import Any, TypeAlias

from ragcore.schema import TextNode
from ragcore.vector_stores.filters import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters, is_list

Where: TypeAlias = dict[str, Any]

_COMPARED = {
    FilterOperator.EQ: "$eq",
    FilterOperator.GT: "$gt",
    FilterOperator.LT: "$lt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LTE: "$lte",
}
# Chroma drops the fraction of a bound before it compares a whole number with it: for Chroma 2 is not below 2.5.
_OR_EQUAL = {"$gt": "$gte", "$lt": "$lte"}
LARGEST = sys.float_info.max


def where_of(filters: MetadataFilters | MetadataFilter) -> Where | None:
    """A condition that everything passes which passes the filter, and little else. None: no condition."""
    if isinstance(filters, MetadataFilter):
        return _comparison(filters)
    parts = [where_of(each) for each in filters.filters]
    conditions = [part for part in parts if part is not None]
    incomplete = filters.condition is FilterCondition.OR and len(conditions) < len(parts)
    if filters.condition is FilterCondition.NOT or not conditions or incomplete:
        return None
    return conditions[0] if len(conditions) == 1 else {f"${filters.condition.value}": conditions}


def _comparison(condition: MetadataFilter) -> Where | None:
    key, operator = condition.key, condition.operator
    values = list(condition.value) if is_list(condition.value) else [condition.value]
    if not _is_own(key) or not values or not all(_is_native(value) for value in values):
        return None
    if operator is FilterOperator.IN:
        each = [{key: {"$eq": value}} for value in values]
        return each[0] if len(each) == 1 else {"$or": each}
    sign = _COMPARED.get(operator)
    if isinstance(values[0], float):
        sign = _OR_EQUAL.get(sign or "", sign)
    numbers_only = sign in (None, "$eq") or (isinstance(values[0], int | float) and not isinstance(values[0], bool))
    return {key: {sign: values[0]}} if sign and numbers_only and not is_list(condition.value) else None


def native_metadata(node: TextNode) -> dict[str, Any]:
    """The metadata that Chroma can compare. A number outside its range becomes the nearest in it."""
    values = ((key, _clip(value)) for key, value in node.metadata.items() if _is_own(key))
    return {key: value for key, value in values if _is_native(value)}


def _clip(value: object) -> object:
    if isinstance(value, int | float) and not _is_native(value):
        return float(min(max(value, -LARGEST), LARGEST))
    return value


def _is_own(key: str) -> bool:
    """Whether Chroma accepts the key, and it is not one that this store uses itself."""
    return key.isidentifier() and key.isascii() and not key.startswith("_")


def _is_native(value: object) -> bool:
    if isinstance(value, str):
        return writable(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 53)


def writable(text: str) -> str:
    """The text with lone surrogates replaced, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
